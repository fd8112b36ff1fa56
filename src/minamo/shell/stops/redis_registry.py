"""Stops for a bot of several processes, through Redis (`pip install 'hikari-minamo[redis]'`).

Each process keeps its own board and answers for it; Redis carries questions and answers and
remembers nothing that matters.  While it is away, streams run on and can be stopped from their
own process; a request for another process answers `Reach.UNREACHABLE`, which is false.  It may
still act when that answer was only late, but then on the very stream that was meant.

One Redis, with or without replicas; not a cluster, which does not tell how many heard a question.
Who can write to it can stop streams: keep it private.
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


# The keys of a process that died are gone after so long; three renewals may fail before.
EXPIRE_S = 12.0
RENEW_S = 3.0
# Ended streams not taken back yet.  Past this many, expiry does it.
_ENDED_MAX = 1000

# A channel may have been announced by another process since.
_DELETE_OURS = (
    "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0"
)


class Heartbeat:
    """Keeps the keys of one process in step with its board."""

    def __init__(self, board: StreamRegistry, prefix: str, me: str) -> None:
        self._board = board
        self._prefix = prefix
        self._me = me
        self._begun: set[str] = set()
        self._ended: dict[str, int] = {}
        self._changed = anyio.Event()
        self._all = True

    def begun(self, stream_id: str) -> None:
        """A stream runs."""
        self._ended.pop(stream_id, None)
        self._begun.add(stream_id)
        self._changed.set()

    def ended(self, stream_id: str, channel_id: int) -> None:
        """A stream has ended."""
        self._begun.discard(stream_id)
        if len(self._ended) < _ENDED_MAX:
            self._ended[stream_id] = channel_id
        self._changed.set()

    def everything(self) -> None:
        """Redis may have come back empty."""
        self._all = True
        self._changed.set()

    def key(self, address: Address) -> str:
        """Under which something at an address is announced."""
        if address.stream_id is not None:
            return f"{self._prefix}:stream:{address.stream_id}"
        return f"{self._prefix}:channel:{address.channel_id}"

    async def run(self, client: Callable[[], Redis]) -> None:
        """Announce changes at once, and everything every `RENEW_S` however many changes come."""
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
            # The link warns of an outage, once; keys not renewed expire, and are set again.
            except Exception:  # noqa: BLE001
                self._all = True

    async def tell(self, client: Redis) -> None:
        """Bring the keys up to date."""
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

# A person who presses Stop waits for the answer; a healthy Redis takes a few milliseconds.
ANSWER_TIMEOUT_MS = 100
# How long opening waits for the first connection; later it comes by itself.
_OPEN_S = 1.0
# Taking back the announcements is a courtesy, for they expire.
_FAREWELL_S = 0.5
# Of that time: so much has passed when what runs in a channel must be known, and when it must
# have been told; one process that hangs must not keep the wish from the others.
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
        """Whether other processes can be reached, as far as we know."""
        return self._link.healthy

    @property
    def rubbish(self) -> int:
        """How many messages made no sense; if any, somebody else uses this prefix."""
        return self._asking.rubbish

    async def __aenter__(self) -> RedisStops:
        await self._link.open(_OPEN_S)
        loop = asyncio.get_running_loop()
        self._announcing = loop.create_task(self._announcer.run(lambda: self._link.client))
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Stop listening and close every connection.  Streams that still run run on."""
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
        """Make a stream reachable from every process until the block is left."""
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
        """The ids of the streams that run in a channel; of this process alone if not `healthy`."""
        address = Address(None, checked_channel_id(channel_id))
        here = self._board.find(address)
        until = anyio.current_time() + self._answer_s
        told = await self._asking.ask("find", address, until=until)
        return sorted({*here, *(told.streams if told is not None else ())})

    async def _do(
        self, op: Op, address: Address, wish: StopRequest | None = None
    ) -> RequestOutcome:
        # Here first, and at once: what runs here never waits for Redis.
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
        # Everybody who listens said no.  But somebody may not listen, while Redis is found again.
        owner = await self._owner(address, now + self._answer_s)
        return (
            RequestOutcome.NO
            if owner in {"", self._asking.me, *told.answered}
            else RequestOutcome.UNREACHABLE
        )

    async def _owner(self, address: Address, until: float) -> str:
        """Who has announced something at an address; "?" if that cannot be found out."""
        client, key = self._link.client, self._announcer.key(address)
        try:
            with anyio.CancelScope(deadline=until):
                owner = await asked(client, lambda: client.get(key))
                return owner.decode() if isinstance(owner, bytes) else ""
        except Exception as error:  # noqa: BLE001  (the link warns of an outage, once)
            _LOG.debug("an announcement could not be read: %s", type(error).__name__)
        return "?"
