"""What waits in an outbox, and what was given out of it: each with where its characters stood."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from attrs import evolve, frozen

from minamo.core.accounting.spans import (
    ADDED,
    Added,
    DroppedSpan,
    InsertionIndex,
    Rewritten,
    SourceIndex,
    TextSpan,
    Trail,
    cut,
    map_insertions,
    map_spans,
    unchanged,
)
from minamo.core.cleaning.clean import clean
from minamo.core.cleaning.links import NO_LINKS, Links
from minamo.core.config import StreamConfig
from minamo.core.fitting.fit import Fitted
from minamo.core.lexing.segmenter import Run, Segment


@frozen(slots=True)
class PendingSegment:
    """A segment, cleaned, with where every character of it stood, or who added it."""

    segment: Segment
    cleaned: Rewritten
    trail: Trail
    added: Added
    back: SourceMap | None = None
    """What it held when it was given out before, if it came back."""


@frozen(slots=True)
class SourceMap:
    """Where the characters of a text came from: of one that is fitted, or of a message."""

    trail: Trail
    said: Trail
    """Where they stand in what was said."""
    added: Added
    since: int = 0
    """Where the stretch of what was said begins that it stands for: where what is before it ends.

    Not all of the stretch is in `said`: fit and humanise drop characters, and the header of a
    table is told in other words.
    """
    until: int = 0
    """Where that stretch ends."""


@frozen(slots=True)
class FittedBatch:
    """What was fitted together and what came of it; for looking at where characters went."""

    trail: Trail
    """Of the text that was fitted."""
    fitted: Fitted
    sent: int
    """How many of the messages were given out; the limit may have cut off the rest."""


def clean_segment(
    segment: Segment, config: StreamConfig, *, first: bool, links: Links = NO_LINKS
) -> PendingSegment:
    """The segment as it is to be fitted; *first*: nothing was said before it."""
    made = clean(
        segment.text,
        off=config.clean_off,
        bot_name=config.bot_name,
        mentions=config.mentions,
        first=first,
        fence=segment.fence,
        torn=segment.torn,
        links=links,
        uncensor_unicode_space=config.uncensor_unicode_space,
    )
    stood = segment.trail
    if made.untouched:
        return PendingSegment(segment, made, stood, inserted_spans(stood))
    trail, added = map_spans(stood, made.pieces), map_insertions(inserted_spans(stood), made.pieces)
    return PendingSegment(segment, made, trail, added)


def merge_segments(text: str, fence: str, last: Segment, *, mid_line: bool) -> Segment:
    """A segment made of others, up to *last*, which know where its characters stood."""
    return evolve(last, text=text, runs=(Run(0, 0),), fence=fence, mid_line=mid_line)


def take_prefix(waiting: Iterable[PendingSegment], characters: int) -> list[PendingSegment]:
    """The first so many *characters* of what waits.

    It is nothing that came back: a reply that grows in place has no rest to put elsewhere.
    """
    front: list[PendingSegment] = []
    for one in waiting:
        if characters <= 0:
            break
        size = len(one.cleaned.text)
        front.append(one if size <= characters else _cut(one, characters))
        characters -= size
    return front


def _cut(one: PendingSegment, at: int) -> PendingSegment:
    kept = TextSpan(one.cleaned.text[:at], 0)
    (held,) = split_source_map(SourceMap(one.trail, [], one.added), [(kept,)])
    return evolve(one, cleaned=unchanged(kept.text), trail=held.trail, added=held.added)


def split_source_map(batch: SourceMap, cuts: Sequence[Sequence[TextSpan]]) -> list[SourceMap]:
    """What each of the messages, or whatever a batch is cut into, holds."""
    trail, said, marks = (
        SourceIndex(batch.trail),
        SourceIndex(batch.said),
        InsertionIndex(batch.added),
    )
    made: list[SourceMap] = []
    since = until = batch.since
    for pieces in cuts:
        stood = said.through(pieces)
        if len(made) == len(cuts) - 1:
            until = batch.until
        else:
            until = max((at + size for at, size in stood if at != ADDED), default=since)
        made.append(SourceMap(trail.through(pieces), stood, marks.through(pieces), since, until))
        since = until
    return made


def inserted_spans(trail: Trail) -> Added:
    """What a segment has that the model did not write: it can only be the prefill."""
    runs, at = [], 0
    for start, size in trail:
        if start == ADDED:
            runs.append((at, size, "prefill"))
        at += size
    return runs


@frozen(slots=True)
class Snapshot:
    """What waited at one moment, and what was not complete then."""

    waiting: tuple[PendingSegment, ...]
    beginning: int = 0
    """Changes when what was said so far turns out to be no part of the reply."""

    @property
    def text(self) -> str:
        """How it reads."""
        return "".join([one.cleaned.text for one in self.waiting])


@frozen(slots=True)
class RenderedPrefix:
    """The first `end` characters of a look, as the messages of `fitted`."""

    look: Snapshot
    fitted: Fitted
    end: int

    @property
    def front(self) -> list[PendingSegment]:
        """What stands."""
        return take_prefix(self.look.waiting, self.end)

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
    def dropped(self) -> Iterator[tuple[Trail, list[DroppedSpan]]]:
        """What cleaning dropped of it, segment by segment."""
        size = self.size
        for one in self.look.waiting:
            yield one.segment.trail, [lost for lost in one.cleaned.dropped if lost.start < size]
            size -= len(one.segment.text)


def spans_after(waiting: Iterable[PendingSegment], size: int, until: int | None = None) -> Trail:
    """Where that stood which waits behind the first *size* characters, up to *until*."""
    trail = [run for one in waiting for run in one.segment.trail]
    end = sum(length for _, length in trail) if until is None else until
    return cut(trail, size, end - size)


def _cut_at(one: PendingSegment, end: int) -> int:
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
