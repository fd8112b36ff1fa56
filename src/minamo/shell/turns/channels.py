"""The registry of busy channels: one turn at a time in each; others wait, interrupt or are refused.

A turn runs in the task of its submitter, so cancelling the submitter cancels the turn, and no
background task can be leaked here.  Idle channels are not stored.

Between the processes of a bot a lease ensures the same: the process that streams into a channel
holds its lease; the others wait or give up.  A holder whose lease is lost (the process was
suspended, Redis dropped the key, the network failed) stops.  There is no fencing: Discord accepts
a message from any process that has the token, and takes no fencing number by which it could refuse
the slower of two holders.  So two processes may send until the first one notices the loss; which
of them holds the lease is never in doubt.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from contextlib import (
    AbstractAsyncContextManager,
    AbstractContextManager,
    AsyncExitStack,
    nullcontext,
)
from enum import Enum
from functools import partial
from typing import Protocol, TypeVar, get_args

import anyio

from minamo.errors import BadSetting
from minamo.machine.machine import Machine, Observer
from minamo.shell.callbacks import Guarded
from minamo.shell.stops.registry import StopRequest, StopSignal, checked_channel_id
from minamo.shell.turns.channel import (
    UNSETTLED,
    ChannelTurns,
    Policy,
    QueuedTurn,
    Shutdown,
    TurnRefused,
)

_LOG = logging.getLogger("minamo.turn")

__all__ = ["Channels", "Policy", "QueuedTurn", "TurnRefused"]

# With sixteen questions queued before the first is answered, later ones would wait for minutes.
QUEUE_MAX = 16
# A stream settles within five seconds of a kill; one that runs a little longer is stuck.
KILL_GRACE_S = 6.0
# How long a turn waits for another process to release the channel: a reply that is more than a
# minute late belongs to a conversation that has moved on.
LEASE_WAIT_S = 60.0
# The share of a deadline reserved for a turn to report its result: a turn that is cancelled
# because Discord does not answer cannot report what it has shown.
SETTLING = 0.1
# Seconds a cancelled turn has to clean up before a shutdown continues without it.
CLEAN_UP_S = 1.0

T = TypeVar("T")
Job = Callable[[QueuedTurn], Awaitable[T]]
Known = Callable[[StopSignal], AbstractContextManager[object]]


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


class Channels:
    """All busy channels of one bot."""

    def __init__(
        self,
        policy: Policy = "interrupt",
        queue_max: int = QUEUE_MAX,
        *,
        kill_grace_s: float = KILL_GRACE_S,
        lease: Lease | None = None,
        lease_wait_s: float = LEASE_WAIT_S,
        watch: Observer | None = None,
    ) -> None:
        if queue_max < 0:
            raise BadSetting(f"queue_max must be 0 or more, not {queue_max}")
        for name, seconds in (("kill_grace_s", kill_grace_s), ("lease_wait_s", lease_wait_s)):
            if not seconds >= 0:
                raise BadSetting(f"{name} must be 0 or more, not {seconds}")
        self._policy = _known(policy)
        self._queue_max = queue_max
        self._kill_grace_s = kill_grace_s
        self._lease = lease
        self._lease_wait_s = lease_wait_s
        self._watch = None if watch is None else Guarded("watch", watch, _LOG)
        self._channels: dict[int, ChannelTurns] = {}
        self._shut: Shutdown | None = None
        self._changed: anyio.Event | None = None

    def __repr__(self) -> str:
        return f"<Channels: {len(self)} busy>"

    def __len__(self) -> int:
        """Return the number of busy channels."""
        return len(self._channels)

    def busy(self, channel_id: int) -> bool:
        """Return whether a turn holds the channel."""
        return channel_id in self._channels

    def waiting(self, channel_id: int) -> int:
        """Return the number of turns that wait for the channel."""
        channel = self._channels.get(channel_id)
        return 0 if channel is None else channel.waiting

    async def run(
        self,
        channel_id: int,
        job: Job[T],
        policy: Policy | None = None,
        *,
        known: Known = nullcontext,
    ) -> T | TurnRefused:
        """Run *job* when the channel is free; return its result, or the reason it was refused.

        Exceptions of the job propagate.  A job must not wait for a second turn in its own channel:
        that is a deadlock.  *known* registers the turn for stop requests while it holds the
        channel and waits for another process to release the lease.
        """
        channel_id = checked_channel_id(channel_id)
        policy = self._policy if policy is None else _known(policy)
        ticket = QueuedTurn(policy, anyio.current_time())
        channel = self._channels.get(channel_id) or self._open(channel_id)
        channel.machine.send("submitted", ticket)
        try:
            await ticket.called()
            if ticket.refused is None:
                await self._serve(channel_id, channel.machine, ticket, job, known)
        finally:
            channel.leave(ticket)
        if ticket.result is not UNSETTLED:
            result: T = ticket.result
            return result
        assert ticket.refused is not None, "a turn that did not run was refused"
        return TurnRefused(ticket.refused)

    def kill(self, channel_id: int, requester: str | None = None) -> bool:
        """Kill the current and all waiting turns of a channel; return whether there was one."""
        channel = self._channels.get(channel_id)
        if channel is None:
            return False
        by = anyio.current_time() + self._kill_grace_s
        ending = Shutdown(StopRequest(kind="kill", requester=requester), by)
        channel.machine.send("killed", ending)
        return True

    async def drain(self, deadline_s: float) -> bool:
        """Refuse new turns and end the running ones; return whether all have ended.

        Running turns are asked to stop now and cancelled after *deadline_s*; `CLEAN_UP_S` later
        this returns even if some still run.
        """
        by = anyio.current_time() + deadline_s
        # Without a requester: a stop by the system.
        self._shut = Shutdown(StopRequest(deadline=by - deadline_s * SETTLING), by)
        for channel in tuple(self._channels.values()):
            channel.machine.send("shut_down", self._shut)
        with anyio.CancelScope(deadline=by + CLEAN_UP_S):
            while self._channels:
                if self._changed is None:
                    self._changed = anyio.Event()
                await self._changed.wait()
        return not self._channels

    async def _serve(
        self,
        channel_id: int,
        machine: Machine,
        ticket: QueuedTurn,
        job: Job[T],
        known: Known,
    ) -> None:
        with ticket.scope:
            async with AsyncExitStack() as stack:
                if self._lease is not None:
                    wait_s = 0.0 if ticket.policy == "ignore" else self._lease_wait_s
                    hold = self._lease.hold(channel_id, ticket.stop_signal, wait_s=wait_s)
                    unwanted = partial(machine.send, "unwanted")
                    with known(ticket.stop_signal), ticket.stop_signal.listen(unwanted):
                        leased = await stack.enter_async_context(hold)
                    if ticket.refused is None and not leased:
                        ticket.refused = "busy" if leased is LeaseStatus.BUSY else "unreachable"
                    if ticket.refused is not None:  # perhaps while it waited for the lease
                        return
                ticket.waited_s = anyio.current_time() - ticket.submitted_at
                machine.send("begun", ticket)
                ticket.result = await job(ticket)

    def _open(self, channel_id: int) -> ChannelTurns:
        def forget() -> None:
            self._channels.pop(channel_id, None)
            if not self._channels and self._changed is not None:
                self._changed.set()

        channel = self._channels[channel_id] = ChannelTurns(
            self._queue_max, forget, watch=self._watch
        )
        if self._shut is not None:
            channel.machine.send("shut_down", self._shut)
        return channel


def _known(policy: Policy) -> Policy:
    if policy not in get_args(Policy):
        raise BadSetting(f"policy must be one of {', '.join(get_args(Policy))}, not {policy!r}")
    return policy
