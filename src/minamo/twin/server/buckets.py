"""Rate limits: one bucket per route and channel, one for the whole bot, and the ban.

A bucket is a fold over times, so the clock is a plain argument. Headers have milliseconds as
Discord's do; a client that retries exactly when the header says must be admitted, hence
`_GRACE_S`.
"""

from __future__ import annotations

import hashlib
import math
from collections import deque
from collections.abc import Callable

from attrs import define, field, frozen

from minamo.twin.rules import Limit, Rules, Style

_GRACE_S = 0.005
_BUCKETS_MAX = 10_000  # more than any test uses; beyond it the oldest is dropped


@frozen
class Verdict:
    """The decision of a bucket on one request."""

    ok: bool
    retry_after_s: float = 0.0
    headers: dict[str, str] = field(factory=dict)


@define(eq=False)
class Bucket:
    """The state of one limit. `level` is the number of requests that have not yet expired."""

    limit: Limit
    level: float = 0.0
    at: float = 0.0

    def take(self, now: float) -> float:
        """Admit one request and return 0, or return the seconds until there is room for it."""
        self.drain(now)
        slide = self.limit.per_s / self.limit.count
        if self.level + 1 <= self.limit.count + _GRACE_S / slide:
            if self.level == 0:
                self.at = now  # a fixed window begins with its first request
            self.level = min(self.level + 1, float(self.limit.count))
            return 0.0
        return (
            self.reset_after(now) if self.is_fixed else (self.level + 1 - self.limit.count) * slide
        )

    @property
    def is_fixed(self) -> bool:
        """Whether all requests are restored at once."""
        return self.limit.style is Style.FIXED

    def drain(self, now: float) -> None:
        """Remove the requests that have expired by *now*."""
        if self.is_fixed:
            if now - self.at >= self.limit.per_s - _GRACE_S:
                self.level = 0.0
            return
        gained = (now - self.at) * self.limit.count / self.limit.per_s
        self.level = max(0.0, self.level - max(0.0, gained))
        self.at = now

    def remaining(self) -> int:
        """Return how many more requests would be admitted now."""
        return max(0, math.floor(self.limit.count - self.level + 1e-6))

    def reset_after(self, now: float) -> float:
        """Return the seconds until the bucket is empty."""
        if self.is_fixed:
            return max(0.0, self.limit.per_s - (now - self.at))
        return self.level * self.limit.per_s / self.limit.count


@define(eq=False)
class Buckets:
    """All limits of one twin, and the count of invalid requests."""

    rules: Rules
    now: Callable[[], float]
    # Not in the repr: the keys of webhook buckets contain their tokens.
    _buckets: dict[tuple[str, str, str], Bucket] = field(factory=dict, repr=False)
    _invalid: deque[float] = field(factory=deque)
    banned: bool = False

    def take(self, family: str, caller: str, major: str, *, skew_s: float = 0.0) -> Verdict:
        """Take from the bucket of a route. *skew_s* shifts the wall clock in the headers."""
        bucket = self._get(family, caller, major, self.rules.limit(family))
        now = self.now()
        wait = bucket.take(now)
        return Verdict(not wait, wait, _headers(family, bucket, now, skew_s, full=bool(wait)))

    def look(self, family: str, caller: str, major: str, *, skew_s: float = 0.0) -> dict[str, str]:
        """Return the headers of a bucket without taking from it."""
        bucket = self._get(family, caller, major, self.rules.limit(family))
        now = self.now()
        bucket.drain(now)
        return _headers(family, bucket, now, skew_s, full=False)

    def take_global(self, caller: str) -> Verdict:
        """Take from the limit over all routes of one bot."""
        wait = self._get("global", caller, "", self.rules.global_limit).take(self.now())
        return Verdict(not wait, wait)

    def take_hidden(self, name: str, major: str, limit: Limit) -> float:
        """Take from a limit that no header announces; return the wait, or 0."""
        return self._get(name, "", major, limit).take(self.now())

    def _get(self, family: str, caller: str, major: str, limit: Limit) -> Bucket:
        key = (family, caller, major)
        if key not in self._buckets:
            if len(self._buckets) >= _BUCKETS_MAX:
                self._buckets.pop(next(iter(self._buckets)))
            self._buckets[key] = Bucket(limit, at=self.now())
        return self._buckets[key]

    def answered(self, status: int, scope: str | None) -> None:
        """Count a response that Discord calls invalid; too many of them ban the address."""
        if status not in (401, 403, 429) or scope == "shared":
            return
        now = self.now()
        self._invalid.append(now)
        while self._invalid and now - self._invalid[0] > self.rules.invalid_window_s:
            self._invalid.popleft()
        if len(self._invalid) >= self.rules.invalid_max:
            self.banned = True

    @property
    def invalid(self) -> int:
        """The number of invalid requests in the window that ends now."""
        return len(self._invalid)


def _headers(
    family: str, bucket: Bucket, now: float, skew_s: float, *, full: bool
) -> dict[str, str]:
    after = bucket.reset_after(now)
    return {
        "X-RateLimit-Limit": str(bucket.limit.count),
        "X-RateLimit-Remaining": "0" if full else str(bucket.remaining()),
        "X-RateLimit-Reset": f"{now + skew_s + after:.3f}",
        "X-RateLimit-Reset-After": f"{after:.3f}",
        "X-RateLimit-Bucket": bucket_name(family),
    }


def bucket_name(family: str) -> str:
    """Return the opaque name in the header, the same for all channels."""
    return hashlib.sha256(family.encode()).hexdigest()[:32]
