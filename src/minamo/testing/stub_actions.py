"""Actions for a chart whose own code is not there, or not wanted: guards as told, calls noted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from minamo.machine import Chart


def stand_in(chart: Chart) -> type[Any]:
    """A class to compile *chart* for.

    An instance takes a function that answers for the guards, by name; without one they all let
    pass.  Its ``calls`` has the names of the actions that were done, in order.
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
