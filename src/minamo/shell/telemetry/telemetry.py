"""Who is told that a stream began and how it ended: the log, OpenTelemetry, something of yours.

Nothing people wrote is in it: ids, counts, times and short codes only.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Protocol

from attrs import frozen

from minamo.core.result import StreamResult
from minamo.shell.callbacks import call, refuse_async

_LOG = logging.getLogger("minamo.telemetry")

# The names that OpenTelemetry's conventions have for those who serve models, by the end of the
# host's name.  Whoever is not listed is called by the host.
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
    """What is known of a stream when it begins.  Empty: unknown."""

    stream_id: str
    channel_id: int
    provider: str = ""
    """See `provider_name`."""
    model: str = ""
    host: str = ""
    port: int | None = None


class StreamSpan(Protocol):
    """Waits for the end of one stream."""

    def ended(self, result: StreamResult) -> object:
        """It ended so."""
        ...

    def cancelled(self) -> object:
        """It was cancelled from outside, and there is no result."""
        ...


class ToolHandle(Protocol):
    """Waits for the end of one tool."""

    def ended(self, problem: str = "") -> object:
        """It ended; *problem* is a short code, and empty if all went well."""
        ...


class Telemetry(Protocol):
    """Is told of streams and tools.  Its methods must not wait, and may raise what they like."""

    def stream_started(self, info: StreamInfo) -> StreamSpan:
        """A stream begins now."""
        ...

    def tool_started(self, name: str, call_id: str = "") -> ToolHandle:
        """A tool begins now."""
        ...


@frozen
class NoTelemetry:
    """Nobody wants to know."""

    def stream_started(self, info: StreamInfo) -> NoTelemetry:  # noqa: ARG002
        """Nothing."""
        return self

    def tool_started(self, name: str, call_id: str = "") -> NoTelemetry:  # noqa: ARG002
        """Nothing."""
        return self

    def ended(self, _: object = None) -> None:
        """Nothing."""

    def cancelled(self) -> None:
        """Nothing."""


class TelemetryFanOut:
    """Tells each of several.  One that raises is named in the log and harms nobody."""

    __slots__ = ("_each",)

    def __init__(self, *each: Telemetry) -> None:
        for one in each:
            for method in ("stream_started", "tool_started"):
                refuse_async(f"{type(one).__name__}.{method}", getattr(one, method, None))
        self._each = each

    def stream_started(self, info: StreamInfo) -> _Handles:
        """Tell everybody."""
        return _Handles([_told(one, "stream_started", info) for one in self._each])

    def tool_started(self, name: str, call_id: str = "") -> _Handles:
        """Tell everybody."""
        return _Handles([_told(one, "tool_started", name, call_id) for one in self._each])


def safely(telemetry: Telemetry) -> TelemetryFanOut:
    """Return *telemetry* in a form whose failures change nothing."""
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
    """What OpenTelemetry calls who serves models at *host*."""
    host = host.lower().rstrip(".")
    for end, name in _PROVIDERS.items():
        # Azure and Vertex put a name or a region in front: "x.openai.azure.com", "eu-aiplatform.…".
        if host == end or host.endswith((f".{end}", f"-{end}")):
            return name
    return host
