"""Which arrows the picture of a chart has, and in which state's box each of them belongs."""

from __future__ import annotations

from attrs import frozen

from minamo.machine.chart import Chart, Row


@frozen(slots=True)
class Link:
    """One arrow: all rows from `source` to `target`, or an initial mark if there is none."""

    source: str
    target: str
    rows: tuple[Row, ...]
    home: str | None
    """The innermost state that holds both ends; None for the chart itself."""
    a: str
    b: str
    """The children of `home` in which the arrow begins and ends; '' for `home` itself."""


def links(chart: Chart) -> list[Link]:
    """All arrows of *chart*, in document order, initial marks last."""
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in chart.rows:
        if row.target is not None:
            groups.setdefault((row.source, row.target), []).append(row)
    out = [_link(chart, source, target, rows) for (source, target), rows in groups.items()]
    defaults = {chart.initial} | {target for _, target in groups}
    marks = [Link("", chart.initial, (), None, "", chart.initial)]
    for state in chart.states.values():
        # Parents come before children, so one pass finds all that are entered by default.
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
