"""Placement of the children of one compound state, and of the labels between them.

Labels get space of their own, between the columns of a band or between two bands, so no label
can cover anything.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from attrs import define, field, frozen

from minamo.machine.svg.grid import spread
from minamo.machine.svg.picture import PITCH, Point, Rect, Sizes

Bands = list[list[list[str]]]
"""Bands from top to bottom, of columns from left to right, of keys from top to bottom."""

# Up to this many layers all the ways to cut them are tried: eight ways for four.
_LAYERS_MAX = 4


def bandings(keys: Sequence[str], pairs: Sequence[tuple[str, str]]) -> Iterator[Bands]:
    """Yield the bandings worth comparing, for children *keys* of which *pairs* are connected."""
    layers = _layers(keys, pairs)
    for cuts in _cuts(len(layers)):
        groups = [layers[a:b] for a, b in pairwise(cuts)]
        alone = max((len(group[0]) for group in groups if len(group) == 1), default=1)
        for columns in sorted({1, min(2, alone), min(3, alone), alone}):
            yield [_columns(group[0], columns) if len(group) == 1 else group for group in groups]


def _layers(keys: Sequence[str], pairs: Sequence[tuple[str, str]]) -> list[list[str]]:
    order = {key: n for n, key in enumerate(keys)}
    forward = sorted((max(order[a], order[b]), min(order[a], order[b])) for a, b in pairs)
    rank = [0] * len(keys)
    for later, earlier in forward:
        if later != earlier:
            rank[later] = max(rank[later], rank[earlier] + 1)
    layers: list[list[str]] = [[] for _ in range(max(rank) + 1)]
    for key, at in zip(keys, rank, strict=True):
        layers[at].append(key)
    return layers


def _cuts(count: int) -> Iterator[list[int]]:
    if count <= _LAYERS_MAX:
        for mask in range(1 << (count - 1)):
            yield [0, *(n + 1 for n in range(count - 1) if mask >> n & 1), count]
    else:
        for length in range(count, 0, -1):
            yield [*range(0, count, length), count]


def _columns(keys: list[str], columns: int) -> list[list[str]]:
    height = -(-len(keys) // columns)
    return [keys[n : n + height] for n in range(0, len(keys), height)]


@frozen(slots=True)
class Tile:
    """A child to be placed.  `anchors` are the middles of all states in it, itself included."""

    key: str
    w: int
    h: int
    anchors: Mapping[str, Point]
    stretch: bool = False
    """Whether it is a leaf, which may become as wide as the widest leaf of its column."""
    title: int = 0
    """Width that a compound needs on its upper edge for its own title."""


@frozen(slots=True)
class Tie:
    """An arrow between two children, or between one child and the compound ('' then)."""

    key: int
    a: str
    b: str
    ends: tuple[str, str]
    """The states the arrow joins, at any depth in `a` and `b`."""
    across: Point
    """The size of the label between two columns."""
    down: Point
    """The size of the label between two bands."""


@frozen(slots=True)
class Placed:
    """A finished arrangement, with its origin at (0, 0)."""

    w: int
    h: int
    tiles: Mapping[str, Rect]
    labels: Mapping[int, tuple[Rect, bool]]
    """By the key of the tie; True for a label between two bands."""
    wire: int
    """Approximate total length of all arrows."""


def arrangements(tiles: Sequence[Tile], ties: Sequence[Tie], sizes: Sizes) -> Iterator[Placed]:
    """Yield all the arrangements worth comparing, in a fixed order."""
    keys = [tile.key for tile in tiles]
    for bands in bandings(keys, [(tie.a, tie.b) for tie in ties if tie.a and tie.b]):
        yield _Placing({tile.key: tile for tile in tiles}, ties, bands, sizes).place()


@define
class _Placing:
    """One arrangement under construction: first every x, then band by band every y."""

    tiles: Mapping[str, Tile]
    ties: Sequence[Tie]
    bands: Bands
    sizes: Sizes
    where: dict[str, tuple[int, int]] = field(factory=dict)
    """Band and column of each child."""
    wide: dict[str, int] = field(factory=dict)
    x: dict[str, int] = field(factory=dict)
    y: dict[str, int] = field(factory=dict)
    beside: dict[tuple[int, int], list[Tie]] = field(factory=dict)
    """The ties whose label is in a band just before a column."""
    above: dict[int, list[Tie]] = field(factory=dict)
    """The ties whose label is above a band."""
    left: dict[tuple[int, int], int] = field(factory=dict)
    """The x of the labels between two columns, by band and column."""
    labels: dict[int, tuple[Rect, bool]] = field(factory=dict)

    @property
    def joined(self) -> bool:
        return any(tie.a and tie.b for tie in self.ties)

    @property
    def gap(self) -> int:
        return self.sizes.gap if self.joined else self.sizes.list_gap

    def place(self) -> Placed:
        for b, band in enumerate(self.bands):
            for c, column in enumerate(band):
                # Boxes that no arrow joins make a list or a table: they all get the same width.
                among = column if self.joined else [k for col in band for k in col]
                leaves = [self.tiles[key].w for key in among if self.tiles[key].stretch]
                for key in column:
                    self.where[key] = (b, c)
                    self.wide[key] = max(leaves) if self.tiles[key].stretch else self.tiles[key].w
        self.sort_ties()
        widths = [self.band_width(b) for b in range(len(self.bands))]
        top = 0
        for b, band in enumerate(self.bands):
            shift = (max(widths) - widths[b]) // 2 // PITCH * PITCH
            for column in band:
                for key in column:
                    self.x[key] += shift
            for c in range(len(band) + 1):
                self.left[b, c] += shift
        for b in range(len(self.bands)):
            top = self.between_bands(b, max(widths), top)
            top = self.band_down(b, top)
        return self.placed(top)

    def placed(self, height: int) -> Placed:
        rects = {key: self.rect(key) for key in self.tiles}
        everything = [*rects.values(), *(rect for rect, _ in self.labels.values())]
        left = min(rect.x for rect in everything)
        return Placed(
            max(rect.right for rect in everything) - left,
            height,
            {key: rect.moved(-left, 0) for key, rect in rects.items()},
            {key: (rect.moved(-left, 0), down) for key, (rect, down) in self.labels.items()},
            sum(self.wire(tie) for tie in self.ties),
        )

    def rect(self, key: str) -> Rect:
        return Rect(self.x[key], self.y[key], self.wide[key], self.tiles[key].h)

    def wire(self, tie: Tie) -> int:
        """Return the minimum length of an arrow by way of its label."""
        rect, _ = self.labels[tie.key]
        total = 0
        for key, end in zip((tie.a, tie.b), tie.ends, strict=True):
            if key:
                x, y = self.tiles[key].anchors[end]
                total += abs(self.x[key] + x - rect.x - rect.w // 2)
                total += abs(self.y[key] + y - rect.y - rect.h // 2)
        return total

    def sort_ties(self) -> None:
        """Decide for each tie where its label goes: in a band, or above one."""
        for tie in self.ties:
            spots = sorted(self.where[key] for key in (tie.a, tie.b) if key)
            if spots[0][0] < spots[-1][0]:
                self.above.setdefault(spots[0][0] + 1, []).append(tie)
            elif not tie.a and not self.tiles[tie.b].stretch:
                # From the compound to a wide child: there is more room above it.
                self.above.setdefault(spots[0][0], []).append(tie)
            else:
                # A label from the compound goes before the child; all others go after theirs.
                column = spots[0][1] + (1 if tie.a else 0)
                self.beside.setdefault((spots[0][0], column), []).append(tie)

    def band_width(self, b: int) -> int:
        """Set the x of a band's columns and the labels between them; return the band's width."""
        at = 0
        for c in range(len(self.bands[b]) + 1):
            ties = self.beside.get((b, c), [])
            inner = 0 < c < len(self.bands[b])
            if ties:
                reach = self.sizes.reach + PITCH * (len(ties) // 5)
                at += reach if c else 0
                self.left[b, c] = at
                at += max(tie.across[0] for tie in ties)
                at += reach if c < len(self.bands[b]) else 0
            else:
                self.left[b, c] = at
                at += self.gap if inner else 0
            if c < len(self.bands[b]):
                for key in self.bands[b][c]:
                    self.x[key] = at
                at += max(self.wide[key] for key in self.bands[b][c])
        return at

    def band_down(self, b: int, top: int) -> int:
        """Set the y of a band's boxes and labels, from *top*; return its lower edge."""
        columns = self.bands[b]
        for column in columns:
            for key in column:
                self.y[key] = -self.tiles[key].h // 2
        for column in (*columns, *columns, *columns[::-1], *columns):
            wants = [(self.wanted(key, b), self.tiles[key].h) for key in column]
            for key, y in zip(column, spread(wants, self.gap), strict=True):
                self.y[key] = y
        mine: list[int] = []
        for c in range(len(columns) + 1):
            ties = sorted(self.beside.get((b, c), []), key=lambda tie: self.middle(tie, 1))
            starts = spread(
                [(self.middle(tie, 1), tie.across[1]) for tie in ties], self.sizes.label_gap
            )
            for tie, y in zip(ties, starts, strict=True):
                self.labels[tie.key] = (Rect(self.left[b, c], y, *tie.across), False)
                mine.append(tie.key)
        keys = [key for column in columns for key in column]
        tops = [self.labels[number][0].y for number in mine]
        shift = top - min(tops + [self.y[key] for key in keys])
        for key in keys:
            self.y[key] += shift
        for number in mine:
            self.labels[number] = (self.labels[number][0].moved(0, shift), False)
        bottoms = [self.labels[number][0].bottom for number in mine]
        return max(bottoms + [self.rect(key).bottom for key in keys])

    def wanted(self, key: str, b: int) -> int:
        """Return the preferred middle of a box: level with the boxes it is connected with."""
        tile = self.tiles[key]
        wants = []
        for tie in self.ties:
            pairs = ((tie.a, tie.b, tie.ends), (tie.b, tie.a, tie.ends[::-1]))
            for mine, other, (end, far) in pairs:
                if mine == key and other not in ("", key) and self.where[other][0] == b:
                    there = self.y[other] + self.tiles[other].anchors[far][1]
                    wants.append(there - tile.anchors[end][1] + tile.h // 2)
        return sum(wants) // len(wants) if wants else self.y[key] + tile.h // 2

    def middle(self, tie: Tie, axis: int) -> int:
        """Return the preferred middle of a label: halfway between the ends of its arrow."""
        ends = zip((tie.a, tie.b), tie.ends, strict=True)
        spans = [self.span(key, end, axis) for key, end in ends if key]
        if len(spans) == 1:
            low, at, high = spans[0]
            # Above a compound state, an initial mark is placed just past the title.
            return at if low == high or axis else low + self.tiles[tie.b].title
        (low, middle, high), (start, centre, stop) = spans
        return (max(low, min(centre, high)) + max(start, min(middle, stop))) // 2

    def span(self, key: str, end: str, axis: int) -> tuple[int, int, int]:
        """Return the range and middle where an arrow can touch the state *end* in *key*."""
        tile = self.tiles[key]
        low, size = (self.y[key], tile.h) if axis else (self.x[key], self.wide[key])
        at = low + tile.anchors[end][axis]
        # A compound state can be touched anywhere along its border, a leaf best in its middle.
        return (low, at, low + size) if end == key and not tile.stretch else (at, at, at)

    def between_bands(self, b: int, room: int, top: int) -> int:
        """Place the labels above band *b*; return the y where the band begins."""
        ties = self.above.get(b, [])
        if not ties:
            return top + self.gap if b else 0
        ties.sort(key=lambda tie: self.middle(tie, 0))
        total = sum(tie.down[0] + self.sizes.gap for tie in ties)
        rows = min(len(ties), -(-total // (room + self.sizes.gap)))
        top += self.sizes.reach if b else 0
        for row in range(rows):
            members = ties[row::rows]
            starts = spread(
                [(self.middle(tie, 0), tie.down[0]) for tie in members], self.sizes.gap, room
            )
            for tie, x in zip(members, starts, strict=True):
                self.labels[tie.key] = (Rect(x, top, *tie.down), True)
            top += max(tie.down[1] for tie in members) + self.sizes.label_gap
        return top - self.sizes.label_gap + self.sizes.reach + PITCH * (len(ties) // 5)
