"""`Adapter`, the base class of all adapters; a prepared conversation; and adapters over HTTP.

`async for chunk in conversation` sends the request; iterating twice sends it twice.  An adapter
over HTTP holds the key and the connections, and reads the chunks straight from the bytes.
"""

from __future__ import annotations

import logging
import time
from abc import ABC, abstractmethod
from collections.abc import (
    AsyncGenerator,
    AsyncIterable,
    AsyncIterator,
    Callable,
    Collection,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import aclosing, asynccontextmanager, contextmanager
from contextvars import ContextVar
from types import MethodType
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeVar, Unpack, runtime_checkable
from urllib.parse import urlsplit
from weakref import WeakSet

from anyio import move_on_after, to_thread
from attrs import field, frozen

from minamo.core.chunks import MESSAGE_CHARS_MAX, Chunk, ErrorChunk
from minamo.core.config import StreamConfig
from minamo.core.contract import as_chunk, split_text
from minamo.core.redact import shorten
from minamo.core.result import StreamResult
from minamo.errors import BadRequest
from minamo.shell.callbacks import Guarded, place_of, refuse_async
from minamo.shell.providers.http import Http, Timeouts
from minamo.shell.providers.pdf import PdfReader, RequestWithPdfs
from minamo.shell.validation import checked_headers, secrets_of
from minamo.wire.assembler import ReplyAssembler
from minamo.wire.conversation import ChatMessage, Origin, noting_files, user
from minamo.wire.files import PDF
from minamo.wire.frames import Frame, HttpRequest, Reader, ResponseDecoder
from minamo.wire.limits import PAUSES_MAX, WireLimits
from minamo.wire.options import ReplyOptions, RequestOptions, checked, encoded

if TYPE_CHECKING:
    from minamo.shell.options import StreamContext


T = TypeVar("T")
_LOG = logging.getLogger("minamo.stream")
_DEFAULTS = RequestOptions()


@runtime_checkable
class FrameSource(Protocol):
    """The least an adapter can be: two methods.  `Adapter` adds the rest."""

    def start_stream(self, request: Any) -> AsyncIterator[Frame]:
        """Send the request and yield its frames as they arrive; failures are frames too."""

    def process_chunk(self, frame: Frame) -> list[Chunk]:
        """Return the chunks of one frame: none, one or several."""


class CheckedSource:
    """An async iterable that yields valid chunks only, and never raises; ours alone."""

    __slots__ = ()

    def __aiter__(self) -> AsyncGenerator[Chunk, None]:
        """Return the chunks, each of the types that `minamo.core.contract` requires."""
        raise NotImplementedError


@frozen(slots=True)
class ChatRequest:
    """A conversation and its options: what `start_stream` receives if `build` is not overridden."""

    messages: tuple[ChatMessage, ...]
    options: RequestOptions = field(factory=RequestOptions, repr=False)


class Adapter(ABC):
    """The code for one provider dialect: subclass it and write the two abstract methods.

    One adapter serves many streams at a time: keep the state of a stream in its frames.
    """

    model: str = ""
    host: str = ""
    """The provider's host name, for telemetry; empty if there is none."""

    @abstractmethod
    def start_stream(self, request: Any) -> AsyncIterator[Frame]:
        """Send the request and yield its frames as they arrive; failures are frames too."""

    @abstractmethod
    def process_chunk(self, frame: Frame) -> list[Chunk]:
        """Return the chunks of one frame: none, one or several."""

    def build(self, messages: Sequence[ChatMessage], options: RequestOptions) -> Any:
        """Return the request that `start_stream` will send."""
        return ChatRequest(tuple(messages), options)

    def ask(self, text: str, **options: Unpack[ReplyOptions]) -> ChatStream:
        """Return a conversation of one user message, sent when it is iterated."""
        return self.chat([user(text)], **options)

    def chat(self, messages: Sequence[ChatMessage], **options: Unpack[ReplyOptions]) -> ChatStream:
        """Return a conversation that is sent when it is iterated."""
        wanted = checked(options) if options else _DEFAULTS
        return ChatStream(self, self.build(messages, wanted))

    def stream(self, request: Any) -> AsyncGenerator[Chunk, None]:
        """Send the request and yield chunks; a failure is an error chunk, never an exception."""
        return _read_frames(self, request, self.on_raw_chunk, self.on_provider_error)

    def on_raw_chunk(self, frame: Frame) -> object:  # noqa: B027 - a hook
        """Receive every frame, before `process_chunk`; does nothing unless overridden."""

    def on_provider_error(self, error: ErrorChunk) -> object:  # noqa: B027 - a hook
        """Receive the error that ends a stream; does nothing unless overridden."""

    async def close(self) -> None:  # noqa: B027 - not every adapter has connections
        """Close the connections, if the adapter has any."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def __repr__(self) -> str:
        return f"{type(self).__name__}(model={self.model!r})"


class AdapterUser:
    """A client on whose behalf adapters are asked; it closes those that no other client uses.

    An adapter that is asked outside of any client is closed by its owner.
    """

    def __init__(self) -> None:
        self._adapters: dict[int, Adapter] = {}  # by identity: a subclass may be unhashable
        _USERS.add(self)

    @contextmanager
    def active(self) -> Iterator[None]:
        """Count every adapter that is asked in the block, also in tasks started there."""
        token = _USER.set(self)
        try:
            yield
        finally:
            _USER.reset(token)

    def add(self, adapter: Adapter) -> None:
        """Record that *adapter* was asked."""
        self._adapters[id(adapter)] = adapter

    async def close(self) -> None:
        """Close the adapters that this user alone has asked; each of them opens again if asked."""
        _USERS.discard(self)
        for key, adapter in self._adapters.items():
            if any(key in other._adapters for other in _USERS):
                continue
            try:
                with move_on_after(_CLOSE_S):
                    await adapter.close()
            except Exception as error:  # noqa: BLE001 - an adapter may be anyone's
                _LOG.warning("an adapter raised %s when it was closed", type(error).__name__)
        self._adapters.clear()


_USERS: WeakSet[AdapterUser] = WeakSet()
_USER: ContextVar[AdapterUser | None] = ContextVar("the client that asks", default=None)
# Connections close at once; an adapter of someone's own may hang.
_CLOSE_S = 5.0


@frozen(slots=True)
class ChatStream(CheckedSource):
    """An adapter and the request it will send."""

    adapter: Adapter | FrameSource
    request: Any = field(repr=False)

    def __attrs_post_init__(self) -> None:
        if isinstance(self.adapter, Adapter):
            name = type(self.adapter).__name__
            refuse_async(f"{name}.on_raw_chunk", self.adapter.on_raw_chunk)
            refuse_async(f"{name}.on_provider_error", self.adapter.on_provider_error)
        elif not isinstance(self.adapter, FrameSource):
            kind = type(self.adapter).__name__
            raise BadRequest(f"an adapter has start_stream and process_chunk; a {kind} has not")

    async def stream_to_discord(
        self, context: StreamContext, config: StreamConfig | None = None
    ) -> StreamResult:
        """Send the reply to the channel of *context*, through its orchestrator."""
        settings = config or StreamConfig.from_env()
        return await context.orchestrator.stream_to_discord(self, settings, context)

    def __aiter__(self) -> AsyncGenerator[Chunk, None]:
        """Send the request and yield chunks; a failure is an error chunk, never an exception."""
        if isinstance(self.adapter, Adapter):
            if (asking := _USER.get()) is not None:
                asking.add(self.adapter)
            return self.adapter.stream(self.request)
        return _read_frames(self.adapter, self.request)


async def _read_frames(
    adapter: FrameSource,
    request: Any,
    on_raw_chunk: Callable[[Frame], object] | None = None,
    on_provider_error: Callable[[ErrorChunk], object] | None = None,
) -> AsyncGenerator[Chunk, None]:
    """Yield the chunks of an adapter's frames, checked; end after the first error."""
    seen = on_raw_chunk and Guarded("on_raw_chunk", on_raw_chunk, _LOG)
    failure: ErrorChunk | None = None
    try:
        async with closing(adapter.start_stream(request)) as frames:
            async for frame in frames:
                if seen is not None:
                    seen(frame)
                for output in adapter.process_chunk(frame):
                    chunk, problem = as_chunk(output)
                    if problem:
                        _LOG.warning("a chunk of an adapter is wrong: %s", problem)
                    if isinstance(chunk, ErrorChunk):
                        failure = chunk
                        break
                    for part in split_text(chunk):
                        yield part
                if failure is not None:
                    break
    except Exception as error:  # noqa: BLE001 - a broken adapter fails the stream only
        failure = _broken(error)
    if failure is not None:
        _report(adapter, on_provider_error, failure)
        yield failure


async def _in_thread(response: ResponseDecoder, data: bytes | ErrorChunk | None) -> list[Chunk]:
    """Return the chunks of something large without holding the event loop.

    A stop does not wait for the thread: nothing reads its chunks, or *response*, any more.
    """
    return await to_thread.run_sync(response.read, data, abandon_on_cancel=True)


def _broken(error: Exception) -> ErrorChunk:
    # Only the type and the location: messages can hold secrets.
    _LOG.warning("an adapter raised %s at %s", type(error).__name__, place_of(error))
    return ErrorChunk("api_error", f"the adapter failed ({type(error).__name__})", cause=error)


def _report(
    adapter: object, hook: Callable[[ErrorChunk], object] | None, error: ErrorChunk
) -> None:
    """Log why a provider failed, for the operator, and pass the error to the adapter's hook."""
    status = "" if error.status is None else f" HTTP {error.status}"
    words = shorten(error.message, MESSAGE_CHARS_MAX)
    name = repr(adapter) if isinstance(adapter, HttpAdapter) else type(adapter).__name__
    _LOG.warning("%s failed: %s%s: %s", name, error.kind, status, words)
    if hook is not None:
        Guarded("on_provider_error", hook, _LOG)(error)


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

Build = Callable[[Origin, Sequence[ChatMessage], RequestOptions], dict[str, Any]]
"""Builder of a dialect's request bodies: for whom, messages, options."""


class HttpAdapter(Adapter):
    """An adapter with the URL, headers and connections of one provider.

    It owns a pool of connections: use it as an async context manager, or call `close`.
    """

    def __init__(
        self,
        provider: str,
        model: str,
        url: str,
        reader: Callable[[ReplyAssembler], Reader],
        build: Build,
        *,
        key: str | None,
        auth: Mapping[str, str],
        headers: Mapping[str, str] | None = None,
        limits: WireLimits | None = None,
        timeouts: Timeouts | None = None,
        overlap_removal: bool = False,
        keep_alive: bool = False,
        lacks: Mapping[str, str] | None = None,
        media_types: Collection[str] = (),
    ) -> None:
        self.provider: str = provider
        self.model: str = model
        self.host: str = urlsplit(url).hostname or ""
        self._origin = Origin(self.host, model)
        self._url = url
        self._reader = reader
        self._build = build
        own = checked_headers(headers or {})
        self._headers = {**_JSON, **auth, **own}
        self._secrets = secrets_of(key or "", own)
        self._limits = limits or WireLimits()
        self._overlap_removal = overlap_removal
        self._keep_alive = keep_alive
        self._lacks = lacks or {}
        self._media_types = media_types
        self._pdfs = PdfReader()
        self._http = Http(url, timeouts)

    def build(self, messages: Sequence[ChatMessage], options: RequestOptions) -> HttpRequest:
        """Return the request for one streamed reply; refuse options that the service lacks."""
        for name, instead in self._lacks.items():
            if getattr(options, name) != getattr(_DEFAULTS, name):
                raise BadRequest(f"{type(self).__name__} has no option {name!r}: {instead}")
        request = self._request(messages, options)
        for message in messages if PDF not in self._media_types else ():
            if message.files:
                plain = (self._url, self._headers, request.content, self.model, request.method)
                return RequestWithPdfs(*plain, messages, options)
        return request

    def _request(self, messages: Sequence[ChatMessage], options: RequestOptions) -> HttpRequest:
        body = encoded(self._build(self._origin, messages, options), options.extra)
        return HttpRequest(self._url, self._headers, body, self.model)

    async def _with_pdfs(self, request: RequestWithPdfs) -> HttpRequest:
        """Return the request with the texts of PDFs, for a service that does not take them."""
        pdfs = {f: None for m in request.messages for f in m.files if f.media_type == PDF}
        texts = await self._pdfs.read(pdfs)
        messages = [noting_files(message, self._media_types, texts) for message in request.messages]
        try:
            return self._request(messages, request.options)
        except BadRequest:
            return request  # with all the texts it is too long

    def stream(self, request: HttpRequest) -> AsyncGenerator[Chunk, None]:
        """Send the request and yield chunks; a failure is an error chunk, never an exception."""
        # Frames are made only for a subclass, or a hook, that reads them.
        ours = (
            MethodType(HttpAdapter.start_stream, self),
            MethodType(HttpAdapter.process_chunk, self),
            MethodType(Adapter.on_raw_chunk, self),
        )
        if ours != (self.start_stream, self.process_chunk, self.on_raw_chunk):
            return super().stream(request)
        return self._read(request)

    async def _read(self, request: HttpRequest) -> AsyncGenerator[Chunk, None]:
        response = self._response(PAUSES_MAX)
        asked: HttpRequest | None = request
        try:
            if isinstance(request, RequestWithPdfs):
                asked = request = await self._with_pdfs(request)
            while asked is not None:
                async with aclosing(self._http.send(asked, response.reply)) as answer:
                    async for data in answer:
                        heavy = response.decoder.is_heavy(data)
                        chunks = await _in_thread(response, data) if heavy else response.read(data)
                        for chunk in self._reported(chunks):
                            yield chunk
                        if response.reply.ended:
                            break
                heavy = response.decoder.is_heavy(None)
                chunks = await _in_thread(response, None) if heavy else response.read(None)
                for chunk in self._reported(chunks):
                    yield chunk
                asked = response.resume(request)
        except Exception as error:  # noqa: BLE001 - a bug of ours fails the stream only
            failure = _broken(error)
            _report(self, self.on_provider_error, failure)
            yield failure

    def _reported(self, chunks: list[Chunk]) -> list[Chunk]:
        """Return *chunks*; pass the error that ends them, if there is one, to the hook."""
        if chunks and isinstance(chunks[-1], ErrorChunk):
            _report(self, self.on_provider_error, chunks[-1])
        return chunks

    async def start_stream(self, request: HttpRequest) -> AsyncGenerator[Frame, None]:
        """Send the request and yield frames as they arrive; the last one marks the end."""
        response = self._response(PAUSES_MAX)
        decoder = FrameDecoder(response, self.provider, self.model)
        if isinstance(request, RequestWithPdfs):
            request = await self._with_pdfs(request)
        asked: HttpRequest | None = request
        while asked is not None:
            async with aclosing(self._http.send(asked, response.reply)) as answer:
                async for data in answer:
                    for frame in decoder.feed(data):
                        yield frame
                    # The consumer found the end of the reply in the frames.
                    if decoder.ended:
                        break
            if not decoder.ended:
                for frame in decoder.end():
                    yield frame
            asked = decoder.resume(request)

    def process_chunk(self, frame: Frame) -> list[Chunk]:
        """Return the chunks of one frame."""
        chunks: list[Chunk] = frame.stream.take(frame.data)
        return chunks

    def decoder(self) -> FrameDecoder:
        """Return a decoder from bytes to frames, for `minamo.testing.check_adapter`."""
        return FrameDecoder(self._response(), self.provider, self.model)

    def _response(self, pauses_max: int = 0) -> ResponseDecoder:
        reply = ReplyAssembler(
            self._limits,
            secrets=self._secrets,
            overlap_removal=self._overlap_removal,
            keep_alive=self._keep_alive,
            origin=self._origin,
            pauses_max=pauses_max,
        )
        return ResponseDecoder(self._reader(reply), self._limits)

    async def close(self) -> None:
        """Close the connections; a later request opens new ones."""
        await self._http.close()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.host!r}, model={self.model!r})"


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
        return self._stream.reply.ended

    def feed(self, data: bytes | ErrorChunk) -> list[Frame]:
        """Return the frames completed by *data*; a connection error becomes its own frame."""
        return self._stamped(
            [data] if isinstance(data, ErrorChunk) else self._stream.decoder.feed(data)
        )

    def end(self) -> list[Frame]:
        """Return the frame that marks the end of the bytes."""
        return self._stamped(self._stream.end())

    def resume(self, request: HttpRequest) -> HttpRequest | None:
        """Return the request that continues a reply which the provider paused; None if none."""
        return self._stream.resume(request)

    def _stamped(self, items: Sequence[object]) -> list[Frame]:
        if not items:
            return []
        # All items of one read arrived at the same moment and share one stamp.
        stamp = {"timestamp": time.time_ns() // 1_000_000, "model": self._model}
        provider, stream = self._provider, self._stream
        return [Frame(item, provider, stamp, stream) for item in items]
