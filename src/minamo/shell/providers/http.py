"""HTTP connections to providers: the only file that uses aiohttp's client.

One pooled session per adapter.  A response is closed the moment its stream ends, is stopped or
cancelled, because the provider bills until then.  Only the type of an exception leaves this file:
exception messages hold URLs and headers.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import closing
from types import SimpleNamespace
from urllib.parse import urlsplit

import aiohttp
from anyio import fail_after, move_on_after
from attrs import field, frozen

from minamo.core.checks import seconds
from minamo.core.chunks import ErrorChunk
from minamo.errors import BadRequest
from minamo.wire.assembler import ReplyAssembler
from minamo.wire.errors import from_status
from minamo.wire.frames import HttpRequest
from minamo.wire.limits import ERROR_BYTES_MAX
from minamo.wire.options import RequestBody

# Concurrent replies of one process; a further one waits.  Most systems allow a process 1,024 files.
_CONNECTIONS_MAX = 1_000
# A larger body is encoded while it is written.
_WHOLE_BODY_MAX = 262_144
# Bytes read before others get a turn: those that are waiting already are read without one.
_TURN_BYTES = 65_536
# How long the end of a response is awaited after the end of the reply in it.
_END_S = 0.05
# The text of an error response is worth a short wait, not a full timeout.
_REFUSAL_S = 5.0


@frozen(slots=True, kw_only=True)
class Timeouts:
    """Timeouts in seconds; longer than the driver's, which apply first while it runs a stream."""

    connect_s: float = field(default=10.0, validator=seconds)
    first_byte_s: float = field(default=180.0, validator=seconds)
    read_s: float = field(default=180.0, validator=seconds)


class Http:
    """An HTTP client for one origin.  Its creator must close it."""

    __slots__ = ("_fresh", "_origin", "_session", "_session_loop", "_timeouts")

    def __init__(self, base_url: str, timeouts: Timeouts | None = None) -> None:
        self._origin = _origin(base_url)
        self._timeouts = timeouts or Timeouts()
        self._session: aiohttp.ClientSession | None = None
        self._fresh: aiohttp.ClientSession | None = None  # its connections serve one request each
        self._session_loop: asyncio.AbstractEventLoop | None = None

    async def close(self) -> None:
        """Close the pool; a later request opens a new one."""
        sessions = (self._session, self._fresh)
        self._session = self._fresh = None
        for session in sessions:
            if session is not None:
                await session.close()

    async def send(
        self, request: HttpRequest, reply: ReplyAssembler | None = None
    ) -> AsyncGenerator[bytes | ErrorChunk, None]:
        """Send the request and yield the body of the response, read into *reply*, or one error.

        A connection is used again only if its response was read to the end, which many servers
        send a moment after the end of the reply.  A stop does not wait for it: it closes.
        """
        if _origin(request.url) != self._origin:
            raise BadRequest("a request to another host than the adapter's")
        answer = await self._open(request)
        if isinstance(answer, ErrorChunk):
            yield answer
            return
        size = 0
        with closing(answer), closing(_ReadTimeout(answer.content, self._timeouts)) as patience:
            try:
                while data := await patience.read():
                    yield data
                    if isinstance(data, ErrorChunk):
                        break
                    size += len(data)
                    if size >= _TURN_BYTES:
                        size = 0
                        await asyncio.sleep(0)
            finally:
                if reply is not None and reply.ended:
                    with move_on_after(_END_S):
                        await patience.read()

    async def _open(self, request: HttpRequest) -> aiohttp.ClientResponse | ErrorChunk:
        """Return the response if it is a stream, otherwise the error."""
        try:
            with fail_after(self._timeouts.first_byte_s):
                connection = SimpleNamespace(reused=False)
                try:
                    response = await self._request(self._pool(), request, connection)
                except (aiohttp.ClientError, OSError):
                    if not connection.reused:
                        raise
                    # The server closed a kept connection at the moment it was used again.
                    response = await self._request(self._fresh_pool(), request, SimpleNamespace())
                if response.status == 200 and not _encoded(response):
                    return response
                try:
                    return await _refusal(response)
                finally:
                    response.close()
        except TimeoutError:
            return ErrorChunk("timeout", "the provider did not answer in time", retryable=True)
        except (aiohttp.ClientError, OSError, ValueError) as error:
            return ErrorChunk(
                "api_error",
                f"no connection ({type(error).__name__})",
                retryable=True,
                code="unreachable",
            )

    async def _request(
        self, pool: aiohttp.ClientSession, request: HttpRequest, connection: SimpleNamespace
    ) -> aiohttp.ClientResponse:
        size = len(request.content)
        headers = {**request.headers, "Accept-Encoding": "identity"}
        if size > _WHOLE_BODY_MAX:
            headers["Content-Length"] = str(size)  # without it, the body would be sent chunked
        return await pool.request(
            request.method,
            request.url,
            data=bytes(request.content) if size <= _WHOLE_BODY_MAX else _pieces(request.content),
            headers=headers,
            allow_redirects=False,
            trace_request_ctx=connection,
        )

    def _pool(self) -> aiohttp.ClientSession:
        loop = asyncio.get_running_loop()
        if self._session is None or self._session_loop is not loop or self._session.closed:
            self._session_loop = loop
            self._session = self._new_session(force_close=False)
            self._fresh = None
        return self._session

    def _fresh_pool(self) -> aiohttp.ClientSession:
        if self._fresh is None:
            self._fresh = self._new_session(force_close=True)
        return self._fresh

    def _new_session(self, *, force_close: bool) -> aiohttp.ClientSession:
        trace = aiohttp.TraceConfig()
        trace.on_connection_reuseconn.append(_note_reuse)
        return aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=_CONNECTIONS_MAX, force_close=force_close),
            cookie_jar=aiohttp.DummyCookieJar(),
            timeout=aiohttp.ClientTimeout(
                total=None, sock_connect=self._timeouts.connect_s, sock_read=None
            ),
            # Compression was not requested, and half a megabyte may expand to 512.
            auto_decompress=False,
            trust_env=False,
            trace_configs=[trace],
        )


async def _pieces(content: RequestBody) -> AsyncGenerator[bytes, None]:
    """Yield a body, each piece in a step of its own, so that the event loop is not held."""
    for piece in content.pieces():
        yield piece
        await asyncio.sleep(0)


async def _note_reuse(_: aiohttp.ClientSession, context: SimpleNamespace, __: object) -> None:
    context.trace_request_ctx.reused = True


class _ReadTimeout:
    """A timeout for the first read of a response, and one for each further read.

    Time between reads does not count.

    One timer per stream.  When it fires it checks when the current read began, and re-arms itself
    if that was recent: a cancel scope around every read would cost more than the read.
    """

    __slots__ = ("_content", "_further_s", "_loop", "_seconds", "_since", "_timer")

    def __init__(self, content: aiohttp.StreamReader, timeouts: Timeouts) -> None:
        self._content = content
        self._loop = asyncio.get_running_loop()
        self._since: float | None = None
        self._seconds = timeouts.first_byte_s
        self._further_s = timeouts.read_s
        self._timer = self._loop.call_later(self._seconds, self._look)

    def close(self) -> None:
        """Set no timeout any more."""
        self._timer.cancel()

    async def read(self) -> bytes | ErrorChunk:
        """Return the next bytes; none at the end or on a lost connection: the reader decides."""
        self._since = self._loop.time()
        try:
            data: bytes = await self._content.readany()
        except TimeoutError:
            return ErrorChunk("timeout", "the provider fell silent", retryable=True)
        except (aiohttp.ClientError, OSError):
            return b""
        finally:
            self._since = None
        if self._seconds != self._further_s:
            self._seconds = self._further_s
            self._timer.cancel()
            self._look()
        return data

    def _look(self) -> None:
        now = self._loop.time()
        due = (now if self._since is None else self._since) + self._seconds
        if now < due:
            self._timer = self._loop.call_at(due, self._look)
        else:
            self._content.set_exception(TimeoutError())


async def _refusal(response: aiohttp.ClientResponse) -> ErrorChunk:
    if response.status == 200:
        return ErrorChunk("api_error", "the answer is compressed, which was not asked for")
    body = b""
    if not _encoded(response):
        with move_on_after(_REFUSAL_S):
            while len(body) < ERROR_BYTES_MAX and (data := await response.content.readany()):
                body += data
    return from_status(response.status, body[:ERROR_BYTES_MAX], response.headers)


def _encoded(response: aiohttp.ClientResponse) -> bool:
    return response.headers.get("Content-Encoding", "identity").strip().lower() != "identity"


def _origin(url: str) -> tuple[str, str | None, int | None]:
    parts = urlsplit(url)
    return parts.scheme, parts.hostname, parts.port
