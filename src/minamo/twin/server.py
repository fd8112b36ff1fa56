"""The HTTP side: one port for REST, gateway and files, and a loud no to everything else."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from aiohttp import web

from minamo.twin.calls import Route
from minamo.twin.discord import Discord
from minamo.twin.exchange import Exchange
from minamo.twin.journal import Request
from minamo.twin.responses import respond
from minamo.twin.routes import ROUTES

API = "/api/v10"
#: Every route by the name that faults and the journal use.
NAMES = frozenset(route.name for route in ROUTES)
_BODY_BYTES_MAX = 64 * 1024 * 1024

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


def application(discord: Discord) -> web.Application:
    """The whole of it as an aiohttp application."""
    app = web.Application(client_max_size=_BODY_BYTES_MAX)
    for route in ROUTES:
        app.router.add_route(route.method, API + route.path, _handler(discord, route))
    app.router.add_get("/gw", discord.gateway.serve)
    app.router.add_get("/cdn/attachments/{channel}/{message}/{name}", _file(discord))
    app.router.add_route("*", "/{path:.*}", _unknown(discord))
    return app


def _handler(discord: Discord, route: Route) -> Handler:
    async def handle(request: web.Request) -> web.StreamResponse:
        return await Exchange(discord, route, request).run()

    return handle


def _file(discord: Discord) -> Handler:
    async def handle(request: web.Request) -> web.StreamResponse:
        channel, message, name = (request.match_info[x] for x in ("channel", "message", "name"))
        found = discord.world.find_message(int(channel), int(message))
        if found is None or name not in found.files:
            return web.Response(status=404)
        return web.Response(body=found.files[name])

    return handle


def _unknown(discord: Discord) -> Handler:
    async def handle(request: web.Request) -> web.StreamResponse:
        # 501 and not 500: clients retry a 500, and this will not get better.
        name = f"{request.method} {request.path.removeprefix(API)}"
        discord.unknown.append(name)
        entry = Request(discord.now(), request.method, request.path, request.path, status=501)
        discord.journal.request(entry)
        discord.journal.changed()
        words = f"the twin does not know this route: {name}"
        return respond(501, {"message": words, "code": 0})

    return handle
