"""The routing grid: blocked cells, and the cheapest path for an arrow.

A cell is a point of the grid, numbered row by row.  Lines may cross, and lines of one net (the
arrows that leave one state, before their labels, or that reach one, after them) may share cells,
like the branches of a tree; two lines of different nets keep apart if there is any room.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from heapq import heapify, heappop, heappush
from itertools import pairwise

from attrs import define, field, frozen

from minamo.machine.svg.picture import PITCH, Point, Rect


def spread(wants: Sequence[tuple[int, int]], gap: int, room: int | None = None) -> list[int]:
    """Return starts for pieces (wanted middle, size), in this order and *gap* apart.

    This is the least squares solution, found by pooling neighbours that would collide, then
    aligned to the grid and, if the *room* from 0 is large enough, moved into it.
    """
    pools: list[tuple[int, int]] = []
    offsets: list[int] = []
    end = 0
    for want, size in wants:
        offsets.append(end)
        total, count = want - size // 2 - end, 1
        while pools and pools[-1][0] * count >= total * pools[-1][1]:
            total, count = total + pools[-1][0], count + pools[-1][1]
            pools.pop()
        pools.append((total, count))
        end += size + gap
    shifts = [total // count // PITCH * PITCH for total, count in pools for _ in range(count)]
    if room is not None:
        most = room // PITCH * PITCH - end + gap
        shifts = [max(min(shift, most), 0) for shift in shifts]
    return [shift + offset for shift, offset in zip(shifts, offsets, strict=True)]


RIGHT, DOWN, LEFT, UP = range(4)
# Costs no path has: of a place not visited yet, and of one that is settled.
FAR, DONE = 1 << 40, -1

# The costs of a path.  Only the proportions matter.
STEP = 10
NEAR = 4  # beside a box or a label
SHARED = 5  # along a line of the same net, instead of STEP
BEND = 30
CROSSING = 40
STUB = 150  # a bend just before the end, which leaves no room for the head of an arrow
OVERLAP = 400  # along a line of another net


@frozen(slots=True)
class Port:
    """A cell where a line may begin or end, and the direction in which it passes."""

    cell: int
    way: int
    cost: int = 0


@define
class Grid:
    """The canvas as cells."""

    width: int
    height: int
    hope: int = STEP + 2
    """Expected cost of a step.  A higher value makes the search faster and less exact."""
    cost: list[int] = field(init=False)
    shut: tuple[bytearray, bytearray] = field(init=False)
    """Cells no line may enter: horizontally, and vertically."""
    owner: list[int] = field(init=False)
    """The number of the innermost compound state around each cell."""
    used: tuple[list[int], list[int]] = field(init=False)
    """The net of the line through each cell, in both directions; 0 for none."""

    def __attrs_post_init__(self) -> None:
        size = self.width * self.height
        self.cost = [STEP] * size
        self.shut = (bytearray(size), bytearray(size))
        self.owner = [0] * size
        self.used = ([0] * size, [0] * size)
        self.block(Rect(0, 0, (self.width - 1) * PITCH, 0))
        self.block(Rect(0, (self.height - 1) * PITCH, (self.width - 1) * PITCH, 0))
        self.block(Rect(0, 0, 0, (self.height - 1) * PITCH))
        self.block(Rect((self.width - 1) * PITCH, 0, 0, (self.height - 1) * PITCH))

    def cell(self, x: int, y: int) -> int:
        """Return the number of the cell at a point of the canvas."""
        return y // PITCH * self.width + x // PITCH

    def point(self, cell: int) -> Point:
        """Return the position of a cell on the canvas."""
        return cell % self.width * PITCH, cell // self.width * PITCH

    def cells(self, rect: Rect) -> Iterable[int]:
        """Yield all cells of *rect*, its edges included."""
        for y in range(rect.y, rect.bottom + 1, PITCH):
            start = self.cell(rect.x, y)
            yield from range(start, start + rect.w // PITCH + 1)

    def block(self, rect: Rect) -> None:
        """Forbid lines to enter *rect*."""
        for cell in self.cells(rect):
            self.shut[0][cell] = self.shut[1][cell] = 1

    def shun(self, rect: Rect) -> None:
        """Make the cells around *rect* slightly more expensive than open space."""
        wide = Rect(rect.x - PITCH, rect.y - PITCH, rect.w + 2 * PITCH, rect.h + 2 * PITCH)
        for cell in self.cells(wide):
            self.cost[cell] = STEP + NEAR

    def fence(self, rect: Rect, number: int) -> None:
        """Make *rect* a compound state: lines cross its border, but never run along it."""
        for cell in self.cells(rect):
            self.owner[cell] = number
        for y in (rect.y, rect.bottom):
            for cell in self.cells(Rect(rect.x, y, rect.w, 0)):
                self.shut[0][cell] = 1
        for x in (rect.x, rect.right):
            for cell in self.cells(Rect(x, rect.y, 0, rect.h)):
                self.shut[1][cell] = 1
        for x in (rect.x, rect.right - PITCH):
            self.block(Rect(x, rect.y, PITCH, 0))
            self.block(Rect(x, rect.bottom, PITCH, 0))

    def draw(self, path: Sequence[int], net: int) -> None:
        """Record that a line of *net* runs along *path*."""
        for here, there in pairwise(path):
            used = self.used[0 if abs(here - there) == 1 else 1]
            used[here] = used[there] = net

    def clear(self) -> None:
        """Remove all lines."""
        self.used = ([0] * len(self.cost), [0] * len(self.cost))

    def path(
        self, starts: Sequence[Port], goals: Sequence[Port], net: int, inside: frozenset[int]
    ) -> list[int]:
        """Return the cheapest path from a start to a goal through the compound states *inside*.

        A path always exists: all blocked areas keep a distance from each other.
        """
        ends = {goal.cell * 4 + goal.way: goal.cost for goal in goals}
        columns, rows = self._guess(goals)
        width, owner, cost = self.width, self.owner, self.cost
        steps = (1, width, -1, -width)
        ways = [(way, (way + 1) & 3, (way + 3) & 3) for way in range(4)]
        best = {start.cell * 4 + start.way: start.cost for start in starts}
        before: dict[int, int] = {}
        # Of equal estimates the one that has come further is first: the second entry is the cost
        # so far, negated.
        heap = [(paid, -paid, state) for state, paid in best.items()]
        heapify(heap)
        while True:
            _, paid, state = heappop(heap)
            if state < 0:
                return _trace(before, ~state)
            if -paid > best[state]:
                continue
            best[state] = DONE
            way = state & 3
            to = (state >> 2) + steps[way]
            # A goal is a state of its own, so that the cost of its port is counted too.
            if (end := to * 4 + way) in ends:
                price = ends[end] - paid
                price += STUB if before.get(state, state) & 3 != way else 0
                before[end] = state
                heappush(heap, (price, -price, ~end))
                continue
            if self.shut[way & 1][to] or owner[to] not in inside:
                continue
            along, across = self.used[way & 1][to], self.used[~way & 1][to]
            if along == net:
                price = SHARED - paid
            else:
                price = cost[to] - paid + (OVERLAP if along else 0)
                price += CROSSING if across and across != net else 0
            x, y = columns[to % width], rows[to // width]
            guess = x + y + (BEND if x and y else 0)
            for turn in ways[way]:
                after = to * 4 + turn
                if price < best.get(after, FAR):
                    best[after] = price
                    before[after] = state
                    heappush(heap, (price + guess, -price, after))
                if turn == way:
                    price += BEND

    def meets(self, path: Sequence[int]) -> bool:
        """Return whether a line along *path* meets any other."""
        return any(used[cell] for cell in path for used in self.used)

    def _guess(self, goals: Sequence[Port]) -> tuple[list[int], list[int]]:
        """Return the estimated remaining cost from each column and each row."""
        xs = [goal.cell % self.width for goal in goals]
        ys = [goal.cell // self.width for goal in goals]
        return (
            [self.hope * max(min(xs) - x, 0, x - max(xs)) for x in range(self.width)],
            [self.hope * max(min(ys) - y, 0, y - max(ys)) for y in range(self.height)],
        )


def _trace(before: Mapping[int, int], state: int) -> list[int]:
    path = [state >> 2]
    while state in before:
        state = before[state]
        path.append(state >> 2)
    return path[::-1]
