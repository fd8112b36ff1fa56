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
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import anyio

from minamo.errors import BadSetting
from minamo.shell.stopping import requests
from minamo.shell.stopping.announcing import Announcer
from minamo.shell.stopping.asking import Asking
from minamo.shell.stopping.board import Address, Board, Op, Person, checked_channel_id
from minamo.shell.stopping.redis_link import asked, checked_prefix, end
from minamo.shell.stopping.requests import Reach
from minamo.shell.stopping.wishes import Wish, Wishes

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
        self._board = Board()
        self._asking = Asking(url, prefix, self._board, lambda: self._announcer.everything())
        self._announcer = Announcer(self._board, prefix, self._asking.me)
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
        self, stream_id: str, channel_id: int, wishes: Wishes, asker: Person | None = None
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

    async def _do(self, op: Op, address: Address, wish: Wish | None = None) -> Reach:
        # Here first, and at once: what runs here never waits for Redis.
        here = self._board.find(address)
        done = self._board.do(op, here, wish)
        if here and address.stream_id is not None:
            return Reach.YES if done else Reach.NO
        elsewhere = await self._do_elsewhere(op, address, wish)
        return Reach.YES if done else elsewhere

    async def _do_elsewhere(self, op: Op, address: Address, wish: Wish | None) -> Reach:
        ask, now = self._asking.ask, anyio.current_time()
        found_by, done_by = now + self._answer_s * _FIND_SHARE, now + self._answer_s * _DO_SHARE
        if address.stream_id is not None:
            told = await ask(op, address, [address.stream_id], wish=wish, until=done_by)
        else:
            told = await ask("find", address, until=found_by)
            if told is not None and told.streams:
                told = await ask(op, address, told.streams, wish=wish, until=done_by)
        if told is not None and told.streams:
            return Reach.YES
        if told is None or not told.by_all:
            return Reach.UNREACHABLE
        # Everybody who listens said no.  But somebody may not listen, while Redis is found again.
        owner = await self._owner(address, now + self._answer_s)
        return Reach.NO if owner in {"", self._asking.me, *told.answered} else Reach.UNREACHABLE

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
