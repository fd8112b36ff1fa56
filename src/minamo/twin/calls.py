"""What a route handler gets and gives, free of HTTP."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from attrs import define, field, frozen

from minamo.twin.bodies.forms import Kind, List, Object, Snowflake, Whole, read_form
from minamo.twin.bodies.uploads import Uploads
from minamo.twin.discord import Discord
from minamo.twin.permissions import Permission, require
from minamo.twin.refusals import Refused
from minamo.twin.shapes import message as shapes_message
from minamo.twin.world import Channel, Guild, Message

_NO_BODY = Object()

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
    table: Kind = _NO_BODY
    _form: Any = None

    @property
    def form(self) -> Any:
        """The body, read by the table of the route."""
        if self._form is None:
            self._form = read_form(self.table, self.raw, self.discord.rules)
        return self._form

    @property
    def raw(self) -> Any:
        """The body as it was sent, if it is an object, or a list where one is wanted."""
        given = {} if self.body is None else self.body
        if not isinstance(given, list if isinstance(self.table, List) else dict):
            raise Refused(50109)
        return given

    @property
    def fields(self) -> dict[str, Any]:
        """The fields of a body that is an object."""
        return dict(self.form)

    def number(self, name: str, default: int, least: int, most: int) -> int:
        """A number of the query."""
        table = Object(fields={name: Whole(least=least, most=most, default=default)})
        return int(read_form(table, self.query, self.discord.rules)[name])

    def snowflake(self, name: str) -> int | None:
        """An id of the query, if it is there."""
        found = read_form(Object(fields={name: Snowflake()}), self.query, self.discord.rules)
        return int(found[name]) if name in found else None

    def is_set(self, name: str) -> bool:
        """Whether the query says yes to *name*."""
        return self.query.get(name, "false").lower() in ("true", "1")

    def id(self, name: str) -> int:
        """An id of the path."""
        return int(self.params[name])

    def channel(self, *needed: Permission) -> Channel:
        """The channel of the path, if the bot may see it and do *needed* there."""
        found = self.discord.world.channels.get(self.id("channel"))
        if found is None:
            raise Refused(10003)
        require(self.discord.world, self.discord.world.bot.id, found, *needed)
        self.discord.archive_if_idle(found)
        return found

    def message(self) -> Message:
        """The message of the path."""
        found = self.discord.world.find_message(self.id("channel"), self.id("message"))
        if found is None or found.is_ephemeral:
            raise Refused(10008)
        return found

    def shown(self, message: Message) -> dict[str, Any]:
        """The message as REST shows it."""
        return shapes_message.message(self.discord.world, message)

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
    #: The table of the body; without one the body is not looked at.
    body: Kind = _NO_BODY
    #: Whether the bot's token is needed; webhooks and interactions carry theirs in the path.
    auth: bool = True
    #: Interaction callbacks know no per-route limit and send no headers.
    limited: bool = True

    @property
    def name(self) -> str:
        """As faults and the journal spell it."""
        return f"{self.method} {self.path}"
