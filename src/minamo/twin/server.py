"""The HTTP server: one port for REST, gateway and files; any other path gets a 501."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable

from aiohttp import web

from minamo.twin.calls import Route
from minamo.twin.discord import Discord
from minamo.twin.journal import Request
from minamo.twin.middleware import Exchange
from minamo.twin.refusals import respond
from minamo.twin.routes import ROUTES

API = "/api/v10"
#: Every route by the name that faults and the journal use.
NAMES = frozenset(route.name for route in ROUTES)
_BODY_BYTES_MAX = 64 * 1024 * 1024
_NAMED = re.compile(r"{(\w+)}")
_WORDS = ("token", "emoji")  # the path parameters that are not ids

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


def application(discord: Discord) -> web.Application:
    """Return the aiohttp application with all routes."""
    app = web.Application(client_max_size=_BODY_BYTES_MAX)
    for route in ROUTES:
        app.router.add_route(route.method, API + _pattern(route), _handler(discord, route))
    app.router.add_get("/gw", discord.gateway.serve)
    app.router.add_get("/cdn/attachments/{channel}/{attachment}/{name}", _file(discord))
    app.router.add_route("*", "/{path:.*}", _unknown(discord))
    return app


def _pattern(route: Route) -> str:
    """Return the path with ids limited to digits, so that no id matches a word of a route."""
    return _NAMED.sub(
        lambda name: name[0] if name[1] in _WORDS else f"{{{name[1]}:\\d+}}", route.path
    )


def _handler(discord: Discord, route: Route) -> Handler:
    async def handle(request: web.Request) -> web.StreamResponse:
        return await Exchange(discord, route, request).run()

    return handle


def _file(discord: Discord) -> Handler:
    async def handle(request: web.Request) -> web.StreamResponse:
        info = request.match_info
        channel = int(info["channel"]) if info["channel"].isdigit() else 0
        for message in discord.world.messages.get(channel, {}).values():
            if info["attachment"] in message.blobs:
                return web.Response(body=message.blobs[info["attachment"]])
        return web.Response(status=404)

    return handle


def _unknown(discord: Discord) -> Handler:
    async def handle(request: web.Request) -> web.StreamResponse:
        # 501 and not 500: clients retry a 500, and a retry would not help.
        name = f"{request.method} {request.path.removeprefix(API)}"
        discord.unknown.append(name)
        entry = Request(discord.now(), request.method, request.path, request.path, status=501)
        discord.journal.request(entry)
        discord.journal.changed()
        words = f"the twin does not know this route: {name}"
        return respond(501, {"message": words, "code": 0})

    return handle
