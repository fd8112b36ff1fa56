"""Walk a chart with every guard taken as free: what could happen, not what will."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator

from attrs import frozen

from minamo.machine.chart import DONE_PREFIX, Chart, Row


@frozen(slots=True)
class Hop:
    """One possible step: in `source`, `event` (empty: at once) takes `row` to `target`."""

    source: str
    event: str
    row: Row
    target: str


def hops(chart: Chart, leaf: str) -> Iterator[Hop]:
    """Every step that could be taken in *leaf*, in the order rows are tried."""
    yield from _open(chart, leaf, "", chart.rows_at_once(leaf))
    state = chart.states[leaf]
    if state.final and state.parent is not None:
        done = DONE_PREFIX + state.parent
        yield from _open(chart, leaf, done, chart.rows_for(leaf, done))
    if not is_transient(chart, leaf):
        for event in chart.events:
            yield from _open(chart, leaf, event, chart.rows_for(leaf, event))


def _open(chart: Chart, leaf: str, event: str, rows: Iterable[Row]) -> Iterator[Hop]:
    for row in rows:
        yield Hop(leaf, event, row, leaf if row.target is None else chart.leaf_of(row.target))
        if not row.guard:
            return  # rows behind an open one are never tried


def is_transient(chart: Chart, leaf: str) -> bool:
    """Tell whether an unguarded eventless row takes *leaf* away in the step that enters it."""
    return any(not row.guard for row in chart.rows_at_once(leaf))


def shortest(chart: Chart) -> dict[str, tuple[Hop, ...]]:
    """The shortest way from the beginning to each leaf that can be reached."""
    start = chart.leaf_of(chart.initial)
    ways: dict[str, tuple[Hop, ...]] = {start: ()}
    queue = deque([start])
    while queue:
        leaf = queue.popleft()
        for hop in hops(chart, leaf):
            if hop.target not in ways:
                ways[hop.target] = (*ways[leaf], hop)
                queue.append(hop.target)
    return ways


def paths(chart: Chart) -> dict[int, tuple[Hop, ...]]:
    """For each row that can be taken at all, by index: the shortest way to take it."""
    found: dict[int, tuple[Hop, ...]] = {}
    for leaf, way in shortest(chart).items():
        for hop in hops(chart, leaf):
            known = found.get(hop.row.index)
            if known is None or len(way) + 1 < len(known):
                found[hop.row.index] = (*way, hop)
    return dict(sorted(found.items()))
