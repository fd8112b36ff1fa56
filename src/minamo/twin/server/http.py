"""The HTTP server: one port for REST, gateway and files; any other path gets a 501.

Each request passes Discord's checks in Discord's order: the ban, the token, the global limit, the
route's bucket, then the route itself.
"""

from __future__ import annotations

import asyncio
import logging
import math
import re
from collections.abc import Awaitable, Callable
from typing import Any

from aiohttp import web
from attrs import define

from minamo.twin.bodies.components import ServerFault
from minamo.twin.bodies.uploads import read_payload
from minamo.twin.discord import Discord
from minamo.twin.faults import CLOUDFLARE, Called, Fault, FaultKind
from minamo.twin.journal import HIDDEN, RequestEntry, redacted
from minamo.twin.routes import ROUTES
from minamo.twin.server.calls import RestCall, Route
from minamo.twin.server.intents import MESSAGE_CONTENT, without_content
from minamo.twin.server.refusals import Refused, SlowedDown, respond
from minamo.twin.world import EPOCH_MS

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
        path = request.path
        entry = RequestEntry(discord.now(), request.method, path, path, status=501, took_s=0.0)
        discord.journal.request(entry)
        discord.journal.changed()
        words = f"the twin does not know this route: {name}"
        return respond(501, {"message": words, "code": 0})

    return handle


_LOG = logging.getLogger(__name__)
_TWO_WEEKS_S = 14 * 86_400.0


@define(eq=False)
class Exchange:
    """The processing of one request."""

    discord: Discord
    route: Route
    request: web.Request

    async def run(self) -> web.StreamResponse:
        """Return the answer, or apply the planned fault, and record the result."""
        discord, faults = self.discord, self.discord.faults
        entry = self._entry()
        called = Called(self.route.name, entry.channel)
        try:
            await asyncio.sleep(faults.latency_s / 2)
            fault = faults.due(called, after_effect=False)
            response = await self._suffer(fault, entry) if fault else None
            if response is None:
                response = await self._answer(entry)
                if response.status < 400 and (late := faults.due(called, after_effect=True)):
                    response = await self._suffer(late, entry) or response
            # In the step of the effect: a test that sees one of them in the journal sees both.
            self._record(entry, response)
            await asyncio.sleep(faults.latency_s / 2)
            return response
        finally:
            entry.took_s = discord.now() - entry.at
            discord.journal.changed()

    def _entry(self) -> RequestEntry:
        shown = {
            name: HIDDEN if name == "token" else value
            for name, value in self.request.match_info.items()
        }
        path = self.route.path
        for key, value in shown.items():
            path = path.replace(f"{{{key}}}", value)
        query = dict(self.request.query)
        entry = RequestEntry(
            self.discord.now(), self.route.method, self.route.path, path, shown, query
        )
        return self.discord.journal.request(entry)

    def _record(self, entry: RequestEntry, response: web.Response) -> None:
        if entry.fault not in ("drop", "drop after", "stall", "stall after"):
            entry.status = response.status
            self.discord.buckets.answered(response.status, entry.scope)

    async def _answer(self, entry: RequestEntry) -> web.Response:
        discord, route = self.discord, self.route
        if discord.buckets.banned:
            return web.Response(status=429, text=CLOUDFLARE, content_type="text/html")
        body, uploads = await read_payload(self.request)
        entry.body, entry.files = redacted(body), [upload.name for upload in uploads]
        is_bot = self.request.headers.get("Authorization") == f"Bot {discord.token}"
        if route.auth and not is_bot:
            return self._refused(entry, Refused(0), {})
        limits = self._limited(entry, "bot" if is_bot else "address")
        if isinstance(limits, web.Response):
            return limits
        params, query = dict(self.request.match_info), dict(self.request.query)
        call = RestCall(discord, params, query, body, uploads, route.body)
        try:
            status, answer = route.handle(call)
        except Refused as no:
            return self._refused(entry, no, limits)
        except SlowedDown as slow:
            headers = {} if slow.scope == "hidden" else {**limits, "X-RateLimit-Scope": slow.scope}
            return self._too_many(entry, slow.retry_after_s, headers, slow.message, slow.code)
        except ServerFault:
            return respond(500, {"message": "500: Internal Server Error", "code": 0})
        except Exception as error:  # noqa: BLE001 - unforeseen body or a bug here: fail loudly
            _LOG.exception("the twin stumbled over %s", route.name)
            discord.unknown.append(f"{route.name} ({error!r})")
            return self._json(
                entry, 501, {"message": f"the twin stumbled: {error!r}", "code": 0}, {}
            )
        if not discord.rules.privileged_intents & MESSAGE_CONTENT:
            answer = without_content(discord.world, answer)
        return self._json(entry, status, answer, limits)

    def _limited(self, entry: RequestEntry, caller: str) -> dict[str, str] | web.Response:
        discord, route = self.discord, self.route
        if not discord.rules.rate_limits:
            return {}
        webhook = self.request.match_info.get("webhook")
        is_interaction = not route.limited or webhook == str(discord.world.bot.id)
        if not is_interaction and not (verdict := discord.buckets.take_global(caller)).ok:
            return self._globally(entry, verdict.retry_after_s)
        if not route.limited:
            return {}
        skew = discord.faults.clock_skew_s
        verdict = discord.buckets.take(self._family(), caller, self._major(), skew_s=skew)
        if verdict.ok:
            return verdict.headers
        headers = {**verdict.headers, "X-RateLimit-Scope": "user"}
        return self._too_many(entry, verdict.retry_after_s, headers)

    def _major(self) -> str:
        """Return the parts of the path that have separate buckets."""
        info = self.request.match_info
        return "/".join(info.get(name, "") for name in ("channel", "guild", "webhook", "token"))

    def _family(self) -> str:
        """Return the bucket of the route; deletion has three, by the age of the message."""
        if self.route.family != "message.delete":
            return self.route.family
        info = self.request.match_info
        made = int(info["message"]) >> 22 if info["message"].isdigit() else 0
        age = self.discord.now() - (made + EPOCH_MS) / 1_000
        if age < 10:
            return "message.delete.new"
        return "message.delete.old" if age > _TWO_WEEKS_S else "message.delete"

    async def _suffer(self, fault: Fault, entry: RequestEntry) -> web.Response | None:
        entry.fault = fault.kind.value + (" after" if fault.after_effect else "")
        match fault.kind:
            case FaultKind.DELAY:
                await asyncio.sleep(fault.seconds)
                return None
            case FaultKind.STALL | FaultKind.DROP:
                if fault.kind is FaultKind.STALL:
                    await self.discord.closing.wait()
                if self.request.transport is not None:
                    self.request.transport.abort()
                return web.Response(status=503)
            case FaultKind.HTML:
                return web.Response(status=429, text=CLOUDFLARE, content_type="text/html")
            case FaultKind.STATUS:
                words = f"{fault.status}: planned by the test"
                return respond(fault.status, {"message": words, "code": 0})
            case FaultKind.LIMITED:
                return self._planned_429(entry, fault)

    def _planned_429(self, entry: RequestEntry, fault: Fault) -> web.Response:
        if fault.scope == "global":
            return self._globally(entry, fault.seconds)
        caller = "bot" if self.route.auth else "address"
        skew = self.discord.faults.clock_skew_s
        headers = self.discord.buckets.look(self._family(), caller, self._major(), skew_s=skew)
        headers["X-RateLimit-Scope"] = fault.scope
        if fault.scope == "user":  # a shared limit leaves the bucket as it is
            headers |= {
                "X-RateLimit-Remaining": "0",
                "X-RateLimit-Reset": f"{self.discord.now() + skew + fault.seconds:.3f}",
                "X-RateLimit-Reset-After": f"{fault.seconds:.3f}",
            }
        words = "The resource is being rate limited." if fault.scope == "shared" else None
        return self._too_many(entry, fault.seconds, headers, words, fault.code)

    def _globally(self, entry: RequestEntry, seconds: float) -> web.Response:
        headers = {"X-RateLimit-Global": "true", "X-RateLimit-Scope": "global"}
        return self._too_many(entry, seconds, headers)

    def _too_many(
        self,
        entry: RequestEntry,
        seconds: float,
        headers: dict[str, str],
        words: str | None = None,
        code: int | None = None,
    ) -> web.Response:
        body: dict[str, Any] = {
            "message": words or "You are being rate limited.",
            "retry_after": round(seconds, 3),
            "global": "X-RateLimit-Global" in headers,
        }
        if code is not None:
            body["code"] = code
        return self._json(entry, 429, body, {**headers, "Retry-After": str(math.ceil(seconds))})

    def _refused(self, entry: RequestEntry, no: Refused, headers: dict[str, str]) -> web.Response:
        return self._json(entry, no.status, no.body(), headers)

    def _json(
        self, entry: RequestEntry, status: int, body: Any, headers: dict[str, str]
    ) -> web.Response:
        entry.answer, entry.headers = redacted(body), headers
        return respond(status, body, headers)
