"""How much one person may ask for: so many replies a minute, and so many at a time."""

from __future__ import annotations

import time
from collections import OrderedDict, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from attrs import define, field, frozen

from minamo.bot.settings import LimitSettings

_WINDOW_S = 60.0
# People who asked within the last minute; beyond it the one who asked longest ago is forgotten,
# which costs us a reply at most.
PEOPLE_MAX = 10_000


@frozen
class Granted:
    """Go ahead."""


@frozen
class Denied:
    """Not now."""

    wait_s: float | None
    """How long until it may be tried again; None: until another reply has ended."""
    told: bool
    """The person was told so already in this minute; saying it again would only add noise."""


@define(eq=False)
class _Person:
    asked: deque[float] = field(factory=deque)
    running: int = 0
    told_at: float = float("-inf")


@define(eq=False)
class Allowance:
    """Keeps count.  Nothing here waits."""

    _limits: LimitSettings
    _clock: Callable[[], float] = field(default=time.monotonic, repr=False)
    _people: OrderedDict[int, _Person] = field(factory=OrderedDict, init=False, repr=False)

    def __len__(self) -> int:
        return len(self._people)

    @contextmanager
    def asked(self, user_id: int) -> Iterator[Granted | Denied]:
        """Somebody asks; if it is granted it counts as running until the block is left."""
        now = self._clock()
        person = self._person(user_id, now)
        refusal = self._refusal(person, now)
        if refusal is not None:
            yield refusal
            return
        person.asked.append(now)
        person.running += 1
        try:
            yield Granted()
        finally:
            person.running -= 1

    def _person(self, user_id: int, now: float) -> _Person:
        person = self._people.setdefault(user_id, _Person())
        self._people.move_to_end(user_id)
        while person.asked and person.asked[0] <= now - _WINDOW_S:
            person.asked.popleft()
        while len(self._people) > PEOPLE_MAX:
            self._people.popitem(last=False)
        return person

    def _refusal(self, person: _Person, now: float) -> Denied | None:
        limits = self._limits
        wait_s: float | None
        if limits.replies_per_minute and len(person.asked) >= limits.replies_per_minute:
            wait_s = person.asked[0] + _WINDOW_S - now
        elif limits.at_once and person.running >= limits.at_once:
            wait_s = None
        else:
            return None
        told = now - person.told_at < _WINDOW_S
        if not told:
            person.told_at = now
        return Denied(wait_s, told)
