"""The instruments of otel.py: those of OpenTelemetry's conventions, and two of our own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attrs import frozen

from minamo.core.result import StreamResult

if TYPE_CHECKING:
    from opentelemetry.context import Context
    from opentelemetry.metrics import Counter, Histogram, Meter

# Of the conventions: seconds of an operation, and tokens.
_SECONDS = [0.01 * 2**power for power in range(14)]
_TOKENS = [4**power for power in range(14)]
# Ours: from what nobody notices to what everybody does; 0.05 s is what a stop may take.
_LATENCIES = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0]

Attributes = dict[str, Any]


@frozen
class Instruments:
    """What the figures of all streams are recorded with."""

    duration: Histogram
    first_chunk: Histogram
    tokens: Histogram
    stop: Histogram
    messages: Counter

    @staticmethod
    def of(meter: Meter) -> Instruments:
        """Made once for a program."""

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
            seconds("minamo.stop.latency", "From a wish to stop to the decision.", _LATENCIES),
            meter.create_counter(
                "minamo.messages", "{message}", "Messages, by what became of them."
            ),
        )

    def measure(
        self, result: StreamResult, about: Attributes, wrong: Attributes, inside: Context
    ) -> None:
        """Record the figures of one stream; *wrong* says what, if it was the provider's fault."""
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
