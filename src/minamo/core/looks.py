"""A reply that grows in place: how it read at one moment, and what of that stands in the channel.

What comes later can make the same characters read otherwise: a link becomes whole, a row widens a
table.  So what stands is told by the look that was shown, and not by what the reply reads now.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from attrs import frozen

from minamo.core.batches import Waiting, leading
from minamo.core.fit import Fitted
from minamo.core.pieces import Dropped
from minamo.core.provenance import Trail, cut


@frozen(slots=True)
class Look:
    """What waited at one moment, and what was not complete then."""

    waiting: tuple[Waiting, ...]
    beginning: int = 0
    """Changes when what was said so far turns out to be no part of the reply."""

    @property
    def text(self) -> str:
        """How it reads."""
        return "".join([one.cleaned.text for one in self.waiting])


@frozen(slots=True)
class Stood:
    """The first `end` characters of a look, as the messages of `fitted`."""

    look: Look
    fitted: Fitted
    end: int

    @property
    def front(self) -> list[Waiting]:
        """What stands."""
        return leading(self.look.waiting, self.end)

    @property
    def size(self) -> int:
        """How many characters of what was handed over that is, with those that cleaning drops."""
        size, end = 0, self.end
        for one in self.look.waiting:
            if end < len(one.cleaned.text):
                return size + _cut_at(one, end)
            size += len(one.segment.text)
            end -= len(one.cleaned.text)
        return size

    @property
    def dropped(self) -> Iterator[tuple[Trail, list[Dropped]]]:
        """What cleaning dropped of it, segment by segment."""
        size = self.size
        for one in self.look.waiting:
            yield one.segment.trail, [lost for lost in one.cleaned.dropped if lost.start < size]
            size -= len(one.segment.text)


def behind(waiting: Iterable[Waiting], size: int, until: int | None = None) -> Trail:
    """Where that stood which waits behind the first *size* characters, up to *until*."""
    trail = [run for one in waiting for run in one.segment.trail]
    end = sum(length for _, length in trail) if until is None else until
    return cut(trail, size, end - size)


def _cut_at(one: Waiting, end: int) -> int:
    """How many characters of a segment the first *end* of it come from when it is cleaned."""
    at = found = 0
    for piece in one.cleaned.pieces:
        shown = min(end - at, len(piece.text))
        if shown <= 0:
            break
        if piece.start is not None:
            found = piece.start + shown
        at += len(piece.text)
    return found
