"""The processing of a request before and after its route handler.

The order is Discord's: the ban, the token, the global limit, the route's bucket, then the
request itself. Faults apply around that, before or after the effect.
"""

from __future__ import annotations

import asyncio
import logging
import math
from typing import Any

from aiohttp import web
from attrs import define

from minamo.twin.bodies.components import ServerFault
from minamo.twin.bodies.payload import read_payload
from minamo.twin.calls import Call, Route
from minamo.twin.discord import Discord
from minamo.twin.faults import CLOUDFLARE, Called, Fault, Kind
from minamo.twin.gateway.intents import MESSAGE_CONTENT, without_content
from minamo.twin.journal import HIDDEN, Request, redacted
from minamo.twin.refusals import Refused, SlowedDown, respond
from minamo.twin.world import EPOCH_MS

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
            await asyncio.sleep(faults.latency_s / 2)
            return self._record(entry, response)
        finally:
            entry.took_s = discord.now() - entry.at
            discord.journal.changed()

    def _entry(self) -> Request:
        shown = {k: HIDDEN if k == "token" else v for k, v in self.request.match_info.items()}
        path = self.route.path
        for key, value in shown.items():
            path = path.replace(f"{{{key}}}", value)
        query = dict(self.request.query)
        entry = Request(self.discord.now(), self.route.method, self.route.path, path, shown, query)
        return self.discord.journal.request(entry)

    def _record(self, entry: Request, response: web.Response) -> web.Response:
        if entry.fault not in ("drop", "drop after", "stall", "stall after"):
            entry.status = response.status
            self.discord.buckets.answered(response.status, entry.scope)
        return response

    async def _answer(self, entry: Request) -> web.Response:
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
        call = Call(discord, params, query, body, uploads, route.body)
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

    def _limited(self, entry: Request, caller: str) -> dict[str, str] | web.Response:
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
        return "/".join(info.get(x, "") for x in ("channel", "guild", "webhook", "token"))

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

    async def _suffer(self, fault: Fault, entry: Request) -> web.Response | None:
        entry.fault = fault.kind.value + (" after" if fault.after_effect else "")
        match fault.kind:
            case Kind.DELAY:
                await asyncio.sleep(fault.seconds)
                return None
            case Kind.STALL | Kind.DROP:
                if fault.kind is Kind.STALL:
                    await self.discord.closing.wait()
                if self.request.transport is not None:
                    self.request.transport.abort()
                return web.Response(status=503)
            case Kind.HTML:
                return web.Response(status=429, text=CLOUDFLARE, content_type="text/html")
            case Kind.STATUS:
                words = f"{fault.status}: planned by the test"
                return respond(fault.status, {"message": words, "code": 0})
            case Kind.LIMITED:
                return self._planned_429(entry, fault)

    def _planned_429(self, entry: Request, fault: Fault) -> web.Response:
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

    def _globally(self, entry: Request, seconds: float) -> web.Response:
        headers = {"X-RateLimit-Global": "true", "X-RateLimit-Scope": "global"}
        return self._too_many(entry, seconds, headers)

    def _too_many(
        self,
        entry: Request,
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

    def _refused(self, entry: Request, no: Refused, headers: dict[str, str]) -> web.Response:
        return self._json(entry, no.status, no.body(), headers)

    def _json(
        self, entry: Request, status: int, body: Any, headers: dict[str, str]
    ) -> web.Response:
        entry.answer, entry.headers = redacted(body), headers
        return respond(status, body, headers)
