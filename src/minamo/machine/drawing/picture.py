"""The picture of a chart as plain records: what is drawn where, before any of it is XML.

All numbers are whole pixels on a grid of `PITCH`, so the same chart gives the same bytes.
"""

from __future__ import annotations

from attrs import frozen

PITCH = 10
"""Boxes, labels and arrows keep to this grid; two arrows side by side are this far apart."""


@frozen(slots=True)
class Span:
    """A piece of text in one style: `event`, `guard`, `action` or `key`."""

    kind: str
    text: str


Line = tuple[Span, ...]
Point = tuple[int, int]


@frozen(slots=True)
class Note:
    """What is written inside a box: an entry or exit action, or a targetless row."""

    lines: tuple[Line, ...]
    row: int | None = None


@frozen(slots=True)
class Rect:
    """A place on the canvas."""

    x: int
    y: int
    w: int
    h: int

    @property
    def right(self) -> int:
        """The x of the right edge."""
        return self.x + self.w

    @property
    def bottom(self) -> int:
        """The y of the lower edge."""
        return self.y + self.h

    def moved(self, dx: int, dy: int) -> Rect:
        """The same size, elsewhere."""
        return Rect(self.x + dx, self.y + dy, self.w, self.h)


@frozen(slots=True)
class Box:
    """One state.  `head` is the part of a compound's box that its own text takes."""

    id: str
    depth: int
    rect: Rect
    notes: tuple[Note, ...]
    head: Rect | None = None


@frozen(slots=True)
class Label:
    """The text of an arrow.  `down` if the arrow runs through it from top to bottom."""

    rect: Rect
    lines: tuple[Line, ...]
    depth: int
    down: bool


@frozen(slots=True)
class Arrow:
    """All rows between two states.  With a label there are two legs: up to it and on from it."""

    source: str
    target: str
    rows: tuple[int, ...]
    label: Label | None
    legs: tuple[tuple[Point, ...], ...]


@frozen(slots=True)
class Dot:
    """The mark of an initial state and the line that leads from it."""

    target: str
    rect: Rect
    leg: tuple[Point, ...]


@frozen(slots=True)
class Picture:
    """Everything on the canvas, parents before children."""

    width: int
    height: int
    boxes: tuple[Box, ...]
    arrows: tuple[Arrow, ...]
    dots: tuple[Dot, ...]
