"""Values of the outbox: pending segments, fitted batches and snapshots.

Each keeps the stream offsets of its characters.  Nothing here changes the ledger.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import msgspec
from attrs import frozen
from msgspec.structs import replace

from minamo.core.accounting.spans import (
    Added,
    DroppedSpan,
    Rewritten,
    SourceMap,
    TextSpan,
    Trail,
    cut,
    split_source_map,
    unchanged,
)
from minamo.core.chunks import FileChunk
from minamo.core.fitting.fit import Fitted, Portion
from minamo.core.lexing.segmenter import Run, Segment


class PendingSegment(msgspec.Struct, frozen=True, gc=False):
    """A cleaned segment with the source spans of its characters, and its insertions."""

    segment: Segment
    cleaned: Rewritten
    text: str
    """The cleaned text."""
    trail: Trail
    added: Added
    back: SourceMap | None = None
    """Its source map from an earlier hand-out, if it was put back."""
    file: FileChunk | None = None
    """A file instead of text."""


@frozen(slots=True)
class FittedBatch:
    """Text fitted together and its messages; for inspecting where characters went."""

    trail: Trail
    """Source spans of the fitted text."""
    fitted: Fitted
    sent: int
    """Number of messages handed out; the limit may have cut off the rest."""


def merge_segments(text: str, fence: str, last: Segment, *, mid_line: bool) -> Segment:
    """Return *text* as one segment up to *last*; its source spans are in a source map."""
    return replace(last, text=text, runs=(Run(0, 0),), fence=fence, mid_line=mid_line)


def take_prefix(waiting: Iterable[PendingSegment], characters: int) -> list[PendingSegment]:
    """Return the first so many *characters* of the pending text.

    None of it was put back: an edit-in-place reply has no rest to put elsewhere.
    """
    front: list[PendingSegment] = []
    for pending in waiting:
        if characters <= 0:
            break
        size = len(pending.text)
        front.append(pending if size <= characters else _cut(pending, characters))
        characters -= size
    return front


def _cut(segment: PendingSegment, at: int) -> PendingSegment:
    kept = TextSpan(segment.text[:at], 0)
    (held,) = split_source_map(SourceMap(segment.trail, [], segment.added), [(kept,)])
    return replace(
        segment, cleaned=unchanged(kept.text), text=kept.text, trail=held.trail, added=held.added
    )


@frozen(slots=True)
class Snapshot:
    """The pending text at one moment, including a last segment that was incomplete then."""

    text: str
    """The cleaned text."""
    segments: Sequence[PendingSegment]
    """The outbox's own list, which only grows: a copy per edit would cost more and more."""
    count: int
    """Number of the segments that were pending."""
    last: PendingSegment
    beginning: int = 0
    """Changes when the text so far turns out to be no part of the reply."""

    @property
    def waiting(self) -> list[PendingSegment]:
        """The segments of the text."""
        return [*self.segments[: self.count], self.last]


@frozen(slots=True)
class RenderedPrefix:
    """The first `end` characters of a snapshot, rendered as the messages of `portion`."""

    snapshot: Snapshot
    portion: Portion
    end: int

    @property
    def front(self) -> list[PendingSegment]:
        """The rendered segments."""
        return take_prefix(self.snapshot.waiting, self.end)

    @property
    def size(self) -> int:
        """Number of source characters it covers, including those that cleaning drops."""
        size, end = 0, self.end
        for pending in self.snapshot.waiting:
            if end < len(pending.text):
                return size + _cut_at(pending, end)
            size += len(pending.segment.text)
            end -= len(pending.text)
        return size

    @property
    def dropped(self) -> Iterator[tuple[Trail, list[DroppedSpan]]]:
        """The spans that cleaning dropped from it, segment by segment."""
        size = self.size
        for pending in self.snapshot.waiting:
            yield (
                pending.segment.trail,
                [lost for lost in pending.cleaned.dropped if lost.start < size],
            )
            size -= len(pending.segment.text)


def spans_after(waiting: Iterable[PendingSegment], size: int, until: int | None = None) -> Trail:
    """Return the source spans of the pending text between offsets *size* and *until*."""
    trail = [run for pending in waiting for run in pending.segment.trail]
    end = sum(length for _, length in trail) if until is None else until
    return cut(trail, size, end - size)


def _cut_at(segment: PendingSegment, end: int) -> int:
    """Return how many characters of a segment its first *end* cleaned characters come from."""
    at = found = 0
    for piece in segment.cleaned.pieces:
        shown = min(end - at, len(piece.text))
        if shown <= 0:
            break
        if piece.start is not None:
            found = piece.start + shown
        at += len(piece.text)
    return found
