"""Counts of what was not shown and of what was added, and where it stood."""

from __future__ import annotations

from collections import Counter

from attrs import define, field

from minamo.core.limits import SPANS_MAX
from minamo.core.pieces import Dropped
from minamo.core.provenance import Added


@define
class Ledger:
    """The books of one stream."""

    suppressed: Counter[str] = field(factory=Counter)
    additions: Counter[str] = field(factory=Counter)
    spans: list[Dropped] = field(factory=list)
    """Where suppressed characters stood in the stream, for those that stood there at all."""

    def suppress(self, start: int, size: int, reason: str) -> None:
        """Note that *size* characters from *start* on are not shown."""
        if size:
            self.suppressed[reason] += size
            if len(self.spans) < SPANS_MAX:
                self.spans.append(Dropped(start, start + size, reason))

    def add(self, added: Added, times: int = 1) -> None:
        """Note characters that the model did not write; -1 *times*, that they are not shown."""
        for _, size, reason in added:
            self.additions[reason] += times * size
