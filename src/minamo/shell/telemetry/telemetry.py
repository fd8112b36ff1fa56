"""The telemetry interface for streams and tools, and a fan-out to several backends.

Backends are the log, OpenTelemetry, or the caller's own.  They receive no user or model text:
only ids, counts, times and short codes.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Protocol

from attrs import frozen

from minamo.core.result import StreamResult
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

    __slots__ = ("_each",)

    def __init__(self, *each: Telemetry) -> None:
        for one in each:
            for method in ("stream_started", "tool_started"):
                refuse_async(f"{type(one).__name__}.{method}", getattr(one, method, None))
        self._each = each

    def stream_started(self, info: StreamInfo) -> _Handles:
        """Notify every backend; return the combined handle."""
        return _Handles([_told(one, "stream_started", info) for one in self._each])

    def tool_started(self, name: str, call_id: str = "") -> _Handles:
        """Notify every backend; return the combined handle."""
        return _Handles([_told(one, "tool_started", name, call_id) for one in self._each])


def safely(telemetry: Telemetry) -> TelemetryFanOut:
    """Return *telemetry* wrapped so that its exceptions are only logged."""
    return telemetry if isinstance(telemetry, TelemetryFanOut) else TelemetryFanOut(telemetry)


class _Handles:
    __slots__ = ("_each",)

    def __init__(self, each: list[object]) -> None:
        self._each = [one for one in each if one is not None]

    def ended(self, how: object = "") -> None:
        for one in self._each:
            _told(one, "ended", how)

    def cancelled(self) -> None:
        for one in self._each:
            _told(one, "cancelled")


def _told(one: object, method: str, *what: object) -> object:
    failed, answer = call(lambda: getattr(one, method)(*what))
    if failed:
        _LOG.warning("%s.%s %s", type(one).__name__, method, failed)
    return answer


def provider_name(host: str) -> str:
    """Return OpenTelemetry's name for the provider at *host*."""
    host = host.lower().rstrip(".")
    for end, name in _PROVIDERS.items():
        # Azure and Vertex prepend a name or a region: "x.openai.azure.com", "eu-aiplatform.…".
        if host == end or host.endswith((f".{end}", f"-{end}")):
            return name
    return host
