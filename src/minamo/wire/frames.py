"""Requests, frames, and the decoder of one response: bytes to events, events to chunks.

It also recognises responses that are not a stream.  An adapter serves many streams at a time, so
the state of a stream is kept here and passed along with its frames.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import msgspec
from attrs import evolve, field, frozen

from minamo.core.chunks import Chunk, ErrorChunk
from minamo.wire.assembler import ReplyAssembler
from minamo.wire.errors import from_object
from minamo.wire.json import decode
from minamo.wire.limits import WireLimits
from minamo.wire.options import RequestBody
from minamo.wire.sse import Comment, Decoder, Oversize, SseEvent, TooLong


def _names(headers: Mapping[str, str]) -> str:
    return f"<{', '.join(sorted(headers))}>"


@frozen(slots=True)
class HttpRequest:
    """One HTTP request, complete except for its connection."""

    url: str
    headers: Mapping[str, str] = field(factory=dict, repr=_names)
    content: RequestBody = field(factory=RequestBody)
    model: str = ""
    method: str = "POST"

    @property
    def body(self) -> bytes:
        """The content, encoded at once; `content.pieces` encodes it in small steps."""
        return bytes(self.content)


_ANY = msgspec.json.Decoder(Any)


class Reader(Protocol):
    """The part of a dialect that reads a response."""

    reply: ReplyAssembler
    file_begins: re.Pattern[bytes] | None = None
    """What precedes the content of a file in base64, in an event; None if the dialect has none."""

    def feed(self, event: SseEvent) -> list[Chunk]:
        """Return the chunks of one event."""

    def pieces(self, events: Sequence[SseEvent]) -> list[str]:
        """Take the first events as far as each is nothing but a piece of text; return the texts.

        Nearly all events are of this kind, and `feed` gives the same result in twice the time.
        """

    def end(self) -> list[Chunk]:
        """Return the chunks at the end of the bytes."""

    def whole(self, found: Any) -> list[bytes]:
        """Return the events that say the same as a reply sent whole; none if it is no reply."""

    def skips(self, kind: str, head: bytes) -> bool:  # noqa: ARG002 - the form of the method
        """Return whether an event that begins with *head* and is too long is not missed."""
        return False


class Ended(msgspec.Struct, frozen=True):
    """The end of the bytes."""


Item = SseEvent | Comment | Oversize | TooLong | ErrorChunk | Ended
"""The `data` of a frame in our own adapters."""


class Frame(msgspec.Struct, frozen=True, gc=False):
    """One event of a provider, stamped with origin and time (the specified RawStreamChunk)."""

    data: Any
    provider: str = ""
    metadata: Mapping[str, Any] = {}
    """`timestamp` in milliseconds since 1970, `model`, and any other fields of the adapter."""
    stream: Any = None
    """The adapter's state of the stream that this frame belongs to."""

    def __repr__(self) -> str:
        return f"Frame({type(self.data).__name__}, provider={self.provider!r})"


_TYPE = re.compile(rb'\s*\{\s*"type"\s*:\s*"([^"\\]+)"')


def _kind(line: Oversize) -> str:
    """Return the kind of an event: its name, or the type with which its JSON begins."""
    found = _TYPE.match(line.head)
    return (line.name or (found[1] if found else b"")).decode("utf-8", "replace")


# Events that are looked at together for pieces of text.
_RUN_MAX = 64


class ResponseDecoder:
    """The sans-IO half of an adapter, for one response."""

    __slots__ = ("_limits", "_reader", "decoder", "reply")

    def __init__(self, reader: Reader, limits: WireLimits) -> None:
        self._reader = reader
        self.reply: ReplyAssembler = reader.reply
        self._limits = limits
        self.decoder: Decoder = Decoder(limits, reader.file_begins)
        """Turns bytes into items; pass each to `take`."""

    def resume(self, request: HttpRequest) -> HttpRequest | None:
        """Return the request that continues a paused reply, and expect its response; else None."""
        continuation = self.reply.continuation
        if continuation is None:
            return None
        self.reply.resume()
        self.decoder = Decoder(self._limits, self._reader.file_begins)
        content = request.content
        return evolve(request, content=evolve(content, json=continuation(content.json)))

    def end(self) -> list[Item]:
        """Return the item that marks the end of the bytes."""
        return [Ended()]

    def read(self, data: bytes | ErrorChunk | None) -> list[Chunk]:
        """Return the chunks that bytes complete; also of an error, or of the end, which is None."""
        if data is None:
            return self.take(Ended())
        if isinstance(data, ErrorChunk):
            return self.take(data)
        items = self.decoder.feed(data)
        events = [item for item in items if item.__class__ is SseEvent]
        if len(events) < len(items):
            return [chunk for item in items for chunk in self.take(item)]
        out: list[Chunk] = []
        at = 0
        while at < len(events) and not self.reply.ended:
            run = events[at : at + _RUN_MAX]
            texts = self._reader.pieces(run)
            out += self.reply.say_all(texts)
            at += len(texts)
            if len(texts) < len(run):
                out += self._reader.feed(events[at])
                at += 1
        return out

    def take(self, item: Item) -> list[Chunk]:
        """Return the chunks of one item."""
        if self.reply.ended:
            return []
        if item.__class__ is SseEvent:
            return self._reader.feed(item)
        if isinstance(item, Comment):
            return self.reply.alive()
        if isinstance(item, Oversize):
            if self._reader.skips(_kind(item), item.head):
                return self.reply.skip()
            item = TooLong("line")
        if isinstance(item, TooLong):
            return self.reply.fail("api_error", f"the stream broke a limit: {item.limit} too long")
        if isinstance(item, ErrorChunk):
            # A connection lost after a complete reply is not a failure.
            return self._reader.end() if self.reply.complete else self.reply.refuse(item)
        return self._foreign() or self._reader.end()

    def _foreign(self) -> list[Chunk]:
        """Return the chunks of an HTTP 200 response that is no stream: a reply, an error, a page.

        Some servers ignore `stream` and send the whole reply as one object.
        """
        head = bytes(self.decoder.head).strip()
        if self.decoder.frames or not head.startswith((b"{", b"[", b"<")):
            return []
        found = decode(_ANY, head)
        if events := self._reader.whole(found):
            out = [chunk for data in events for chunk in self._reader.feed(SseEvent(data))]
            return out if self.reply.ended else out + self._reader.end()
        error = from_object(found)
        if not error.message:  # not JSON, or JSON of an unknown kind
            return self.reply.fail("api_error", "the answer is not an event stream")
        return self.reply.refuse(error)
