"""Announcing what runs here, under keys of Redis that expire by themselves.

Requests do not need them: they ask every process that listens.  The keys tell of one that does
not listen just then, because its connection broke and is being made anew.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import anyio

from minamo.shell.stopping.board import Address, Board

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


class Announcer:
    """Keeps the keys of one process in step with its board."""

    def __init__(self, board: Board, prefix: str, me: str) -> None:
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
        """Announce changes at once, and everything again and again."""
        while True:
            with anyio.move_on_after(RENEW_S) as waiting:
                await self._changed.wait()
            self._changed = anyio.Event()
            self._all |= waiting.cancelled_caught
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
