"""The state of the twin: servers, channels, users, messages, webhooks, interactions.

Plain data without HTTP, limits or JSON; `shapes` converts it to Discord's JSON.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from typing import Any

from attrs import define, field, frozen

EPOCH_MS = 1_420_070_400_000  # the first millisecond of 2015, the epoch of Discord's ids

TEXT, DM, NEWS, PUBLIC_THREAD, PRIVATE_THREAD = 0, 1, 5, 11, 12
_THREADS = (10, PUBLIC_THREAD, PRIVATE_THREAD)

PINNED = 6  # the type of the system message that announces a pin

SUPPRESS_EMBEDS = 1 << 2
HAS_THREAD = 1 << 5
EPHEMERAL = 1 << 6
LOADING = 1 << 7
SUPPRESS_NOTIFICATIONS = 1 << 12
HAS_SNAPSHOT = 1 << 14
COMPONENTS_V2 = 1 << 15


@define(eq=False)
class User:
    """A human, a bot, or the name that a webhook sends under."""

    id: int
    name: str
    is_bot: bool = False
    avatar: str | None = None
    avatar_url: str | None = None
    """The avatar URL that a webhook call gave for this message."""
    takes_dms: bool = True
    locale: str = "en-US"
    """The language of the user's client, which a bot receives with their commands and clicks."""


@define(eq=False)
class Role:
    """A role; the one with the server's own id is `@everyone`."""

    id: int
    name: str
    permissions: int
    position: int = 0
    mentionable: bool = False


@define(eq=False)
class Member:
    """A user in a server."""

    user: User
    joined_at: float
    roles: list[int] = field(factory=list)
    nick: str | None = None


@define(eq=False)
class Overwrite:
    """Permissions of one role or member in one channel."""

    id: int
    is_member: bool
    allow: int = 0
    deny: int = 0


@define(eq=False)
class Channel:
    """A text channel, a thread or a direct message."""

    id: int
    type: int
    name: str
    guild_id: int | None = None
    parent_id: int | None = None
    position: int = 0
    topic: str | None = None
    overwrites: dict[int, Overwrite] = field(factory=dict)
    slowmode_s: int = 0
    recipients: list[int] = field(factory=list)
    owner_id: int = 0
    created_at: float = 0.0
    archived: bool = False
    archived_at: float | None = None
    """When it was last archived or unarchived."""
    active_at: float | None = None
    """When the last message was sent."""
    sent: int = 0
    """Messages ever sent, including deleted ones."""
    locked: bool = False
    auto_archive_min: int = 1_440
    members: set[int] = field(factory=set)
    typing_until: dict[int, float] = field(factory=dict)
    last_said: dict[int, float] = field(factory=dict)

    @property
    def is_thread(self) -> bool:
        """Whether it is a thread of another channel."""
        return self.type in _THREADS

    def archive(self, archived: bool, now: float) -> None:
        """Archive a thread, or unarchive it."""
        if archived is not self.archived:
            self.archived, self.archived_at = archived, now

    def is_idle(self, now: float) -> bool:
        """Return whether a thread has been inactive for so long that Discord archives it."""
        if not self.is_thread or self.archived or not self.created_at:
            return False
        last = max(self.created_at, self.active_at or 0.0, self.archived_at or 0.0)
        return now - last > self.auto_archive_min * 60


@define(eq=False)
class Guild:
    """A server."""

    id: int
    name: str
    owner_id: int
    roles: dict[int, Role] = field(factory=dict)
    members: dict[int, Member] = field(factory=dict)


@frozen
class Forward:
    """The content of a forward: another message, as it was at that time."""

    message_id: int
    channel_id: int
    guild_id: int | None
    snapshot: dict[str, Any] = field(repr=False)


@define(eq=False)
class Message:
    """A message in its current state, with the notifications it caused when it was sent."""

    id: int
    channel_id: int
    author: User
    content: str
    created_at: float
    edited_at: float | None = None
    nonce: str | int | None = None
    type: int = 0
    flags: int = 0
    tts: bool = False
    embeds: list[dict[str, Any]] = field(factory=list)
    components: list[dict[str, Any]] = field(factory=list)
    attachments: list[dict[str, Any]] = field(factory=list)
    #: File contents by name, and by attachment id because two files may have the same name.
    files: dict[str, bytes] = field(factory=dict, repr=False)
    blobs: dict[str, bytes] = field(factory=dict, repr=False)
    reply_to: int | None = None
    forward: Forward | None = None
    webhook_id: int | None = None
    interaction_id: int | None = None
    #: The current mentions, as in the message's JSON.
    mentions: list[int] = field(factory=list)
    mention_roles: list[int] = field(factory=list)
    mention_everyone: bool = False
    #: Notified when the message was sent: users by mention or reply, roles, and everyone.
    pinged: list[int] = field(factory=list)
    pinged_roles: list[int] = field(factory=list)
    pinged_everyone: bool = False
    edits: int = 0
    thread_id: int | None = None
    #: User ids by emoji, in order of time; an emoji of a server is keyed by its name and id.
    reactions: dict[str, list[int]] = field(factory=dict)
    pinned_at: float | None = None

    @property
    def is_ephemeral(self) -> bool:
        """Whether only the user of the interaction sees it."""
        return bool(self.flags & EPHEMERAL)

    def keep(self, attachments: list[dict[str, Any]]) -> None:
        """Keep only these attachments; drop all others and their files."""
        self.attachments = attachments
        names = {attachment["id"]: attachment["filename"] for attachment in attachments}
        self.blobs = {key: data for key, data in self.blobs.items() if key in names}
        self.files = {names[key]: data for key, data in self.blobs.items()}


@define(eq=False)
class Webhook:
    """A webhook of a channel."""

    id: int
    channel_id: int
    guild_id: int
    name: str
    token: str = field(repr=False)
    avatar: str | None = None
    application_id: int | None = None


@define(eq=False)
class Interaction:
    """The use of a command, component, autocompletion or modal, and the bot's answers to it."""

    id: int
    type: int
    channel_id: int
    user_id: int
    created_at: float
    token: str = field(repr=False)
    data: dict[str, Any]
    message_id: int | None = None
    callback_type: int | None = None
    callback_data: dict[str, Any] = field(factory=dict, repr=False)
    """The data of the first answer: a message, a modal, or the choices of an autocompletion."""
    original_id: int | None = None
    follow_ups: list[int] = field(factory=list)
    user_installed: bool = False
    failed: str = ""
    """Why the user saw that the application did not respond; set by an endpoint only."""

    @property
    def choices(self) -> list[dict[str, Any]]:
        """The choices that an autocompletion offers."""
        return list(self.callback_data.get("choices") or [])

    @property
    def is_answered(self) -> bool:
        """Whether the bot gave its first answer, deferred or not."""
        return self.callback_type is not None


@define(eq=False)
class World:
    """All objects of one twin, by id."""

    now: Callable[[], float]
    bot: User
    users: dict[int, User] = field(factory=dict)
    guilds: dict[int, Guild] = field(factory=dict)
    channels: dict[int, Channel] = field(factory=dict)
    messages: dict[int, dict[int, Message]] = field(factory=dict)
    webhooks: dict[int, Webhook] = field(factory=dict)
    interactions: dict[int, Interaction] = field(factory=dict)
    #: Application commands by the server they belong to; 0 holds the global ones.
    commands: dict[int, dict[int, dict[str, Any]]] = field(factory=dict)
    #: (author, channel, nonce) to (message, time); kept when the message is deleted.
    nonces: dict[tuple[int, int, str], tuple[int, float]] = field(factory=dict)
    _last_id: int = 0

    def new_id(self) -> int:
        """Return a snowflake that contains the current time and is larger than all before it."""
        made = (int(self.now() * 1_000) - EPOCH_MS) << 22
        self._last_id = max(made, self._last_id + 1)
        return self._last_id

    def find_message(self, channel_id: int, message_id: int) -> Message | None:
        """Return a message of that channel, or None if it does not exist."""
        return self.messages.get(channel_id, {}).get(message_id)

    def dm_with(self, user_id: int) -> Channel:
        """Return the direct message channel with a user; create it on the first call."""
        pair = {self.bot.id, user_id}
        for channel in self.channels.values():
            if channel.type == DM and set(channel.recipients) == pair:
                return channel
        made = Channel(self.new_id(), DM, "", recipients=sorted(pair))
        self.channels[made.id] = made
        return made

    def drop_channel(self, channel_id: int) -> None:
        """Delete a channel with its threads, messages and webhooks."""
        for thread in [
            channel for channel in self.channels.values() if channel.parent_id == channel_id
        ]:
            self.drop_channel(thread.id)
        self.channels.pop(channel_id, None)
        self.messages.pop(channel_id, None)
        for webhook in [
            webhook for webhook in self.webhooks.values() if webhook.channel_id == channel_id
        ]:
            del self.webhooks[webhook.id]


def sent_at(snowflake: int) -> float:
    """Return the creation time of the object with that id."""
    return ((snowflake >> 22) + EPOCH_MS) / 1_000


def new_token() -> str:
    """Return a random token as long as Discord's."""
    return secrets.token_urlsafe(48)
