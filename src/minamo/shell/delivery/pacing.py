"""When a call may go out, so that Discord never has to say 429.

hikari limits rates too, but it learns a limit from answers and trusts the wall clock; before
the first answer, or with a clock that is off, it runs into hundreds of 429s.  With this in front
its limiter is only a net.  All waits here are plain anyio: cancelling one harms nobody.
"""

from __future__ import annotations

import math
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

import anyio
from attrs import define, field, frozen

from minamo.core.checks import positive_seconds, whole
from minamo.errors import BadSetting
from minamo.shell.delivery.interfaces import Accepted, Deleted, Rejected, RetryLater, SendOutcome


@frozen(slots=True)
class RateLimit:
    """So many at once, then one every so many seconds."""

    burst: int = field(validator=whole(1))
    every_s: float = field(validator=positive_seconds)


# Observed: 5 per 5 s and channel.  One less, and 5% slower, because their clock is not ours.
MESSAGES = RateLimit(4, 1.05)
# 5 per 2 s and webhook, by the same margins.
WEBHOOK = RateLimit(4, 0.42)
# A second limit of webhooks, announced by no header: 30 per 60 s and channel.
WEBHOOK_HIDDEN = RateLimit(20, 2.1)
# 50 per second for a bot.  At most 40 + 4 fall into any second; the rest is for its other calls.
PROCESS = RateLimit(4, 1 / 40)

PACES: Mapping[str, tuple[RateLimit, ...]] = {
    "create": (MESSAGES,),
    "edit": (MESSAGES,),
    "delete": (MESSAGES,),
    "typing": (MESSAGES,),
    "thread": (MESSAGES,),
    "webhook": (WEBHOOK, WEBHOOK_HIDDEN),
}

# A longer pause is not waited for in silence: the next message asks, is put off again, and its
# receipt says so.
PAUSE_MAX_S = 60.0
# A call this long was held up by a limit that we did not know of: the bucket is empty.
SURPRISE_S = 2.0
# A first call that hangs must not hold up every channel: so much later a second one tries.
GATE_S = 5.0
# A wait shorter than this is none: it is the time a busy event loop takes.
UNNOTICED_S = 0.05
# What Discord said itself; the rest is what became of the call.
_ANSWERS = (Accepted, Deleted, Rejected)
# Forgotten channels are looked for once in so many calls.
_SWEEP_EVERY = 256


@define
class TokenBucket:
    """One pace being kept: the time at which its burst would be whole again."""

    pace: RateLimit
    whole_at: float = 0.0

    def reserve(self, now: float) -> float:
        """Take the next place; when it is."""
        slack = (self.pace.burst - 1) * self.pace.every_s
        at = max(now, self.whole_at - slack)
        self.whole_at = max(at, self.whole_at) + self.pace.every_s
        return at

    def is_ready(self, now: float) -> bool:
        """Whether the next place is now."""
        return self.whole_at - (self.pace.burst - 1) * self.pace.every_s <= now

    def empty(self, until: float) -> None:
        """Nothing may go before *until*, and then one at a time."""
        slack = (self.pace.burst - 1) * self.pace.every_s
        self.whole_at = max(self.whole_at, until + slack)


@define
class Permit:
    """Leave to make one call."""

    route: str
    place: int
    began_at: float = 0.0
    """When it was given."""
    waited: bool = False
    """It was not given at once."""
    answered: bool = False
    """Discord answered, whatever it said: hikari then knows the route's bucket."""
    wait_s: float = 0.0
    """The pause Discord asked for."""

    def hear(self, answer: SendOutcome) -> None:
        """Learn from what Discord said."""
        self.answered = isinstance(answer, _ANSWERS)
        if isinstance(answer, RetryLater) and math.isfinite(answer.wait_s):
            self.wait_s = min(answer.wait_s, PAUSE_MAX_S)


@define
class FirstCallGate:
    """Lets one call through until the first answer, then all."""

    is_open: bool = False
    trying: bool = False
    began_at: float = 0.0
    changed: anyio.Event = field(factory=anyio.Event)

    async def enter(self) -> bool:
        """Wait until the route is known, or until it is ours to find out; whether it took time."""
        waited = False
        while not self.is_open and self.trying:
            left_s = self.began_at + GATE_S - anyio.current_time()
            if left_s <= 0:
                break
            with anyio.move_on_after(left_s):
                await self.changed.wait()
            waited = True
        if not self.is_open:
            self.trying, self.began_at = True, anyio.current_time()
        return waited

    def leave(self, *, answered: bool) -> None:
        """The call is over; without an answer the next one tries."""
        if self.is_open:
            return
        self.is_open = answered
        self.trying = False
        self.changed.set()
        self.changed = anyio.Event()


class Pacer:
    """The paces of one bot; every route of `PACES` must have its own.

    Raises:
        BadSetting: a route has no pace, or one that is none.
    """

    def __init__(
        self, paces: Mapping[str, tuple[RateLimit, ...]] = PACES, process: RateLimit = PROCESS
    ) -> None:
        if missing := [route for route in PACES if route not in paces]:
            raise BadSetting(f"a pacer needs a pace for {', '.join(missing)}; begin with PACES")
        for route, meant in (*paces.items(), ("process", (process,))):
            if not all(isinstance(one, RateLimit) for one in meant):
                raise BadSetting(f"the paces of {route} must be a tuple of Pace(…), not {meant!r}")
        self._paces = dict(paces)
        self._process = TokenBucket(process)
        self._meters: dict[tuple[str, int], tuple[TokenBucket, ...]] = {}
        self._gates: dict[str, FirstCallGate] = {}
        self._calls = 0

    def __repr__(self) -> str:
        return f"<Pacer of {len(self._meters)} channels>"

    @property
    def remembered(self) -> int:
        """How many pairs of route and channel are not yet forgotten."""
        return len(self._meters)

    @asynccontextmanager
    async def turn(self, route: str, place: int) -> AsyncIterator[Permit]:
        """Wait for leave to make one call on *route* for *place*, to be made inside.

        At most one caller per route and place at a time; the lanes see to that.
        """
        turn = Permit(route, place)
        asked = now = anyio.current_time()
        gate = self._gates.get(route)
        if gate is None:
            gate = self._gates[route] = FirstCallGate()
        # First the gate: those who waited at it for an answer must not all go in the moment it
        # opens, so their places in time are given out behind it.
        if await gate.enter():
            now = anyio.current_time()
        try:
            for meter in (*self._of(route, place), self._process):
                # Sleeping for no time would still cost a round of the event loop.
                if (at := meter.reserve(now)) > now:
                    await anyio.sleep_until(at)
                    now = anyio.current_time()
            turn.waited, turn.began_at = now - asked > UNNOTICED_S, now
            yield turn
            self.learn(turn, anyio.current_time())
        finally:
            gate.leave(answered=turn.answered)

    def at_once(self, route: str, place: int) -> Permit | None:
        """Leave without waiting, if there is; the call over, say so to `learn`."""
        gate = self._gates.get(route)
        if gate is None or not gate.is_open:
            return None
        now = anyio.current_time()
        meters = self._of(route, place)
        if not self._process.is_ready(now) or not all(one.is_ready(now) for one in meters):
            return None
        for meter in meters:
            meter.reserve(now)
        self._process.reserve(now)
        return Permit(route, place, now)

    def learn(self, turn: Permit, now: float) -> None:
        """A call is over: one that took too long, or was put off, empties the paces."""
        if turn.wait_s or now - turn.began_at > SURPRISE_S:
            for meter in self._of(turn.route, turn.place):
                meter.empty(now + turn.wait_s)

    def _of(self, route: str, place: int) -> tuple[TokenBucket, ...]:
        self._calls += 1
        if self._calls % _SWEEP_EVERY == 0:
            self._sweep()
        found = self._meters.get((route, place))
        if found is None:
            found = tuple(TokenBucket(pace) for pace in self._paces[route])
            self._meters[route, place] = found
        return found

    def _sweep(self) -> None:
        now = anyio.current_time()
        for key, meters in list(self._meters.items()):
            if all(meter.whole_at < now for meter in meters):
                del self._meters[key]
