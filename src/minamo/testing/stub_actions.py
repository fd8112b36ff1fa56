"""Stub actions for a chart: configurable guards, and a record of the actions called."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from minamo.machine import Chart


def stand_in(chart: Chart) -> type[Any]:
    """Return a stub class to compile *chart* for.

    An instance takes a function that evaluates a guard by name; by default all guards are true.
    Its ``calls`` lists the names of the executed actions, in order.
    """

    def begin(self: Any, answer: Callable[[str], bool] = lambda _guard: True) -> None:
        self.answer = answer
        self.calls = []

    methods: dict[str, Any] = {"__init__": begin, "__doc__": f"Stands in for {chart.name}."}
    methods |= {guard: _guard(guard) for guard in chart.guards}
    methods |= {action: _action(action) for action in chart.actions}
    return type("StandIn", (), methods)


def _guard(name: str) -> Callable[[Any, object], bool]:
    return lambda self, _payload: self.answer(name)


def _action(name: str) -> Callable[[Any, object], None]:
    return lambda self, _payload: self.calls.append(name)
