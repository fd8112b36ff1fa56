"""Rate limiting of calls, so that Discord never has to answer 429.

hikari limits rates too, but it learns a limit from answers and trusts the wall clock; before
the first answer, or with a wrong clock, it runs into hundreds of 429s.  Behind this pacer its
limiter is only a fallback.  All waits here are plain anyio and safe to cancel.
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
    """A rate limit: *burst* calls at once, then one every *every_s* seconds."""

    burst: int = field(validator=whole(1))
    every_s: float = field(validator=positive_seconds)


# Observed: 5 per 5 s and channel.  One less, and 5% slower, because Discord's clock is not ours.
MESSAGES = RateLimit(4, 1.05)
# 5 per 2 s and webhook, by the same margins.
WEBHOOK = RateLimit(4, 0.42)
# A second limit on webhooks, not announced in any header: 30 per 60 s and channel.
WEBHOOK_HIDDEN = RateLimit(20, 2.1)
# 50 per second and bot.  At most 40 + 4 fall into any second; the rest is for its other calls.
PROCESS = RateLimit(4, 1 / 40)

PACES: Mapping[str, tuple[RateLimit, ...]] = {
    "create": (MESSAGES,),
    "edit": (MESSAGES,),
    "delete": (MESSAGES,),
    "typing": (MESSAGES,),
    "thread": (MESSAGES,),
    "webhook": (WEBHOOK, WEBHOOK_HIDDEN),
}

# A longer pause is not waited out: the next message is tried, put off again, and its receipt
# reports that.
PAUSE_MAX_S = 60.0
# A call this long was delayed by a limit unknown to the pacer: the bucket is empty.
SURPRISE_S = 2.0
# A first call that hangs must not block every channel: after this time a second one tries.
GATE_S = 5.0
# A shorter wait does not count as one: a busy event loop takes as long.
UNNOTICED_S = 0.05
# Outcomes that are answers of Discord; the others describe the call.
_ANSWERS = (Accepted, Deleted, Rejected)
# Idle channels are removed once in this many calls.
_SWEEP_EVERY = 256


@define
class TokenBucket:
    """The state of one rate limit: `whole_at` is the time at which its burst is full again."""

    pace: RateLimit
    whole_at: float = 0.0
    slack_s: float = field(init=False)
    """A slot is free this long before `whole_at`."""

    def __attrs_post_init__(self) -> None:
        self.slack_s = (self.pace.burst - 1) * self.pace.every_s

    def reserve(self, now: float) -> float:
        """Reserve the next slot and return its time."""
        at = max(now, self.whole_at - self.slack_s)
        self.whole_at = max(at, self.whole_at) + self.pace.every_s
        return at

    def empty(self, until: float) -> None:
        """Allow no call before *until*, and then one at a time."""
        self.whole_at = max(self.whole_at, until + self.slack_s)


@define
class Permit:
    """Permission to make one call."""

    route: str
    place: int
    began_at: float = 0.0
    """When it was granted."""
    waited: bool = False
    """Whether it was not granted at once."""
    answered: bool = False
    """Whether Discord answered, even with a refusal: hikari then knows the route's bucket."""
    wait_s: float = 0.0
    """The pause Discord asked for, in seconds."""

    def settle(self, answer: SendOutcome) -> None:
        """Record whether Discord answered, and the pause it asked for."""
        self.answered = isinstance(answer, _ANSWERS)
        if isinstance(answer, RetryLater) and math.isfinite(answer.wait_s):
            self.wait_s = min(answer.wait_s, PAUSE_MAX_S)


@define
class FirstCallGate:
    """A gate that admits one call at a time until the first answer, then all."""

    is_open: bool = False
    trying: bool = False
    began_at: float = 0.0
    changed: anyio.Event = field(factory=anyio.Event)

    async def enter(self) -> bool:
        """Wait until the route is known or this call may probe it; return whether it waited."""
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
        """Leave after the call; if Discord did not answer, the next call probes the route."""
        if self.is_open:
            return
        self.is_open = answered
        self.trying = False
        self.changed.set()
        self.changed = anyio.Event()


class Pacer:
    """The rate limits of one bot; *paces* must have an entry for every route of `PACES`.

    Raises:
        BadSetting: a route has no entry, or one that is not a tuple of `RateLimit`.
    """

    def __init__(
        self, paces: Mapping[str, tuple[RateLimit, ...]] = PACES, process: RateLimit = PROCESS
    ) -> None:
        if missing := [route for route in PACES if route not in paces]:
            raise BadSetting(f"a pacer needs a pace for {', '.join(missing)}; begin with PACES")
        for route, meant in (*paces.items(), ("process", (process,))):
            if not all(isinstance(pace, RateLimit) for pace in meant):
                raise BadSetting(
                    f"the paces of {route} must be a tuple of RateLimit(…), not {meant!r}"
                )
        self._paces = dict(paces)
        self._process = TokenBucket(process)
        self._buckets: dict[tuple[str, int], tuple[TokenBucket, ...]] = {}
        self._gates: dict[str, FirstCallGate] = {}
        self._calls = 0

    def __repr__(self) -> str:
        return f"<Pacer of {len(self._buckets)} channels>"

    @property
    def remembered(self) -> int:
        """Number of pairs of route and place whose state is kept."""
        return len(self._buckets)

    @asynccontextmanager
    async def turn(self, route: str, place: int) -> AsyncIterator[Permit]:
        """Wait for a permit for one call on *route* for *place*; the caller makes it inside.

        At most one caller per route and place at a time; the lanes ensure that.
        """
        turn = Permit(route, place)
        asked = now = anyio.current_time()
        gate = self._gates.get(route)
        if gate is None:
            gate = self._gates[route] = FirstCallGate()
        # First the gate: calls that waited at it must not all go the moment it opens, so their
        # slots are reserved after it.
        if await gate.enter():
            now = anyio.current_time()
        try:
            for bucket in (*self._of(route, place), self._process):
                # Sleeping for zero seconds would still cost a cycle of the event loop.
                if (at := bucket.reserve(now)) > now:
                    await anyio.sleep_until(at)
                    now = anyio.current_time()
            turn.waited, turn.began_at = now - asked > UNNOTICED_S, now
            yield turn
            self.learn(turn, anyio.current_time())
        finally:
            gate.leave(answered=turn.answered)

    def at_once(self, route: str, place: int) -> Permit | None:
        """Return a permit if one is free now, else None; after the call, pass it to `learn`."""
        gate = self._gates.get(route)
        if gate is None or not gate.is_open:
            return None
        now = anyio.current_time()
        buckets = (self._process, *self._of(route, place))
        for bucket in buckets:
            if bucket.whole_at - bucket.slack_s > now:
                return None
        for bucket in buckets:
            bucket.reserve(now)
        return Permit(route, place, now)

    def learn(self, turn: Permit, now: float) -> None:
        """Empty the buckets of the route if the finished call took too long or was put off."""
        if turn.wait_s or now - turn.began_at > SURPRISE_S:
            for bucket in self._of(turn.route, turn.place):
                bucket.empty(now + turn.wait_s)

    def _of(self, route: str, place: int) -> tuple[TokenBucket, ...]:
        self._calls += 1
        if self._calls % _SWEEP_EVERY == 0:
            self._sweep()
        found = self._buckets.get((route, place))
        if found is None:
            found = tuple(TokenBucket(pace) for pace in self._paces[route])
            self._buckets[route, place] = found
        return found

    def _sweep(self) -> None:
        now = anyio.current_time()
        for key, buckets in list(self._buckets.items()):
            if all(bucket.whole_at < now for bucket in buckets):
                del self._buckets[key]
