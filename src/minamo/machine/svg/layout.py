"""Layout of the boxes and labels of a chart, from the leaves outwards.

Every compound state is arranged in several ways, a few of which are kept: a tall one, a square
one and a wide one.  The state around it tries them all, and the chart takes the one that best
fits a page.  Arrows are routed later.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice, product

from attrs import field, frozen

from minamo.machine.model import Chart, Row, State
from minamo.machine.svg.picture import (
    LEADING,
    PITCH,
    Box,
    Label,
    Line,
    Note,
    Point,
    Rect,
    Sizes,
    block,
    ceil,
    line_width,
    notes,
    width,
    words,
    wrap,
)
from minamo.machine.svg.placement import Placed, Tie, Tile, arrangements


@frozen(slots=True)
class Link:
    """One arrow: all rows from `source` to `target`, or an initial mark if there are none."""

    source: str
    target: str
    rows: tuple[Row, ...]
    home: str | None
    """The innermost state that holds both ends; None for the chart itself."""
    a: str
    b: str
    """The children of `home` in which the arrow begins and ends; '' for `home` itself."""


def links(chart: Chart) -> list[Link]:
    """Return all arrows of *chart*, in document order, initial marks last."""
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in chart.rows:
        if row.target is not None:
            groups.setdefault((row.source, row.target), []).append(row)
    out = [_link(chart, source, target, rows) for (source, target), rows in groups.items()]
    defaults = {chart.initial} | {target for _, target in groups}
    marks = [Link("", chart.initial, (), None, "", chart.initial)]
    for state in chart.states.values():
        # Parents come before children, so one pass finds all states entered by default.
        if state.initial is not None and state.id in defaults:
            defaults.add(state.initial)
            marks.append(Link("", state.initial, (), state.id, "", state.initial))
    return out + marks


def _link(chart: Chart, source: str, target: str, rows: list[Row]) -> Link:
    above = [state.id for state in chart.lineage(source)]
    over = [state.id for state in chart.lineage(target)]
    if source == target:
        return Link(source, target, tuple(rows), chart.states[source].parent, source, target)
    while above and over and above[-1] == over[-1]:
        above.pop()
        over.pop()
    home = chart.states[(above or over)[-1]].parent
    return Link(
        source, target, tuple(rows), home, above[-1] if above else "", over[-1] if over else ""
    )


LEAF_CHARS = (34, 48)
"""A leaf with long rows is offered narrow and wide."""
ACROSS_CHARS = 32
"""Labels between columns are narrow, because the widest one widens the whole gap."""
DOWN_CHARS = 66
"""Labels between bands may be long, because there only their height takes space."""
DOT = 20
# Width to height of the shapes a compound state offers to the state around it.
_SHAPES = ((6, 10), (12, 10), (24, 10))
# Most combinations of children's shapes that are tried.
_TRIES = 16


@frozen(slots=True)
class Shape:
    """One way to draw a state and its content."""

    w: int
    h: int
    notes: tuple[Note, ...] = ()
    head: Rect | None = None
    inside: Placed | None = None
    children: Mapping[str, Shape] = field(factory=dict)
    anchors: Mapping[str, Point] = field(factory=dict)
    wire: int = 0


@frozen(slots=True)
class Layout:
    """Boxes and labels with their positions; `spots` has one for each link."""

    width: int
    height: int
    boxes: tuple[Box, ...]
    links: tuple[Link, ...]
    spots: tuple[Label, ...]
    sizes: Sizes


def layout(chart: Chart, sizes: Sizes) -> Layout:
    """Place everything but the arrows."""
    joins = links(chart)
    shape = min(_shapes(chart, joins, None, sizes), key=lambda s: _misfit(s, sizes.page))
    boxes: list[Box] = []
    spots: dict[int, Label] = {}
    _flatten(chart, joins, shape, None, (0, sizes.heading), boxes, spots)
    return Layout(
        shape.w,
        shape.h + sizes.heading,
        tuple(boxes),
        tuple(joins),
        tuple(spots[n] for n in range(len(joins))),
        sizes,
    )


def _misfit(shape: Shape, page: Point) -> int:
    """Return how much too large a shape is for a page; long arrows count a little."""
    return max(shape.w * 1000 // page[0], shape.h * 1000 // page[1]) + shape.wire // 40


def _shapes(chart: Chart, joins: Sequence[Link], home: str | None, sizes: Sizes) -> list[Shape]:
    children = _children(chart, home)
    if home is not None and not children:
        return _leaves(chart.states[home], sizes)
    offers = [_shapes(chart, joins, child, sizes) for child in children]
    ties = [_tie(link, n) for n, link in enumerate(joins) if link.home == home]
    found: list[Shape] = []
    for pick in islice(product(*offers), _TRIES):
        inner = dict(zip(children, pick, strict=True))
        tiles = [_tile(key, shape, sizes) for key, shape in inner.items()]
        found += [
            _compound(chart, home, placed, inner, sizes)
            for placed in arrangements(tiles, ties, sizes)
        ]
    if home is None:
        return found
    best = [min(found, key=lambda s: _misfit(s, (100 * a, 100 * b))) for a, b in _SHAPES]
    return [shape for n, shape in enumerate(best) if shape not in best[:n]]


def _children(chart: Chart, home: str | None) -> tuple[str, ...]:
    return tuple(s.id for s in chart.top) if home is None else chart.states[home].children


def _leaves(state: State, sizes: Sizes) -> list[Shape]:
    found: list[Shape] = []
    for chars in LEAF_CHARS:
        written = notes(state, chars)
        w, h = _text_size(state, written, sizes)
        shape = Shape(w, h, written, anchors={state.id: (w // 2, h // 2)})
        # The wide shape is only useful if it saves more than a line.
        if not found or h < found[0].h - 2 * LEADING:
            found.append(shape)
    return found


def _text_size(state: State, written: Sequence[Note], sizes: Sizes) -> Point:
    lines = [line for note in written for line in note.lines]
    widest = max([width(state.id, sizes.title_px), *(line_width(line) for line in lines)])
    w = widest + 2 * sizes.inset
    return ceil(w), ceil(sizes.title_band + (len(lines) * LEADING + 6 if lines else 4))


def _tie(link: Link, key: int) -> Tie:
    across, down = _lines(link, ACROSS_CHARS), _lines(link, DOWN_CHARS)
    blank = (PITCH, PITCH) if link.rows else (DOT, DOT)
    return Tie(
        key,
        link.a,
        link.b,
        (link.source, link.target),
        block(across) if across else blank,
        block(down) if down else blank,
    )


def _lines(link: Link, chars: int) -> tuple[Line, ...]:
    return tuple(line for row in link.rows for line in wrap(words(row), chars))


def _tile(key: str, shape: Shape, sizes: Sizes) -> Tile:
    title = ceil(width(key, sizes.title_px)) + 4 * PITCH
    return Tile(key, shape.w, shape.h, shape.anchors, shape.inside is None, title)


def _compound(
    chart: Chart,
    home: str | None,
    placed: Placed,
    inner: Mapping[str, Shape],
    sizes: Sizes,
) -> Shape:
    """Return a box around *placed*, with room for its own title and rows."""
    # The heading of the picture is enough margin above the chart itself.
    head = Rect(0, 0, 0, PITCH - sizes.head_gap)
    written: tuple[Note, ...] = ()
    if home is not None:
        state = chart.states[home]
        written = notes(state, max(LEAF_CHARS[0], placed.w * 10 // 72))
        head = Rect(0, 0, *_text_size(state, written, sizes))
    w = max(placed.w + 2 * sizes.margin, head.w + 2 * PITCH)
    h = head.h + placed.h + sizes.margin + sizes.head_gap
    dx, dy = (w - placed.w) // 2 // PITCH * PITCH, head.h + sizes.head_gap
    anchors: dict[str, Point] = {} if home is None else {home: (w // 2, h // 2)}
    for key, shape in inner.items():
        rect = placed.tiles[key]
        for name, (x, y) in shape.anchors.items():
            anchors[name] = (rect.x + dx + x, rect.y + dy + y)
    shifted = Placed(
        placed.w,
        placed.h,
        {key: rect.moved(dx, dy) for key, rect in placed.tiles.items()},
        {key: (rect.moved(dx, dy), down) for key, (rect, down) in placed.labels.items()},
        placed.wire,
    )
    wire = placed.wire + sum(shape.wire for shape in inner.values())
    return Shape(w, h, written, head, shifted, inner, anchors, wire)


def _flatten(
    chart: Chart,
    joins: Sequence[Link],
    shape: Shape,
    home: str | None,
    corner: Point,
    boxes: list[Box],
    spots: dict[int, Label],
) -> None:
    """Convert a shape into boxes and labels at their final positions."""
    if shape.inside is None:
        return
    depth = 0 if home is None else sum(1 for _ in chart.lineage(home))
    for n, (rect, down) in shape.inside.labels.items():
        lines = _lines(joins[n], DOWN_CHARS if down else ACROSS_CHARS)
        spots[n] = Label(rect.moved(*corner), lines, depth, down)
    for key, rect in shape.inside.tiles.items():
        child = shape.children[key]
        place = rect.moved(*corner)
        head = child.head and child.head.moved(place.x, place.y)
        boxes.append(Box(key, depth + 1, place, child.notes, head))
        _flatten(chart, joins, child, key, (place.x, place.y), boxes, spots)
