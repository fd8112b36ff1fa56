"""The tables of request bodies: each field is checked; and of answers: every key that hikari needs is sent."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

import hikari
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minamo.twin import Permission, Refused, Rules, Twin
from minamo.twin.bodies.forms import (
    Address,
    Boolean,
    FieldType,
    List,
    Map,
    Number,
    Object,
    OneOf,
    Snowflake,
    Text,
    Timestamp,
    Union,
    Whole,
    read_form,
)
from minamo.twin.bodies.tables import ChoiceValue, ImageData, Nonce
from minamo.twin.routes import ROUTES
from minamo.twin.server.calls import Route
from minamo.twin.shapes import message as shapes_message
from minamo.twin.shapes import objects as shapes
from minamo.twin.users import click, say, slash
from minamo.twin.world import Webhook
from support.twin_http import Lab, twin_lab

RULES = Rules()
TABLES = [route for route in ROUTES if route.body != Object()]
#: A value that no field of the kind takes.
WRONG: dict[type[FieldType], Any] = {
    Address: "javascript:x",
    Boolean: "perhaps",
    ChoiceValue: {},
    ImageData: "x",
    List: "x",
    Map: "x",
    Timestamp: "soon",
    Nonce: {},
    Number: "x",
    Object: "x",
    OneOf: "zzz",
    Snowflake: "x",
    Text: {},
    Union: "x",
    Whole: "x",
}
Place = tuple[str, ...]


def wrongs(kind: FieldType, depth: int = 6) -> Iterator[tuple[Place, Any]]:
    """A value for each place in a table at which it is wrong, and the place."""
    yield (), WRONG[type(kind)]
    if depth == 0:
        return
    if isinstance(kind, Object):
        for name, one in kind.fields.items():
            for place, value in wrongs(one, depth - 1):
                yield (name, *place), {name: value}
    if isinstance(kind, Union):
        for number, table in kind.tables.items():
            for place, value in wrongs(table, depth - 1):
                if place:
                    yield place, {**value, "type": number}
    if isinstance(kind, List):
        for place, value in wrongs(kind.items, depth - 1):
            least = max(kind.least, 1)
            yield ("0", *place), [value] * least
    if isinstance(kind, Map):
        for place, value in wrongs(kind.values, depth - 1):
            yield ("de", *place), {"de": value}


def _name(route: Route) -> str:
    return route.name


@pytest.mark.parametrize("route", TABLES, ids=_name)
def test_each_field_refuses_what_it_cannot_be(route: Route) -> None:
    seen = 0
    for place, body in wrongs(route.body):
        with pytest.raises(Refused) as caught:
            read_form(route.body, body, RULES)
        found: Any = caught.value.errors
        for step in place:
            found = found[step]
        assert found["_errors"][0]["code"].isupper(), (place, body)
        seen += 1
    assert seen > 1


def test_all_problems_are_told_at_once() -> None:
    create = next(one.body for one in TABLES if one.name == "POST /channels/{channel}/messages")
    body = {"content": "x" * 2_001, "embeds": [{"title": "t"}, {"title": "x" * 257, "color": -1}]}
    with pytest.raises(Refused) as caught:
        read_form(create, body, RULES)
    assert caught.value.errors == {
        "content": {
            "_errors": [
                {"code": "BASE_TYPE_MAX_LENGTH", "message": "Must be 2000 or fewer in length."}
            ]
        },
        "embeds": {
            "1": {
                "title": {
                    "_errors": [
                        {
                            "code": "BASE_TYPE_MAX_LENGTH",
                            "message": "Must be 256 or fewer in length.",
                        }
                    ]
                },
                "color": {
                    "_errors": [
                        {
                            "code": "NUMBER_TYPE_MIN",
                            "message": "int value should be greater than or equal to 0.",
                        }
                    ]
                },
            }
        },
    }


def test_a_limit_is_read_from_the_rules() -> None:
    create = next(one.body for one in TABLES if one.name == "POST /channels/{channel}/messages")
    assert read_form(create, {"content": "xxx"}, Rules(content_max=3)) == {"content": "xxx"}
    with pytest.raises(Refused):
        read_form(create, {"content": "xxxx"}, Rules(content_max=3))


_SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(st.characters(codec=None), max_size=20),
    st.sampled_from(["5", "true", "https://x.y", "users", "2024-01-01T00:00:00Z"]),
)


def _different(routes: list[Route]) -> list[Route]:
    """One route for each table."""
    return list({id(route.body): route for route in routes}.values())


def _any_json(names: list[str]) -> st.SearchStrategy[Any]:
    keys = st.sampled_from(names)
    types = st.fixed_dictionaries({"type": st.integers(0, 20)})
    return st.recursive(
        _SCALARS,
        lambda inner: st.one_of(
            st.lists(inner, max_size=3),
            st.dictionaries(keys, inner, max_size=4),
            st.tuples(types, st.dictionaries(keys, inner, max_size=4)).map(lambda x: x[1] | x[0]),
        ),
        max_leaves=8,
    )


def _names(kind: FieldType) -> set[str]:
    """The names of all fields in a table."""
    if isinstance(kind, Object):
        return set(kind.fields).union(*map(_names, kind.fields.values()))
    if isinstance(kind, Union):
        return set().union(*map(_names, kind.tables.values()))
    return _names(kind.items) if isinstance(kind, List) else set()


def _bodies(kind: FieldType) -> st.SearchStrategy[Any]:
    names = sorted(_names(kind))
    fields = st.dictionaries(st.sampled_from(names), _any_json(names), max_size=4)
    return st.lists(fields, max_size=2) if isinstance(kind, List) else fields


@pytest.mark.parametrize("route", _different(TABLES), ids=_name)
def test_any_body_is_read_or_refused(route: Route) -> None:
    has_image = {"avatar", "icon"} & _names(route.body)  # an image becomes its hash

    @settings(max_examples=40)
    @given(_bodies(route.body))
    def check(body: Any) -> None:
        try:
            form = read_form(route.body, body, RULES)
        except Refused:
            return
        assert has_image or read_form(route.body, form, RULES) == form

    check()


# Over HTTP: whatever a field holds, the twin does not stumble.

ODD: list[Any] = [None, True, 0, -1, 1.5, 10**30, "", "x", "5", [], [None], ["5"], {}, [{}]]
GOOD: dict[str, Any] = {
    "POST /channels/{channel}/messages/bulk-delete": {"messages": ["5", "6"]},
    "POST /interactions/{interaction}/{token}/callback": {"type": 4, "data": {"content": "x"}},
}
#: What the twin has not and says so, with 501.
MISSING = ("poll", "sticker_ids", "shared_client_theme", "type", "thread_name")


async def _path(lab: Lab, route: Route, hook: str) -> str:
    twin = lab.twin
    _, _, webhook, token = hook.split("/")
    names: dict[str, Any] = {"channel": twin.channel().id, "guild": twin.guild.id}
    names |= {"application": twin.bot.id, "overwrite": twin.user().id}
    names |= {"webhook": webhook, "token": token}
    if "{interaction}" in route.path:
        used = await twin.slash("a")
        names |= {"interaction": used.id, "token": used.token}
    if "{message}" in route.path:
        names["message"] = (await lab.sent({"content": "m"}))["id"]
    if "{command}" in route.path:
        home = route.path.format(**names, command="").rstrip("/")
        made = await lab.ask("POST", home, {"name": "a", "description": "d"})
        names["command"] = made.body["id"]
    return route.path.format(**names)


@pytest.mark.anyio
@pytest.mark.parametrize("route", _different(TABLES), ids=_name)
async def test_no_field_makes_the_twin_stumble(route: Route) -> None:
    if isinstance(route.body, Object):
        fields = route.body.fields
    else:
        fields = {"type": Whole(), "data": Object(), "name": Text()}
    async with twin_lab() as lab:
        for name in ("MANAGE_CHANNELS", "MANAGE_ROLES", "MANAGE_THREADS"):
            lab.twin.allow("general", Permission[name])
        hook = await lab.webhook()
        good = GOOD.get(route.name, {"name": "a", "description": "d", "content": "x"})
        for field in fields:
            for value in ODD:
                path = await _path(lab, route, hook)
                body: Any = {**good, field: value}
                if isinstance(route.body, List):
                    body = [body]
                answer = await lab.ask(route.method, path, body)
                assert answer.status < 500 or field in MISSING, (field, value, answer)


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
