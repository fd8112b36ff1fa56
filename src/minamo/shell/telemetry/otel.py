"""OpenTelemetry spans and metrics of streams, by its conventions for generative AI.

A trace of one reply:

    stream                                     from the first event to the last receipt
    ├── chat gpt-…            gen_ai.*         until the provider was released
    ├── discord create        minamo.*         one for each message sent
    └── discord create
    execute_tool roll         gen_ai.tool.*    a sibling, if the caller has a span around both

The conventions are still in development, so their names may change.
User and model text is never recorded, nor are the arguments and results of tools.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

import anyio
from attrs import define, field, frozen

from minamo import __version__
from minamo.core.chunks import ErrorChunk
from minamo.core.messages import Receipt
from minamo.core.redact import shorten
from minamo.core.result import StreamResult
from minamo.errors import BadSetting
from minamo.shell.telemetry.telemetry import StreamInfo

if TYPE_CHECKING:
    from opentelemetry.context import Context
    from opentelemetry.metrics import Counter, Histogram, Meter, MeterProvider
    from opentelemetry.trace import Span, Tracer, TracerProvider


# Bucket boundaries of the conventions: operation seconds, and tokens.
_SECONDS = [0.01 * 2**power for power in range(14)]
_TOKENS = [4**power for power in range(14)]
# Our own, from imperceptible to obvious delays; a stop may take 0.05 s.
_LATENCIES = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0]

Attributes = dict[str, Any]


@frozen
class Instruments:
    """The metric instruments, shared by all streams."""

    duration: Histogram
    first_chunk: Histogram
    tokens: Histogram
    stop: Histogram
    messages: Counter

    @staticmethod
    def of(meter: Meter) -> Instruments:
        """Create the instruments; call this once per program."""

        def seconds(name: str, about: str, boundaries: list[float]) -> Histogram:
            return meter.create_histogram(
                name, "s", about, explicit_bucket_boundaries_advisory=boundaries
            )

        return Instruments(
            seconds("gen_ai.client.operation.duration", "GenAI operation duration.", _SECONDS),
            seconds(
                "gen_ai.client.operation.time_to_first_chunk",
                "Time from the request to the first chunk of the answer.",
                _SECONDS,
            ),
            meter.create_histogram(
                "gen_ai.client.token.usage",
                "{token}",
                "Number of input and output tokens used.",
                explicit_bucket_boundaries_advisory=_TOKENS,
            ),
            seconds("minamo.stop.latency", "From a stop request to the decision.", _LATENCIES),
            meter.create_counter(
                "minamo.messages", "{message}", "Messages, by what became of them."
            ),
        )

    def measure(
        self, result: StreamResult, about: Attributes, wrong: Attributes, inside: Context
    ) -> None:
        """Record the metrics of one stream; *wrong* has the error type if the provider failed."""
        figures = result.metrics
        for instrument, name in (
            (self.duration, "decided_after_ms"),
            (self.first_chunk, "time_to_first_chunk_ms"),
        ):
            if name in figures:
                instrument.record(figures[name] / 1000, {**about, **wrong}, inside)
        if result.usage is not None:
            for kind, count in (
                ("input", result.usage.input_tokens),
                ("output", result.usage.output_tokens),
            ):
                if count is not None:
                    self.tokens.record(count, {**about, "gen_ai.token.type": kind}, inside)
        if "stop_latency_ms" in figures:
            self.stop.record(figures["stop_latency_ms"] / 1000, {}, inside)
        for receipt in result.receipts:
            self.messages.add(1, {"kind": receipt.kind, "outcome": receipt.outcome}, inside)


_SCOPE = "minamo"
# Maximum length of a finish reason that is not one of the usual words.
_WORD_MAX = 64


class OpenTelemetry:
    """The OpenTelemetry backend; uses the global providers unless others are given."""

    def __init__(
        self,
        *,
        tracer_provider: TracerProvider | None = None,
        meter_provider: MeterProvider | None = None,
    ) -> None:
        trace, metrics = _package("opentelemetry.trace"), _package("opentelemetry.metrics")
        self._trace = trace
        self._tracer: Tracer = trace.get_tracer(_SCOPE, __version__, tracer_provider)
        self._instruments = Instruments.of(metrics.get_meter(_SCOPE, __version__, meter_provider))

    def stream_started(self, info: StreamInfo) -> _Stream:
        """Start the spans of a stream, inside the caller's span if there is one."""
        kinds = self._trace.SpanKind
        about = _about(info)
        ids = {"minamo.stream.id": info.stream_id, "minamo.channel.id": str(info.channel_id)}
        span = self._tracer.start_span("stream", kind=kinds.INTERNAL, attributes=ids)
        inside = self._trace.set_span_in_context(span)
        chat = self._tracer.start_span(
            f"chat {info.model}" if info.model else "chat",
            context=inside,
            kind=kinds.CLIENT,
            attributes={**about, "gen_ai.request.stream": True},
        )
        return _Stream(self._trace, self._tracer, self._instruments, about, span, chat, inside)

    def tool_started(self, name: str, call_id: str = "") -> _Tool:
        """Start the span of a tool call, inside the caller's span if there is one."""
        about: Attributes = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": name,
            "gen_ai.tool.type": "function",
        }
        if call_id:
            about["gen_ai.tool.call.id"] = call_id
        span = self._tracer.start_span(f"execute_tool {name}", attributes=about)
        return _Tool(self._trace, span)


@define(eq=False)
class _Stream:
    trace: Any
    tracer: Tracer
    instruments: Instruments
    about: Attributes
    span: Span
    chat: Span
    inside: Context
    began_ns: int = field(factory=time.time_ns)
    began_at: float = field(factory=anyio.current_time)

    def ended(self, result: StreamResult) -> None:
        failed = _wrong_provider(result)
        for receipt in result.receipts:
            self._message(receipt)
        self._end_chat(result, failed)
        wrong = {"error.type": failed} if failed else {}
        self.instruments.measure(result, self.about, wrong, self.inside)
        self.span.set_attribute("minamo.stream.status", result.status)
        if result.stop_reason:
            self.span.set_attribute("minamo.stream.stop_reason", result.stop_reason)
        for name, value in result.metrics.items():
            self.span.set_attribute(f"minamo.stream.{name}", value)
        self._fail(self.span, _wrong(result))
        self.span.end()

    def cancelled(self) -> None:
        for span in (self.chat, self.span):
            span.set_attribute("minamo.stream.status", "cancelled")
            span.end()

    def _end_chat(self, result: StreamResult, failed: str) -> None:
        chat, usage, took_ms = self.chat, result.usage, result.metrics.get("decided_after_ms")
        first_ms = result.metrics.get("time_to_first_chunk_ms")
        if result.raw_finish_reason:
            chat.set_attribute(
                "gen_ai.response.finish_reasons", [shorten(result.raw_finish_reason, _WORD_MAX)]
            )
        if first_ms is not None:
            chat.set_attribute("gen_ai.response.time_to_first_chunk", first_ms / 1000)
        if usage is not None:
            for name, count in (
                ("input_tokens", usage.input_tokens),
                ("output_tokens", usage.output_tokens),
                ("cache_read.input_tokens", usage.cached_tokens),
                ("reasoning.output_tokens", usage.reasoning_tokens),
            ):
                if count is not None:
                    chat.set_attribute(f"gen_ai.usage.{name}", count)
        self._fail(chat, failed)
        chat.end(None if took_ms is None else self.began_ns + int(took_ms * 1e6))

    def _message(self, receipt: Receipt) -> None:
        if receipt.sent_at is None:  # no call was made, so there is no duration
            return
        about: Attributes = {
            "minamo.message.index": receipt.index,
            "minamo.message.characters": receipt.characters,
            "minamo.message.outcome": receipt.outcome,
            "minamo.message.attempts": receipt.attempts,
        }
        if receipt.message_id is not None:
            about["minamo.message.id"] = str(receipt.message_id)
        span = self.tracer.start_span(
            f"discord {receipt.kind}",
            context=self.inside,
            kind=self.trace.SpanKind.CLIENT,
            attributes=about,
            start_time=self._when(receipt.sent_at),
        )
        self._fail(span, receipt.reason if receipt.lost else "")
        span.end(self._when(receipt.settled_at))

    def _when(self, at: float) -> int:
        """Convert a time on the event loop's clock to Unix time in nanoseconds."""
        return self.began_ns + int((at - self.began_at) * 1e9)

    def _fail(self, span: Span, wrong: str) -> None:
        if wrong:
            span.set_attribute("error.type", wrong)
            span.set_status(self.trace.StatusCode.ERROR)


@frozen(eq=False)
class _Tool:
    trace: Any
    span: Span

    def ended(self, problem: str = "") -> None:
        if problem:
            self.span.set_attribute("error.type", problem)
            self.span.set_status(self.trace.StatusCode.ERROR)
        self.span.end()


def _about(info: StreamInfo) -> Attributes:
    about: Attributes = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": info.provider or info.host or "unknown",
    }
    named: Mapping[str, object] = {
        "gen_ai.request.model": info.model,
        "server.address": info.host,
        "server.port": info.port if info.host else None,
    }
    return {**about, **{name: value for name, value in named.items() if value}}


def _wrong(result: StreamResult) -> str:
    if result.status == "error":
        return result.stop_reason or (
            result.data.kind if isinstance(result.data, ErrorChunk) else "error"
        )
    return (result.stop_reason or "timeout") if result.status == "timeout" else ""


def _wrong_provider(result: StreamResult) -> str:
    """Return the error type, but empty if delivery to Discord failed, not the provider."""
    return "" if result.stop_reason == "delivery_lost" else _wrong(result)


def _package(name: str) -> Any:
    try:
        return import_module(name)
    except ModuleNotFoundError:
        raise BadSetting(
            "OpenTelemetry is not installed: pip install 'hikari-minamo[otel]'"
        ) from None
