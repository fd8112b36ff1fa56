"""Stops: telling a stream, or whatever runs in a channel, that somebody wants something of it.

The laws, the same for every registry:
- A request acts on what runs *now*, while it is made.  Nothing of it is kept: a stop for a
  stream that has ended, or for a channel where nothing runs, is forgotten on the spot and can
  never touch the next stream.
- Of several wishes for one stream the strongest counts: kill over a user's stop over a
  follow-up (see wishes.py).
- A registration is gone when its block is left, whatever happened in it.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Final, Protocol

from minamo.shell.stopping import requests
from minamo.shell.stopping.board import Address, Board, Op, Person, checked_channel_id
from minamo.shell.stopping.requests import Reach
from minamo.shell.stopping.wishes import Wish, Wishes


class Stops(Protocol):
    """A registry of running streams.  Requests take `stream_id=` or `channel_id=`, one of them."""

    def register(
        self, stream_id: str, channel_id: int, wishes: Wishes, asker: Person | None = None
    ) -> AbstractContextManager[None]:
        """Make a stream reachable until the block is left; *asker* is who it is for, if known."""
        ...

    async def request_stop(
        self,
        *,
        stream_id: str | None = None,
        channel_id: int | None = None,
        requester: Person | None = None,
        context: Mapping[str, object] | None = None,
        asker: Person | None = None,
    ) -> Reach:
        """A person's stop (the system's own without a requester): what was said is still sent.

        With an *asker*, what somebody else asked for is not stopped.
        """
        ...

    async def request_follow_up(
        self,
        *,
        stream_id: str | None = None,
        channel_id: int | None = None,
        requester: Person | None = None,
        context: Mapping[str, object] | None = None,
    ) -> Reach:
        """Make way for a newer message.  Never overrides a person's stop, though it reaches."""
        ...

    async def kill(
        self,
        *,
        stream_id: str | None = None,
        channel_id: int | None = None,
        requester: Person | None = None,
        context: Mapping[str, object] | None = None,
    ) -> Reach:
        """An operator's stop: at once, and what was not sent is dropped.  Outranks the others."""
        ...

    async def has_stop_request(
        self, *, stream_id: str | None = None, channel_id: int | None = None
    ) -> Reach:
        """Whether a wish of any kind was put to something that still runs there."""
        ...

    async def clear_stop_request(
        self, *, stream_id: str | None = None, channel_id: int | None = None
    ) -> Reach:
        """Take back a wish that was not acted on yet; whether there was one.

        A stream acts on a wish the moment it is put, and then it is too late.  While the tools of a
        turn run, a user's stop lets them finish for a moment, and so long it can be taken back.
        """
        ...

    async def is_running(
        self, *, stream_id: str | None = None, channel_id: int | None = None
    ) -> Reach:
        """Whether something runs there."""
        ...

    async def running(self, channel_id: int) -> list[str]:
        """The ids of the streams that run in a channel, as far as they can be reached."""
        ...


class MemoryStops:
    """The registry of a bot that is one process.  Its answers are final: never unreachable."""

    def __init__(self) -> None:
        self._board = Board()

    def __repr__(self) -> str:
        return f"MemoryStops(_board={self._board!r})"

    def register(
        self, stream_id: str, channel_id: int, wishes: Wishes, asker: Person | None = None
    ) -> AbstractContextManager[None]:
        """Make a stream reachable until the block is left, however that happens."""
        return self._board.register(stream_id, channel_id, wishes, asker)

    request_stop: Final = requests.request_stop
    request_follow_up: Final = requests.request_follow_up
    kill: Final = requests.kill
    has_stop_request: Final = requests.has_stop_request
    clear_stop_request: Final = requests.clear_stop_request
    is_running: Final = requests.is_running

    async def running(self, channel_id: int) -> list[str]:
        """The ids of the streams that run in a channel."""
        return self._board.find(Address(None, checked_channel_id(channel_id)))

    async def _do(self, op: Op, address: Address, wish: Wish | None = None) -> Reach:
        return Reach.YES if self._board.do(op, self._board.find(address), wish) else Reach.NO
