"""One channel: its queue of turns, and the actions and guards of statecharts/channel.yaml.

This module reads no clock, and waits only in `QueuedTurn.called`.  `Channels` sends the events;
the chart decides their effect.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, Literal

import anyio
from attrs import define, field, frozen

from minamo.machine import Machine, compile, load
from minamo.machine.machine import Observer
from minamo.shell.stops.registry import StopKind, StopRequest, StopSignal

Policy = Literal["interrupt", "queue", "ignore"]
"""How a new turn is handled in a channel where another turn has begun."""

Reason = Literal["busy", "queue_full", "closing", "superseded", "stopped", "killed", "unreachable"]


@frozen(slots=True)
class TurnRefused:
    """The result of a turn that was not run, or that a kill or a deadline cancelled."""

    reason: Reason
    """`unreachable`: whether another process uses the channel could not be determined."""


@frozen(slots=True)
class Shutdown:
    """A stop request for the current turn, and the time at which the turn is cancelled."""

    request: StopRequest
    deadline: float = math.inf


UNSETTLED: Final = object()
"""In place of the result of a turn that has none yet."""


@define(eq=False)
class QueuedTurn:
    """One turn in one channel.

    Its job reads `stop_signal`, `from_queue` and `waited_s`; the channel uses the other fields.
    """

    policy: Policy
    submitted_at: float
    stop_signal: StopSignal = field(factory=StopSignal, init=False, repr=False)
    """Stop requests for this turn."""
    from_queue: bool = field(default=False, init=False)
    """Whether the turn was queued, so that the reply may come long after the question."""
    waited_s: float = field(default=0.0, init=False)
    """Seconds from the submission to the start of the job."""
    result: Any = field(default=UNSETTLED, init=False, repr=False)
    """The result of the turn.  A job that sets it may be cut off from there on."""
    refused: Reason | None = field(default=None, init=False)
    scope: anyio.CancelScope = field(factory=anyio.CancelScope, init=False, repr=False)
    """Encloses the job; cancels a turn that does not end by itself."""
    _decided: bool = field(default=False, init=False)
    _news: anyio.Event | None = field(default=None, init=False, repr=False)

    async def called(self) -> None:
        """Wait until the channel is granted or refused."""
        if not self._decided:
            self._news = anyio.Event()
            await self._news.wait()

    def call(self) -> None:
        """Grant the channel and wake the submitter."""
        self._decided = True
        if self._news is not None:
            self._news.set()

    def refuse(self, reason: Reason) -> None:
        """Refuse to run the job, for *reason*, and wake the submitter."""
        self.refused = reason
        self.scope.cancel()  # the submitter may be waiting for the lease
        self.call()

    def tell(self, ending: Shutdown, reason: Reason | None = None) -> None:
        """Request a stop; cancel the job after `ending.deadline`, with *reason* as the result."""
        if ending.deadline < self.scope.deadline:
            self.scope.deadline = ending.deadline
            self.refused = reason
        self.stop_signal.request(ending.request)


# The refusal reason for a turn that was stopped before it began.
_UNWANTED: Mapping[StopKind, Reason] = {
    "user": "stopped",
    "follow_up": "superseded",
    "kill": "killed",
}


@define(eq=False)
class ChannelActions:
    """The current, next and waiting turns of a channel, with the chart's guards and actions."""

    queue_max: int
    forget: Callable[[], object]
    at_hand: QueuedTurn | None = None
    """The turn that holds the channel."""
    next: QueuedTurn | None = None
    """The turn that interrupted the current one and runs after it."""
    waiting: deque[QueuedTurn] = field(factory=deque)

    def interrupts(self, ticket: QueuedTurn) -> bool:
        return ticket.policy == "interrupt"

    def queues(self, ticket: QueuedTurn) -> bool:
        return ticket.policy == "queue"

    def has_room(self, _: QueuedTurn) -> bool:
        return len(self.waiting) < self.queue_max

    def turn_waits(self, _: object) -> bool:
        return self.next is not None or bool(self.waiting)

    def was_next(self, ticket: QueuedTurn) -> bool:
        return ticket is self.next

    def give_channel(self, ticket: QueuedTurn) -> None:
        self.at_hand = ticket
        ticket.call()

    def give_next(self, _: object) -> None:
        ticket, self.next = self.next, None
        self.give_channel(ticket if ticket is not None else self.waiting.popleft())

    def make_next(self, ticket: QueuedTurn) -> None:
        self.next = ticket

    def enqueue(self, ticket: QueuedTurn) -> None:
        ticket.from_queue = True
        self.waiting.append(ticket)

    def drop(self, ticket: QueuedTurn) -> None:
        if ticket is self.next:
            self.next = None
        else:
            self.waiting.remove(ticket)

    def ask_follow_up(self, _: QueuedTurn) -> None:
        self._turn.tell(Shutdown(StopRequest(kind="follow_up")))

    def ask_finish(self, ending: Shutdown) -> None:
        self._turn.tell(ending, "closing")

    def kill_turn(self, ending: Shutdown) -> None:
        self._turn.tell(ending, "killed")

    def refuse_busy(self, ticket: QueuedTurn) -> None:
        ticket.refuse("busy")

    def refuse_full(self, ticket: QueuedTurn) -> None:
        ticket.refuse("queue_full")

    def refuse_closing(self, ticket: QueuedTurn) -> None:
        ticket.refuse("closing")

    def supersede_turn(self, _: QueuedTurn) -> None:
        self._turn.refuse("superseded")

    def supersede_next(self, _: QueuedTurn) -> None:
        assert self.next is not None, "only `interrupting` does so, and it has a next turn"
        self.next.refuse("superseded")

    def end_unbegun(self, request: StopRequest) -> None:
        self._turn.refuse(_UNWANTED[request.kind])

    def kill_unbegun(self, _: Shutdown) -> None:
        self._turn.refuse("killed")

    def close_unbegun(self, _: Shutdown) -> None:
        self._turn.refuse("closing")

    def kill_waiting(self, _: Shutdown) -> None:
        self._refuse_waiting("killed")

    def close_waiting(self, _: Shutdown) -> None:
        self._refuse_waiting("closing")

    def let_go(self, _: object) -> None:
        self.at_hand = None
        self.forget()

    @property
    def _turn(self) -> QueuedTurn:
        assert self.at_hand is not None, "a row for the turn at hand is only taken if there is one"
        return self.at_hand

    def _refuse_waiting(self, reason: Reason) -> None:
        for ticket in self._everybody():
            ticket.refuse(reason)
        self.next = None
        self.waiting.clear()

    def _everybody(self) -> Iterator[QueuedTurn]:
        if self.next is not None:
            yield self.next
        yield from self.waiting


CHART = load("channel")
TABLE = compile(CHART, ChannelActions)


class ChannelTurns:
    """One channel with at least one turn; *forget* is called when the last turn has left."""

    __slots__ = ("_known", "machine")

    def __init__(
        self, queue_max: int, forget: Callable[[], object], *, watch: Observer | None = None
    ) -> None:
        self._known = ChannelActions(queue_max, forget)
        self.machine: Machine = Machine(TABLE, self._known, watch=watch)

    def __repr__(self) -> str:
        return f"<Channel {self.machine.state}, {self.waiting} waiting>"

    @property
    def waiting(self) -> int:
        """Number of waiting turns, including the next one."""
        return len(self._known.waiting) + (self._known.next is not None)

    def leave(self, ticket: QueuedTurn) -> None:
        """Release the channel or the place in the queue of *ticket*, for any reason."""
        if ticket is self._known.at_hand:
            self.machine.send("turn_ended", ticket)
        elif ticket is self._known.next or ticket in self._known.waiting:
            self.machine.send("gave_up", ticket)
        # Otherwise it was refused, and the channel no longer holds it.
