"""What the three adapters have in common: one origin, one dialect, one pool of connections."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing
from urllib.parse import urlsplit

from minamo.core.chunks import Error
from minamo.shell.providing.http import Deadlines, Http
from minamo.wire.conversation import Message
from minamo.wire.limits import WireLimits
from minamo.wire.options import Options
from minamo.wire.reply import Reply
from minamo.wire.request import Request
from minamo.wire.stream import Frame, Reader, Stream

_JSON = {"Content-Type": "application/json", "Accept": "text/event-stream",
         "User-Agent": "minamo"}  # fmt: skip

Build = Callable[[str, Mapping[str, str], str, Sequence[Message], Options], Request]
"""The half of a dialect that asks: where, with which headers, which model, what, and how."""


class Endpoint:
    """Streams from one provider.  Holds the key, so it shows nothing of itself."""

    __slots__ = (
        "_build",
        "_headers",
        "_http",
        "_limits",
        "_overlap_removal",
        "_reader",
        "_secrets",
        "_url",
        "host",
        "model",
        "provider",
    )

    def __init__(
        self,
        provider: str,
        model: str,
        url: str,
        reader: Callable[[Reply], Reader],
        build: Build,
        *,
        headers: Mapping[str, str],
        secrets: tuple[str, ...] = (),
        limits: WireLimits | None = None,
        deadlines: Deadlines | None = None,
        overlap_removal: bool = False,
    ) -> None:
        self.provider: str = provider
        self.model: str = model
        self.host: str = urlsplit(url).hostname or ""
        self._url = url
        self._reader = reader
        self._build = build
        self._headers = _JSON | dict(headers)
        self._secrets = secrets
        self._limits = limits or WireLimits()
        self._overlap_removal = overlap_removal
        self._http = Http(url, deadlines)

    def build(self, messages: Sequence[Message], options: Options) -> Request:
        """The request for one streamed reply."""
        return self._build(self._url, self._headers, self.model, messages, options)

    def decoder(self) -> FrameDecoder:
        """A new stream's decoder: bytes to frames, without a connection."""
        reply = Reply(self._limits, secrets=self._secrets, overlap_removal=self._overlap_removal)
        return FrameDecoder(Stream(self._reader(reply), self._limits), self.provider, self.model)

    async def start_stream(self, request: Request) -> AsyncGenerator[Frame, None]:
        """Send the request; frames as they come, the last one says that it was the last."""
        decoder = self.decoder()
        async with aclosing(self._http.send(request)) as answer:
            async for data in answer:
                for frame in decoder.feed(data):
                    yield frame
                # Whoever took the frames has found the end in them.
                if decoder.ended:
                    return
        for frame in decoder.end():
            yield frame

    async def aclose(self) -> None:
        """Close the connections."""
        await self._http.aclose()


class FrameDecoder:
    """Stamps what one stream brings.  `feed` and `end` are all that a test needs."""

    __slots__ = ("_model", "_provider", "_stream")

    def __init__(self, stream: Stream, provider: str, model: str) -> None:
        self._stream = stream
        self._provider = provider
        self._model = model

    @property
    def ended(self) -> bool:
        """The chunks of the frames so far include the last one."""
        return self._stream.ended

    def feed(self, data: bytes | Error) -> list[Frame]:
        """The frames that some bytes complete; a failed connection is a frame of its own."""
        return self._stamped([data] if isinstance(data, Error) else self._stream.feed(data))

    def end(self) -> list[Frame]:
        """The frame that says there are no more bytes."""
        return self._stamped(self._stream.end())

    def _stamped(self, items: Sequence[object]) -> list[Frame]:
        if not items:
            return []
        # What one read brought arrived at one moment: one stamp serves all of it.
        stamp = {"timestamp": time.time_ns() // 1_000_000, "model": self._model}
        provider, stream = self._provider, self._stream
        return [Frame(item, provider, stamp, stream) for item in items]
