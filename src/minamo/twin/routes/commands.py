"""Routes of application commands, global and of one server."""

from __future__ import annotations

from typing import Any

from minamo.twin.bodies.commands import COMMAND, COMMANDS, EDIT_COMMAND
from minamo.twin.bodies.forms import read_form
from minamo.twin.server.calls import Answer, RestCall, Route
from minamo.twin.server.refusals import Refused
from minamo.twin.shapes import session as shapes_session

_SLASH = 1
# Maximum number of commands of each type, globally and in each server.
_MOST = {_SLASH: 100, 2: 15, 3: 15, 4: 1}

Shelf = dict[int, dict[str, Any]]


def _shelf(call: RestCall) -> Shelf:
    if call.id("application") != call.discord.world.bot.id:
        raise Refused(10002)
    guild_id = call.guild().id if "guild" in call.params else 0
    return call.discord.world.commands.setdefault(guild_id, {})


def _register(
    call: RestCall, shelf: Shelf, given: dict[str, Any], command_id: int
) -> dict[str, Any]:
    guild_id = call.id("guild") if "guild" in call.params else 0
    made = shapes_session.command(call.discord.world, command_id, guild_id, given)
    count = sum(one["type"] == made["type"] for key, one in shelf.items() if key != command_id)
    if count >= _MOST[made["type"]]:
        raise Refused(30032)
    shelf[command_id] = made
    return made


def _same(shelf: Shelf, given: dict[str, Any]) -> int | None:
    """Return the id of the command with the same name and type, if any."""
    wanted = (given["name"], given.get("type") or _SLASH)
    return next((key for key, one in shelf.items() if (one["name"], one["type"]) == wanted), None)


def _list(call: RestCall) -> Answer:
    return 200, list(_shelf(call).values())


def _create(call: RestCall) -> Answer:
    shelf, given = _shelf(call), call.fields
    same = _same(shelf, given)
    return 200 if same else 201, _register(call, shelf, given, same or call.discord.world.new_id())


def _replace(call: RestCall) -> Answer:
    shelf = _shelf(call)
    kept: Shelf = {}
    for given in call.form:
        _register(call, kept, given, _same(shelf, given) or call.discord.world.new_id())
    shelf.clear()
    shelf.update(kept)
    return 200, list(kept.values())


def _find(call: RestCall) -> dict[str, Any]:
    found = _shelf(call).get(call.id("command"))
    if found is None:
        raise Refused(10063)
    return found


def _get(call: RestCall) -> Answer:
    return 200, _find(call)


def _edit(call: RestCall) -> Answer:
    changed = {**_find(call), **call.fields}
    read_form(COMMAND, changed, call.discord.rules)
    return 200, _register(call, _shelf(call), changed, call.id("command"))


def _delete(call: RestCall) -> Answer:
    _find(call)
    del _shelf(call)[call.id("command")]
    return 204, None


def _routes(home: str) -> tuple[Route, ...]:
    return (
        Route("GET", home, _list),
        Route("POST", home, _create, body=COMMAND),
        Route("PUT", home, _replace, body=COMMANDS),
        Route("GET", f"{home}/{{command}}", _get),
        Route("PATCH", f"{home}/{{command}}", _edit, body=EDIT_COMMAND),
        Route("DELETE", f"{home}/{{command}}", _delete),
    )


ROUTES = (
    *_routes("/applications/{application}/commands"),
    *_routes("/applications/{application}/guilds/{guild}/commands"),
)
