"""Checks of a whole chart by exhaustive traversal, paths to every row, and row coverage.

The reader has already refused invalid documents.  The findings here are about valid charts that
are wrong: for example an unreachable state, or an event that is neither handled nor ignored.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Iterator

from attrs import define, field, frozen

from minamo.machine.machine import TransitionRecord
from minamo.machine.model import DONE_PREFIX, Chart, Row, State


@frozen(slots=True)
class Step:
    """One possible step: in `source`, `event` (empty: eventless) takes `row` to `target`."""

    source: str
    event: str
    row: Row
    target: str


def hops(chart: Chart, leaf: str) -> Iterator[Step]:
    """Yield every step that could be taken in *leaf*, in the order rows are tried."""
    yield from _open(chart, leaf, "", chart.rows_at_once(leaf))
    state = chart.states[leaf]
    if state.final and state.parent is not None:
        done = DONE_PREFIX + state.parent
        yield from _open(chart, leaf, done, chart.rows_for(leaf, done))
    if not is_transient(chart, leaf):
        for event in chart.events:
            yield from _open(chart, leaf, event, chart.rows_for(leaf, event))


def _open(chart: Chart, leaf: str, event: str, rows: Iterable[Row]) -> Iterator[Step]:
    for row in rows:
        yield Step(leaf, event, row, leaf if row.target is None else chart.leaf_of(row.target))
        if not row.guard:
            return  # rows after an unguarded one are never tried


def is_transient(chart: Chart, leaf: str) -> bool:
    """Return whether an unguarded eventless row leaves *leaf* in the step that enters it."""
    return any(not row.guard for row in chart.rows_at_once(leaf))


def shortest(chart: Chart) -> dict[str, tuple[Step, ...]]:
    """Return the shortest path from the initial leaf to each reachable leaf."""
    start = chart.leaf_of(chart.initial)
    ways: dict[str, tuple[Step, ...]] = {start: ()}
    queue = deque([start])
    while queue:
        leaf = queue.popleft()
        for hop in hops(chart, leaf):
            if hop.target not in ways:
                ways[hop.target] = (*ways[leaf], hop)
                queue.append(hop.target)
    return ways


def paths(chart: Chart) -> dict[int, tuple[Step, ...]]:
    """Return the shortest path that takes each row, by index; omit rows that cannot be taken."""
    found: dict[int, tuple[Step, ...]] = {}
    for leaf, way in shortest(chart).items():
        for hop in hops(chart, leaf):
            known = found.get(hop.row.index)
            if known is None or len(way) + 1 < len(known):
                found[hop.row.index] = (*way, hop)
    return dict(sorted(found.items()))


@frozen(slots=True)
class Finding:
    """One defect of a chart; `str()` is one line naming the place."""

    file: str
    line: int
    state: str
    event: str
    message: str

    def __str__(self) -> str:
        event = f", event {self.event!r}" if self.event else ""
        return f"{self.file}:{self.line}: state {self.state!r}{event}: {self.message}"


def verify(chart: Chart) -> list[Finding]:
    """Return all defects of *chart*; an empty list if there are none."""
    return [
        *_unreachable(chart),
        *_endless(chart),
        *_competing(chart),
        *_never_taken(chart),
        *_restless(chart),
        *_pairs(chart),
        *_stale_reasons(chart),
        *_clocks(chart),
    ]


def _at(chart: Chart, state: State, message: str, event: str = "", line: int = 0) -> Finding:
    return Finding(chart.file, line or state.line, state.id, event, message)


def _unreachable(chart: Chart) -> Iterator[Finding]:
    reached = {above.id for leaf in shortest(chart) for above in chart.lineage(leaf)}
    for state in chart.states.values():
        if state.id not in reached:
            yield _at(chart, state, "cannot be reached; give some row this target, or remove it")


def _endless(chart: Chart) -> Iterator[Finding]:
    """Yield states from which no outcome can be reached."""
    back: dict[str, set[str]] = {}
    for leaf in shortest(chart):
        for hop in hops(chart, leaf):
            back.setdefault(hop.target, set()).add(leaf)
    fine = {leaf.id for leaf in chart.leaves if leaf.final}
    todo = list(fine)
    while todo:
        for leaf in back.get(todo.pop(), set()) - fine:
            fine.add(leaf)
            todo.append(leaf)
    for leaf in shortest(chart):
        if leaf not in fine:
            yield _at(
                chart, chart.states[leaf], "no outcome can be reached from here; add a way out"
            )


def _competing(chart: Chart) -> Iterator[Finding]:
    """Yield rows of one state that come after another which always wins."""
    for state in chart.states.values():
        seen: dict[str, dict[str, int]] = {}
        for row in state.rows:
            for event in row.events or ("",):
                guards = seen.setdefault(event, {})
                for guard in ("", row.guard):
                    if guard in guards:
                        yield _at(
                            chart,
                            state,
                            f"competes with the row in line {guards[guard]}, which is tried "
                            "first and always wins; give that one a guard or remove this one",
                            event or "(at once)",
                            row.line,
                        )
                        break
                guards.setdefault(row.guard, row.line)


def _never_taken(chart: Chart) -> Iterator[Finding]:
    reached = set(shortest(chart))
    taken = {(hop.row.index, hop.event) for leaf in reached for hop in hops(chart, leaf)}
    possible = paths(chart)
    for state in chart.states.values():
        if not any(state in chart.lineage(leaf) for leaf in reached):
            continue  # reported already: the state itself cannot be reached
        for row in state.rows:
            lost = [event for event in row.events if (row.index, event) not in taken]
            if lost or row.index not in possible:
                yield _at(
                    chart,
                    state,
                    "this row can never be taken: rows further in, or an eventless one, "
                    "leave nothing for it",
                    " ".join(lost),
                    row.line,
                )


def _restless(chart: Chart) -> Iterator[Finding]:
    """Yield leaves that are left immediately but not marked transient, and vice versa."""
    for leaf in chart.leaves:
        transient = is_transient(chart, leaf.id)
        if transient and not leaf.transient:
            yield _at(chart, leaf, "is left at once; say `transient:` and why")
        if leaf.transient and not transient:
            yield _at(chart, leaf, "is called transient but no unguarded eventless row leaves it")
        seen = [leaf.id]
        while is_transient(chart, seen[-1]):
            row = next(row for row in chart.rows_at_once(seen[-1]) if not row.guard)
            target = chart.leaf_of(row.target or seen[-1])
            if target in seen:
                yield _at(chart, leaf, f"never comes to rest: it leads back to {target!r} at once")
                break
            seen.append(target)


def _pairs(chart: Chart) -> Iterator[Finding]:
    for leaf in chart.leaves:
        for event in chart.events:
            rows = chart.rows_for(leaf.id, event)
            if any(not row.guard for row in rows) or chart.reason_ignored(leaf.id, event):
                continue
            yield _at(
                chart,
                leaf,
                "is handled only if a guard holds; add a row without one, or say in `ignored` "
                "why nothing happens otherwise"
                if rows
                else "is neither handled nor ignored; add a row, or a reason under `ignored`",
                event,
            )


def _stale_reasons(chart: Chart) -> Iterator[Finding]:
    """Yield reasons for ignoring an event that is never ignored there."""
    used = set()
    for leaf in chart.leaves:
        for event in chart.events:
            if any(not row.guard for row in chart.rows_for(leaf.id, event)):
                continue
            giver = next((s for s in chart.lineage(leaf.id) if event in s.ignored), None)
            if giver is not None and not leaf.transient:
                used.add((giver.id, event))
    for state in chart.states.values():
        for event in state.ignored:
            if (state.id, event) not in used:
                yield _at(
                    chart, state, "is listed as ignored but never is; remove the reason", event
                )


def _clocks(chart: Chart) -> Iterator[Finding]:
    """Yield clocks that run where their event does nothing."""
    for leaf in chart.leaves:
        for clock in chart.clocks_in[leaf.id]:
            if not leaf.transient and not chart.handles(leaf.id, clock.event):
                yield _at(
                    chart,
                    leaf,
                    f"the clock {clock.name!r} runs here and its event does nothing; "
                    "add a row, or list the clock elsewhere",
                    clock.event,
                )


@define
class Coverage:
    """An observer that counts the rows taken: ``machine.subscribe(coverage)``."""

    chart: Chart
    taken: Counter[int] = field(factory=Counter)

    def __call__(self, taken: TransitionRecord) -> None:
        """Record one step."""
        if taken.row is not None:
            self.taken[taken.row.index] += 1

    @property
    def missing(self) -> list[Row]:
        """The rows that no run has taken, in document order."""
        return [row for row in self.chart.rows if not self.taken[row.index]]

    def __str__(self) -> str:
        total = len(self.chart.rows)
        share = f"{total - len(self.missing)} of {total} rows taken"
        rows = "".join(f"\n  never: {row.name} (line {row.line})" for row in self.missing)
        return f"{self.chart.name}: {share}{rows}"
