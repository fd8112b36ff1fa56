"""Planned faults: which requests fail, how, and how often.

A fault applies to `times` requests that match it. Route patterns are written as in the
documentation, with the parameters in braces: ``POST /channels/{channel}/messages``.
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


class FaultKind(Enum):
    """The effect of a fault."""

    STATUS = "status"
    DROP = "drop"
    STALL = "stall"
    DELAY = "delay"
    LIMITED = "limited"
    HTML = "html"


@define(eq=False)
class Fault:
    """One planned fault."""

    kind: FaultKind
    on: str = "*"
    times: int | None = 1
    skip: int = 0
    chance: float = 1.0
    #: The request takes effect and only its answer is affected.
    after_effect: bool = False
    status: int = 500
    seconds: float = 0.0
    scope: str = "user"
    code: int | None = None
    channel: int | None = None
    happened: int = 0


@define(eq=False)
class Faults:
    """The faults of one twin. Each method plans a fault and returns it, so it can be counted."""

    #: Discord's clock minus the local clock, as in the rate limit headers.
    clock_skew_s: float = 0.0
    #: The delay of every answer.
    latency_s: float = 0.0
    #: The gateway stops acknowledging heartbeats.
    gateway_deaf: bool = False
    seed: int = 0
    planned: list[Fault] = field(factory=list)
    #: The supported routes, so that a misspelt pattern is an error, not a fault without effect.
    known: frozenset[str] = frozenset()
    _random: random.Random = field(init=False)

    @_random.default
    def _make_random(self) -> random.Random:
        return random.Random(self.seed)  # noqa: S311 - to repeat a test, not to keep a secret

    def status(self, status: int, on: str = "*", **settings: object) -> Fault:
        """Answer with a bare HTTP status, such as 500 or 502."""
        return self._plan(Fault(FaultKind.STATUS, on, status=status), settings)

    def drop(self, on: str = "*", **settings: object) -> Fault:
        """Cut the connection; with `after_effect=True` after the request took effect."""
        return self._plan(Fault(FaultKind.DROP, on), settings)

    def stall(self, on: str = "*", **settings: object) -> Fault:
        """Accept the request and never answer."""
        return self._plan(Fault(FaultKind.STALL, on), settings)

    def delay(self, seconds: float, on: str = "*", **settings: object) -> Fault:
        """Answer late; with `after_effect=True` the effect is immediate, the answer late."""
        return self._plan(Fault(FaultKind.DELAY, on, seconds=seconds), settings)

    def limited(
        self, seconds: float, on: str = "*", *, scope: str = "user", **settings: object
    ) -> Fault:
        """Answer 429 regardless of the buckets; *scope* is `user`, `global` or `shared`.

        `code=` sets the error code; 20028 is the write limit of a channel.
        """
        return self._plan(Fault(FaultKind.LIMITED, on, seconds=seconds, scope=scope), settings)

    def html(self, on: str = "*", **settings: object) -> Fault:
        """Answer 429 with Cloudflare's HTML page instead of JSON."""
        return self._plan(Fault(FaultKind.HTML, on, status=429), settings)

    def clear(self) -> None:
        """Discard the faults that are still planned."""
        self.planned.clear()

    def _plan(self, fault: Fault, settings: Mapping[str, object]) -> Fault:
        for name, value in settings.items():
            if name not in ("times", "skip", "chance", "after_effect", "channel", "code"):
                raise TypeError(f"a fault has no setting {name!r}")
            setattr(fault, name, value)
        self._check(fault)
        self.planned.append(fault)
        return fault

    def belong_to(self, known: frozenset[str]) -> None:
        """Set the routes of a twin; raise ValueError if an already planned fault names another."""
        self.known = known
        for fault in self.planned:
            self._check(fault)

    def _check(self, fault: Fault) -> None:
        if self.known and fault.on not in ("*", *self.known):
            raise ValueError(f"no route is called {fault.on!r}{close(fault.on, self.known)}")

    def due(self, call: Called, *, after_effect: bool) -> Fault | None:
        """Return the first planned fault that applies to this request, and count its use."""
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
    """The properties of a request that a fault can match."""

    route: str
    channel: int | None = None


def close(name: str, known: Iterable[str]) -> str:
    """Return a hint with the closest known name, or an empty string."""
    found = difflib.get_close_matches(name, list(known), n=1)
    return f"; did you mean {found[0]!r}?" if found else ""


def _matches(fault: Fault, call: Called) -> bool:
    if fault.channel is not None and fault.channel != call.channel:
        return False
    return fault.on in ("*", call.route)
