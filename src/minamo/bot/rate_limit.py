"""Rate limit per user: replies per minute, and replies at the same time.

A reply is one call of a model.  A turn with tools makes several calls, and each of them counts.
"""

from __future__ import annotations

import time
from collections import OrderedDict, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from attrs import define, field, frozen

from minamo.bot.settings import LimitSettings

_WINDOW_S = 60.0
# Users remembered; beyond it the user whose last request is oldest is forgotten, which costs us
# one reply at most.
PEOPLE_MAX = 10_000


@define
class Allowed:
    """A granted request."""

    _count: Callable[[], object] = field(default=lambda: None, repr=False, eq=False)
    _calls: int = field(default=0, init=False, eq=False)

    def call_model(self) -> None:
        """Count a call of a model; the first call is already counted by the grant."""
        self._calls += 1
        if self._calls > 1:
            self._count()


@frozen
class Limited:
    """A refused request."""

    wait_s: float | None
    """Seconds until the next try; None: until another reply of the user has ended."""
    notified: bool
    """Whether the user was notified in this minute already; a repeated notice would be noise."""


@define(eq=False)
class _Person:
    asked: deque[float]
    """Start times of the latest replies, at most as many as are allowed per minute."""
    running: int = 0
    notified_at: float = float("-inf")


@define(eq=False)
class RateLimiter:
    """The request counts of all users.  Nothing here waits."""

    _limits: LimitSettings
    _clock: Callable[[], float] = field(default=time.monotonic, repr=False)
    _people: OrderedDict[int, _Person] = field(factory=OrderedDict, init=False, repr=False)

    def __len__(self) -> int:
        return len(self._people)

    @contextmanager
    def asked(self, user_id: int) -> Iterator[Allowed | Limited]:
        """Yield the verdict on a request; a granted one counts as running until the block ends."""
        now = self._clock()
        person = self._person(user_id, now)
        refusal = self._refusal(person, now)
        if refusal is not None:
            yield refusal
            return
        person.asked.append(now)
        person.running += 1
        try:
            yield Allowed(lambda: person.asked.append(self._clock()))
        finally:
            person.running -= 1

    def _person(self, user_id: int, now: float) -> _Person:
        person = self._people.get(user_id)
        if person is None:
            person = self._people[user_id] = _Person(deque(maxlen=self._limits.replies_per_minute))
        self._people.move_to_end(user_id)
        while person.asked and person.asked[0] <= now - _WINDOW_S:
            person.asked.popleft()
        while len(self._people) > PEOPLE_MAX:
            self._people.popitem(last=False)
        return person

    def _refusal(self, person: _Person, now: float) -> Limited | None:
        limits = self._limits
        wait_s: float | None
        if limits.replies_per_minute and len(person.asked) >= limits.replies_per_minute:
            wait_s = person.asked[0] + _WINDOW_S - now
        elif limits.at_once and person.running >= limits.at_once:
            wait_s = None
        else:
            return None
        notified = now - person.notified_at < _WINDOW_S
        if not notified:
            person.notified_at = now
        return Limited(wait_s, notified)
