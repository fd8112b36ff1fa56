"""One stream per channel, also when the bot is several processes.

Within a process the channel's own machine sees to that.  Between processes a lease does: who
streams into a channel holds it, others wait or go without.

A lease that was lost (the process stood still, Redis forgot it, the network was cut) makes its
holder stop.  There is no fencing: Discord takes a message from whoever has the token, and has no
place for a number by which it could refuse the slower of two holders.  So for a moment two may
send, namely until the first one notices; what is never lost sight of is who should.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from enum import Enum
from typing import Protocol

from attrs import frozen

from minamo.shell.stops.registry import checked_channel_id
from minamo.shell.stops.requests import StopSignal


class LeaseStatus(Enum):
    """What became of asking for a channel.  Only `GRANTED` is true."""

    GRANTED = "granted"
    BUSY = "busy"  # somebody else streams there
    UNREACHABLE = "unreachable"  # nobody knows, so better not

    def __bool__(self) -> bool:
        return self is LeaseStatus.GRANTED


class Lease(Protocol):
    """Gives a channel to one holder at a time."""

    def hold(
        self, channel_id: int, wishes: StopSignal, *, wait_s: float = 0.0
    ) -> AbstractAsyncContextManager[LeaseStatus]:
        """Hold a channel while the block runs, if the answer is true; lost, it kills the turn."""
        ...


@frozen
class NoLease:
    """For a bot that is one process: always granted."""

    @asynccontextmanager
    async def hold(
        self, channel_id: int, wishes: StopSignal, *, wait_s: float = 0.0
    ) -> AsyncIterator[LeaseStatus]:
        """Granted, at once; nobody can take it away."""
        del wishes, wait_s
        checked_channel_id(channel_id)
        yield LeaseStatus.GRANTED
