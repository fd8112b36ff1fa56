"""Where a line may touch a box, a label or an initial mark, and which places are better."""

from __future__ import annotations

from attrs import evolve

from minamo.machine.drawing.grid import DOWN, LEFT, OVERLAP, RIGHT, UP, Grid, Port
from minamo.machine.drawing.picture import PITCH, Box, Label
from minamo.machine.drawing.wording import TITLE_PX, ceil, width

# To be compared with what a path costs in the grid.
OFF_CENTRE = 3
CROWDED = 60
ODD_SIDE = 150


def box_ports(grid: Grid, box: Box, net: int) -> list[Port]:
    """The border of a state, best in the middle and away from other lines."""
    out = []
    for way, cells in _sides(grid, box).items():
        for n, cell in enumerate(cells):
            off = 0 if box.head else OFF_CENTRE * abs(2 * n - len(cells) + 1) // 2
            out.append(Port(cell, way, off + _crowding(grid, cell, way, net)))
    return out


def label_ports(grid: Grid, label: Label, other: int | None) -> list[Port]:
    """The middles of a label's sides; *other* is the side its other line touches."""
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
    """The same places, for lines that come the other way."""
    return [evolve(port, way=(port.way + 2) & 3) for port in ports]


def _sides(grid: Grid, box: Box) -> dict[int, list[int]]:
    """The cells of each side, without the corners and without a compound's title."""
    rect = box.rect
    skip = PITCH if box.head is None else 2 * PITCH
    title = rect.x + (skip if box.head is None else ceil(width(box.id, TITLE_PX)) + 3 * PITCH)
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
