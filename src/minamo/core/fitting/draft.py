"""A text being rewritten: its pieces so far, the spans dropped, its blocks and enclosures."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence

from attrs import Factory, define, evolve, frozen

from minamo.core.accounting.spans import DroppedSpan, TextSpan, part_of
from minamo.core.limits import BREAKS_MAX, ENCLOSURES_SHARE

SPOILER = "||"


@frozen(slots=True)
class Enclosure:
    """One enclosing construct: the text that opens it and the text that closes it."""

    opener: str
    closer: str = ""
    header: str = ""  # lines repeated after the opener: a table's head
    verbatim: bool = False  # code: whitespace counts, and lines are cut at line ends
    lines: bool = False  # a quote that marks each of its lines

    @property
    def reopening(self) -> str:
        """The text that starts the enclosure again in a new message."""
        return self.opener + self.header


def code_enclosure(language: str, header: str = "") -> Enclosure:
    """Return the enclosure of a code block in Discord's form."""
    return Enclosure(f"```{language}\n", "\n```", header, verbatim=True)


def affordable(enclosures: Sequence[Enclosure], limit: int) -> tuple[Enclosure, ...]:
    """Return the enclosures worth reopening in a message of *limit* characters.

    Size takes priority over formatting: headers are given up first, then formatting from the inside
    out, spoilers last of all.
    """
    budget = limit // ENCLOSURES_SHARE
    kept = list(enclosures)
    if _cost(kept) > budget:
        kept = [evolve(enclosure, header="") for enclosure in kept]
    spoilers = [enclosure for enclosure in kept if enclosure.opener == SPOILER]
    others = [enclosure for enclosure in kept if enclosure.opener != SPOILER]
    for enclosure in (*reversed(others), *spoilers):
        if _cost(kept) <= budget:
            break
        if not enclosure.verbatim:
            kept.remove(enclosure)
    return tuple(kept)


def _cost(enclosures: Sequence[Enclosure]) -> int:
    return (
        sum(len(enclosure.reopening) + len(enclosure.closer) for enclosure in enclosures)
        + BREAKS_MAX
    )


class Stacks:
    """Numbered stacks of enclosures; 0 is the empty one.  Equal stacks share a number."""

    __slots__ = ("_all", "_numbers")

    def __init__(self) -> None:
        self._all: list[tuple[Enclosure, ...]] = [()]
        self._numbers: dict[tuple[int, Enclosure], int] = {}

    def push(self, below: int, enclosure: Enclosure) -> int:
        """Return the number of the stack *below* with *enclosure* put inside it."""
        number = self._numbers.get((below, enclosure))
        if number is None:
            number = self._numbers[below, enclosure] = len(self._all)
            self._all.append((*self._all[below], enclosure))
        return number

    def __getitem__(self, number: int) -> tuple[Enclosure, ...]:
        return self._all[number]

    def __len__(self) -> int:
        return len(self._all)


# Discord ends a code block at any three backticks; two at a time are harmless.
_TICKS = re.compile(r"`{3,}")
BREAK = "\u200b"


@frozen(slots=True)
class Block:
    """A code block in a draft: opener `start:body`, code `body:tail`, closer `tail:end`."""

    start: int
    body: int
    tail: int
    end: int
    enclosure: Enclosure

    def moved(self, by: int) -> Block:
        """Return the block *by* characters later."""
        ends = (self.start + by, self.body + by, self.tail + by, self.end + by)
        return Block(*ends, self.enclosure) if by else self


@define(slots=True)
class MessageDraft:
    """Output text with its provenance.  Positions in it are offsets of the output."""

    source: str
    pieces: list[TextSpan] = Factory(list)
    dropped: list[DroppedSpan] = Factory(list)
    blocks: list[Block] = Factory(list)
    length: int = 0

    def copy(self, start: int, end: int) -> None:
        """Copy the source from *start* to *end* to the output."""
        if start < end:
            self.pieces.append(TextSpan(self.source[start:end], start))
            self.length += end - start

    def add(self, text: str, reason: str) -> None:
        """Append *text*, which is not in the source, to the output."""
        if text:
            self.pieces.append(TextSpan(text, None, reason))
            self.length += len(text)

    def drop(self, start: int, end: int, reason: str) -> None:
        """Leave the source from *start* to *end* out."""
        if start < end:
            self.dropped.append(DroppedSpan(start, end, reason))

    def retract(self, count: int, reason: str) -> str:
        """Remove and return the last *count* characters, which were copied, and blanks before."""
        piece = self.pieces.pop()
        assert piece.start is not None
        kept = piece.text[:-count].rstrip()
        self.length -= len(piece.text)
        self.copy(piece.start, piece.start + len(kept))
        self.drop(piece.start + len(kept), piece.start + len(piece.text), reason)
        return piece.text[len(kept) :]

    def forget(self, count: int) -> None:
        """Remove the last *count* pieces, which were added."""
        for _ in range(count):
            self.length -= len(self.pieces.pop().text)

    def escape(self, positions: Sequence[int]) -> None:
        """Put a backslash in front of the characters at *positions*, which are in order."""
        pieces, self.pieces, offset, index = self.pieces, list[TextSpan](), 0, 0
        for piece in pieces:
            start, end = 0, len(piece.text)
            while index < len(positions) and positions[index] < offset + end:
                at = positions[index] - offset
                self.pieces += [part_of(piece, start, at), TextSpan("\\", None, "escape")]
                start, index = at, index + 1
            self.pieces.append(part_of(piece, start, end))
            offset += end
        self.length += len(positions)
        self.pieces = [piece for piece in self.pieces if piece.text]
        self.blocks = [block.moved(bisect_left(positions, block.start)) for block in self.blocks]

    def copy_code(self, start: int, end: int) -> None:
        """Copy source inside a code block; long runs of backticks are broken up."""
        if self.source.find("```", start, end) < 0:
            self.copy(start, end)
            return
        for ticks in _TICKS.finditer(self.source, start, end):
            self.copy(start, ticks.start())
            start = ticks.start()
            while ticks.end() - start > 2:
                self.copy(start, start + 2)
                self.add(BREAK, "break")
                start += 2
        self.copy(start, end)

    @property
    def text(self) -> str:
        """The output as one string."""
        return "".join(piece.text for piece in self.pieces)


def mask(text: str, blocks: list[Block]) -> str:
    """Return *text* with code blocks masked, so that nothing in them is read as markup."""
    parts: list[str] = []
    at = 0
    for block in blocks:
        parts += [text[at : block.start], "x" * (block.end - block.start)]
        at = block.end
    return "".join([*parts, text[at:]])
