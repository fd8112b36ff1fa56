"""Data of a chart's picture (boxes, labels, arrows), and the measuring and wrapping of its text.

Also the grid pitch and text sizes; nothing here decides where anything goes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from attrs import evolve, frozen

from minamo.machine.model import Row, State

TEXT_PX = 12
LEADING = 16
INDENT = "  "
"""Prefix of the second and further lines of a row."""


def width(text: str, px: int = TEXT_PX) -> int:
    """Return how many pixels *text* needs, rounded up."""
    # A letter of any common monospaced font is 0.6 em wide, within half a percent.
    return -(-len(text) * px * 6 // 10)


def line_width(line: Line) -> int:
    """Return how many pixels a line of spans needs."""
    return width("".join(span.text for span in line))


def block(lines: Sequence[Line]) -> Point:
    """Return the size of a label that holds *lines*, on the grid."""
    widest = max(line_width(line) for line in lines)
    return ceil(widest + LABEL_INSET), ceil(len(lines) * LEADING + 4)


def ceil(px: int) -> int:
    """Round up to the next grid line."""
    return -(-px // PITCH) * PITCH


def words(row: Row) -> list[Span]:
    """Return a row as `event, event [guard] / action, action`, word by word."""
    out = _listed("event", row.events)
    if row.guard:
        out += [Span("guard", word) for word in f"[{row.guard}]".split()]
    if row.actions:
        out += [Span("key", "/"), *_listed("action", row.actions)]
    return out


def notes(state: State, chars: int) -> tuple[Note, ...]:
    """Return the text inside the box of *state*: its clocks, entry, exit and targetless rows."""
    out = [
        Note(wrap([Span("key", key), Span("key", "/"), *_listed("action", names)], chars))
        for key, names in (("clock", state.clocks), ("entry", state.enter), ("exit", state.exit))
        if names
    ]
    out += [Note(wrap(words(row), chars), row.index) for row in state.rows if row.target is None]
    return tuple(out)


def wrap(spans: Sequence[Span], chars: int) -> tuple[Line, ...]:
    """Break *spans* into lines of at most *chars*; a longer word gets a line of its own."""
    lines: list[list[Span]] = [[]]
    used = 0
    for span in spans:
        if used + 1 + len(span.text) > chars and used:
            lines.append([Span("key", INDENT)])
            used = len(INDENT)
            lines[-1].append(span)
        elif used:
            lines[-1].append(Span(span.kind, f" {span.text}"))
            used += 1
        else:
            lines[-1].append(span)
        used += len(span.text)
    return tuple(tuple(line) for line in lines if line)


def _listed(kind: str, names: Iterable[str]) -> list[Span]:
    names = list(names)
    return [Span(kind, f"{name},") for name in names[:-1]] + [Span(kind, n) for n in names[-1:]]


@frozen(slots=True)
class Sizes:
    """The title size, the distances, and the page of one picture."""

    title_px: int = 13
    title_band: int = 26
    """Height of a box's title line."""
    inset: int = 12
    """Distance between the edge of a box and its text."""
    margin: int = 30
    """Distance between a box and its content, and around the picture."""
    head_gap: int = 20
    """Distance between a compound's own text and its children."""
    gap: int = 40
    """Distance between two boxes: room for three arrows."""
    list_gap: int = 20
    """Distance between boxes that no arrow joins."""
    label_gap: int = 20
    """Distance between two labels: room for one arrow."""
    reach: int = 30
    """Distance between a box and a label: room for a bend and for the head of the arrow."""
    heading: int = 40
    """Height of the chart's own title above the picture; 0 leaves the title out."""
    page: Point = (1300, 1200)
    """Size for which the picture is laid out, so that it is legible when shown this wide."""
    names_only: bool = False
    """Whether to leave out the text of rows, entries and exits."""


FULL = Sizes()
#: For a pane of the live page: only names, which are large beside the boxes and the gaps.
#: Margins below two steps of the grid would leave arrows no way around a box.
WIDE = Sizes(
    title_px=22,
    title_band=32,
    inset=6,
    margin=20,
    head_gap=10,
    gap=20,
    list_gap=10,
    label_gap=10,
    reach=20,
    heading=0,
    page=(1000, 780),
    names_only=True,
)
SQUARE = evolve(WIDE, page=(880, 880))
TALL = evolve(WIDE, page=(700, 1000))
LABEL_INSET = 12
"""What a label is wider than its text."""
PITCH = 10
"""Boxes, labels and arrows are aligned to this grid; parallel arrows are this far apart."""


@frozen(slots=True)
class Span:
    """A piece of text in one style: `event`, `guard`, `action` or `key`."""

    kind: str
    text: str


Line = tuple[Span, ...]
Point = tuple[int, int]


@frozen(slots=True)
class Note:
    """Text inside a box: clocks, entry or exit actions, or a targetless row."""

    lines: tuple[Line, ...]
    row: int | None = None


@frozen(slots=True)
class Rect:
    """A rectangle on the canvas."""

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
        """Return a rectangle of the same size, moved by *dx* and *dy*."""
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
    """All rows between two states.  With a label there are two legs: to it and from it."""

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
