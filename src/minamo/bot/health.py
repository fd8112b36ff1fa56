"""HTTP endpoints for supervisors: ``/healthz``, ``/readyz`` and ``/metrics``.

*Healthy* means that the event loop answers.  *Ready* means that a question would be answered now:
the gateway is connected, a provider can be reached, Redis answers if it is used, and the bot is
not ending.  The answers hold no secret and no text of users.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager

import hikari
from aiohttp import web
from attrs import define, field

from minamo.bot.prometheus import CONTENT_TYPE, PrometheusMetrics
from minamo.bot.provider_check import probe
from minamo.bot.settings import HealthSettings, ProviderSettings
from minamo.errors import BadSetting
from minamo.shell.stops.redis_link import client_for, close_client

# Providers are asked for their models at most this often, whatever asks for /readyz.
PROVIDERS_EVERY_S = 60.0
# Whatever failed is asked as often as Redis: a bot that is ready again must show it soon.
REDIS_EVERY_S = 5.0
# Supervisors give up after a few seconds themselves; a check without an answer has failed.
CHECK_S = 4.0

Check = Callable[[], Awaitable[str]]
"""Returns an empty string if all is well, else a short reason."""


@define(eq=False)
class CachedCheck:
    """A check whose answer is kept for a while; one call of it runs at a time."""

    _check: Check
    _every_s: float
    _answer: str = field(default="", init=False)
    _until: float = field(default=0.0, init=False)
    _lock: asyncio.Lock = field(factory=asyncio.Lock, init=False, repr=False)

    async def __call__(self) -> str:
        """Return the kept answer, or a new one if that is too old."""
        async with self._lock:
            if time.monotonic() >= self._until:
                self._answer = await _bounded(self._check)
                keep_s = min(self._every_s, REDIS_EVERY_S) if self._answer else self._every_s
                self._until = time.monotonic() + keep_s
        return self._answer


@define(eq=False)
class Readiness:
    """Whether the bot can answer questions now, and if not, why."""

    _bot: hikari.GatewayBot = field(repr=False)
    _checks: dict[str, Check] = field(factory=dict, init=False)
    _is_closing: bool = field(default=False, init=False)

    @classmethod
    def of(
        cls, bot: hikari.GatewayBot, providers: Sequence[ProviderSettings], redis_url: str = ""
    ) -> Readiness:
        """Return the readiness of a bot with these providers and, if given, this Redis."""
        made = cls(bot)
        made._checks["gateway"] = made._gateway
        made._checks["provider"] = CachedCheck(lambda: _providers(providers), PROVIDERS_EVERY_S)
        if redis_url:
            made._checks["redis"] = CachedCheck(lambda: _redis(redis_url), REDIS_EVERY_S)
        return made

    def close(self) -> None:
        """Report not ready from now on, because the bot is ending."""
        self._is_closing = True

    async def problems(self) -> dict[str, str]:
        """Return the reason of each failed check; empty if the bot is ready."""
        if self._is_closing:  # at once: a supervisor must see it before the bot is gone
            return {"bot": "ending"}
        answers = await asyncio.gather(*(check() for check in self._checks.values()))
        found = dict(zip(self._checks, answers, strict=True))
        return {name: why for name, why in found.items() if why}

    def is_connected(self) -> bool:
        """Return whether every shard is connected."""
        shards = self._bot.shards.values()
        return bool(shards) and all(shard.is_connected for shard in shards)

    async def _gateway(self) -> str:
        return "" if self.is_connected() else "not connected"


@asynccontextmanager
async def serve_health(
    settings: HealthSettings, readiness: Readiness, metrics: PrometheusMetrics
) -> AsyncIterator[str]:
    """Serve the endpoints until the block is left; yield their address.

    Raises:
        BadSetting: the address cannot be used.
    """

    async def healthz(_: web.Request) -> web.Response:
        return web.Response(text="ok\n")

    async def readyz(_: web.Request) -> web.Response:
        problems = await readiness.problems()
        said = {"ready": not problems, "problems": problems}
        return web.json_response(said, status=503 if problems else 200)

    async def figures(_: web.Request) -> web.Response:
        up = readiness.is_connected()
        text = metrics.text({"minamo_gateway_connected": ("Whether every shard is.", up)})
        return web.Response(body=text.encode(), headers={"Content-Type": CONTENT_TYPE})

    app = web.Application()
    app.router.add_get("/healthz", healthz)
    app.router.add_get("/readyz", readyz)
    app.router.add_get("/metrics", figures)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=1.0)
    await runner.setup()
    try:
        try:
            await web.TCPSite(runner, settings.host, settings.port).start()
        except OSError as error:
            where = f"{settings.host}:{settings.port}"
            raise BadSetting(f"health: {where} cannot be used: {error.strerror}") from None
        shown = f"[{settings.host}]" if ":" in settings.host else settings.host
        yield f"http://{shown}:{settings.port}"
    finally:
        await runner.cleanup()


_LOG = logging.getLogger("minamo.bot")


async def _bounded(check: Check) -> str:
    try:
        async with asyncio.timeout(CHECK_S):
            return await check()
    except TimeoutError:
        return "no answer"
    except Exception as error:  # noqa: BLE001 - a broken check means not ready
        _LOG.warning("a readiness check raised %s", type(error).__name__)
        return "not checked"


async def _providers(providers: Sequence[ProviderSettings]) -> str:
    """Return an empty string if any provider is usable: the others are its fallbacks."""
    found = await asyncio.gather(*(probe(one, CHECK_S - 0.5) for one in providers))
    verdicts = {one.verdict for one in found}
    if verdicts & {"fine", "unclear", "no_model"} or not verdicts:
        return ""
    return "key refused" if verdicts == {"refused"} else "unreachable"


async def _redis(url: str) -> str:
    client = client_for(url)
    try:
        await client.ping()
    except Exception:  # noqa: BLE001 - whatever it is, Redis cannot be used
        return "unreachable"
    finally:
        await close_client(client)
    return ""
