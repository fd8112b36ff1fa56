"""Stop registry for a bot of several processes, over Redis (`hikari-minamo[redis]`).

Each process answers for its own streams; Redis only carries queries, replies and expiring
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
from typing import TYPE_CHECKING

import anyio

from minamo.errors import BadSetting
from minamo.shell.stops.redis_link import asked, checked_prefix, end
from minamo.shell.stops.redis_protocol import Op, RedisBroadcast, ask, deliver
from minamo.shell.stops.registry import (
    Person,
    Query,
    RequestOutcome,
    StopAddress,
    StopRequest,
    Stops,
    StopSignal,
    checked_channel_id,
)

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
    """Publisher of one process's keys: keeps them in step with its registry."""

    def __init__(self, registry: Stops, prefix: str, me: str) -> None:
        self._registry = registry
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

    def key(self, address: StopAddress) -> str:
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
                await self.announce(client())
            # The link logs an outage once; keys that expire meanwhile are set again.
            except Exception:  # noqa: BLE001
                self._all = True

    async def announce(self, client: Redis) -> None:
        """Set the keys of running streams and delete those of ended ones."""
        ended, self._ended = self._ended, {}
        begun, self._begun = self._begun, set()
        announced = list(self._registry.streams if self._all else begun)
        self._all = False
        keys = [self.key(StopAddress(stream_id, None)) for stream_id in announced]
        streams = self._registry.streams
        keys += {self.key(StopAddress(None, streams[key].channel_id)) for key in announced}
        async with client.pipeline(transaction=False) as pipe:
            for key in keys:
                pipe.set(key, self._me, px=int(EXPIRE_S * 1000))
            for stream_id, channel_id in ended.items():
                pipe.delete(self.key(StopAddress(stream_id, None)))
                channel = StopAddress(None, channel_id)
                if not self._registry.find(channel):
                    pipe.eval(_DELETE_OURS, 1, self.key(channel), self._me)
            await pipe.execute()


_LOG = logging.getLogger("minamo.redis")

# A user who presses Stop waits for the answer; a healthy Redis takes a few milliseconds.  Only a
# process that hangs, or a Redis that is gone, takes all of it; a busy process may take 100 ms.
ANSWER_TIMEOUT_MS = 300
# How long opening waits for the first connection; after that the link keeps trying by itself.
_OPEN_S = 1.0
# Deleting our keys on close is optional, because they expire.
_CLEAN_UP_S = 0.5
# Shares of the answer timeout by which the streams of a channel must be found, and by which the
# request must be delivered: a process that hangs must not keep the request from the others.
_FIND_SHARE = 0.6
_DO_SHARE = 0.9


class RedisStops(Stops):
    """A registry shared by every process that uses the same Redis and prefix."""

    def __init__(
        self, url: str, *, prefix: str = "minamo", answer_timeout_ms: int = ANSWER_TIMEOUT_MS
    ) -> None:
        super().__init__()
        if not 1 <= answer_timeout_ms <= 60_000:
            raise BadSetting("answer_timeout_ms must be 1 to 60000")
        self._prefix = checked_prefix(prefix)
        self._answer_s = answer_timeout_ms / 1000
        self._broadcast = RedisBroadcast(url, prefix, self, lambda: self._heartbeat.everything())
        self._heartbeat = Heartbeat(self, prefix, self._broadcast.me)
        self._link = self._broadcast.link
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
        return self._broadcast.rubbish

    async def __aenter__(self) -> RedisStops:
        await self._link.open(_OPEN_S)
        loop = asyncio.get_running_loop()
        self._announcing = loop.create_task(self._heartbeat.run(lambda: self._link.client))
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Stop listening and close every connection.  Running streams continue."""
        task, self._announcing = self._announcing, None
        if task is not None:
            await end(task)
            with anyio.move_on_after(_CLEAN_UP_S if self.healthy else 0, shield=True):
                try:
                    await self._heartbeat.announce(self._link.client)
                except Exception as trouble:  # noqa: BLE001  (they expire)
                    _LOG.debug("announcements not taken back: %s", type(trouble).__name__)
        await self._link.close()

    @contextmanager
    def register(
        self, stream_id: str, channel_id: int, signal: StopSignal, asker: Person | None = None
    ) -> Iterator[None]:
        """Register a stream so that every process can reach it until the block exits."""
        with super().register(stream_id, channel_id, signal, asker):
            self._heartbeat.begun(stream_id)
            try:
                yield
            finally:
                self._heartbeat.ended(stream_id, channel_id)

    async def running(self, channel_id: int) -> list[str]:
        """Return the ids of the streams in a channel; this process's only if not `healthy`."""
        address = StopAddress(None, checked_channel_id(channel_id))
        stream_ids = self.find(address)
        until = anyio.current_time() + self._answer_s
        found = await self._broadcast.ask("find", address, until=until)
        return sorted({*stream_ids, *(found.streams if found is not None else ())})

    # This process first, at once: local streams never wait for Redis.

    async def _deliver(self, address: StopAddress, request: StopRequest) -> RequestOutcome:
        stream_ids = self.find(address)
        done = deliver(self, stream_ids, request)
        if stream_ids and address.stream_id is not None:
            return RequestOutcome.YES if done else RequestOutcome.NO
        elsewhere = await self._ask_others("request", address, request)
        return RequestOutcome.YES if done else elsewhere

    async def _ask(self, query: Query, address: StopAddress) -> RequestOutcome:
        stream_ids = self.find(address)
        done = ask(self, stream_ids, query)
        if stream_ids and address.stream_id is not None:
            return RequestOutcome.YES if done else RequestOutcome.NO
        elsewhere = await self._ask_others(query, address)
        return RequestOutcome.YES if done else elsewhere

    async def _ask_others(
        self, op: Op, address: StopAddress, request: StopRequest | None = None
    ) -> RequestOutcome:
        query, now = self._broadcast.ask, anyio.current_time()
        found_by, done_by = now + self._answer_s * _FIND_SHARE, now + self._answer_s * _DO_SHARE
        if address.stream_id is not None:
            replies = await query(op, address, [address.stream_id], request=request, until=done_by)
        else:
            replies = await query("find", address, until=found_by)
            if replies is not None and replies.streams:
                replies = await query(op, address, replies.streams, request=request, until=done_by)
        if replies is not None and replies.streams:
            return RequestOutcome.YES
        # Every subscriber said no, but a process that is reconnecting to Redis is not subscribed;
        # its announcements are lost if Redis came back empty.
        if replies is None or not replies.by_all or not self._link.settled:
            return RequestOutcome.UNREACHABLE
        owner = await self._owner(address, now + self._answer_s)
        return (
            RequestOutcome.NO
            if owner in {"", self._broadcast.me, *replies.answered}
            else RequestOutcome.UNREACHABLE
        )

    async def _owner(self, address: StopAddress, until: float) -> str:
        """Return the id of the process that announced *address*, "" if none, "?" if unknown."""
        client, key = self._link.client, self._heartbeat.key(address)
        try:
            with anyio.CancelScope(deadline=until):
                owner = await asked(client, lambda: client.get(key))
                return owner.decode() if isinstance(owner, bytes) else ""
        except Exception as error:  # noqa: BLE001  (the link logs an outage once)
            _LOG.debug("an announcement could not be read: %s", type(error).__name__)
        return "?"
