"""The fields of python-statemachine that the compiler reads, and what it says when they change."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.metadata import version
from typing import Any

import pytest
from statemachine import State, StateChart
from statemachine.callbacks import CallbackGroup, CallbackSpec
from statemachine.transition import Transition

from minamo.errors import ChartError
from minamo.machine import Machine, compile, compiler, declare, read

TEXT = """\
name: door
events: {push: p, lock: l}
guards: {open: o, oiled: x}
actions: {creak: c, slam: s, sigh: h}
states:
  ajar:
    enter: sigh
    transitions:
      - {event: push, cond: open and not oiled, target: shut, on: creak}
  closed:
    enter: slam
    states:
      shut: {transitions: [{event: [lock, push], target: locked}]}
      locked: {final: true}
"""
CHART = read(TEXT, "door.yaml")


class Door:
    def __init__(self) -> None:
        self.log: list[str] = []

    def open(self, _: object = None) -> bool:
        return True

    def oiled(self, _: object = None) -> bool:
        return False

    def creak(self, _: object = None) -> None:
        self.log.append("creak")

    def slam(self, _: object = None) -> None:
        self.log.append("slam")

    def sigh(self, _: object = None) -> None:
        self.log.append("sigh")


def test_every_field_that_is_read_is_there_and_says_what_was_declared() -> None:
    declared = declare(CHART)
    ajar, closed = declared.states
    assert (ajar.id, ajar.initial, ajar.final, list(ajar.states)) == ("ajar", True, False, [])
    assert isinstance(ajar, State)
    shut, locked = closed.states
    assert (shut.parent, list(shut.ancestors()), locked.final) == (closed, [closed], True)
    assert shut.is_descendant(closed)
    assert not closed.is_descendant(shut)
    (push,) = ajar.transitions
    assert isinstance(push, Transition)
    assert (push.source, push.target, push.targets, push.initial) == (ajar, shut, [shut], False)
    assert [str(event) for event in push.events] == ["push"]
    assert [spec.func.action for spec in push.cond] == ["open and not oiled"]
    (enter,) = (row for row in closed.transitions if row.initial)
    assert enter.targets == [shut]
    specs = [spec for spec in push._specs if spec.group is CallbackGroup.ON]
    assert all(isinstance(spec, CallbackSpec) for spec in specs)
    assert [str(spec.func) for spec in specs if not spec.is_convention] == ["creak"]
    (sigh,) = (s for s in ajar._specs if s.group is CallbackGroup.ENTER and not s.is_convention)
    assert str(sigh.func) == "sigh"


def test_a_declared_chart_runs_by_itself() -> None:
    model = Door()
    chart = declare(CHART)(model)
    assert isinstance(chart, StateChart)
    chart.send("push")
    ours = Door()
    machine = Machine(compile(CHART, Door), ours)
    machine.send("push")
    assert ours.log == model.log == ["sigh", "creak", "slam"]
    assert machine.state in chart.configuration_values


def lost(*_: Any) -> Iterator[str]:
    raise AttributeError("'State' object has no attribute '_specs'")


@pytest.mark.parametrize(
    ("change", "words"),
    [(lost, "no attribute '_specs'"), (lambda *_: iter(()), "the row ajar: push")],
)
def test_a_version_that_says_something_else_is_refused_clearly(
    change: Any, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compiler, "_specs", change)
    with pytest.raises(ChartError) as refused:
        compile(CHART, Door)
    told = str(refused.value)
    assert words in told
    assert f"python-statemachine {version('python-statemachine')}" in told
    assert "install python-statemachine 3.2.2, or a newer minamo" in told
