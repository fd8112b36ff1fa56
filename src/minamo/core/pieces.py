"""What became of every character: the record that text stages hand to each other.

A stage takes text and returns pieces.  A piece either shows a run of the stage's
input (`start` says where) or was added by the stage (`start` is None, `reason` says
why).  Input that no piece shows is listed in `dropped`, each run under one reason.
Pieces and drops together cover the input exactly once and in order; that is the law
of conservation, and `covers` checks it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from attrs import frozen


@frozen(slots=True)
class Piece:
    """A run of output characters: copied from the input, or added."""

    text: str
    start: int | None = None
    reason: str = ""


@frozen(slots=True)
class Dropped:
    """Input characters `start` up to `end` (exclusive) that are in no piece."""

    start: int
    end: int
    reason: str


@frozen(slots=True)
class Shaped:
    """A text after one stage: what it says now, and what was left out of it."""

    pieces: tuple[Piece, ...]
    dropped: tuple[Dropped, ...] = ()

    @property
    def text(self) -> str:
        """The output as one string."""
        return together(self.pieces)

    @property
    def untouched(self) -> bool:
        """Whether the stage left its input as it was."""
        return not self.dropped and len(self.pieces) == 1 and self.pieces[0].start == 0


def together(pieces: Sequence[Piece]) -> str:
    """The text of *pieces*; most texts are one."""
    return pieces[0].text if len(pieces) == 1 else "".join([piece.text for piece in pieces])


def covers(source: str, pieces: Iterable[Piece], dropped: Iterable[Dropped]) -> bool:
    """Tell whether pieces and drops account for each character of *source* once, in order."""
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
