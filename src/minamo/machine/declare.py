"""Declare a chart with python-statemachine; the only file that builds its classes.

The class is the formal declaration: the compiler lowers it to a table, and the library's
own interpreter runs it as the reference in the tests.
"""

from __future__ import annotations

import json
from typing import Any

from statemachine import StateChart
from statemachine.io import load as load_document

from minamo.errors import ChartError
from minamo.machine.chart import Chart, Row, State

# As shipped, a loaded chart swallows exceptions raised in actions and then enters the target
# all the same; and it shows an empty configuration while actions run.
_STRICT: dict[str, bool] = {
    "catch_errors_as_events": False,
    "atomic_configuration_update": True,
    "enable_self_transition_entries": False,
    # An event with no row is decided by the chart's `ignored`, checked by `verify`.
    "allow_event_without_transition": True,
}


def declare(chart: Chart) -> type[StateChart[Any]]:
    """The python-statemachine class of *chart*, with its strict flags set."""
    for event in chart.events:
        # Events become attributes of the class: one called `send` would replace the method.
        if hasattr(StateChart, event):
            raise ChartError(
                "the statechart library uses this name itself; choose another",
                file=chart.file,
                event=event,
            )
    document = {
        "name": chart.name,
        "states": {state.id: _state(chart, state) for state in chart.top},
    }
    # As text, not as a path: the library's path loader changes the working directory.
    cls = load_document(json.dumps(document), format="json")
    for flag, value in _STRICT.items():
        setattr(cls, flag, value)
    return cls


def _state(chart: Chart, state: State) -> dict[str, object]:
    initial = chart.initial if state.parent is None else chart.states[state.parent].initial
    return {
        "initial": state.id == initial,
        "final": state.final,
        "enter": list(state.enter),
        "exit": list(state.exit),
        "transitions": [_row(row) for row in state.rows],
        "states": {child: _state(chart, chart.states[child]) for child in state.children},
    }


def _row(row: Row) -> dict[str, object]:
    parts: dict[str, object] = {"on": list(row.actions), "target": row.target}
    if row.events:
        parts["event"] = " ".join(row.events)
    if row.guard:
        parts["cond"] = row.guard
    return parts
