"""What a route handler gets and gives, free of HTTP."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from attrs import define, field, frozen

from minamo.twin.discord import Discord
from minamo.twin.permissions import Permission, require
from minamo.twin.posting import Uploads
from minamo.twin.refusals import Refused
from minamo.twin.world import Channel, Guild, Message

#: Status and body; a body of `None` means an empty answer.
Answer = tuple[int, Any]


@define(eq=False)
class Call:
    """One request, read and authorised."""

    discord: Discord
    params: dict[str, str]
    query: dict[str, str]
    body: Any = None
    uploads: Uploads = field(factory=list)

    @property
    def fields(self) -> dict[str, Any]:
        """The JSON object of the body."""
        if self.body is None:
            return {}
        if not isinstance(self.body, dict):
            raise Refused(50109)
        return self.body

    def id(self, name: str) -> int:
        """An id of the path; anything that is none is 0, which nothing has."""
        given = self.params[name]
        return int(given) if given.isdigit() else 0

    def channel(self, *needed: Permission) -> Channel:
        """The channel of the path, if the bot may see it and do *needed* there."""
        found = self.discord.world.channels.get(self.id("channel"))
        if found is None:
            raise Refused(10003)
        require(self.discord.world, self.discord.world.bot.id, found, *needed)
        return found

    def message(self) -> Message:
        """The message of the path."""
        found = self.discord.world.find_message(self.id("channel"), self.id("message"))
        if found is None or found.is_ephemeral:
            raise Refused(10008)
        return found

    def guild(self) -> Guild:
        """The server of the path, if the bot is in it."""
        found = self.discord.world.guilds.get(self.id("guild"))
        if found is None:
            raise Refused(10004)
        return found


@frozen
class Route:
    """One line of the table: what answers, and which limits stand before it."""

    method: str
    path: str
    handle: Callable[[Call], Answer]
    family: str = "other"
    #: Whether the bot's token is needed; webhooks and interactions carry theirs in the path.
    auth: bool = True
    #: Interaction callbacks know no per-route limit and send no headers.
    limited: bool = True

    @property
    def name(self) -> str:
        """As faults and the journal spell it."""
        return f"{self.method} {self.path}"
