"""What waits in an outbox, and what was given out of it: each with where its characters stood."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from attrs import evolve, frozen

from minamo.core.buffer import Run, Segment
from minamo.core.fit import Fitted, Message
from minamo.core.origins import ADDED
from minamo.core.pieces import Piece, Shaped
from minamo.core.provenance import Added, Marks, Origin, Trail


@frozen(slots=True)
class Waiting:
    """A segment, cleaned, with where every character of it stood, or who added it."""

    segment: Segment
    cleaned: Shaped
    trail: Trail
    added: Added
    said: Trail | None = None
    """Where it stands in what was said, if it was given out before and came back."""


@frozen(slots=True)
class Given:
    """Where the characters of a text came from: of one that is fitted, or of a message."""

    trail: Trail
    said: Trail
    """Where they stand in what was said."""
    added: Added
    since: int | None = None
    """Where in what was said the message before it ends."""


@frozen(slots=True)
class Batch:
    """What was fitted together and what came of it; for looking at where characters went."""

    trail: Trail
    """Of the text that was fitted."""
    fitted: Fitted
    sent: int
    """How many of the messages were given out; the limit may have cut off the rest."""


def joined(text: str, in_code: bool, torn: bool, mid_line: bool) -> Segment:
    """A segment made of others, which know where its characters stood."""
    return Segment(text, (Run(0, 0),), in_code, torn, mid_line)


def part(batch: Given, pieces: Sequence[Piece]) -> Given:
    """What those pieces of a batch hold."""
    return next(_held(batch, [pieces]))


def parts(batch: Given, messages: Sequence[Message]) -> list[Given]:
    """What each message of a batch holds."""
    made = []
    since = next((at for at, _ in batch.said if at != ADDED), None)
    for given in _held(batch, [message.pieces for message in messages]):
        made.append(evolve(given, since=since))
        since = max((at + size for at, size in given.said if at != ADDED), default=since)
    return made


def _held(batch: Given, cuts: Iterable[Sequence[Piece]]) -> Iterator[Given]:
    trail, said, marks = Origin(batch.trail), Origin(batch.said), Marks(batch.added)
    for pieces in cuts:
        yield Given(trail.through(pieces), said.through(pieces), marks.through(pieces))


def prefilled(trail: Trail) -> Added:
    """What a segment has that the model did not write: it can only be the prefill."""
    runs, at = [], 0
    for start, size in trail:
        if start == ADDED:
            runs.append((at, size, "prefill"))
        at += size
    return runs
