"""Follow characters through the stages, back to where they stood in the stream.

A long reply has thousands of runs and of pieces, so a run is found by bisection, not by counting.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from itertools import accumulate

from minamo.core.origins import ADDED
from minamo.core.pieces import Piece

Trail = list[tuple[int, int]]
"""Where each character of a text stood, as (start, size) runs; `ADDED` if nowhere."""

Added = list[tuple[int, int, str]]
"""What of a text nobody wrote, as (offset, size, reason) runs, in order."""


class Origin:
    """Where each character of a text came from, to be asked many times."""

    __slots__ = ("_ends", "_runs")

    def __init__(self, trail: Trail) -> None:
        self._runs = trail
        self._ends = list(accumulate(size for _, size in trail))

    def cut(self, offset: int, size: int) -> Trail:
        """The trail of *size* characters from *offset* on."""
        out: Trail = []
        at = bisect_right(self._ends, offset)
        while size > 0 and at < len(self._runs):
            start, length = self._runs[at]
            skipped = offset - (self._ends[at] - length)
            used = min(size, length - skipped)
            out.append((start if start == ADDED else start + skipped, used))
            size -= used
            offset += used
            at += 1
        return out

    def through(self, pieces: Iterable[Piece]) -> Trail:
        """The trail of what a stage made of the text."""
        out: Trail = []
        for piece in pieces:
            if piece.start is None:
                out.append((ADDED, len(piece.text)))
            else:
                out += self.cut(piece.start, len(piece.text))
        return out


def cut(trail: Trail, offset: int, size: int) -> Trail:
    """The part of *trail* for *size* characters from *offset* on."""
    return Origin(trail).cut(offset, size)


def through(trail: Trail, pieces: Iterable[Piece]) -> Trail:
    """The trail of a stage's output, from the trail of its input and its pieces."""
    return Origin(trail).through(pieces)


class Marks:
    """What of a text nobody wrote, to be asked many times."""

    __slots__ = ("_added", "_ends")

    def __init__(self, added: Added) -> None:
        self._added = added
        self._ends = [start + size for start, size, _ in added]

    def through(self, pieces: Iterable[Piece]) -> Added:
        """The same of what a stage made of the text."""
        out: Added = []
        at = 0
        for piece in pieces:
            size = len(piece.text)
            if piece.start is None:
                out.append((at, size, piece.reason))
            elif self._added:
                self._cut(out, at - piece.start, piece.start, piece.start + size)
            at += size
        return out

    def _cut(self, out: Added, shift: int, low: int, high: int) -> None:
        for number in range(bisect_right(self._ends, low), len(self._added)):
            start, size, reason = self._added[number]
            if start >= high:
                return
            begin, end = max(start, low), min(start + size, high)
            out.append((begin + shift, end - begin, reason))


def marked(added: Added, pieces: Iterable[Piece]) -> Added:
    """What is added in a stage's output, from what was in its input and its pieces."""
    return Marks(added).through(pieces)
