"""The telemetry interface for streams and tools, a fan-out to several backends, and the log.

Backends are the log, OpenTelemetry, or the caller's own.  They receive no user or model text:
only ids, counts, times and short codes.  The log has one line when a stream ends:

    INFO minamo.stream stream 5d0c ended: completed (3 messages in 4.2 s)

Searchable fields are in the log record (`record.minamo["status"]` …), as JSON formatters expect
them.  hikari's own log is redacted here, too.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Mapping
from functools import lru_cache, partial
from operator import methodcaller
from typing import Protocol

from attrs import frozen

from minamo.core.chunks import ErrorChunk
from minamo.core.redact import shorten
from minamo.core.result import Status, StreamResult
from minamo.shell.callbacks import call, refuse_async

_LOG = logging.getLogger("minamo.telemetry")

# Provider names of OpenTelemetry's conventions, by the suffix of the host name.  A provider that is
# not listed is named by its host.
_PROVIDERS: Mapping[str, str] = {
    "api.openai.com": "openai",
    "openai.azure.com": "azure.ai.openai",
    "generativelanguage.googleapis.com": "gcp.gemini",
    "aiplatform.googleapis.com": "gcp.vertex_ai",
    "api.anthropic.com": "anthropic",
    "api.deepseek.com": "deepseek",
    "api.groq.com": "groq",
    "api.mistral.ai": "mistral_ai",
    "api.x.ai": "x_ai",
    "api.perplexity.ai": "perplexity",
}


@frozen(kw_only=True)
class StreamInfo:
    """Properties of a stream that are known when it begins.  Empty: unknown."""

    stream_id: str
    channel_id: int
    provider: str = ""
    """See `provider_name`."""
    model: str = ""
    host: str = ""
    port: int | None = None


class StreamSpan(Protocol):
    """The telemetry handle of one stream; one of its methods is called when the stream ends."""

    def ended(self, result: StreamResult) -> object:
        """Record the result of the stream."""
        ...

    def cancelled(self) -> object:
        """Record that the stream was cancelled from outside and has no result."""
        ...


class ToolHandle(Protocol):
    """The telemetry handle of one tool call."""

    def ended(self, problem: str = "") -> object:
        """Record the end of the call; *problem* is a short code, empty on success."""
        ...


class Telemetry(Protocol):
    """A telemetry backend.  Its methods must not block; exceptions they raise are logged."""

    def stream_started(self, info: StreamInfo) -> StreamSpan:
        """Record that a stream begins now; return its handle."""
        ...

    def tool_started(self, name: str, call_id: str = "") -> ToolHandle:
        """Record that a tool call begins now; return its handle."""
        ...


@frozen
class NoTelemetry:
    """A backend that records nothing."""

    def stream_started(self, info: StreamInfo) -> NoTelemetry:  # noqa: ARG002
        """Return a handle that records nothing."""
        return self

    def tool_started(self, name: str, call_id: str = "") -> NoTelemetry:  # noqa: ARG002
        """Return a handle that records nothing."""
        return self

    def ended(self, _: object = None) -> None:
        """Do nothing."""

    def cancelled(self) -> None:
        """Do nothing."""


class TelemetryFanOut:
    """Fan-out to several backends.  An exception in one is logged and does not reach the others."""

    __slots__ = ("_backends",)

    def __init__(self, *backends: Telemetry) -> None:
        for backend in backends:
            for method in ("stream_started", "tool_started"):
                refuse_async(f"{type(backend).__name__}.{method}", getattr(backend, method, None))
        self._backends = backends

    def stream_started(self, info: StreamInfo) -> _Handles:
        """Notify every backend; return the combined handle."""
        return _Handles(_notify(self._backends, "stream_started", info))

    def tool_started(self, name: str, call_id: str = "") -> _Handles:
        """Notify every backend; return the combined handle."""
        return _Handles(_notify(self._backends, "tool_started", name, call_id))


def safely(telemetry: Telemetry) -> TelemetryFanOut:
    """Return *telemetry* wrapped so that its exceptions are only logged."""
    return telemetry if isinstance(telemetry, TelemetryFanOut) else TelemetryFanOut(telemetry)


@frozen
class _Handles:
    _handles: list[object]

    def ended(self, outcome: object = "") -> None:
        _notify(self._handles, "ended", outcome)

    def cancelled(self) -> None:
        _notify(self._handles, "cancelled")


def _notify(backends: Iterable[object], method: str, *arguments: object) -> list[object]:
    """Call *method* of every backend; return the answers, without None."""
    answers = []
    for backend in backends:
        failed, answer = call(methodcaller(method, *arguments), backend)
        if failed:
            _LOG.warning("%s.%s %s", type(backend).__name__, method, failed)
        elif answer is not None:
            answers.append(answer)
    return answers


def provider_name(host: str) -> str:
    """Return OpenTelemetry's name for the provider at *host*."""
    host = host.lower().rstrip(".")
    for end, name in _PROVIDERS.items():
        # Azure and Vertex prepend a name or a region: "x.openai.azure.com", "eu-aiplatform.…".
        if host == end or host.endswith((f".{end}", f"-{end}")):
            return name
    return host


# More shards in one process are not covered; no practical bot has them.
_SHARDS_MAX = 64
# The loggers that print routes, buckets or bodies; each shard has its own logger.
_LOGGERS = (
    "hikari.ratelimits",
    "hikari.rest",
    *(f"hikari.gateway.{shard}" for shard in range(_SHARDS_MAX)),
)
# A token follows the id in a path ("/webhooks/1/…", "/interactions/1/…") and in a bucket ("1:…");
# in JSON it is the value of "token".
_TOKEN = re.compile(
    r"(/(?:webhooks|interactions)/\d{1,20}/|\b\d{1,20}:|\"token\":\s?\")[\w.=-]{16,}"
)


def _redact(record: logging.LogRecord) -> bool:
    message = record.getMessage()
    redacted = _TOKEN.sub(r"\1***", message)
    if redacted != message:
        record.msg, record.args = redacted, ()
    return True


def redact_hikari_logs() -> None:
    """Install the redaction filter on hikari's loggers.  Idempotent."""
    for name in _LOGGERS:
        logging.getLogger(name).addFilter(_redact)


_STREAMS = logging.getLogger("minamo.stream")
_TOOLS = logging.getLogger("minamo.tools")

# Logged as warnings; a stop or a follow-up is what the user wanted.
_ALARMING: tuple[Status, ...] = ("error", "timeout")
# Maximum length of a finish reason that is not one of the usual words.
_WORD_MAX = 64
_short = lru_cache(maxsize=64)(partial(shorten, most=_WORD_MAX))  # they repeat


@frozen
class StreamLog:
    """The telemetry backend for the standard `logging`."""

    def stream_started(self, info: StreamInfo) -> _Line:
        """Log the beginning at debug level."""
        fields: dict[str, object] = {"stream_id": info.stream_id, "channel_id": info.channel_id}
        if info.provider:
            fields["provider"] = info.provider
        if info.model:
            fields["model"] = info.model
        _STREAMS.debug("stream %s begins", info.stream_id, extra={"minamo": fields})
        return _Line(info.stream_id, fields)

    def tool_started(self, name: str, call_id: str = "") -> _ToolLine:  # noqa: ARG002
        """Return a handle that logs the end; the beginning is not logged."""
        return _ToolLine(name)


@frozen
class _Line:
    stream_id: str
    fields: Mapping[str, object]

    def ended(self, result: StreamResult) -> None:
        fields = {**self.fields, "status": result.status, **_outcome(result), **result.metrics}
        # Messages withdrawn before they were sent are not lost: they were no longer wanted.
        lost = 0
        for receipt in result.receipts:
            lost += receipt.outcome in ("refused", "unknown")
        if lost:
            fields["lost"] = lost
        reason = fields.get("error") or result.stop_reason or ""
        if result.status in _ALARMING:
            reason = f"{reason}{_cause(result)}"
        messages = int(result.metrics.get("messages", 0))
        _STREAMS.log(
            logging.WARNING if lost or result.status in _ALARMING else logging.INFO,
            "stream %s ended: %s%s (%d %s in %.1f s)",
            self.stream_id,
            result.status,
            f", {reason}" if reason else "",
            messages,
            "message" if messages == 1 else "messages",
            result.metrics.get("duration_ms", 0.0) / 1000,
            extra={"minamo": fields},
        )

    def cancelled(self) -> None:
        fields = {**self.fields, "status": "cancelled"}
        _STREAMS.info("stream %s was cancelled", self.stream_id, extra={"minamo": fields})


@frozen
class _ToolLine:
    name: str

    def ended(self, problem: str = "") -> None:
        fields = {"tool": self.name, "problem": problem}
        _TOOLS.debug(
            "tool %s ended%s", self.name, problem and f": {problem}", extra={"minamo": fields}
        )


def _cause(result: StreamResult) -> str:
    """Return what to look into, in brackets: the code of the error or of the first loss."""
    code = result.data.code if isinstance(result.data, ErrorChunk) else ""
    lost = next(
        (receipt.reason for receipt in result.receipts if receipt.lost and receipt.reason), ""
    )
    cause = code or (lost if result.stop_reason == "delivery_lost" else "")
    return f" ({shorten(cause, _WORD_MAX)})" if cause else ""


def _outcome(result: StreamResult) -> dict[str, object]:
    fields: dict[str, object] = {}
    if result.stop_reason:
        fields["stop_reason"] = result.stop_reason
    if isinstance(result.data, ErrorChunk):
        fields["error"] = result.data.kind  # not its message: providers quote the request
        if result.data.code:
            fields["code"] = shorten(result.data.code, _WORD_MAX)
    if result.finish_reason:
        fields["finish_reason"] = _short(result.finish_reason)
    if result.usage is not None:
        fields["input_tokens"] = result.usage.input_tokens
        fields["output_tokens"] = result.usage.output_tokens
    return fields
