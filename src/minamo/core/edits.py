"""Change a text and keep the record of where every character came from.

An edit is made against a stage's current output; the record it leaves speaks of the
stage's *original* input, however many edits came before.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from attrs import frozen

from minamo.core.pieces import Dropped, Piece, Shaped


@frozen(slots=True)
class Edit:
    """Characters `start` up to `end` (exclusive) give way to `text`."""

    start: int
    end: int
    text: str = ""


class _Reader:
    """Hands out a list of pieces a given number of characters at a time."""

    __slots__ = ("_index", "_pieces", "_used")

    def __init__(self, pieces: Sequence[Piece]) -> None:
        self._pieces = pieces
        self._index = 0
        self._used = 0  # characters of the current piece already given out

    def take(self, count: int) -> list[Piece]:
        """Return pieces for the next *count* characters."""
        out: list[Piece] = []
        while count > 0:
            piece = self._pieces[self._index]
            text = piece.text[self._used : self._used + count]
            start = None if piece.start is None else piece.start + self._used
            out.append(Piece(text, start, piece.reason))
            count -= len(text)
            self._used += len(text)
            if self._used == len(piece.text):
                self._index += 1
                self._used = 0
        return out


def whole(text: str) -> Shaped:
    """Return *text* as a stage's untouched input."""
    return Shaped((Piece(text, 0),)) if text else Shaped(())


def edit(shaped: Shaped, edits: Iterable[Edit], reason: str) -> Shaped:
    """Make *edits*, which must not overlap; their offsets are into ``shaped.text``.

    Dropping a character that an earlier edit added leaves no trace: it was never input.
    """
    total = sum(len(piece.text) for piece in shaped.pieces)
    reader = _Reader(shaped.pieces)
    kept: list[Piece] = []
    dropped = list(shaped.dropped)
    here = 0
    for change in sorted(edits, key=lambda e: (e.start, e.end)):
        kept += reader.take(change.start - here)
        dropped += [
            Dropped(lost.start, lost.start + len(lost.text), reason)
            for lost in reader.take(change.end - change.start)
            if lost.start is not None
        ]
        if change.text:
            kept.append(Piece(change.text, None, reason))
        here = change.end
    kept += reader.take(total - here)
    return Shaped(tuple(kept), _joined(dropped))


def _joined(dropped: list[Dropped]) -> tuple[Dropped, ...]:
    """Sort drops and merge neighbours that have the same reason."""
    out: list[Dropped] = []
    for lost in sorted(dropped, key=lambda d: d.start):
        if out and out[-1].end == lost.start and out[-1].reason == lost.reason:
            out[-1] = Dropped(out[-1].start, lost.end, lost.reason)
        else:
            out.append(lost)
    return tuple(out)
