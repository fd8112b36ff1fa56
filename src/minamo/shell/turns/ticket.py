"""One turn's place in its channel: what the turn is told, and how it is called or refused."""

from __future__ import annotations

import math
from typing import Literal

import anyio
from attrs import define, field, frozen

from minamo.shell.stopping.wishes import Wish, Wishes

Policy = Literal["interrupt", "queue", "ignore"]
"""What a new turn does in a channel where another has begun."""

Reason = Literal["busy", "queue_full", "closing", "superseded", "stopped", "killed", "unreachable"]


@frozen(slots=True)
class Refused:
    """The answer to a turn that was not run, or that a kill or a deadline had to cancel."""

    reason: Reason
    """`unreachable`: nobody could say whether another process uses the channel."""


@frozen(slots=True)
class Ending:
    """How the turn at hand is told to end, and when it is cancelled if it does not."""

    wish: Wish
    by: float = math.inf


@define(eq=False)
class Ticket:
    """One turn in one channel.  Its job reads the first three, the rest is the channel's."""

    policy: Policy
    submitted_at: float
    wishes: Wishes = field(factory=Wishes, init=False, repr=False)
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

    def tell(self, ending: Ending, reason: Reason | None = None) -> None:
        """Put the wish; after `ending.by` the job is cancelled and *reason* is the answer."""
        if ending.by < self.scope.deadline:
            self.scope.deadline = ending.by
            self.refused = reason
        self.wishes.put(ending.wish)
