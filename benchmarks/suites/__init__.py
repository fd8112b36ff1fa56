"""The measurements, one module each: `measure(scale)` returns the figures of one run as JSON."""

from __future__ import annotations

from typing import NamedTuple


class Scale(NamedTuple):
    """How much is measured."""

    rounds: int = 15
    size: float = 1.0
    """A factor for the length of inputs."""
    peers: bool = True
    """Whether peers take part, beside minamo and the floor."""

    def many(self, count: int, least: int = 1) -> int:
        """Return a count, scaled."""
        return max(least, round(count * self.size))

    def names(self, *peers: str) -> list[str]:
        """Return the contestants: minamo, the floor, and the peers if they take part."""
        return ["minamo", "floor", *(peers if self.peers else ())]


FULL = Scale()
QUICK = Scale(rounds=7, size=0.25)
#: Of the full size: a shorter reply has a larger share of what it takes to begin one.
CHECK = Scale(rounds=9, peers=False)
TINY = Scale(rounds=2, size=0.01, peers=False)
