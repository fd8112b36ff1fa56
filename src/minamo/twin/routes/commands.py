"""Application commands: registering them, globally and for one server."""

from __future__ import annotations

import re
from typing import Any

from minamo.twin import shapes_session
from minamo.twin.calls import Answer, Call, Route
from minamo.twin.refusals import Refused, bad_form

_NAME = re.compile(r"[-_'\w]{1,32}$")


def _shelf(call: Call) -> dict[int, dict[str, Any]]:
    if call.id("application") != call.discord.world.bot.id:
        raise Refused(10002)
    guild_id = call.guild().id if "guild" in call.params else 0
    return call.discord.world.commands.setdefault(guild_id, {})


def _register(call: Call, shelf: dict[int, dict[str, Any]], given: Any) -> dict[str, Any]:
    name = str(given.get("name", ""))
    is_slash = given.get("type", 1) == 1
    if is_slash and (not _NAME.match(name) or name != name.lower()):
        raise bad_form("name", "APPLICATION_COMMAND_INVALID_NAME", "Command name is invalid")
    if is_slash and not 1 <= len(given.get("description", "")) <= 100:
        words = "Must be between 1 and 100 in length."
        raise bad_form("description", "BASE_TYPE_BAD_LENGTH", words)
    kind = given.get("type", 1)
    same = [key for key, one in shelf.items() if (one["name"], one["type"]) == (name, kind)]
    command_id = same[0] if same else call.discord.world.new_id()
    guild_id = call.id("guild") if "guild" in call.params else 0
    made = shapes_session.command(call.discord.world, command_id, guild_id, given)
    shelf[command_id] = made
    return made


def _list(call: Call) -> Answer:
    return 200, list(_shelf(call).values())


def _create(call: Call) -> Answer:
    return 201, _register(call, _shelf(call), call.fields)


def _replace(call: Call) -> Answer:
    if not isinstance(call.body, list):
        raise Refused(50109)
    shelf = _shelf(call)
    before = dict(shelf)
    kept = [_register(call, before, one) for one in call.body]
    shelf.clear()
    shelf.update({int(one["id"]): one for one in kept})
    return 200, kept


def _find(call: Call) -> dict[str, Any]:
    found = _shelf(call).get(call.id("command"))
    if found is None:
        raise Refused(10063)
    return found


def _get(call: Call) -> Answer:
    return 200, _find(call)


def _edit(call: Call) -> Answer:
    found = _find(call)
    return 200, _register(call, _shelf(call), {**found, **call.fields})


def _delete(call: Call) -> Answer:
    _find(call)
    del _shelf(call)[call.id("command")]
    return 204, None


def _routes(home: str) -> tuple[Route, ...]:
    return (
        Route("GET", home, _list),
        Route("POST", home, _create),
        Route("PUT", home, _replace),
        Route("GET", f"{home}/{{command}}", _get),
        Route("PATCH", f"{home}/{{command}}", _edit),
        Route("DELETE", f"{home}/{{command}}", _delete),
    )


ROUTES = (
    *_routes("/applications/{application}/commands"),
    *_routes("/applications/{application}/guilds/{guild}/commands"),
)
