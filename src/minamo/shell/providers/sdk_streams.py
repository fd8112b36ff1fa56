"""Streams of the providers' own SDKs and of pydantic-ai, recognised by their shape.

`client.stream(event, await openai_client.responses.create(..., stream=True))` keeps thoughts,
calls, usage, sources and errors.  None of the packages is imported: an event is turned into the
JSON it was made from, and read by the reader of its dialect.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, Self, runtime_checkable

from minamo.core.chunks import (
    MESSAGE_CHARS_MAX,
    Chunk,
    DoneChunk,
    ErrorChunk,
    FileChunk,
    FunctionCall,
    TextChunk,
    Usage,
)
from minamo.core.redact import shorten
from minamo.wire.anthropic.reader import AnthropicReader
from minamo.wire.assembler import ReplyAssembler
from minamo.wire.errors import from_object, from_status
from minamo.wire.frames import Reader
from minamo.wire.google.reader import GoogleReader
from minamo.wire.limits import WireLimits
from minamo.wire.openai.reader import OpenAIReader
from minamo.wire.responses.reader import ResponsesReader
from minamo.wire.sse import SseEvent


@runtime_checkable
class SdkEvent(Protocol):
    """A pydantic model, as the SDKs of OpenAI, Anthropic and Google yield them."""

    @property
    def model_dump_json(self) -> Callable[..., str]:
        """The method that returns the model as JSON."""


class AgentEvent(Protocol):
    """An event of a pydantic-ai agent."""

    @property
    def event_kind(self) -> str:
        """The kind of the event."""


SourceItem = str | Chunk | SdkEvent | AgentEvent
"""What the source of a reply may yield."""
_OURS = frozenset((str, TextChunk, FileChunk, FunctionCall, ErrorChunk, DoneChunk))


class SdkStream:
    """The events of one stream; the first that is an SDK's decides which dialect it is."""

    __slots__ = ("_read", "_reader", "_reply", "_source")
    _reply: ReplyAssembler  # set with `_read`: most sources are not an SDK's

    def __init__(self, source: object) -> None:
        self._source = source
        self._reader: Reader | None = None
        self._read: Callable[[Any], list[Chunk]] | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        """Close the stream: its iterator does not, and the provider bills until then."""
        close = getattr(self._source, "close", None)
        if self._read is not None and inspect.iscoroutinefunction(close):
            await close()

    def read(self, item: object) -> Sequence[object]:
        """Return the chunks of an event; any other item as it is."""
        if item.__class__ in _OURS or (self._read is None and not self._recognise(item)):
            return (item,)
        assert self._read is not None
        return [] if self._reply.ended else self._read(item)

    def end(self) -> list[Chunk]:
        """Return the last chunks, at the end of the stream."""
        if self._read is None or self._reply.ended:
            return []
        if self._reader is not None:
            return self._reader.end()
        self._reply.finish_reason = "stop"
        return self._reply.close()

    def _recognise(self, item: object) -> bool:
        try:
            kind = _dialect(item) if isinstance(item, SdkEvent) else None
            self._reply = ReplyAssembler(WireLimits())
            if kind is not None:
                self._reader, self._read = kind(self._reply), self._model
            elif isinstance(getattr(item, "event_kind", None), str):
                self._read = self._part
        except Exception:  # noqa: BLE001 - an attribute of a foreign class may raise
            return False
        return self._read is not None

    def _model(self, event: SdkEvent) -> list[Chunk]:
        assert self._reader is not None
        # Only fields that were sent: the readers tell a missing one from null.
        data = event.model_dump_json(by_alias=True, exclude_unset=True, warnings="none")
        return self._reader.feed(SseEvent(data.encode()))

    def _part(self, event: Any) -> list[Chunk]:
        """Read an event of pydantic-ai, which runs its tools itself: only text and thoughts."""
        kind = event.event_kind
        if kind == "agent_run_result":
            used = event.result.usage
            if not hasattr(used, "input_tokens"):  # a method, in older versions
                used = used()
            self._reply.usage = Usage(used.input_tokens, used.output_tokens)
            return []
        if kind == "part_start":
            part, content = event.part.part_kind, getattr(event.part, "content", "")
        elif kind == "part_delta":
            part = event.delta.part_delta_kind
            content = getattr(event.delta, "content_delta", "")
        else:
            return self._reply.work()
        text = content if isinstance(content, str) else ""
        if part == "text" and text:
            return self._reply.say(text)
        if part == "thinking" and text:
            return self._reply.say("", text)
        return self._reply.work()


def _dialect(event: object) -> Callable[[ReplyAssembler], Reader] | None:
    kind = getattr(event, "type", None)
    if isinstance(kind, str):
        if kind.startswith("response.") or hasattr(event, "sequence_number"):
            return ResponsesReader
        return AnthropicReader
    if hasattr(event, "choices"):
        return OpenAIReader
    return GoogleReader if hasattr(event, "candidates") else None


def error_of(error: Exception) -> ErrorChunk | None:
    """Return the error chunk for an exception of an SDK; None if it is another exception."""
    try:
        status = getattr(error, "status_code", None) or getattr(error, "code", None)
        body = getattr(error, "body", None) or getattr(error, "details", None)
    except Exception:  # noqa: BLE001 - an attribute of a foreign class may raise
        return None
    if isinstance(status, int) and 400 <= status < 600:
        response = getattr(error, "response", None)
        headers = getattr(response, "headers", None)
        chunk = from_status(status, b"", headers if isinstance(headers, Mapping) else {})
    elif body is not None:
        chunk = from_object({"error": body})
    else:
        return None
    failure = from_object(body)
    return ErrorChunk(
        failure.kind if failure.kind == "content_blocked" else chunk.kind,
        shorten(failure.message or chunk.message, MESSAGE_CHARS_MAX),
        chunk.retryable and failure.kind != "content_blocked",
        chunk.retry_after,
        chunk.status,
        cause=error,
    )
