"""One streamed answer: bytes to events, events to chunks, and answers that are no stream at all.

An adapter serves many streams at a time, so what a stream remembers lives here and travels
with its frames.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import msgspec
from attrs import field, frozen

from minamo.core.chunks import Chunk, ErrorChunk
from minamo.wire.assembler import ReplyAssembler
from minamo.wire.errors import from_object
from minamo.wire.json import decode
from minamo.wire.limits import ERROR_BYTES_MAX, WireLimits
from minamo.wire.sse import Decoder, Event, TooLong


def _names(headers: Mapping[str, str]) -> str:
    return f"<{', '.join(sorted(headers))}>"


@frozen(slots=True)
class Request:
    """One HTTP request, complete but for the connection it goes over."""

    url: str
    headers: Mapping[str, str] = field(factory=dict, repr=_names)
    body: bytes = field(default=b"", repr=lambda body: f"<{len(body)} bytes>")
    model: str = ""
    method: str = "POST"


_ANY = msgspec.json.Decoder(Any)


class Reader(Protocol):
    """The part of a dialect that reads."""

    reply: ReplyAssembler

    def feed(self, event: Event) -> list[Chunk]:
        """The chunks of one event."""

    def end(self) -> list[Chunk]:
        """The chunks at the end of the bytes."""


class Ended(msgspec.Struct, frozen=True):
    """The bytes ended."""


Item = Event | TooLong | ErrorChunk | Ended
"""What a frame of our own adapters carries."""


class Frame(msgspec.Struct, frozen=True, gc=False):
    """One event of a provider, stamped with where and when (the seeds' RawStreamChunk)."""

    data: Any
    provider: str = ""
    metadata: Mapping[str, Any] = {}
    """`timestamp` in milliseconds since 1970, `model`, and what else an adapter likes to add."""
    stream: Any = None
    """What the adapter remembers about the stream that this frame belongs to."""

    def __repr__(self) -> str:
        return f"Frame({type(self.data).__name__}, provider={self.provider!r})"


class ResponseDecoder:
    """The pure half of an adapter, for one answer."""

    __slots__ = ("_decoder", "_feed", "_head", "_reader", "_reply")

    def __init__(self, reader: Reader, limits: WireLimits) -> None:
        self._reader = reader
        self._feed = reader.feed
        self._reply = reader.reply
        self._decoder = Decoder(limits)
        self._head = bytearray()  # the first bytes, while there has been no event

    @property
    def ended(self) -> bool:
        """The last chunk is out: reading on is pointless."""
        return self._reply.ended

    def feed(self, data: bytes) -> Sequence[Item]:
        """Bytes as they come; returns the items they complete, each for `take`."""
        if self._decoder.frames == 0:
            self._head += data[: ERROR_BYTES_MAX - len(self._head)]
        return self._decoder.feed(data)

    def end(self) -> list[Item]:
        """No more bytes."""
        return [Ended()]

    def take(self, item: Item) -> list[Chunk]:
        """The chunks of one item."""
        if self._reply.ended:
            return []
        if item.__class__ is Event:
            return self._feed(item)
        if isinstance(item, TooLong):
            return self._reply.fail("api_error", f"the stream broke a limit: {item.what} too long")
        if isinstance(item, ErrorChunk):
            # Hanging up after a complete reply is bad manners, not a failure.
            return self._reader.end() if self._reply.complete else self._reply.refuse(item)
        return self._foreign() or self._reader.end()

    def _foreign(self) -> list[Chunk]:
        """An answer with HTTP 200 that is an error object, or a page, instead of a stream."""
        head = bytes(self._head).strip()
        if self._decoder.frames or not head.startswith((b"{", b"[", b"<")):
            return []
        error = from_object(decode(_ANY, head))
        if not error.message:  # no JSON, or JSON that is no error, such as a reply in one piece
            return self._reply.fail("api_error", "the answer is not an event stream")
        return self._reply.refuse(error)
