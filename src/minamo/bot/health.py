"""HTTP endpoints for supervisors: ``/healthz``, ``/readyz`` and ``/metrics``.

*Healthy* means that the event loop answers.  *Ready* means that a question would be answered now:
the gateway is connected, a provider can be reached, Redis answers if it is used, and the bot is
not ending.  *Metrics* are the figures of all streams in the text format of Prometheus; labels have
few values, whatever users and models write.  The answers hold no secret and no text of users.
"""

from __future__ import annotations

import asyncio
import logging
import time
from bisect import bisect_left
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager

import hikari
from aiohttp import web
from attrs import define, field, frozen

from minamo.bot.provider_check import probe
from minamo.bot.settings import HealthSettings, ProviderSettings
from minamo.core.chunks import ErrorChunk
from minamo.core.result import StreamResult
from minamo.errors import BadSetting
from minamo.shell.stops.redis_link import client_for, close_client
from minamo.shell.telemetry.telemetry import StreamInfo

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

# Upper bounds in seconds: a first word should take about one, a long reply takes minutes.
_BOUNDS = (0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0)
# Models beyond the settings' own appear only by a mistake of ours; they share one label.
_MODELS_MAX = 50

Labels = tuple[tuple[str, str], ...]


@define
class Histogram:
    """Counts of durations by upper bound."""

    _counts: list[int] = field(factory=lambda: [0] * (len(_BOUNDS) + 1), init=False)
    _total_s: float = field(default=0.0, init=False)

    def add(self, seconds: float) -> None:
        """Count one duration."""
        self._counts[bisect_left(_BOUNDS, seconds)] += 1
        self._total_s += seconds

    def lines(self, name: str) -> Iterable[str]:
        """Yield the samples; each bucket includes the smaller ones."""
        running = 0
        for bound, count in zip((*_BOUNDS, float("inf")), self._counts, strict=True):
            running += count
            shown = "+Inf" if bound == float("inf") else f"{bound:g}"
            yield f'{name}_bucket{{le="{shown}"}} {running}'
        yield f"{name}_sum {self._total_s:.6f}"
        yield f"{name}_count {running}"


@define(eq=False)
class PrometheusMetrics:
    """The telemetry backend behind ``/metrics``; it belongs to one event loop."""

    _running: int = field(default=0, init=False)
    _streams: Counter[Labels] = field(factory=Counter, init=False)
    _messages: Counter[Labels] = field(factory=Counter, init=False)
    _tokens: Counter[Labels] = field(factory=Counter, init=False)
    _tools: Counter[Labels] = field(factory=Counter, init=False)
    _models: set[str] = field(factory=set, init=False)
    _duration: Histogram = field(factory=Histogram, init=False)
    _first_visible: Histogram = field(factory=Histogram, init=False)

    def stream_started(self, info: StreamInfo) -> _Span:
        """Count a running stream."""
        self._running += 1
        return _Span(self, self._known(info.model))

    def tool_started(self, name: str, call_id: str = "") -> _ToolSpan:  # noqa: ARG002
        """Return a handle that counts the end."""
        return _ToolSpan(self)

    def ended(self, model: str, result: StreamResult | None) -> None:
        """Count a stream that has ended; None if it was cancelled."""
        self._running -= 1
        status = "cancelled" if result is None else result.status
        reason = "" if result is None else _reason(result)
        self._streams[("model", model), ("status", status), ("reason", reason)] += 1
        if result is None:
            return
        for receipt in result.receipts:
            if receipt.kind == "create":
                self._messages[("outcome", receipt.outcome), ("reason", receipt.reason)] += 1
        if result.usage is not None:
            for name, count in (
                ("input", result.usage.input_tokens),
                ("output", result.usage.output_tokens),
            ):
                self._tokens[("model", model), ("type", name)] += count or 0
        metrics = result.metrics
        self._duration.add(metrics.get("duration_ms", 0.0) / 1000)
        if "time_to_first_visible_ms" in metrics:
            self._first_visible.add(metrics["time_to_first_visible_ms"] / 1000)

    def tool_ended(self, problem: str) -> None:
        """Count a tool call; *problem* is empty after a success."""
        self._tools[(("problem", problem),)] += 1

    def text(self, gauges: Mapping[str, tuple[str, float]] | None = None) -> str:
        """Return all figures; *gauges* maps further names to their help and value."""
        lines: list[str] = []
        _family(lines, "minamo_streams_running", "gauge", "Streams being written.")
        lines.append(f"minamo_streams_running {self._running}")
        for name, help_, counts in (
            ("minamo_streams_total", "Streams that ended, by status.", self._streams),
            ("minamo_messages_total", "Messages, by what became of them.", self._messages),
            ("minamo_tokens_total", "Tokens, as the providers report them.", self._tokens),
            ("minamo_tool_calls_total", "Tool calls; no problem is a success.", self._tools),
        ):
            _family(lines, name, "counter", help_)
            lines += [
                f"{name}{_labels(labels)} {count}" for labels, count in sorted(counts.items())
            ]
        for name, help_, histogram in (
            ("minamo_stream_seconds", "Duration of a stream.", self._duration),
            ("minamo_first_visible_seconds", "Time to the first message.", self._first_visible),
        ):
            _family(lines, name, "histogram", help_)
            lines += histogram.lines(name)
        for name, (help_, value) in (gauges or {}).items():
            _family(lines, name, "gauge", help_)
            lines.append(f"{name} {value:g}")
        return "\n".join(lines) + "\n"

    def _known(self, model: str) -> str:
        if model not in self._models and len(self._models) >= _MODELS_MAX:
            return "other"
        self._models.add(model)
        return model


@frozen
class _Span:
    _metrics: PrometheusMetrics
    _model: str

    def ended(self, result: StreamResult) -> None:
        self._metrics.ended(self._model, result)

    def cancelled(self) -> None:
        self._metrics.ended(self._model, None)


@frozen
class _ToolSpan:
    _metrics: PrometheusMetrics

    def ended(self, problem: str = "") -> None:
        self._metrics.tool_ended(problem)


def _reason(result: StreamResult) -> str:
    failed = result.status == "error" and isinstance(result.data, ErrorChunk)
    return result.stop_reason or (result.data.kind if failed else "")


def _family(lines: list[str], name: str, kind: str, help_: str) -> None:
    lines += [f"# HELP {name} {help_}", f"# TYPE {name} {kind}"]


def _labels(labels: Labels) -> str:
    return "{" + ",".join(f'{name}="{_escaped(value)}"' for name, value in labels) + "}"


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


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
        report = {"ready": not problems, "problems": problems}
        return web.json_response(report, status=503 if problems else 200)

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
            address = f"{settings.host}:{settings.port}"
            raise BadSetting(f"health: {address} cannot be used: {error.strerror}") from None
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
    found = await asyncio.gather(*(probe(provider, CHECK_S - 0.5) for provider in providers))
    verdicts = {probed.verdict for probed in found}
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
