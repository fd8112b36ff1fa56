"""Every key that hikari needs is sent, and none that it needs is missed unnoticed.

Each test takes one key out of a true payload and sees hikari stumble.  With a new hikari this
tells which of the table has changed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from unittest import mock

import hikari
import pytest

from minamo.twin import Twin
from minamo.twin.shapes import message as shapes_message
from minamo.twin.shapes import objects as shapes
from minamo.twin.users import click, say, slash
from minamo.twin.world import Webhook

Factory = hikari.impl.EntityFactoryImpl
Make = Callable[[Twin], dict[str, Any]]
Read = Callable[[Any, Any], Any]  # an entity or event factory, a payload


class Story:
    """A twin that was never started, with one of everything in it."""

    def __init__(self) -> None:
        self.twin = twin = Twin()
        self.discord = twin._discord
        self.home, self.ann = twin.channel(), twin.user()
        self.message = say(self.discord, "hi", self.home, self.ann)
        button = {"type": 2, "style": 1, "custom_id": "stop", "label": "Stop", "id": 2}
        self.message.components = [{"type": 1, "id": 1, "components": [button]}]
        self.slash = slash(self.discord, "ask", {"q": "why"}, self.home, self.ann)
        self.click = click(self.discord, self.message, "stop", self.ann)
        self.thread = twin.thread("talk")
        self.thread.members.add(twin.bot.id)
        hook = Webhook(twin.world.new_id(), self.home.id, twin.guild.id, "Nyx", "secret")
        self.webhook = hook

    def payload(self, shape: str) -> dict[str, Any]:
        world = self.twin.world
        makers: dict[str, Callable[[], dict[str, Any]]] = {
            "message": lambda: shapes_message.message(world, self.message),
            "user": lambda: shapes.user(self.ann),
            "me": lambda: shapes.me(self.twin.bot),
            "gateway_bot": lambda: shapes.gateway_bot("ws://127.0.0.1/gw"),
            "application": lambda: shapes.application(world, 0, "0" * 64),
            "guild_event": lambda: shapes.guild_event(world, self.twin.guild),
            "guild": lambda: shapes.guild(self.twin.guild),
            "channel": lambda: shapes.channel(world, self.home),
            "thread": lambda: shapes.channel(world, self.thread),
            "dm": lambda: shapes.channel(world, self.twin.dm()),
            "role": lambda: shapes.role(self.twin.guild.roles[self.twin.guild.id]),
            "member": lambda: shapes.member(self.twin.guild.members[self.ann.id]),
            "webhook": lambda: shapes_message.webhook(world, self.webhook, secret=True),
            "command": lambda: shapes.command(world, 1, 0, {"name": "ask", "description": "Ask"}),
            "interaction": lambda: shapes_message.interaction(world, self.slash),
            "component": lambda: shapes_message.interaction(world, self.click),
            "callback": lambda: {"interaction": {"id": "1", "type": 2}, "resource": {"type": 5}},
            "ready": lambda: shapes.ready(world, "s", "ws://127.0.0.1/gw", (0, 1), 0),
        }
        return makers[shape]()


def _entities() -> Any:
    return Factory(mock.Mock(spec_set=hikari.traits.RESTAware))


def _ready(_: Any, payload: Any) -> Any:
    app = mock.Mock()
    app.entity_factory = _entities()
    return hikari.impl.EventFactoryImpl(app).deserialize_ready_event(mock.Mock(), payload)


def _gateway_guild(factory: Any, payload: Any) -> None:
    made = factory.deserialize_gateway_guild(payload, user_id=hikari.Snowflake(1))
    made.guild()
    for part in ("channels", "emojis", "members", "presences", "roles", "threads", "stickers"):
        getattr(made, part)()
    made.voice_states()


def _role(factory: Any, payload: Any) -> Any:
    return factory.deserialize_role(payload, guild_id=hikari.Snowflake(1))


def _member(factory: Any, payload: Any) -> Any:
    return factory.deserialize_member(payload, guild_id=hikari.Snowflake(1))


_USER = "id username discriminator avatar"
_GUILD = """id name icon splash owner_id afk_channel_id afk_timeout verification_level
    default_message_notifications explicit_content_filter roles emojis stickers features
    mfa_level application_id system_channel_id system_channel_flags rules_channel_id
    vanity_url_code description banner premium_tier preferred_locale public_updates_channel_id
    nsfw_level"""
_INTERACTION = """id application_id type token version channel data app_permissions locale
    authorizing_integration_owners context attachment_size_limit"""

REQUIRED: dict[str, tuple[str, Read]] = {
    "message": (
        "id channel_id author content timestamp edited_timestamp tts attachments embeds pinned "
        "type flags",
        lambda f, p: f.deserialize_message(p),
    ),
    "user": (_USER, lambda f, p: f.deserialize_user(p)),
    "me": (f"{_USER} mfa_enabled flags", lambda f, p: f.deserialize_my_user(p)),
    "gateway_bot": (
        "url shards session_start_limit",
        lambda f, p: f.deserialize_gateway_bot_info(p),
    ),
    "application": (
        "id name description bot_public bot_require_code_grant owner verify_key flags "
        "approximate_guild_count approximate_user_install_count",
        lambda f, p: f.deserialize_application(p),
    ),
    "guild_event": (
        f"{_GUILD} members channels threads presences voice_states",
        _gateway_guild,
    ),
    "guild": (
        f"{_GUILD} max_members max_presences",
        lambda f, p: f.deserialize_rest_guild(p),
    ),
    "channel": (
        "id type guild_id position permission_overwrites topic",
        lambda f, p: f.deserialize_channel(p),
    ),
    "thread": (
        "id type guild_id parent_id owner_id message_count member_count thread_metadata",
        lambda f, p: f.deserialize_channel(p),
    ),
    "dm": ("id type recipients", lambda f, p: f.deserialize_channel(p)),
    "role": ("id name color hoist position permissions managed mentionable", _role),
    "member": ("user roles joined_at", _member),
    "webhook": ("id type guild_id channel_id name avatar", lambda f, p: f.deserialize_webhook(p)),
    "command": (
        "id application_id type name description version default_member_permissions",
        lambda f, p: f.deserialize_command(p, guild_id=None),
    ),
    "interaction": (_INTERACTION, lambda f, p: f.deserialize_interaction(p)),
    "component": (f"{_INTERACTION} message", lambda f, p: f.deserialize_interaction(p)),
    "callback": (
        "interaction",
        lambda f, p: f.deserialize_interaction_callback_response(p),
    ),
    "ready": ("v user guilds session_id resume_gateway_url application", _ready),
}
NESTED = [
    ("gateway_bot", "session_start_limit", "total remaining reset_after"),
    ("ready", "application", "id flags"),
    ("interaction", "channel", "id type"),
    ("interaction", "data", "id name"),
    ("interaction", "member", "user roles joined_at permissions"),
    ("component", "data", "custom_id component_type"),
    ("callback", "interaction", "id type"),
    ("thread", "thread_metadata", "archived archive_timestamp locked auto_archive_duration"),
]

WHOLE = [(shape, key) for shape, (keys, _) in REQUIRED.items() for key in keys.split()]
INNER = [(shape, outer, key) for shape, outer, keys in NESTED for key in keys.split()]
FAILS = (LookupError, hikari.UnrecognisedEntityError, AssertionError, TypeError)


@pytest.fixture(scope="module")
def story() -> Story:
    return Story()


@pytest.mark.parametrize("shape", REQUIRED)
def test_hikari_reads_the_shape(story: Story, shape: str) -> None:
    assert REQUIRED[shape][1](_entities(), story.payload(shape)) is not NotImplemented


@pytest.mark.parametrize(("shape", "key"), WHOLE)
def test_hikari_needs_the_key(story: Story, shape: str, key: str) -> None:
    payload = story.payload(shape)
    del payload[key]
    with pytest.raises(FAILS):
        REQUIRED[shape][1](_entities(), payload)


@pytest.mark.parametrize(("shape", "outer", "key"), INNER)
def test_hikari_needs_the_inner_key(story: Story, shape: str, outer: str, key: str) -> None:
    payload = story.payload(shape)
    inner = dict(payload[outer])
    del inner[key]
    payload[outer] = inner
    with pytest.raises(FAILS):
        REQUIRED[shape][1](_entities(), payload)


@pytest.mark.parametrize("depth", ["row", "button"])
def test_hikari_needs_the_id_that_discord_gives_components(story: Story, depth: str) -> None:
    payload = story.payload("message")
    row = dict(payload["components"][0])
    button = dict(row["components"][0])
    del (row if depth == "row" else button)["id"]
    row["components"] = [button]
    with pytest.raises(KeyError):
        _entities().deserialize_message({**payload, "components": [row]})
