"""The adapter protocol, a prepared conversation, and the endpoint of one provider.

`async for chunk in conversation` sends the request; iterating twice sends it twice.  The endpoint
holds the key and the connections, and turns the bytes of a response into frames.
"""

from __future__ import annotations

import logging
import time
from collections.abc import (
    AsyncGenerator,
    AsyncIterable,
    AsyncIterator,
    Callable,
    Mapping,
    Sequence,
)
from contextlib import aclosing, asynccontextmanager
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, runtime_checkable
from urllib.parse import urlsplit

from attrs import field, frozen

from minamo.core.chunks import Chunk, ErrorChunk, TextChunk
from minamo.core.config import StreamConfig
from minamo.core.contract import as_chunk
from minamo.core.result import StreamResult
from minamo.shell.callbacks import Guarded, place_of, refuse_async
from minamo.shell.providers.http import Http, Timeouts
from minamo.wire.assembler import ReplyAssembler
from minamo.wire.conversation import ChatMessage
from minamo.wire.frames import Frame, Reader, Request, ResponseDecoder
from minamo.wire.limits import WireLimits
from minamo.wire.options import RequestOptions

if TYPE_CHECKING:
    from minamo.shell.options import StreamContext


T = TypeVar("T")
_LOG = logging.getLogger("minamo.stream")
_HOOKS = ("on_raw_chunk", "on_provider_error")


@runtime_checkable
class Adapter(Protocol):
    """The code for one provider dialect, ours or third-party.

    It may also have ``on_raw_chunk(frame)`` and ``on_provider_error(error)``, plain functions
    called with every frame and with the error that ends a stream.
    """

    def start_stream(self, request: Any) -> AsyncIterator[Frame]:
        """Send the request and yield its frames as they arrive; failures are frames too."""

    def process_chunk(self, frame: Frame) -> list[Chunk]:
        """Return the chunks of one frame: none, one or several."""


@frozen(slots=True)
class ChatStream:
    """An adapter and the request it will send."""

    adapter: Adapter
    request: Any = field(repr=False)

    def __attrs_post_init__(self) -> None:
        for name in _HOOKS:
            refuse_async(f"{type(self.adapter).__name__}.{name}", self._hook(name))

    async def stream_to_discord(
        self, context: StreamContext, config: StreamConfig | None = None
    ) -> StreamResult:
        """Send the reply to the channel of *context*, through its orchestrator."""
        how = config or StreamConfig.from_env()
        return await context.orchestrator.stream_to_discord(self, how, context)

    async def __aiter__(self) -> AsyncGenerator[Chunk, None]:
        """Send the request and yield chunks; a failure is an error chunk, never an exception."""
        on_raw_chunk = self._hook("on_raw_chunk")
        on_provider_error = self._hook("on_provider_error")
        failure: ErrorChunk | None = None
        try:
            process_chunk = self.adapter.process_chunk
            if on_raw_chunk is not None:
                on_raw_chunk = Guarded("on_raw_chunk", on_raw_chunk, _LOG)
            async with closing(self.adapter.start_stream(self.request)) as frames:
                async for frame in frames:
                    if on_raw_chunk is not None:
                        on_raw_chunk(frame)
                    for said in process_chunk(frame):
                        # The common case; the driver checks the remaining fields.
                        if said.__class__ is TextChunk and said.content.__class__ is str:
                            yield said
                            continue
                        chunk, problem = as_chunk(said)
                        if problem:
                            _LOG.warning("a chunk of an adapter is wrong: %s", problem)
                        if chunk.__class__ is ErrorChunk:
                            failure = chunk
                            break
                        yield chunk
                    if failure is not None:
                        break
        except Exception as error:  # noqa: BLE001 - a broken adapter fails the stream only
            # Only the type and the location: messages can hold secrets.
            _LOG.warning("an adapter raised %s at %s", type(error).__name__, place_of(error))
            failure = ErrorChunk("api_error", f"the adapter failed ({type(error).__name__})")
        if failure is not None:
            if on_provider_error is not None:
                Guarded("on_provider_error", on_provider_error, _LOG)(failure)
            yield failure

    def _hook(self, name: str) -> Any:
        return getattr(self.adapter, name, None)


@asynccontextmanager
async def closing(source: AsyncIterable[T]) -> AsyncIterator[AsyncIterator[T]]:
    """Yield an iterator over *source*, and close it on exit if it can be closed."""
    items = source.__aiter__()
    try:
        yield items
    finally:
        aclose = getattr(items, "aclose", None)
        if aclose is not None:
            try:
                await aclose()
            except Exception as error:  # noqa: BLE001 - user code; all chunks were read
                kind = type(error).__name__
                _LOG.warning("closing a source raised %s at %s", kind, place_of(error))


_JSON = {"Content-Type": "application/json", "Accept": "text/event-stream",
         "User-Agent": "minamo"}  # fmt: skip

Build = Callable[[str, Mapping[str, str], str, Sequence[ChatMessage], RequestOptions], Request]
"""Request builder of a dialect: URL, headers, model, messages, options."""


class ProviderEndpoint:
    """The URL, headers and connections of one provider.  Holds the key: no repr."""

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
        reader: Callable[[ReplyAssembler], Reader],
        build: Build,
        *,
        headers: Mapping[str, str],
        secrets: tuple[str, ...] = (),
        limits: WireLimits | None = None,
        timeouts: Timeouts | None = None,
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
        self._http = Http(url, timeouts)

    def build(self, messages: Sequence[ChatMessage], options: RequestOptions) -> Request:
        """Return the request for one streamed reply."""
        return self._build(self._url, self._headers, self.model, messages, options)

    def decoder(self) -> FrameDecoder:
        """Return a decoder from bytes to frames for one stream, without a connection."""
        reply = ReplyAssembler(
            self._limits, secrets=self._secrets, overlap_removal=self._overlap_removal
        )
        return FrameDecoder(
            ResponseDecoder(self._reader(reply), self._limits), self.provider, self.model
        )

    async def start_stream(self, request: Request) -> AsyncGenerator[Frame, None]:
        """Send the request and yield frames as they arrive; the last one marks the end."""
        decoder = self.decoder()
        async with aclosing(self._http.send(request)) as answer:
            async for data in answer:
                for frame in decoder.feed(data):
                    yield frame
                # The consumer found the end of the reply in the frames.
                if decoder.ended:
                    return
        for frame in decoder.end():
            yield frame

    async def aclose(self) -> None:
        """Close the connections."""
        await self._http.aclose()


class FrameDecoder:
    """Decoder that stamps one stream's items as frames.  A test needs only `feed` and `end`."""

    __slots__ = ("_model", "_provider", "_stream")

    def __init__(self, stream: ResponseDecoder, provider: str, model: str) -> None:
        self._stream = stream
        self._provider = provider
        self._model = model

    @property
    def ended(self) -> bool:
        """Whether the frames so far include the end of the reply."""
        return self._stream.ended

    def feed(self, data: bytes | ErrorChunk) -> list[Frame]:
        """Return the frames completed by *data*; a connection error becomes its own frame."""
        return self._stamped([data] if isinstance(data, ErrorChunk) else self._stream.feed(data))

    def end(self) -> list[Frame]:
        """Return the frame that marks the end of the bytes."""
        return self._stamped(self._stream.end())

    def _stamped(self, items: Sequence[object]) -> list[Frame]:
        if not items:
            return []
        # All items of one read arrived at the same moment and share one stamp.
        stamp = {"timestamp": time.time_ns() // 1_000_000, "model": self._model}
        provider, stream = self._provider, self._stream
        return [Frame(item, provider, stamp, stream) for item in items]
