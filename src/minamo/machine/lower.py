"""Lower a python-statemachine class to plain steps: what to run and where to go.

Reads the class, not our document, so that what runs is the very declaration.  The fields of
callback specs are semi-private; pyproject pins the versions they were read from.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from attrs import frozen
from statemachine import State, StateChart
from statemachine.callbacks import CallbackGroup
from statemachine.transition import Transition

from minamo.machine.chart import DONE_PREFIX


@frozen(slots=True)
class Step:
    """One row as seen from one leaf, with every name still a name."""

    source: str
    """The state that declares the row; the leaf or one of its ancestors."""
    place: int
    """Its place among the rows of that state."""
    events: tuple[str, ...]
    guards: tuple[str, ...]
    before: tuple[str, ...]
    """Exit actions, innermost first, then the row's own."""
    target: str | None
    """The leaf to be in afterwards; None if the row has no target."""
    after: tuple[str, ...]
    """Entry actions, outermost first."""


@frozen(slots=True)
class Leaf:
    """A state a machine can rest in, and the steps tried there, in order."""

    id: str
    final: bool
    done: str
    """The done.state event raised by resting here, or an empty string."""
    steps: tuple[Step, ...]


@frozen(slots=True)
class Lowered:
    """The whole class: its leaves, and how a machine begins."""

    leaves: tuple[Leaf, ...]
    initial: str
    enter: tuple[str, ...]


def lower(cls: type[StateChart[Any]]) -> Lowered:
    """Resolve inheritance, entry and exit for every leaf of *cls*."""
    start = next(state for state in cls.states if state.initial)
    entered = _entered(start, None)
    return Lowered(
        leaves=tuple(_leaf(state) for state in _leaves(cls.states)),
        initial=entered[-1].id,
        enter=_named(entered, CallbackGroup.ENTER),
    )


def _leaves(states: Iterable[State]) -> Iterator[State]:
    for state in states:
        if state.states:
            yield from _leaves(state.states)
        else:
            yield state


def _leaf(leaf: State) -> Leaf:
    steps = []
    for source in (leaf, *leaf.ancestors()):
        own = (row for row in source.transitions if not row.initial)
        steps += [_step(leaf, place, row) for place, row in enumerate(own)]
    done = f"{DONE_PREFIX}{leaf.parent.id}" if leaf.final and leaf.parent else ""
    return Leaf(leaf.id, bool(leaf.final), done, tuple(steps))


def _step(leaf: State, place: int, row: Transition) -> Step:
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
    return Step(
        source=row.source.id,
        place=place,
        events=tuple(str(event) for event in row.events),
        guards=tuple(spec.func.action for spec in row.cond),
        before=before,
        target=target,
        after=after,
    )


def _domain(source: State, target: State) -> State | None:
    """The innermost state that contains both *source* and *target* and is neither."""
    for ancestor in source.ancestors():
        if target.is_descendant(ancestor):
            return ancestor
    return None


def _entered(target: State, domain: State | None) -> list[State]:
    """The states entered on the way from *domain* to the leaf of *target*, outermost first."""
    chain = [s for s in target.ancestors() if domain is None or s.is_descendant(domain)]
    states = [*reversed(chain), target]
    while states[-1].states:
        states.append(next(row for row in states[-1].transitions if row.initial).targets[0])
    return states


def _named(states: Iterable[State], group: CallbackGroup) -> tuple[str, ...]:
    return tuple(name for state in states for name in _specs(state, group))


def _specs(owner: State | Transition, group: CallbackGroup) -> Iterator[str]:
    for spec in owner._specs:
        if spec.group is group and not spec.is_convention:
            yield str(spec.func)
