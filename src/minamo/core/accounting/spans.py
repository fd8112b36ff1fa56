"""Accounting of characters: spans, edits and indexes that map text to its stream offsets.

A long reply has thousands of runs and pieces, so a run is found by bisection, not by counting.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter, deque
from collections.abc import Iterable, Sequence
from itertools import accumulate
from operator import itemgetter

import msgspec
from attrs import define, field, frozen

from minamo.core.limits import SPANS_MAX


@define
class Ledger:
    """Record of the suppressed and added characters of one stream."""

    suppressed: Counter[str] = field(factory=Counter)
    additions: Counter[str] = field(factory=Counter)
    spans: list[DroppedSpan] = field(factory=list)
    """Stream ranges of suppressed characters, for those that have an offset there."""

    def suppress(self, start: int, size: int, reason: str) -> None:
        """Record that *size* characters from *start* on are not shown."""
        if size:
            self.suppressed[reason] += size
            if len(self.spans) < SPANS_MAX:
                self.spans.append(DroppedSpan(start, start + size, reason))

    def suppress_trail(self, trail: Trail, reason: str) -> None:
        """Record that the characters of *trail* are not shown; added ones have no offset."""
        for start, size in trail:
            if start != ADDED:
                self.suppress(start, size, reason)

    def add(self, added: Added, times: int = 1) -> None:
        """Record characters that the model did not write; *times* -1: they are not shown."""
        for _, size, reason in added:
            self.additions[reason] += times * size


class TextSpan(msgspec.Struct, frozen=True, gc=False):
    """A run of output characters: copied from the input, or added."""

    text: str
    start: int | None = None
    reason: str = ""


class DroppedSpan(msgspec.Struct, frozen=True, gc=False):
    """Input characters `start` up to `end` (exclusive) that no piece contains."""

    start: int
    end: int
    reason: str


class Rewritten(msgspec.Struct, frozen=True, gc=False):
    """A text after one stage: its pieces, and the spans dropped from the input."""

    pieces: tuple[TextSpan, ...]
    dropped: tuple[DroppedSpan, ...] = ()

    @property
    def text(self) -> str:
        """The output as one string."""
        return join_text(self.pieces)

    @property
    def untouched(self) -> bool:
        """Whether the stage left its input as it was."""
        return not self.dropped and len(self.pieces) == 1 and self.pieces[0].start == 0


def join_text(pieces: Sequence[TextSpan]) -> str:
    """Return the text of *pieces*; most texts have only one."""
    return pieces[0].text if len(pieces) == 1 else "".join([piece.text for piece in pieces])


def covers(source: str, pieces: Iterable[TextSpan], dropped: Iterable[DroppedSpan]) -> bool:
    """Return whether pieces and drops account for each character of *source* once, in order."""
    runs = [(p.start, p.start + len(p.text), p.text) for p in pieces if p.start is not None]
    at = -1
    for start, _, _ in runs:
        if start < at:
            return False  # reordered
        at = start
    spans = runs + [(d.start, d.end, source[d.start : d.end]) for d in dropped]
    here = 0
    for start, end, text in sorted(spans, key=lambda span: span[:2]):
        if start != here or end <= start or source[start:end] != text:
            return False
        here = end
    return here == len(source)


@frozen(slots=True)
class Edit:
    """Replacement of characters `start` up to `end` (exclusive) by `text`."""

    start: int
    end: int
    text: str = ""


def part_of(piece: TextSpan, low: int, high: int) -> TextSpan:
    """Return the characters *low* up to *high* of a piece."""
    if high - low == len(piece.text):
        return piece
    start = None if piece.start is None else piece.start + low
    return TextSpan(piece.text[low:high], start, piece.reason)


class _Reader:
    """Cursor that returns a list of pieces a given number of characters at a time."""

    __slots__ = ("_at", "_ends", "_index", "_pieces")

    def __init__(self, pieces: Sequence[TextSpan]) -> None:
        self._pieces = pieces
        self._ends = list(accumulate([len(piece.text) for piece in pieces]))
        self._index = 0
        self._at = 0

    def take(self, count: int) -> list[TextSpan]:
        """Return pieces for the next *count* characters."""
        if count == 0:
            return []
        first, end = self._index, self._at + count
        last = bisect_left(self._ends, end, first)
        out = list(self._pieces[first : last + 1])
        low = self._at - self._ends[first] + len(out[0].text)
        high = end - self._ends[last] + len(out[-1].text)
        if first == last:
            out = [part_of(out[0], low, high)]
        else:
            out[0] = part_of(out[0], low, len(out[0].text))
            out[-1] = part_of(out[-1], 0, high)
        self._at, self._index = end, last + (end == self._ends[last])
        return out


def unchanged(text: str) -> Rewritten:
    """Return *text* as the untouched input of a stage."""
    return Rewritten((TextSpan(text, 0),)) if text else Rewritten(())


def edit(shaped: Rewritten, edits: Iterable[Edit], reason: str) -> Rewritten:
    """Apply *edits*, which must not overlap; their offsets are into ``shaped.text``.

    Dropping a character that an earlier edit added is not recorded: it was never input.
    """
    total = sum([len(piece.text) for piece in shaped.pieces])
    reader = _Reader(shaped.pieces)
    kept: list[TextSpan] = []
    dropped = list(shaped.dropped)
    here = 0
    for change in sorted(edits, key=lambda e: (e.start, e.end)):
        kept += reader.take(change.start - here)
        dropped += [
            DroppedSpan(lost.start, lost.start + len(lost.text), reason)
            for lost in reader.take(change.end - change.start)
            if lost.start is not None
        ]
        if change.text:
            kept.append(TextSpan(change.text, None, reason))
        here = change.end
    kept += reader.take(total - here)
    return Rewritten(tuple(kept), _joined(dropped))


def _joined(dropped: list[DroppedSpan]) -> tuple[DroppedSpan, ...]:
    """Sort drops and merge neighbours that have the same reason."""
    out: list[DroppedSpan] = []
    for lost in sorted(dropped, key=lambda d: d.start):
        if out and out[-1].end == lost.start and out[-1].reason == lost.reason:
            out[-1] = DroppedSpan(out[-1].start, lost.end, lost.reason)
        else:
            out.append(lost)
    return tuple(out)


#: Start offset of characters that are not from the stream.
ADDED = -1


class SpanQueue:
    """A queue of (start, size) runs."""

    __slots__ = ("_runs",)

    def __init__(self) -> None:
        self._runs: deque[tuple[int, int]] = deque()

    def put(self, start: int, size: int) -> None:
        """Append a run of *size* characters from *start* on."""
        if size:
            self._runs.append((start, size))

    def take(self, size: int) -> list[tuple[int, int]]:
        """Remove and return the runs of the next *size* characters."""
        out: list[tuple[int, int]] = []
        while size:
            start, length = self._runs.popleft()
            used = min(size, length)
            out.append((start, used))
            size -= used
            if used < length:
                rest = start if start == ADDED else start + used
                self._runs.appendleft((rest, length - used))
        return out

    def take_all(self) -> list[tuple[int, int]]:
        """Remove and return all runs."""
        runs = list(self._runs)
        self._runs.clear()
        return runs


Trail = list[tuple[int, int]]
"""Stream offset of each character of a text, as (start, size) runs; `ADDED` if none."""

Added = list[tuple[int, int, str]]
"""Inserted characters of a text, as (offset, size, reason) runs, in order."""


class SourceIndex:
    """Index of the source of each character; supports repeated range queries in O(log n)."""

    __slots__ = ("_ends", "_runs")

    def __init__(self, trail: Trail) -> None:
        self._runs = trail
        one = len(trail) == 1  # as nearly always
        self._ends = [trail[0][1]] if one else list(accumulate(map(itemgetter(1), trail)))

    def cut(self, offset: int, size: int) -> Trail:
        """Return the trail of *size* characters from *offset* on."""
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

    def through(self, pieces: Iterable[TextSpan]) -> Trail:
        """Return the trail of a stage's output, given as *pieces* of the text."""
        out: Trail = []
        for piece in pieces:
            if piece.start is None:
                out.append((ADDED, len(piece.text)))
            else:
                out += self.cut(piece.start, len(piece.text))
        return out


def cut(trail: Trail, offset: int, size: int) -> Trail:
    """Return the part of *trail* for *size* characters from *offset* on."""
    return SourceIndex(trail).cut(offset, size)


def map_spans(trail: Trail, pieces: Iterable[TextSpan]) -> Trail:
    """Return the trail of a stage's output, from the trail of its input and its pieces."""
    return SourceIndex(trail).through(pieces)


class InsertionIndex:
    """Index of inserted spans; supports repeated range queries in O(log n)."""

    __slots__ = ("_added", "_ends")

    def __init__(self, added: Added) -> None:
        self._added = added
        self._ends = [start + size for start, size, _ in added] if added else []

    def through(self, pieces: Iterable[TextSpan]) -> Added:
        """Return the inserted spans of a stage's output, given as *pieces* of the text."""
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


def map_insertions(added: Added, pieces: Iterable[TextSpan]) -> Added:
    """Return the inserted spans of a stage's output, from those of its input and its pieces."""
    return InsertionIndex(added).through(pieces)


class SourceMap(msgspec.Struct, frozen=True, gc=False):
    """Sources of the characters of a text: of one being fitted, or of a message."""

    trail: Trail
    said: Trail
    """Offsets of the characters in the accumulated text."""
    added: Added
    since: int = 0
    """Start offset of this part in the accumulated text; equals the previous part's `until`.

    Not all of the part is in `said`: fitting and humanising drop characters, and the header of a
    table is rewritten.
    """
    until: int = 0
    """End offset of this part."""


def split_source_map(batch: SourceMap, cuts: Sequence[Sequence[TextSpan]]) -> list[SourceMap]:
    """Return the source map of each message, or other part, that a batch is cut into."""
    trail, said, marks = (
        SourceIndex(batch.trail),
        SourceIndex(batch.said),
        InsertionIndex(batch.added),
    )
    made: list[SourceMap] = []
    since = until = batch.since
    for pieces in cuts:
        offsets = said.through(pieces)
        if len(made) == len(cuts) - 1:
            until = batch.until
        else:
            until = max((at + size for at, size in offsets if at != ADDED), default=since)
        made.append(SourceMap(trail.through(pieces), offsets, marks.through(pieces), since, until))
        since = until
    return made


def inserted_spans(trail: Trail) -> Added:
    """Return the spans of a segment that the model did not write: only the prefill can be one."""
    runs, at = [], 0
    for start, size in trail:
        if start == ADDED:
            runs.append((at, size, "prefill"))
        at += size
    return runs
