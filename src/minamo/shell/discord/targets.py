"""Reply targets: an event, a message, a channel, an interaction, or a framework's context.

Contexts are recognised by shape, so that arc, crescent, tanjun and lightbulb need no code of their
own: all of their contexts have an ``interaction``.  `Places` looks up the server of a channel.
"""

from __future__ import annotations

from typing import Any, Protocol, TypeAlias, runtime_checkable

import hikari
from attrs import define, evolve, field, frozen

from minamo.errors import BadRequest
from minamo.shell.discord.bot import CallRunner

# A few bytes each; with more channels, the oldest are looked up again.
PLACES_MAX = 10_000
_DIRECT = 0


@define(eq=False)
class Places:
    """A cache of the servers that the channels of one bot belong to."""

    _bot: hikari.RESTAware = field(repr=False)
    _guilds: dict[int, int] = field(factory=dict, init=False, repr=False)
    _calls: CallRunner = field(factory=CallRunner, init=False, repr=False)

    async def locate(self, target: Target) -> Target:
        """Return *target* with its server; if the lookup fails, it is no direct message."""
        if target.is_located:
            return target
        guild_id = await self._guild_of(target.channel_id)
        return evolve(
            target,
            guild_id=guild_id or None,
            addressed=target.addressed or guild_id == _DIRECT,
            is_located=True,
        )

    async def _guild_of(self, channel_id: int) -> int | None:
        known = self._guilds.get(channel_id)
        if known is None:
            known = self._cached(channel_id)
        if known is None:
            known = await self._fetched(channel_id)
        if known is not None:
            if len(self._guilds) >= PLACES_MAX:
                del self._guilds[next(iter(self._guilds))]
            self._guilds[channel_id] = known
        return known

    def _cached(self, channel_id: int) -> int | None:
        if not isinstance(self._bot, hikari.CacheAware):
            return None
        cache = self._bot.cache
        found = cache.get_guild_channel(channel_id) or cache.get_thread(channel_id)
        return None if found is None else int(found.guild_id)

    async def _fetched(self, channel_id: int) -> int | None:
        found: list[hikari.PartialChannel] = []

        async def look() -> None:
            found.append(await self._bot.rest.fetch_channel(channel_id))

        await self._calls.make(look())
        if not found:
            return None
        return int(found[0].guild_id) if isinstance(found[0], hikari.GuildChannel) else _DIRECT


_SHAPES = (
    "a message event, a message, a channel or its id, a command or component interaction, "
    "or a context with .interaction"
)

Interaction = hikari.CommandInteraction | hikari.ComponentInteraction | hikari.ModalInteraction


@runtime_checkable
class HasInteraction(Protocol):
    """A context of a command framework: arc, crescent, tanjun or lightbulb."""

    @property
    def interaction(self) -> object:
        """The interaction of the command."""


@runtime_checkable
class HasMessage(Protocol):
    """A context, or an event, with the message it is about."""

    @property
    def message(self) -> object:
        """The message."""


ReplyTarget: TypeAlias = (
    hikari.MessageCreateEvent
    | hikari.Message
    | Interaction
    | hikari.PartialChannel
    | int
    | HasInteraction
    | HasMessage
)
"""The targets of a reply: what it answers, or the channel it goes to."""


@frozen(kw_only=True)
class Target:
    """The channel of a reply, and the message or interaction it answers."""

    channel_id: int
    guild_id: int | None = None
    message_id: int | None = None
    """Id of the message it answers; None if there is none."""
    author_id: int | None = None
    author_name: str = field(default="", repr=False)
    addressed: bool = False
    """Whether the bot was addressed: in a direct message, by a mention or by a reply."""
    interaction: Interaction | None = field(default=None, repr=False)
    context: Any = field(default=None, repr=False)
    """A framework's context; deferring must go through it."""
    locale: str | None = None
    is_located: bool = True
    """Whether a missing `guild_id` means a direct message; see `Places`."""


def read_target(target: ReplyTarget, me: int | None) -> Target:
    """Return *target* as a `Target`; *me* is the bot's own id, if known yet."""
    if isinstance(target, hikari.MessageCreateEvent):
        # The class of an event shows whether it is a direct message.
        return _of_message(
            target.message, me, direct=isinstance(target, hikari.DMMessageCreateEvent)
        )
    if isinstance(target, hikari.Message):
        return _of_message(target, me)
    if isinstance(target, Interaction):
        return _of_interaction(target, None)
    if isinstance(target, bool):
        raise BadRequest(f"a reply cannot go to a bool; it goes to {_SHAPES}")
    if isinstance(target, int | hikari.PartialChannel):
        return Target(channel_id=int(target))
    if isinstance(target, HasInteraction) and isinstance(target.interaction, Interaction):
        return _of_interaction(target.interaction, target)
    if isinstance(target, HasMessage) and isinstance(target.message, hikari.Message):
        return _of_message(target.message, me)
    raise BadRequest(f"a reply cannot go to a {type(target).__name__}; it goes to {_SHAPES}")


def _of_message(message: hikari.Message, me: int | None, *, direct: bool = False) -> Target:
    named = message.user_mentions_ids
    is_named = me is not None and not isinstance(named, hikari.UndefinedType) and me in named
    answered = message.referenced_message
    answers_me = answered is not None and answered.author is not hikari.UNDEFINED
    is_answer = answers_me and answered is not None and _id(answered.author) == me
    return Target(
        channel_id=int(message.channel_id),
        guild_id=None if message.guild_id is None else int(message.guild_id),
        message_id=int(message.id),
        author_id=int(message.author.id),
        author_name=name_of(message),
        addressed=direct or is_named or is_answer,
        is_located=direct or message.guild_id is not None,
    )


def _id(user: Any) -> int | None:
    return None if user is None else int(user.id)


def name_of(message: hikari.PartialMessage) -> str:
    """Return the author's name as displayed in the channel."""
    member, author = message.member, message.author
    if member and member.nickname:
        return str(member.nickname)
    if not author:
        return ""
    return str(author.global_name or author.username)


def _of_interaction(interaction: Interaction, context: Any) -> Target:
    return Target(
        channel_id=int(interaction.channel_id),
        guild_id=None if interaction.guild_id is None else int(interaction.guild_id),
        author_id=int(interaction.user.id),
        author_name=str(interaction.user.global_name or interaction.user.username),
        addressed=True,
        interaction=interaction,
        context=context,
        locale=str(interaction.locale),
    )
