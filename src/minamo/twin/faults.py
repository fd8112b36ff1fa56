"""What goes wrong on purpose, and when.

A fault waits for a request that it matches and then happens, `times` times.  Route patterns are
written as in the documentation, with anything in braces: ``POST /channels/{channel}/messages``.
"""

from __future__ import annotations

import difflib
import random
from collections.abc import Iterable, Mapping
from enum import Enum

from attrs import define, field, frozen

CREATE = "POST /channels/{channel}/messages"
EDIT = "PATCH /channels/{channel}/messages/{message}"
DELETE = "DELETE /channels/{channel}/messages/{message}"
TYPING = "POST /channels/{channel}/typing"
EXECUTE = "POST /webhooks/{webhook}/{token}"
CALLBACK = "POST /interactions/{interaction}/{token}/callback"

CLOUDFLARE = (
    "<!DOCTYPE html><html><head><title>Access denied | discord.com used Cloudflare to restrict "
    "access</title></head><body>Error 1015: You are being rate limited</body></html>"
)


class Kind(Enum):
    """What happens."""

    STATUS = "status"
    DROP = "drop"
    STALL = "stall"
    DELAY = "delay"
    LIMITED = "limited"
    HTML = "html"


@define(eq=False)
class Fault:
    """One planned accident."""

    kind: Kind
    on: str = "*"
    times: int | None = 1
    skip: int = 0
    chance: float = 1.0
    #: The request takes effect and only its answer suffers.
    after_effect: bool = False
    status: int = 500
    seconds: float = 0.0
    scope: str = "user"
    code: int | None = None
    channel: int | None = None
    happened: int = 0


@define(eq=False)
class Faults:
    """The accidents of one twin.  Each method plans one and returns it, so it can be counted."""

    #: Discord's clock minus ours, as the rate limit headers tell it.
    clock_skew_s: float = 0.0
    #: Every answer takes this long.
    latency_s: float = 0.0
    #: The gateway stops acknowledging heartbeats.
    gateway_deaf: bool = False
    seed: int = 0
    planned: list[Fault] = field(factory=list)
    #: The routes there are, so that a misspelt pattern is an error and not a fault that never is.
    known: frozenset[str] = frozenset()
    _random: random.Random = field(init=False)

    @_random.default
    def _make_random(self) -> random.Random:
        return random.Random(self.seed)  # noqa: S311 - to repeat a test, not to keep a secret

    def status(self, status: int, on: str = "*", **when: object) -> Fault:
        """Answer with a bare HTTP status, such as 500 or 502."""
        return self._plan(Fault(Kind.STATUS, on, status=status), when)

    def drop(self, on: str = "*", **when: object) -> Fault:
        """Cut the connection; with `after_effect=True` when the work is done."""
        return self._plan(Fault(Kind.DROP, on), when)

    def stall(self, on: str = "*", **when: object) -> Fault:
        """Take the request and never answer."""
        return self._plan(Fault(Kind.STALL, on), when)

    def delay(self, seconds: float, on: str = "*", **when: object) -> Fault:
        """Answer late; with `after_effect=True` the effect is at once, the answer late."""
        return self._plan(Fault(Kind.DELAY, on, seconds=seconds), when)

    def limited(
        self, seconds: float, on: str = "*", *, scope: str = "user", **when: object
    ) -> Fault:
        """Answer 429 whatever the buckets say; *scope* is `user`, `global` or `shared`.

        `code=20028` makes it the write limit of a channel, and so on.
        """
        return self._plan(Fault(Kind.LIMITED, on, seconds=seconds, scope=scope), when)

    def html(self, on: str = "*", **when: object) -> Fault:
        """Answer 429 with the page of the content network instead of JSON."""
        return self._plan(Fault(Kind.HTML, on, status=429), when)

    def clear(self) -> None:
        """Forget what is still planned."""
        self.planned.clear()

    def _plan(self, fault: Fault, when: Mapping[str, object]) -> Fault:
        for name, value in when.items():
            if name not in ("times", "skip", "chance", "after_effect", "channel", "code"):
                raise TypeError(f"a fault has no setting {name!r}")
            setattr(fault, name, value)
        self._check(fault)
        self.planned.append(fault)
        return fault

    def belong_to(self, known: frozenset[str]) -> None:
        """Learn the routes of a twin; what was planned before must be among them."""
        self.known = known
        for fault in self.planned:
            self._check(fault)

    def _check(self, fault: Fault) -> None:
        if self.known and fault.on not in ("*", *self.known):
            raise ValueError(f"no route is called {fault.on!r}{close(fault.on, self.known)}")

    def due(self, call: Called, *, after_effect: bool) -> Fault | None:
        """The first planned fault that this request meets, used up by one."""
        for fault in self.planned:
            if fault.after_effect is not after_effect or not _matches(fault, call):
                continue
            if fault.times is not None and fault.times <= 0:
                continue
            if fault.skip > 0:
                fault.skip -= 1
                continue
            if fault.chance < 1.0 and self._random.random() >= fault.chance:
                continue
            if fault.times is not None:
                fault.times -= 1
            fault.happened += 1
            return fault
        return None


@frozen
class Called:
    """As much of a request as a fault may look at."""

    route: str
    channel: int | None = None


def close(name: str, known: Iterable[str]) -> str:
    """A hint at what was meant."""
    found = difflib.get_close_matches(name, list(known), n=1)
    return f"; did you mean {found[0]!r}?" if found else ""


def _matches(fault: Fault, call: Called) -> bool:
    if fault.channel is not None and fault.channel != call.channel:
        return False
    return fault.on in ("*", call.route)
