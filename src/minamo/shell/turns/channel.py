"""One channel: the actions and guards that statecharts/channel.yaml names.

No clock and no waiting in here.  `Channels` says what happened; the chart says what that means.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from typing import Literal

import anyio
from attrs import define, field, frozen

from minamo.machine import Machine, compile, load
from minamo.machine.machine import Observer
from minamo.shell.stops.requests import StopKind, StopRequest, StopSignal

Policy = Literal["interrupt", "queue", "ignore"]
"""What a new turn does in a channel where another has begun."""

Reason = Literal["busy", "queue_full", "closing", "superseded", "stopped", "killed", "unreachable"]


@frozen(slots=True)
class TurnRefused:
    """The answer to a turn that was not run, or that a kill or a deadline had to cancel."""

    reason: Reason
    """`unreachable`: nobody could say whether another process uses the channel."""


@frozen(slots=True)
class Shutdown:
    """How the turn at hand is told to end, and when it is cancelled if it does not."""

    wish: StopRequest
    by: float = math.inf


@define(eq=False)
class QueuedTurn:
    """One turn in one channel.  Its job reads the first three, the rest is the channel's."""

    policy: Policy
    submitted_at: float
    wishes: StopSignal = field(factory=StopSignal, init=False, repr=False)
    """What people want of this turn."""
    from_queue: bool = field(default=False, init=False)
    """Whether it stood in the queue, so that its answer may come long after the question."""
    waited_s: float = field(default=0.0, init=False)
    """From the submission to the beginning of the job."""
    refused: Reason | None = field(default=None, init=False)
    scope: anyio.CancelScope = field(factory=anyio.CancelScope, init=False, repr=False)
    """Around the job; it ends a turn that does not end by itself."""
    _decided: bool = field(default=False, init=False)
    _news: anyio.Event | None = field(default=None, init=False, repr=False)

    async def called(self) -> None:
        """Wait until the channel is given or refused."""
        if not self._decided:
            self._news = anyio.Event()
            await self._news.wait()

    def call(self) -> None:
        """The channel is given."""
        self._decided = True
        if self._news is not None:
            self._news.set()

    def refuse(self, reason: Reason) -> None:
        """The job will not be run."""
        self.refused = reason
        self.scope.cancel()  # it may be waiting for the lease
        self.call()

    def tell(self, ending: Shutdown, reason: Reason | None = None) -> None:
        """Put the wish; after `ending.by` the job is cancelled and *reason* is the answer."""
        if ending.by < self.scope.deadline:
            self.scope.deadline = ending.by
            self.refused = reason
        self.wishes.put(ending.wish)


# Why a turn that nobody wants any more was not run.
_UNWANTED: Mapping[StopKind, Reason] = {
    "user": "stopped",
    "follow_up": "superseded",
    "kill": "killed",
}


@define(eq=False)
class ChannelActions:
    """Who has the channel, who is next, who waits, and what the chart does with them."""

    queue_max: int
    forget: Callable[[], object]
    at_hand: QueuedTurn | None = None
    """The turn that has the channel."""
    next: QueuedTurn | None = None
    """The turn for which the one at hand was told to make way."""
    waiting: deque[QueuedTurn] = field(factory=deque)

    def interrupts(self, ticket: QueuedTurn) -> bool:
        return ticket.policy == "interrupt"

    def queues(self, ticket: QueuedTurn) -> bool:
        return ticket.policy == "queue"

    def has_room(self, _: QueuedTurn) -> bool:
        return len(self.waiting) < self.queue_max

    def someone_waits(self, _: object) -> bool:
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

    def end_unbegun(self, wish: StopRequest) -> None:
        self._turn.refuse(_UNWANTED[wish.kind])

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


class Channel:
    """One channel in which something goes on; *forget* is called when that is over."""

    __slots__ = ("_known", "_machine")

    def __init__(
        self, queue_max: int, forget: Callable[[], object], *, watch: Observer | None = None
    ) -> None:
        self._known = ChannelActions(queue_max, forget)
        self._machine = Machine(TABLE, self._known)
        if watch is not None:
            self._machine.subscribe(watch)

    def __repr__(self) -> str:
        return f"<Channel {self.state}, {self.waiting} waiting>"

    @property
    def state(self) -> str:
        """The leaf of the chart it is in."""
        return self._machine.state

    @property
    def waiting(self) -> int:
        """How many turns wait, the next one included."""
        return len(self._known.waiting) + (self._known.next is not None)

    def submit(self, ticket: QueuedTurn) -> None:
        """A turn wants the channel; its ticket is called or refused, now or later."""
        self._machine.send("submitted", ticket)

    def begin(self, ticket: QueuedTurn, at: float) -> None:
        """The turn that has the channel begins."""
        ticket.waited_s = at - ticket.submitted_at
        self._machine.send("begun", ticket)

    def leave(self, ticket: QueuedTurn) -> None:
        """The submitter of *ticket* is done with the channel, for whatever reason."""
        if ticket is self._known.at_hand:
            self._machine.send("turn_ended", ticket)
        elif ticket is self._known.next or ticket in self._known.waiting:
            self._machine.send("gave_up", ticket)
        # Else it was refused, and the channel has forgotten it.

    def hear(self, wish: StopRequest) -> None:
        """Somebody wants the turn at hand to end."""
        self._machine.send("unwanted", wish)

    def kill(self, ending: Shutdown) -> None:
        """Everything here is to end now."""
        self._machine.send("killed", ending)

    def shut_down(self, ending: Shutdown) -> None:
        """The program ends."""
        self._machine.send("shut_down", ending)
