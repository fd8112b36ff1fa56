"""Compiler of a chart against its actions class: resolves every name to a function, once.

`declare` builds the python-statemachine class, `lower` resolves inheritance, entry and exit for
each leaf, and `bind` looks up the methods.  Nothing here runs an action.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib.metadata import version
from typing import Any

from attrs import frozen
from statemachine import State as DeclaredState
from statemachine import StateChart
from statemachine.callbacks import CallbackGroup
from statemachine.io import load as load_document
from statemachine.transition import Transition

from minamo.errors import ChartError
from minamo.machine.model import DONE_PREFIX, Chart, Row, State
from minamo.machine.syntax import Guard, build_guard, hint

# By default, a loaded chart swallows exceptions raised in actions and then enters the target
# anyway; and its configuration is empty while actions run.
_TESTED = "3.2.2"
_STRICT: dict[str, bool] = {
    "catch_errors_as_events": False,
    "atomic_configuration_update": True,
    "enable_self_transition_entries": False,
    # Events without a row are covered by the chart's `ignored`, checked by `verify`.
    "allow_event_without_transition": True,
}


def declare(chart: Chart) -> type[StateChart[Any]]:
    """Return the python-statemachine class of *chart*, with its strict flags set.

    An instance of it needs a model with the chart's guards and actions: ``declare(chart)(model)``.
    It runs the chart as `Machine` does, some hundred times slower.
    """
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


@frozen(slots=True)
class LeafRow:
    """One row as seen from one leaf, with all names unresolved."""

    source: str
    """The state that declares the row: the leaf or one of its ancestors."""
    place: int
    """Its index among the rows of that state."""
    events: tuple[str, ...]
    guards: tuple[str, ...]
    before: tuple[str, ...]
    """Exit actions, innermost first, then the row's own."""
    target: str | None
    """The leaf entered by the row; None if the row has no target."""
    after: tuple[str, ...]
    """Entry actions, outermost first."""


@frozen(slots=True)
class Leaf:
    """A state a machine can rest in, and the steps tried there, in order."""

    id: str
    final: bool
    done: str
    """The done.state event raised when this leaf is entered, or an empty string."""
    steps: tuple[LeafRow, ...]


@frozen(slots=True)
class ChartIR:
    """The lowered chart: its leaves, and how a machine begins."""

    leaves: tuple[Leaf, ...]
    initial: str
    enter: tuple[str, ...]


def lower(cls: type[StateChart[Any]]) -> ChartIR:
    """Resolve inheritance, entry and exit for every leaf of *cls*."""
    start = next(state for state in cls.states if state.initial)
    entered = _entered(start, None)
    return ChartIR(
        leaves=tuple(_leaf(state) for state in _leaves(cls.states)),
        initial=entered[-1].id,
        enter=_named(entered, CallbackGroup.ENTER),
    )


def _leaves(states: Iterable[DeclaredState]) -> Iterator[DeclaredState]:
    for state in states:
        if state.states:
            yield from _leaves(state.states)
        else:
            yield state


def _leaf(leaf: DeclaredState) -> Leaf:
    steps = []
    for source in (leaf, *leaf.ancestors()):
        own = (row for row in source.transitions if not row.initial)
        steps += [_step(leaf, place, row) for place, row in enumerate(own)]
    done = f"{DONE_PREFIX}{leaf.parent.id}" if leaf.final and leaf.parent else ""
    return Leaf(leaf.id, bool(leaf.final), done, tuple(steps))


def _step(leaf: DeclaredState, place: int, row: Transition) -> LeafRow:
    own = tuple(_specs(row, CallbackGroup.ON))
    before = own
    after: tuple[str, ...] = ()
    target = None
    if row.target is not None:
        domain = _domain(row.source, row.target)
        exited = [s for s in (leaf, *leaf.ancestors()) if domain is None or s.is_descendant(domain)]
        entered = _entered(row.target, domain)
        before = _named(exited, CallbackGroup.EXIT) + own
        after = _named(entered, CallbackGroup.ENTER)
        target = entered[-1].id
    return LeafRow(
        source=row.source.id,
        place=place,
        events=tuple(str(event) for event in row.events),
        guards=tuple(spec.func.action for spec in row.cond),
        before=before,
        target=target,
        after=after,
    )


def _domain(source: DeclaredState, target: DeclaredState) -> DeclaredState | None:
    """Return the innermost state that contains both *source* and *target* and is neither."""
    for ancestor in source.ancestors():
        if target.is_descendant(ancestor):
            return ancestor
    return None


def _entered(target: DeclaredState, domain: DeclaredState | None) -> list[DeclaredState]:
    """Return the states entered from *domain* to the leaf of *target*, outermost first."""
    chain = [s for s in target.ancestors() if domain is None or s.is_descendant(domain)]
    states = [*reversed(chain), target]
    while states[-1].states:
        states.append(next(row for row in states[-1].transitions if row.initial).targets[0])
    return states


def _named(states: Iterable[DeclaredState], group: CallbackGroup) -> tuple[str, ...]:
    return tuple(name for state in states for name in _specs(state, group))


def _specs(owner: DeclaredState | Transition, group: CallbackGroup) -> Iterator[str]:
    for spec in owner._specs:
        if spec.group is group and not spec.is_convention:
            yield str(spec.func)


Action = Callable[[Any, Any], object]

# Method names that python-statemachine would call by naming convention.  A class with one of
# them would behave differently in the reference interpreter, so it is refused.
_BY_SPELLING = ("before_{}", "on_{}", "after_{}", "on_enter_{}", "on_exit_{}", "on_invoke_{}")
_ALWAYS = ("transition", "state")


# Not frozen: a frozen attrs class pays for every construction, and a plain slotted one reads
# fastest in the machine's inner loop.  Not modified after `compile`.
class CompiledTransition:
    """One compiled row in one leaf: the unit the machine executes."""

    __slots__ = ("after", "before", "guard", "row", "target")

    def __init__(
        self,
        guard: Guard | None,
        before: tuple[Action, ...],
        after: tuple[Action, ...],
        row: Row,
    ) -> None:
        self.guard: Guard | None = guard
        self.before: tuple[Action, ...] = before
        self.after: tuple[Action, ...] = after
        self.row: Row = row
        self.target: Node | None = None


class Node:
    """One compiled leaf: its transitions by event, and its eventless ones."""

    __slots__ = ("at_once", "done", "final", "id", "on")

    def __init__(self, leaf: Leaf) -> None:
        self.id: str = leaf.id
        self.final: bool = leaf.final
        self.done: str = leaf.done
        self.on: dict[str, tuple[CompiledTransition, ...]] = {}
        self.at_once: tuple[CompiledTransition, ...] = ()


@frozen(slots=True)
class Table:
    """A compiled chart, shared by all its machines."""

    chart: Chart
    nodes: Mapping[str, Node]
    initial: Node
    enter: tuple[Action, ...]

    def live(self, leaf: str, events: Iterable[str]) -> frozenset[str]:
        """Return those of *events* that have a row in *leaf*."""
        return frozenset(event for event in events if event in self.nodes[leaf].on)


def compile(chart: Chart, actions: type) -> Table:
    """Bind *chart* to the class *actions*.

    Raises:
        ChartError: if a guard or action has no method, or one that cannot be called with one
            payload.
    """
    declared = declare(chart)
    try:
        lowered = lower(declared)
        different = next(_different_rows(chart, lowered), "")
    except (AttributeError, LookupError, TypeError) as error:
        raise _differs(chart, f"{type(error).__name__}: {error}") from error
    if different:
        raise _differs(chart, different)
    return bind(chart, lowered, actions)


def _different_rows(chart: Chart, lowered: ChartIR) -> Iterator[str]:
    """Yield rows of which the library does not say what the document says.

    Lowering reads fields that python-statemachine does not promise to keep, so no version is
    trusted further than this.
    """
    for step in (step for leaf in lowered.leaves for step in leaf.steps):
        row = chart.states[step.source].rows[step.place]
        own = step.before[len(step.before) - len(row.actions) :]
        found = (step.events, step.guards, own)
        if found != (row.events, (row.guard,) if row.guard else (), row.actions):
            yield f"the row {row.name} is {found}"


def _differs(chart: Chart, problem: str) -> ChartError:
    known = version("python-statemachine")
    return ChartError(
        f"python-statemachine {known} describes charts in a way that this minamo does not know "
        f"({problem}); install python-statemachine {_TESTED}, or a newer minamo",
        file=chart.file,
    )


def bind(chart: Chart, lowered: ChartIR, actions: type) -> Table:
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
            node.done = ""  # no row anywhere handles it: do not raise it at all
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
    tests: Mapping[str, Guard],
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
    step: LeafRow,
    methods: Mapping[str, Action],
    tests: Mapping[str, Guard],
) -> CompiledTransition:
    guard = build_guard(step.guards[0], tests) if step.guards else None
    row = chart.states[step.source].rows[step.place]
    return CompiledTransition(
        guard,
        tuple(methods[name] for name in step.before),
        tuple(methods[name] for name in step.after),
        row,
    )


def _method(chart: Chart, actions: type, kind: str, name: str) -> Any:
    method = getattr(actions, name, None)
    place = f"{actions.__name__}.{name}"
    if method is None:
        known = [found for found in vars(actions) if not found.startswith("_")]
        raise ChartError(
            f"{kind} {name!r} has no method {place}{hint(name, known)}", file=chart.file
        )
    if not callable(method) or inspect.iscoroutinefunction(method):
        raise ChartError(f"{kind} {place} must be a plain method, not async", file=chart.file)
    try:
        inspect.signature(method).bind(None, None)
    except TypeError:
        raise ChartError(
            f"{kind} {place} must take one argument, the payload", file=chart.file
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
