"""Figures of all streams in Prometheus' text format: a telemetry backend that counts.

Labels have few values, whatever users and models write: statuses, reasons, models of the settings.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Mapping

from attrs import define, field, frozen

from minamo.core.chunks import ErrorChunk
from minamo.core.result import StreamResult
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
