"""Compile a chart against the class of its actions: names become functions, once."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from attrs import frozen

from minamo.errors import ChartError
from minamo.machine import guards
from minamo.machine.chart import Chart, Row
from minamo.machine.declare import declare
from minamo.machine.lower import Leaf, Lowered, Step, lower
from minamo.machine.nodes import hint

Action = Callable[[Any, Any], object]

# Method names that python-statemachine would call by their spelling alone.  A class with one
# of them would behave differently in the reference interpreter, so it is refused.
_BY_SPELLING = ("before_{}", "on_{}", "after_{}", "on_enter_{}", "on_exit_{}", "on_invoke_{}")
_ALWAYS = ("transition", "state")


# Not frozen: a frozen attrs class pays for every construction, and a plain slotted one reads
# fastest in the machine's inner loop.  Nobody writes to it after `compile`.
class Way:
    """One compiled row in one leaf: the unit the machine works with."""

    __slots__ = ("after", "before", "guard", "row", "target")

    def __init__(
        self,
        guard: guards.Guard | None,
        before: tuple[Action, ...],
        after: tuple[Action, ...],
        row: Row,
    ) -> None:
        self.guard = guard
        self.before = before
        self.after = after
        self.row = row
        self.target: Node | None = None


class Node:
    """One compiled leaf: where each event leads, and what is taken at once."""

    __slots__ = ("at_once", "done", "final", "id", "on")

    def __init__(self, leaf: Leaf) -> None:
        self.id = leaf.id
        self.final = leaf.final
        self.done = leaf.done
        self.on: dict[str, tuple[Way, ...]] = {}
        self.at_once: tuple[Way, ...] = ()


@frozen(slots=True)
class Table:
    """A compiled chart, shared by all its machines."""

    chart: Chart
    nodes: Mapping[str, Node]
    initial: Node
    enter: tuple[Action, ...]

    def live(self, leaf: str, events: Iterable[str]) -> frozenset[str]:
        """Those of *events* that have a row in *leaf*."""
        return frozenset(event for event in events if event in self.nodes[leaf].on)


def compile(chart: Chart, actions: type) -> Table:
    """Bind *chart* to the class *actions*.

    Raises:
        ChartError: if a guard or action has no method, or one that cannot be called with one
            payload.
    """
    return bind(chart, lower(declare(chart)), actions)


def bind(chart: Chart, lowered: Lowered, actions: type) -> Table:
    """Resolve the names of *lowered* on the class *actions*."""
    _refuse_spellings(chart, actions)
    methods = {name: _method(chart, actions, "action", name) for name in chart.actions}
    tests = {name: _method(chart, actions, "guard", name) for name in chart.guards}
    nodes = {leaf.id: Node(leaf) for leaf in lowered.leaves}
    for leaf in lowered.leaves:
        _fill(chart, nodes, leaf, methods, tests)
    heard = {event for node in nodes.values() for event in node.on}
    for node in nodes.values():
        if node.done not in heard:
            node.done = ""  # nobody listens anywhere: do not raise it at all
    return Table(
        chart=chart,
        nodes=nodes,
        initial=nodes[lowered.initial],
        enter=tuple(methods[name] for name in lowered.enter),
    )


def _fill(
    chart: Chart,
    nodes: Mapping[str, Node],
    leaf: Leaf,
    methods: Mapping[str, Action],
    tests: Mapping[str, guards.Guard],
) -> None:
    node = nodes[leaf.id]
    for step in leaf.steps:
        way = _way(chart, step, methods, tests)
        if step.target is not None:
            way.target = nodes[step.target]
        for event in step.events:
            node.on[event] = (*node.on.get(event, ()), way)
        if not step.events:
            node.at_once = (*node.at_once, way)


def _way(
    chart: Chart,
    step: Step,
    methods: Mapping[str, Action],
    tests: Mapping[str, guards.Guard],
) -> Way:
    guard = guards.build(step.guards[0], tests) if step.guards else None
    row = chart.states[step.source].rows[step.place]
    return Way(
        guard,
        tuple(methods[name] for name in step.before),
        tuple(methods[name] for name in step.after),
        row,
    )


def _method(chart: Chart, actions: type, what: str, name: str) -> Any:
    method = getattr(actions, name, None)
    place = f"{actions.__name__}.{name}"
    if method is None:
        known = [found for found in vars(actions) if not found.startswith("_")]
        raise ChartError(
            f"{what} {name!r} has no method {place}{hint(name, known)}", file=chart.file
        )
    if not callable(method) or inspect.iscoroutinefunction(method):
        raise ChartError(f"{what} {place} must be a plain method, not async", file=chart.file)
    try:
        inspect.signature(method).bind(None, None)
    except TypeError:
        raise ChartError(
            f"{what} {place} must take one argument, the payload", file=chart.file
        ) from None
    return method


def _refuse_spellings(chart: Chart, actions: type) -> None:
    for name in (*chart.events, *chart.states, *_ALWAYS):
        for spelling in _BY_SPELLING:
            method = spelling.format(name)
            if hasattr(actions, method):
                raise ChartError(
                    f"{actions.__name__}.{method} would be called by its spelling alone; "
                    "rename it and name it in the chart",
                    file=chart.file,
                )
