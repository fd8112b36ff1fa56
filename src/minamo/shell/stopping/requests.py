"""What can be asked of a registry of streams, whatever carries it there, and what it answers.

A registry takes these functions for its methods; what it brings itself is the way to whoever
is meant.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Protocol

from minamo.shell.stopping.board import Address, Op, Person, addressed, checked_wish
from minamo.shell.stopping.wishes import Wish


class Reach(Enum):
    """Whether a request reached something that runs.  Only `YES` is true."""

    YES = "yes"
    NO = "no"  # nothing of that kind runs
    UNREACHABLE = "unreachable"  # it may run in another process, which could not be asked

    def __bool__(self) -> bool:
        return self is Reach.YES


class Carries(Protocol):
    """A registry, as these functions see it."""

    async def _do(self, op: Op, address: Address, wish: Wish | None = None) -> Reach:
        """Do that to whatever runs at an address."""
        ...


async def request_stop(
    self: Carries,
    *,
    stream_id: str | None = None,
    channel_id: int | None = None,
    requester: Person | None = None,
    context: Mapping[str, object] | None = None,
    asker: Person | None = None,
) -> Reach:
    """A person's stop; without a requester the system's own.  With an *asker*, only of theirs."""
    wish = checked_wish("user", requester, context)
    return await self._do("put", addressed(stream_id, channel_id, asker), wish)


async def request_follow_up(
    self: Carries,
    *,
    stream_id: str | None = None,
    channel_id: int | None = None,
    requester: Person | None = None,
    context: Mapping[str, object] | None = None,
) -> Reach:
    """Make way for a newer message."""
    wish = checked_wish("follow_up", requester, context)
    return await self._do("put", addressed(stream_id, channel_id), wish)


async def kill(
    self: Carries,
    *,
    stream_id: str | None = None,
    channel_id: int | None = None,
    requester: Person | None = None,
    context: Mapping[str, object] | None = None,
) -> Reach:
    """An operator's stop: at once, and what was not sent is dropped."""
    wish = checked_wish("kill", requester, context)
    return await self._do("put", addressed(stream_id, channel_id), wish)


async def has_stop_request(
    self: Carries, *, stream_id: str | None = None, channel_id: int | None = None
) -> Reach:
    """Whether a wish of any kind was put to something that still runs there."""
    return await self._do("wished", addressed(stream_id, channel_id))


async def clear_stop_request(
    self: Carries, *, stream_id: str | None = None, channel_id: int | None = None
) -> Reach:
    """Take back a wish that was not acted on yet; whether there was one."""
    return await self._do("forget", addressed(stream_id, channel_id))


async def is_running(
    self: Carries, *, stream_id: str | None = None, channel_id: int | None = None
) -> Reach:
    """Whether something runs there."""
    return await self._do("runs", addressed(stream_id, channel_id))
