"""The door to providers: the only file that knows aiohttp's client.

One pooled session per adapter.  A response is closed the moment its stream ends, is stopped or
cancelled, for a provider goes on billing until then.  Nothing of an exception but its kind
leaves this file: messages of exceptions hold URLs and headers.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from urllib.parse import urlsplit

import aiohttp
from anyio import fail_after, move_on_after
from attrs import field, frozen

from minamo.core.checks import seconds
from minamo.core.chunks import ErrorChunk
from minamo.errors import BadRequest
from minamo.wire.errors import from_status
from minamo.wire.frames import Request
from minamo.wire.limits import ERROR_BYTES_MAX

# Replies to one bot run side by side; the provider's own limit comes long before this one.
_CONNECTIONS_MAX = 100
# The words of a refusal are worth a moment, not a deadline.
_REFUSAL_S = 5.0


@frozen(slots=True, kw_only=True)
class Timeouts:
    """Seconds.  Longer than the driver's clocks, which decide while a stream runs under it."""

    connect_s: float = field(default=10.0, validator=seconds)
    first_byte_s: float = field(default=180.0, validator=seconds)
    read_s: float = field(default=180.0, validator=seconds)


class Http:
    """Sends requests to one origin.  Whoever makes it closes it."""

    __slots__ = ("_origin", "_session", "_session_loop", "_timeouts")

    def __init__(self, base_url: str, timeouts: Timeouts | None = None) -> None:
        self._origin = _origin(base_url)
        self._timeouts = timeouts or Timeouts()
        self._session: aiohttp.ClientSession | None = None
        self._session_loop: asyncio.AbstractEventLoop | None = None

    async def aclose(self) -> None:
        """Close the pool; a later request opens another."""
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    async def send(self, request: Request) -> AsyncGenerator[bytes | ErrorChunk, None]:
        """The body of the answer as it comes, or one error."""
        if _origin(request.url) != self._origin:
            raise BadRequest("a request to another host than the adapter's")
        answer = await self._open(request)
        if isinstance(answer, ErrorChunk):
            yield answer
            return
        try:
            with _ReadTimeout(answer.content, self._timeouts.first_byte_s) as patience:
                while data := await patience.read():
                    yield data
                    if isinstance(data, ErrorChunk):
                        break
                    patience.last(self._timeouts.read_s)
        finally:
            # A connection whose answer was read to its end is back in the pool already, and
            # this does nothing; any other is cut off.
            answer.close()

    async def _open(self, request: Request) -> aiohttp.ClientResponse | ErrorChunk:
        """The response, if it is a stream; otherwise why not."""
        try:
            with fail_after(self._timeouts.first_byte_s):
                response = await self._pool().request(
                    request.method,
                    request.url,
                    data=request.body,
                    headers={**request.headers, "Accept-Encoding": "identity"},
                    allow_redirects=False,
                )
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
                "api_error", f"no connection ({type(error).__name__})", retryable=True
            )

    def _pool(self) -> aiohttp.ClientSession:
        loop = asyncio.get_running_loop()
        if self._session is None or self._session_loop is not loop or self._session.closed:
            self._session_loop = loop
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=_CONNECTIONS_MAX),
                cookie_jar=aiohttp.DummyCookieJar(),
                timeout=aiohttp.ClientTimeout(
                    total=None, sock_connect=self._timeouts.connect_s, sock_read=None
                ),
                # A compressed answer was not asked for, and half a megabyte may become 512.
                auto_decompress=False,
                trust_env=False,
            )
        return self._session


class _ReadTimeout:
    """Ends a read that waits too long; time between reads is ours and does not count.

    One timer for a stream.  When it rings it looks when the wait began, and sleeps on if that
    was not long ago: a scope around every read would cost more than the read.
    """

    __slots__ = ("_content", "_loop", "_seconds", "_since", "_timer")

    def __init__(self, content: aiohttp.StreamReader, seconds: float) -> None:
        self._content = content
        self._loop = asyncio.get_running_loop()
        self._since: float | None = None
        self._seconds = seconds
        self._timer = self._loop.call_later(seconds, self._look)

    def __enter__(self) -> _ReadTimeout:
        return self

    def __exit__(self, *_: object) -> None:
        self._timer.cancel()

    def last(self, seconds: float) -> None:
        """Wait this long from now on."""
        if seconds != self._seconds:
            self._seconds = seconds
            self._timer.cancel()
            self._look()

    async def read(self) -> bytes | ErrorChunk:
        """The next bytes; none at the end, and a lost connection is one: the reader judges it."""
        self._since = self._loop.time()
        try:
            data: bytes = await self._content.readany()
        except TimeoutError:
            return ErrorChunk("timeout", "the provider fell silent", retryable=True)
        except (aiohttp.ClientError, OSError):
            return b""
        finally:
            self._since = None
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
