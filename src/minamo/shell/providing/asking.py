"""What every adapter can do, said once: they differ in how they are made and in nothing else.

An adapter takes these functions for its methods.  What they need of it stands in two protocols.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Any, Protocol, TypeVar, Unpack

from minamo.core.chunks import Chunk
from minamo.shell.providing.endpoint import Endpoint, FrameDecoder
from minamo.shell.providing.prepared import PreparedConversation
from minamo.wire.conversation import Message, user
from minamo.wire.options import ReplyOptions, checked
from minamo.wire.request import Request
from minamo.wire.stream import Frame

T = TypeVar("T")


class Talks(Protocol):
    """Somebody to talk to."""

    def chat(
        self, messages: Sequence[Message], **options: Unpack[ReplyOptions]
    ) -> PreparedConversation:
        """A conversation, ready to be sent."""


class Asks(Protocol):
    """An adapter over an endpoint, which holds its dialect and its connections."""

    _endpoint: Endpoint
    model: str
    host: str

    def start_stream(self, request: Any) -> AsyncIterator[Frame]:
        """Send a request; its frames as they come."""

    def process_chunk(self, frame: Frame) -> list[Chunk]:
        """The chunks of one frame."""

    async def aclose(self) -> None:
        """Close the connections."""


def ask(self: Talks, text: str, **options: Unpack[ReplyOptions]) -> PreparedConversation:
    """A conversation of one sentence."""
    return self.chat([user(text)], **options)


def chat(
    self: Asks, messages: Sequence[Message], **options: Unpack[ReplyOptions]
) -> PreparedConversation:
    """A conversation, ready to be sent."""
    return PreparedConversation(self, self._endpoint.build(messages, checked(options)))


def start_stream(self: Asks, request: Request) -> AsyncIterator[Frame]:
    """Send a request; its frames as they come."""
    return self._endpoint.start_stream(request)


def process_chunk(_: Asks, frame: Frame) -> list[Chunk]:
    """The chunks of one frame."""
    chunks: list[Chunk] = frame.stream.take(frame.data)
    return chunks


def decoder(self: Asks) -> FrameDecoder:
    """Bytes to frames without a connection, for `minamo.testing.check_adapter`."""
    return self._endpoint.decoder()


async def aclose(self: Asks) -> None:
    """Close the connections."""
    await self._endpoint.aclose()


async def entered(self: T) -> T:
    """Itself, for a block that closes the connections when it is left."""
    return self


async def left(self: Asks, *_: object) -> None:
    """Close the connections."""
    await self.aclose()


def shown(self: Asks) -> str:
    """Where it asks, and which model; nothing of the key."""
    return f"{type(self).__name__}({self.host!r}, model={self.model!r})"
