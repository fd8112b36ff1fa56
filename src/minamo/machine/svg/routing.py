"""Routing of the arrows of a picture: from box to label to box, around everything else."""

from __future__ import annotations

from collections.abc import Mapping

from attrs import define, evolve, field

from minamo.machine.model import Chart
from minamo.machine.svg.grid import DOWN, LEFT, OVERLAP, RIGHT, UP, Grid, Port
from minamo.machine.svg.layout import Layout
from minamo.machine.svg.picture import (
    PITCH,
    Arrow,
    Box,
    Dot,
    Label,
    Picture,
    Point,
    ceil,
    width,
)

# On the same scale as the path costs of the grid.
OFF_CENTRE = 3
CROWDED = 60
ODD_SIDE = 150


def box_ports(grid: Grid, box: Box, net: int, title_px: int) -> list[Port]:
    """Return ports on the border of a state, cheapest in the middle and away from other lines."""
    out = []
    for way, cells in _sides(grid, box, title_px).items():
        for n, cell in enumerate(cells):
            off = 0 if box.head else OFF_CENTRE * abs(2 * n - len(cells) + 1) // 2
            out.append(Port(cell, way, off + _crowding(grid, cell, way, net)))
    return out


def label_ports(grid: Grid, label: Label, other: int | None) -> list[Port]:
    """Return the middles of a label's sides; *other* is the side its other line touches."""
    rect = label.rect
    x, y = rect.x + rect.w // 2 // PITCH * PITCH, rect.y + rect.h // 2 // PITCH * PITCH
    out = []
    for way, cell in (
        (RIGHT, grid.cell(rect.right, y)),
        (DOWN, grid.cell(x, rect.bottom)),
        (LEFT, grid.cell(rect.x, y)),
        (UP, grid.cell(x, rect.y)),
    ):
        odd = (way & 1) != label.down
        bent = other is not None and (way - other) & 3 != 2
        if way != other:
            out.append(Port(cell, way, ODD_SIDE * (odd + bent)))
    return out


def inward(ports: list[Port]) -> list[Port]:
    """Return the same ports for lines in the opposite direction."""
    return [evolve(port, way=(port.way + 2) & 3) for port in ports]


def _sides(grid: Grid, box: Box, title_px: int) -> dict[int, list[int]]:
    """Return the cells of each side, without the corners and without a compound's title."""
    rect = box.rect
    skip = PITCH if box.head is None else 2 * PITCH
    title = rect.x + (skip if box.head is None else ceil(width(box.id, title_px)) + 3 * PITCH)
    rows = range(rect.y + skip, rect.bottom - skip + 1, PITCH)
    below = (
        rows if box.head is None else range(box.head.bottom + PITCH, rect.bottom - skip + 1, PITCH)
    )
    columns = range(rect.x + skip, rect.right - skip + 1, PITCH)
    return {
        RIGHT: [grid.cell(rect.right, y) for y in rows],
        DOWN: [grid.cell(x, rect.bottom) for x in columns],
        LEFT: [grid.cell(rect.x, y) for y in below],
        UP: [grid.cell(x, rect.y) for x in columns if x >= title],
    }


def _crowding(grid: Grid, cell: int, way: int, net: int) -> int:
    used = grid.used[way & 1]
    beside = grid.width if way in (LEFT, RIGHT) else 1
    cost = OVERLAP if used[cell] not in (0, net) else 0
    for near in (cell - beside, cell + beside):
        cost += CROWDED if used[near] not in (0, net) else 0
    return cost


# Up to this many lines times cells, every line is routed twice, the second time with all others
# known, and with the more exact search.  In a larger picture that would cost time and not help.
CALM = 1_200_000
HURRY = 16


def draw(chart: Chart, placed: Layout) -> Picture:
    """Return the picture: the layout with its arrows."""
    router = _Router(chart, placed)
    router.route()
    arrows, dots = [], []
    for n, (link, spot) in enumerate(zip(placed.links, placed.spots, strict=True)):
        legs = tuple(router.points(leg) for leg in router.legs if leg.link == n)
        if link.rows:
            rows = tuple(row.index for row in link.rows)
            label = spot if spot.lines else None
            arrows.append(Arrow(link.source, link.target, rows, label, legs))
        else:
            dots.append(Dot(link.target, spot.rect, legs[0]))
    return Picture(placed.width, placed.height, placed.boxes, tuple(arrows), tuple(dots))


@define(eq=False)
class _Leg:
    """One line to route: from a state or label to a label or state."""

    link: int
    net: int
    inside: frozenset[int]
    source: str
    """'' if the line begins at the label; likewise `target` if it ends there."""
    target: str
    path: list[int] = field(factory=list)


@define
class _Router:
    chart: Chart
    placed: Layout
    boxes: Mapping[str, Box] = field(init=False)
    numbers: Mapping[str, int] = field(init=False)
    grid: Grid = field(init=False)
    legs: list[_Leg] = field(factory=list)

    def __attrs_post_init__(self) -> None:
        self.boxes = {box.id: box for box in self.placed.boxes}
        self.numbers = {key: n + 1 for n, key in enumerate(self.boxes)}
        self.grid = Grid(self.placed.width // PITCH + 1, self.placed.height // PITCH + 1)
        for box in self.placed.boxes:
            self.grid.shun(box.rect)
            if box.head is None:
                self.grid.block(box.rect)
            else:
                self.grid.fence(box.rect, self.numbers[box.id])
                self.grid.block(box.head)
        for link, spot in zip(self.placed.links, self.placed.spots, strict=True):
            if spot.lines or not link.rows:
                self.grid.shun(spot.rect)
                self.grid.block(spot.rect)
        for n in range(len(self.placed.links)):
            self.legs += self.split(n)

    def split(self, n: int) -> list[_Leg]:
        """Return the lines of link *n*: one to its label and one from it, or just one."""
        link, spot = self.placed.links[n], self.placed.spots[n]
        inside = frozenset({0} | self.around(link.source) | self.around(link.target))
        # One net for lines that leave a state, one for lines that reach it, one per initial mark.
        out = 2 * self.numbers.get(link.source, len(self.numbers) + 1 + n)
        to = 2 * self.numbers[link.target] + 1
        if not link.rows:
            return [_Leg(n, out, inside, "", link.target)]
        if not spot.lines:
            return [_Leg(n, out, inside, link.source, link.target)]
        return [_Leg(n, out, inside, link.source, ""), _Leg(n, to, inside, "", link.target)]

    def around(self, state: str) -> set[int]:
        """Return the numbers of the compound states that *state* is in."""
        parent = self.chart.states[state].parent if state else None
        return {self.numbers[s.id] for s in self.chart.lineage(parent)} if parent else set()

    def route(self) -> None:
        """Route every line, the short ones first because they have the least choice."""
        order = sorted(self.legs, key=self.distance)
        calm = len(order) * len(self.grid.cost) <= CALM
        self.grid.hope = self.grid.hope if calm else HURRY
        for _ in range(2 if calm else 1):
            for leg in order:
                self.grid.clear()
                for other in self.legs:
                    if other is not leg:
                        self.grid.draw(other.path, other.net)
                if leg.path and not self.grid.meets(leg.path):
                    continue
                starts = self.ports(leg, leg.source)
                goals = inward(self.ports(leg, leg.target))
                leg.path = self.grid.path(starts, goals, leg.net, leg.inside)

    def distance(self, leg: _Leg) -> int:
        """Return the distance between the two ends of a leg."""
        spot = self.placed.spots[leg.link].rect
        source = self.boxes[leg.source].rect if leg.source else spot
        target = self.boxes[leg.target].rect if leg.target else spot
        across = max(target.x - source.right, source.x - target.right, 0)
        return across + max(target.y - source.bottom, source.y - target.bottom, 0)

    def ports(self, leg: _Leg, state: str) -> list[Port]:
        """Return where a leg may leave *state* or, if that is empty, its label."""
        link = self.placed.links[leg.link]
        if not state:
            return label_ports(self.grid, self.placed.spots[leg.link], self.other_side(leg))
        found = box_ports(self.grid, self.boxes[state], leg.net, self.placed.sizes.title_px)
        # A compound state that holds the other end is left, or reached, from within.
        within = link.source != link.target and self.numbers[state] in leg.inside
        return inward(found) if within else found

    def other_side(self, leg: _Leg) -> int | None:
        """Return the side of the label that the other line of the same arrow touches."""
        for other in self.legs:
            if other.link == leg.link and other is not leg and other.path:
                end, next_point = other.path[:2] if other.target else other.path[:-3:-1]
                return {1: RIGHT, -1: LEFT, self.grid.width: DOWN}.get(next_point - end, UP)
        return None

    def points(self, leg: _Leg) -> tuple[Point, ...]:
        """Return the ends and corners of a leg's line."""
        path = leg.path
        bends = [b for a, b, c in zip(path, path[1:], path[2:], strict=False) if b - a != c - b]
        return tuple(self.grid.point(cell) for cell in (path[0], *bends, path[-1]))
