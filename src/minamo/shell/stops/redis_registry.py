"""Stop registry for a bot of several processes, over Redis (`hikari-minamo[redis]`).

Each process answers for its own `StreamRegistry`; Redis only carries queries, replies and expiring
keys.  During an outage streams continue and can be stopped from their own process; requests for
others return `RequestOutcome.UNREACHABLE` (falsy), yet a late one may still reach its own stream.
Use one Redis, with or without replicas: a cluster does not report how many subscribers received
a query.  Any client that can write to it can stop streams, so keep it private.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

import anyio

from minamo.errors import BadSetting
from minamo.shell.stops import registry as requests
from minamo.shell.stops.redis_link import asked, checked_prefix, end
from minamo.shell.stops.redis_protocol import RedisBroadcast
from minamo.shell.stops.registry import (
    Address,
    Op,
    Person,
    RequestOutcome,
    StreamRegistry,
    checked_channel_id,
)
from minamo.shell.stops.requests import StopRequest, StopSignal

if TYPE_CHECKING:
    from redis.asyncio import Redis


# The keys of a dead process expire after this long; three renewals may fail before that.
EXPIRE_S = 12.0
RENEW_S = 3.0
# Ended streams whose keys are not deleted yet.  Beyond this many, the keys are left to expire.
_ENDED_MAX = 1000

# Compare before deleting: another process may have announced the channel since.
_DELETE_OURS = (
    "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0"
)


class Heartbeat:
    """Publisher of one process's keys: keeps them in step with its `StreamRegistry`."""

    def __init__(self, board: StreamRegistry, prefix: str, me: str) -> None:
        self._board = board
        self._prefix = prefix
        self._me = me
        self._begun: set[str] = set()
        self._ended: dict[str, int] = {}
        self._changed = anyio.Event()
        self._all = True

    def begun(self, stream_id: str) -> None:
        """Record that a stream has started."""
        self._ended.pop(stream_id, None)
        self._begun.add(stream_id)
        self._changed.set()

    def ended(self, stream_id: str, channel_id: int) -> None:
        """Record that a stream has ended."""
        self._begun.discard(stream_id)
        if len(self._ended) < _ENDED_MAX:
            self._ended[stream_id] = channel_id
        self._changed.set()

    def everything(self) -> None:
        """Announce every stream again, because Redis may have come back empty."""
        self._all = True
        self._changed.set()

    def key(self, address: Address) -> str:
        """Return the Redis key under which a stream or channel is announced."""
        if address.stream_id is not None:
            return f"{self._prefix}:stream:{address.stream_id}"
        return f"{self._prefix}:channel:{address.channel_id}"

    async def run(self, client: Callable[[], Redis]) -> None:
        """Announce changes at once, and every stream every `RENEW_S`, however many changes come."""
        renew_at = anyio.current_time() + RENEW_S
        while True:
            with anyio.CancelScope(deadline=renew_at):
                await self._changed.wait()
            self._changed = anyio.Event()
            if self._all or anyio.current_time() >= renew_at:
                self._all = True
                renew_at = anyio.current_time() + RENEW_S
            try:
                await self.tell(client())
            # The link logs an outage once; keys that expire meanwhile are set again.
            except Exception:  # noqa: BLE001
                self._all = True

    async def tell(self, client: Redis) -> None:
        """Set the keys of running streams and delete those of ended ones."""
        ended, self._ended = self._ended, {}
        begun, self._begun = self._begun, set()
        told = list(self._board.streams if self._all else begun)
        self._all = False
        keys = [self.key(Address(stream_id, None)) for stream_id in told]
        keys += {self.key(Address(None, self._board.streams[one].channel_id)) for one in told}
        async with client.pipeline(transaction=False) as pipe:
            for key in keys:
                pipe.set(key, self._me, px=int(EXPIRE_S * 1000))
            for stream_id, channel_id in ended.items():
                pipe.delete(self.key(Address(stream_id, None)))
                channel = Address(None, channel_id)
                if not self._board.find(channel):
                    pipe.eval(_DELETE_OURS, 1, self.key(channel), self._me)
            await pipe.execute()


_LOG = logging.getLogger("minamo.redis")

# A user who presses Stop waits for the answer; a healthy Redis takes a few milliseconds.
ANSWER_TIMEOUT_MS = 100
# How long opening waits for the first connection; after that the link keeps trying by itself.
_OPEN_S = 1.0
# Deleting our keys on close is optional, because they expire.
_FAREWELL_S = 0.5
# Shares of the answer timeout by which the streams of a channel must be found, and by which the
# request must be delivered: a process that hangs must not keep the request from the others.
_FIND_SHARE = 0.6
_DO_SHARE = 0.9


class RedisStops:
    """A registry shared by every process that uses the same Redis and prefix."""

    def __init__(
        self, url: str, *, prefix: str = "minamo", answer_timeout_ms: int = ANSWER_TIMEOUT_MS
    ) -> None:
        if not 1 <= answer_timeout_ms <= 60_000:
            raise BadSetting("answer_timeout_ms must be 1 to 60000")
        self._prefix = checked_prefix(prefix)
        self._answer_s = answer_timeout_ms / 1000
        self._board = StreamRegistry()
        self._asking = RedisBroadcast(
            url, prefix, self._board, lambda: self._announcer.everything()
        )
        self._announcer = Heartbeat(self._board, prefix, self._asking.me)
        self._link = self._asking.link
        self._announcing: asyncio.Task[None] | None = None

    def __repr__(self) -> str:
        state = "healthy" if self.healthy else "unreachable"
        return f"<RedisStops at {self._link.place}, prefix {self._prefix!r}, {state}>"

    @property
    def healthy(self) -> bool:
        """Whether the subscription is up, so that other processes can be reached."""
        return self._link.healthy

    @property
    def rubbish(self) -> int:
        """Number of malformed messages; above 0, another application uses this prefix."""
        return self._asking.rubbish

    async def __aenter__(self) -> RedisStops:
        await self._link.open(_OPEN_S)
        loop = asyncio.get_running_loop()
        self._announcing = loop.create_task(self._announcer.run(lambda: self._link.client))
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Stop listening and close every connection.  Running streams continue."""
        task, self._announcing = self._announcing, None
        if task is not None:
            await end(task)
            with anyio.move_on_after(_FAREWELL_S if self.healthy else 0, shield=True):
                try:
                    await self._announcer.tell(self._link.client)
                except Exception as trouble:  # noqa: BLE001  (they expire)
                    _LOG.debug("announcements not taken back: %s", type(trouble).__name__)
        await self._link.aclose()

    @contextmanager
    def register(
        self, stream_id: str, channel_id: int, wishes: StopSignal, asker: Person | None = None
    ) -> Iterator[None]:
        """Register a stream so that every process can reach it until the block exits."""
        with self._board.register(stream_id, channel_id, wishes, asker):
            self._announcer.begun(stream_id)
            try:
                yield
            finally:
                self._announcer.ended(stream_id, channel_id)

    request_stop: Final = requests.request_stop
    request_follow_up: Final = requests.request_follow_up
    kill: Final = requests.kill
    has_stop_request: Final = requests.has_stop_request
    clear_stop_request: Final = requests.clear_stop_request
    is_running: Final = requests.is_running

    async def running(self, channel_id: int) -> list[str]:
        """Return the ids of the streams in a channel; this process's only if not `healthy`."""
        address = Address(None, checked_channel_id(channel_id))
        here = self._board.find(address)
        until = anyio.current_time() + self._answer_s
        told = await self._asking.ask("find", address, until=until)
        return sorted({*here, *(told.streams if told is not None else ())})

    async def _do(
        self, op: Op, address: Address, wish: StopRequest | None = None
    ) -> RequestOutcome:
        # This process first, at once: local streams never wait for Redis.
        here = self._board.find(address)
        done = self._board.do(op, here, wish)
        if here and address.stream_id is not None:
            return RequestOutcome.YES if done else RequestOutcome.NO
        elsewhere = await self._do_elsewhere(op, address, wish)
        return RequestOutcome.YES if done else elsewhere

    async def _do_elsewhere(
        self, op: Op, address: Address, wish: StopRequest | None
    ) -> RequestOutcome:
        ask, now = self._asking.ask, anyio.current_time()
        found_by, done_by = now + self._answer_s * _FIND_SHARE, now + self._answer_s * _DO_SHARE
        if address.stream_id is not None:
            told = await ask(op, address, [address.stream_id], wish=wish, until=done_by)
        else:
            told = await ask("find", address, until=found_by)
            if told is not None and told.streams:
                told = await ask(op, address, told.streams, wish=wish, until=done_by)
        if told is not None and told.streams:
            return RequestOutcome.YES
        if told is None or not told.by_all:
            return RequestOutcome.UNREACHABLE
        # Every subscriber said no, but a process that is reconnecting to Redis is not subscribed.
        owner = await self._owner(address, now + self._answer_s)
        return (
            RequestOutcome.NO
            if owner in {"", self._asking.me, *told.answered}
            else RequestOutcome.UNREACHABLE
        )

    async def _owner(self, address: Address, until: float) -> str:
        """Return the id of the process that announced *address*, "" if none, "?" if unknown."""
        client, key = self._link.client, self._announcer.key(address)
        try:
            with anyio.CancelScope(deadline=until):
                owner = await asked(client, lambda: client.get(key))
                return owner.decode() if isinstance(owner, bytes) else ""
        except Exception as error:  # noqa: BLE001  (the link logs an outage once)
            _LOG.debug("an announcement could not be read: %s", type(error).__name__)
        return "?"
