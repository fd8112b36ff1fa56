"""Check that every name a chart uses is one it declares."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from minamo.errors import ChartError
from minamo.machine import guards
from minamo.machine.chart import DONE_PREFIX, Chart, Row, State
from minamo.machine.nodes import hint


def check_names(chart: Chart) -> None:
    """Raise for the first unknown event, target, guard or action, and for unused ones."""
    used: dict[str, set[str]] = {"event": set(), "guard": set(), "action": set()}
    for state in chart.states.values():
        for event in state.ignored:
            _known(chart, "event", event, chart.events, state=state.id, line=state.line)
        for action in (*state.enter, *state.exit):
            _known(chart, "action", action, chart.actions, state=state.id, line=state.line)
            used["action"].add(action)
        for row in state.rows:
            _check_row(chart, row)
            used["event"].update(row.events)
            used["action"].update(row.actions)
            used["guard"].update(guards.names(row.guard) if row.guard else ())
    _all_used(chart, "event", chart.events, used["event"])
    _all_used(chart, "guard", chart.guards, used["guard"])
    _all_used(chart, "action", chart.actions, used["action"])


def _check_row(chart: Chart, row: Row) -> None:
    trigger = " ".join(row.events)
    where = {"state": row.source, "event": trigger}
    for event in row.events:
        if event.startswith(DONE_PREFIX):
            _check_done(chart, row, event)
        else:
            _known(chart, "event", event, chart.events, line=row.line, **where)
    if len(set(row.events)) != len(row.events):
        raise ChartError("the row names an event twice", file=chart.file, line=row.line, **where)
    if row.target is not None:
        _known(chart, "target", row.target, chart.states, line=row.line, **where)
    for action in row.actions:
        _known(chart, "action", action, chart.actions, line=row.line, **where)
    for guard in guards.names(row.guard) if row.guard else ():
        _known(chart, "guard", guard, chart.guards, line=row.line, **where)


def _check_done(chart: Chart, row: Row, event: str) -> None:
    parent = chart.states.get(event.removeprefix(DONE_PREFIX), State(""))
    if not any(chart.states[child].final for child in parent.children):
        raise ChartError(
            "done.state needs the id of a compound state with a final child",
            file=chart.file,
            line=row.line,
            state=row.source,
            event=event,
        )


def _known(
    chart: Chart,
    what: str,
    name: str,
    known: Mapping[str, object],
    *,
    line: int,
    state: str,
    event: str = "",
) -> None:
    if name not in known:
        raise ChartError(
            f"unknown {what} {name!r}{hint(name, known)}",
            file=chart.file,
            line=line,
            state=state,
            event=event,
        )


def _all_used(chart: Chart, what: str, declared: Iterable[str], used: set[str]) -> None:
    for name in declared:
        if name not in used:
            raise ChartError(
                f"{what} {name!r} is declared and never used; use it in a row or remove it",
                file=chart.file,
            )
