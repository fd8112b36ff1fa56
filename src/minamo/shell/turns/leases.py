"""Leases: one stream per channel, also when the bot runs as several processes.

Within a process the channel's machine ensures this.  Between processes a lease does: the process
that streams into a channel holds its lease; the others wait or give up.

A holder whose lease is lost (the process was suspended, Redis dropped the key, the network failed)
stops.  There is no fencing: Discord accepts a message from any process that has the token, and
takes no fencing number by which it could refuse the slower of two holders.  So two processes may
send until the first one notices the loss; which of them holds the lease is never in doubt.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from enum import Enum
from typing import Protocol

from attrs import frozen

from minamo.shell.stops.registry import StopSignal, checked_channel_id


class LeaseStatus(Enum):
    """The outcome of requesting a lease.  Only `GRANTED` is truthy."""

    GRANTED = "granted"
    BUSY = "busy"  # another process streams there
    UNREACHABLE = "unreachable"  # the holder is unknown, so do not stream

    def __bool__(self) -> bool:
        return self is LeaseStatus.GRANTED


class Lease(Protocol):
    """A mechanism that grants a channel to one holder at a time."""

    def hold(
        self, channel_id: int, stop_signal: StopSignal, *, wait_s: float = 0.0
    ) -> AbstractAsyncContextManager[LeaseStatus]:
        """Hold a channel while the block runs, if the status is true; losing it kills the turn."""
        ...


@frozen
class NoLease:
    """The lease for a single-process bot: always granted."""

    @asynccontextmanager
    async def hold(
        self, channel_id: int, stop_signal: StopSignal, *, wait_s: float = 0.0
    ) -> AsyncIterator[LeaseStatus]:
        """Grant the channel immediately; the lease cannot be lost."""
        del stop_signal, wait_s
        checked_channel_id(channel_id)
        yield LeaseStatus.GRANTED
