"""The input and output of route handlers, without HTTP."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from attrs import define, field, frozen

from minamo.twin.bodies.forms import FieldType, List, Object, Snowflake, Whole, read_form
from minamo.twin.bodies.uploads import Uploads
from minamo.twin.discord import Discord
from minamo.twin.permissions import Permission, require
from minamo.twin.server.refusals import Refused
from minamo.twin.shapes import message as shapes_message
from minamo.twin.world import Channel, Guild, Message

_NO_BODY = Object()

#: Status and body; a body of `None` means an empty answer.
Answer = tuple[int, Any]


@define(eq=False)
class RestCall:
    """One request, parsed and authorised."""

    discord: Discord
    params: dict[str, str]
    query: dict[str, str]
    body: Any = None
    uploads: Uploads = field(factory=list)
    table: FieldType = _NO_BODY
    _form: Any = None

    @property
    def form(self) -> Any:
        """The body, read by the table of the route."""
        if self._form is None:
            self._form = read_form(self.table, self.raw, self.discord.rules)
        return self._form

    @property
    def raw(self) -> Any:
        """The body as sent; refused unless it is an object, or a list if the table wants one."""
        given = {} if self.body is None else self.body
        if not isinstance(given, list if isinstance(self.table, List) else dict):
            raise Refused(50109)
        return given

    @property
    def fields(self) -> dict[str, Any]:
        """The fields of a body that is an object."""
        return dict(self.form)

    def number(self, name: str, default: int, least: int, most: int) -> int:
        """Return a number from the query."""
        table = Object(fields={name: Whole(least=least, most=most, default=default)})
        return int(read_form(table, self.query, self.discord.rules)[name])

    def snowflake(self, name: str) -> int | None:
        """Return an id from the query, or None if it is absent."""
        found = read_form(Object(fields={name: Snowflake()}), self.query, self.discord.rules)
        return int(found[name]) if name in found else None

    def is_set(self, name: str) -> bool:
        """Return whether *name* is true in the query."""
        return self.query.get(name, "false").lower() in ("true", "1")

    def id(self, name: str) -> int:
        """Return an id from the path."""
        return int(self.params[name])

    def channel(self, *needed: Permission) -> Channel:
        """Return the channel of the path; refuse unless the bot sees it and has *needed* there."""
        found = self.discord.world.channels.get(self.id("channel"))
        if found is None:
            raise Refused(10003)
        require(self.discord.world, self.discord.world.bot.id, found, *needed)
        self.discord.archive_if_idle(found)
        return found

    def message(self) -> Message:
        """Return the message of the path; refuse if it does not exist or is ephemeral."""
        found = self.discord.world.find_message(self.id("channel"), self.id("message"))
        if found is None or found.is_ephemeral:
            raise Refused(10008)
        return found

    def shown(self, message: Message) -> dict[str, Any]:
        """Return the message as REST shows it."""
        return shapes_message.message(self.discord.world, message)

    def guild(self) -> Guild:
        """Return the server of the path; refuse if the bot is not in it."""
        found = self.discord.world.guilds.get(self.id("guild"))
        if found is None:
            raise Refused(10004)
        return found


@frozen
class Route:
    """One entry of the route table: the handler, and the limits applied before it."""

    method: str
    path: str
    handle: Callable[[RestCall], Answer]
    family: str = "other"
    #: The table of the body; without one the body is ignored.
    body: FieldType = _NO_BODY
    #: Whether the bot's token is needed; webhooks and interactions carry theirs in the path.
    auth: bool = True
    #: False for interaction callbacks, which have no per-route limit and send no headers.
    limited: bool = True

    @property
    def name(self) -> str:
        """The name that faults and the journal use."""
        return f"{self.method} {self.path}"
