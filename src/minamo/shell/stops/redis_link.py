"""Connection to Redis: the only file that uses its client, which is an optional dependency.

A link is one subscription, which reconnects by itself, and a pool of connections for commands.
Redis may go away at any time and come back empty: callers must be able to work without it.  Only
the type of an exception leaves this file, because a URL holds a password.
"""

from __future__ import annotations

import asyncio
import logging
import math
import re
from collections.abc import Awaitable, Callable, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import parse_qsl, urlsplit

import anyio

from minamo.errors import BadSetting

if TYPE_CHECKING:
    from redis.asyncio import Redis
    from redis.asyncio.client import PubSub


_LOG = logging.getLogger("minamo.redis")

# Commands are tiny; a Redis that takes longer is treated as unreachable.
COMMAND_S = 1.0
# Concurrent commands of one process; further ones wait for a connection.
_CONNECTIONS_MAX = 16
# Short enough to reconnect soon after a restart; a long outage costs one attempt per second.
_BACKOFF_MIN_S = 0.05
_BACKOFF_MAX_S = 1.0
# Every process is back this long after an outage: the longest pause, and one attempt.
RETURN_S = _BACKOFF_MAX_S + COMMAND_S
# A connection that was cut silently (a firewall, a frozen machine) is detected by a ping.
_PING_EVERY_S = 2.0
_CANCEL_AGAIN_S = 0.05
# Options that a URL may set; any other could disable a safeguard such as a timeout.
_OPTIONS = frozenset({"db", "username", "password"})
_PREFIX = re.compile(r"[A-Za-z0-9_.:-]{1,64}")

Receive = Callable[[str, bytes], Awaitable[None]]
T = TypeVar("T")


class RedisLink:
    """A subscription to some channels of one Redis, and a client for commands."""

    def __init__(
        self,
        url: str,
        channels: Sequence[str],
        receive: Receive,
        *,
        connected: Callable[[], object] = lambda: None,
    ) -> None:
        self.place: str = shown(url)
        self._channels = tuple(channels)
        self._receive = receive
        self._on_connected = connected
        self._client = client_for(url)
        self._up = anyio.Event()
        self._warned = False  # of this outage
        self._back_at = -math.inf
        self._task: asyncio.Task[None] | None = None

    @property
    def healthy(self) -> bool:
        """Whether the subscription is up, as of the last message or ping."""
        return self._up.is_set()

    @property
    def settled(self) -> bool:
        """Whether the last outage is so long ago that every process has connected again."""
        return anyio.current_time() - self._back_at >= RETURN_S

    @property
    def client(self) -> Redis:
        """The client for commands; each may raise one of redis' own errors or an OSError."""
        return self._client

    async def up(self) -> None:
        """Wait until the subscription is up."""
        await self._up.wait()

    async def publish(self, channel: str, data: bytes) -> int:
        """Send a message and return the number of subscribers.  Raises as commands do."""
        received_by: int = await asked(self._client, lambda: self._client.publish(channel, data))
        return received_by

    async def open(self, within_s: float) -> None:
        """Start the link and wait up to *within_s* for it; after that it keeps trying by itself."""
        assert self._task is None, "opened twice"
        # A task of the event loop, not of a task group: a bot opens and closes in different tasks.
        self._task = asyncio.get_running_loop().create_task(self._run())
        with anyio.move_on_after(within_s):
            await self.up()

    async def close(self) -> None:
        """End the subscription and close every connection."""
        task, self._task = self._task, None
        if task is not None:
            await end(task)
        self._up = anyio.Event()
        with anyio.CancelScope(shield=True):
            await close_client(self._client)

    async def _run(self) -> None:
        wait_s = _BACKOFF_MIN_S
        while True:
            try:
                await self._subscribe_and_listen()
            # Any failure (the network, a password, a fault of the client) is retried: a dead
            # subscription would lose every later stop request.
            except Exception as error:  # noqa: BLE001
                if self.healthy:
                    wait_s = _BACKOFF_MIN_S
                self._went_down(error)
            await anyio.sleep(wait_s)
            wait_s = min(wait_s * 2, _BACKOFF_MAX_S)

    async def _subscribe_and_listen(self) -> None:
        pubsub = self._client.pubsub()
        try:
            with anyio.fail_after(COMMAND_S):
                await pubsub.subscribe(*self._channels)
                confirmed = 0
                while confirmed < len(self._channels):
                    message = await pubsub.get_message(timeout=COMMAND_S)
                    confirmed += message is not None and message["type"] == "subscribe"
            self._came_up()
            while True:
                await self._next(pubsub)
        finally:
            with anyio.CancelScope(shield=True):
                await pubsub.aclose()  # type: ignore[no-untyped-call]

    async def _next(self, pubsub: PubSub) -> None:
        message = await pubsub.get_message(timeout=_PING_EVERY_S)
        if message is None:
            await pubsub.ping()
            message = await pubsub.get_message(timeout=COMMAND_S)
            if message is None:
                raise TimeoutError
        if message["type"] == "message":
            await self._receive(message["channel"].decode(), message["data"])

    def _came_up(self) -> None:
        if self._warned:
            _LOG.info("%s is back", self.place)
            self._back_at = anyio.current_time()
        self._warned = False
        self._up.set()
        self._on_connected()

    def _went_down(self, error: Exception) -> None:
        if self.healthy:
            self._up = anyio.Event()
        if not self._warned:
            self._warned = True
            _LOG.warning(
                "%s cannot be reached (%s): until it is back, running streams can be stopped only "
                "from their own process",
                self.place,
                type(error).__name__,
            )


def client_for(url: str) -> Redis:
    """Return a client that connects on first use, tries each command once, and times out soon."""
    check_url(url)
    redis = _package("redis.asyncio")
    pool = redis.BlockingConnectionPool.from_url(
        url,
        protocol=2,  # supported by every server, and only one message format
        max_connections=_CONNECTIONS_MAX,
        timeout=COMMAND_S,
        socket_timeout=COMMAND_S,
        socket_connect_timeout=COMMAND_S,
        # `asked` decides about retries: the client must not repeat a request by itself.
        retry=_package("redis.asyncio.retry").Retry(_package("redis.backoff").NoBackoff(), 0),
    )
    client: Redis = redis.Redis(connection_pool=pool)
    return client


async def close_client(client: Redis) -> None:
    """Close a client with all its connections."""
    await client.aclose(close_connection_pool=True)


async def asked(client: Redis, call: Callable[[], Awaitable[T]]) -> T:
    """Await a call, and repeat it once if its connection was broken.

    A pool keeps connections that Redis has closed since, after a restart or for idling; a command
    written to one of those was never received.  But the connection may also have broken after
    Redis received the command, so *call* must be safe to run twice.
    """
    try:
        return await call()
    except _package("redis.exceptions").ConnectionError:
        await client.connection_pool.disconnect(inuse_connections=False)
        return await call()


async def end(task: asyncio.Task[None]) -> None:
    """Cancel a task until it has ended: the client can swallow a cancellation while connecting."""
    while not task.done():
        task.cancel()
        await asyncio.wait([task], timeout=_CANCEL_AGAIN_S)


def check_url(url: object) -> None:
    """Refuse an invalid Redis URL, without quoting it, because it may hold a password."""
    if not isinstance(url, str) or not url:
        raise BadSetting("url is missing: redis://host:6379/0, rediss://… or unix://path")
    try:
        parts = urlsplit(url)
        fits = parts.port != 0 and (parts.hostname or parts.scheme == "unix")
        number = parts.path.strip("/")
        fits = fits and (parts.scheme == "unix" or not number or number.isdecimal())
    except ValueError:
        raise BadSetting("url is not a URL") from None
    if parts.scheme not in ("redis", "rediss", "unix") or not fits:
        raise BadSetting("url must be redis://host:6379/0, rediss://host/0 or unix://path")
    for name, _ in parse_qsl(parts.query, keep_blank_values=True):
        if name not in _OPTIONS and not name.startswith("ssl_"):
            raise BadSetting("url may have the options db, username, password and ssl_…, no other")


def checked_prefix(prefix: object) -> str:
    """Return *prefix*, with which all keys and channels of one bot begin, if it is valid."""
    if not isinstance(prefix, str) or not _PREFIX.fullmatch(prefix):
        raise BadSetting("prefix must be 1 to 64 of the characters A–Z a–z 0–9 _ . : -")
    return prefix


def shown(url: str) -> str:
    """Return the scheme, host and port (or path) of a URL, without user, password or options."""
    check_url(url)
    parts = urlsplit(url)
    if parts.scheme == "unix":
        return f"unix://{parts.path}"
    host = parts.hostname or ""
    return f"{parts.scheme}://{f'[{host}]' if ':' in host else host}:{parts.port or 6379}"


def _package(name: str) -> Any:
    try:
        return import_module(name)
    except ModuleNotFoundError:
        raise BadSetting(
            "stops and leases over Redis need its client: pip install 'hikari-minamo[redis]'"
        ) from None
