"""Random charts and scripted actions, to run two engines side by side.

A chart is made by any `random.Random`: a seeded one for repeatable sets, or Hypothesis' own
for examples that shrink.
"""

from __future__ import annotations

import random
import zlib
from collections import Counter
from collections.abc import Callable
from typing import Any

import yaml
from attrs import define, field

from minamo.machine import Chart, Machine, Table
from minamo.machine.compiler import declare
from minamo.machine.syntax import guard_names

EVENTS = ["go", "come", "turn", "halt"]
# Two pools: guards of eventless rows may depend only on what actions did, because the reference
# looks at eventless rows before an event as well as after it.
GUARDS = ["g0", "g1", "g2"]
RESTING_GUARDS = ["e0", "e1"]
ACTIONS = [f"a{n}" for n in range(12)]
STEPS_MAX = 120
# The one in C, where there is one, is ten times as quick.
_DUMPER = getattr(yaml, "CSafeDumper", yaml.SafeDumper)


class Boom(Exception):
    """What a scripted action raises."""


def random_chart(rng: random.Random) -> tuple[str, Counter[str]]:
    """A chart document, and how often each feature occurs in it."""
    made = _Maker(rng)
    states = made.states(0)
    made.transitions(states)
    document = {
        "name": "random",
        "events": dict.fromkeys(EVENTS, "x"),
        "guards": dict.fromkeys(GUARDS + RESTING_GUARDS, "x"),
        "actions": dict.fromkeys(ACTIONS, "x"),
        "states": states,
    }
    # Every declared name must be used: one unreachable state uses them all.
    states["unused"] = {
        "enter": list(ACTIONS),
        "transitions": [
            {
                "event": list(EVENTS),
                "cond": " and ".join(GUARDS + RESTING_GUARDS),
                "target": "unused",
            }
        ],
    }
    return yaml.dump(document, Dumper=_DUMPER, sort_keys=False), made.features


@define
class _Maker:
    rng: random.Random
    ids: list[str] = field(factory=list)
    features: Counter[str] = field(factory=Counter)

    def states(self, depth: int) -> dict[str, Any]:
        count = self.rng.randint(2, 3)
        found: dict[str, Any] = {}
        for _ in range(count):
            state_id = f"s{len(self.ids)}"
            self.ids.append(state_id)
            body: dict[str, Any] = {}
            found[state_id] = body
            for key in ("enter", "exit"):
                if self.rng.random() < 0.6:
                    body[key] = self.rng.choices(ACTIONS, k=self.rng.randint(1, 2))
                    self.features[key] += 1
            if depth < 3 and self.rng.random() < 0.45:
                body["states"] = self.states(depth + 1)
                self.features[f"compound depth {depth + 1}"] += 1
            elif self.rng.random() < 0.2:
                body["final"] = True
                self.features["final"] += 1
        if self.rng.random() < 0.3:
            self.rng.choice(list(found.values()))["initial"] = True
            self.features["initial"] += 1
        return found

    def transitions(self, states: dict[str, Any]) -> None:
        for state_id, body in states.items():
            if not body.get("final"):
                body["transitions"] = [self.row(body) for _ in range(self.rng.randint(0, 4))]
            self.transitions(body.get("states", {}))
            finals = [c for c, b in body.get("states", {}).items() if b.get("final")]
            if finals and self.rng.random() < 0.7:
                row = self.row(body) | {"event": f"done.state.{state_id}"}
                body["transitions"].append(row | {"on": [self.rng.choice(ACTIONS)]})
                self.features["done.state"] += 1

    def row(self, source: dict[str, Any]) -> dict[str, Any]:
        row: dict[str, Any] = {"on": self.rng.choices(ACTIONS, k=self.rng.randint(0, 2))}
        if self.rng.random() < 0.75:
            row["target"] = self.rng.choice(self.ids)
        else:
            self.features["targetless"] += 1
        if "target" in row and self.rng.random() < 0.2:
            # An eventless row always acts, so that a circle ends when the script loses patience.
            row["cond"] = self.guard(RESTING_GUARDS)
            row["on"] = [self.rng.choice(ACTIONS)]
            self.features["eventless"] += 1
            return row
        if self.rng.random() < 0.25:
            row["event"] = self.rng.sample(EVENTS, 2)
            self.features["multi-event"] += 1
        else:
            row["event"] = self.rng.choice(EVENTS)
        if self.rng.random() < 0.6:
            row["cond"] = self.guard(GUARDS)
        self.features["inherited row"] += "states" in source
        return row

    def guard(self, pool: list[str]) -> str:
        self.features["guard"] += 1
        one, other = self.rng.choices(pool, k=2)
        form = self.rng.choice(["{0}", "not {0}", "{0} and {1}", "{0} or not {1}", "{0} or {1}"])
        self.features["and/or/not"] += form != "{0}"
        return form.format(one, other)


@define
class Script:
    """What actions do and guards say: a pure function of the seed and of what happened."""

    seed: int
    resting: frozenset[str]
    """The guards of eventless rows, which look only at what was done so far."""
    events: list[str]
    log: list[object] = field(factory=list)
    step: int = 0
    send: Callable[[str, object], object] | None = None

    def act(self, name: str, payload: object) -> None:
        self.log.append((name, payload))
        if len(self.log) > STEPS_MAX:
            raise Boom("enough")
        if self.send is None:
            return  # still being made
        chance = self._roll(name, len(self.log)) % 100
        if chance < 6:
            raise Boom(name)
        if chance < 14 and len(self.log) < STEPS_MAX // 2:
            self.send(self.events[chance % len(self.events)], f"inner{len(self.log)}")

    def holds(self, name: str) -> bool:
        moment = len(self.log) if name in self.resting else self.step
        return bool(self._roll(name, moment) % 5 < 2)

    def _roll(self, name: str, moment: int) -> int:
        return zlib.crc32(f"{self.seed} {name} {moment}".encode())


def actions_class(chart: Chart) -> type:
    """A class for `compile`: every method hands its call to the script."""

    def action(name: str) -> Any:
        return lambda self, payload: self.script.act(name, payload)

    def guard(name: str) -> Any:
        return lambda self, payload: self.script.holds(name)

    members: dict[str, Any] = {name: action(name) for name in chart.actions}
    members |= {name: guard(name) for name in chart.guards}
    members["__init__"] = lambda self, script: setattr(self, "script", script)
    return type("Scripted", (), members)


def reference(chart: Chart, declared: Any, script: Script) -> Any:
    """The library's own interpreter, its model handing every call to the same kind of script."""

    def action(name: str) -> Any:
        return lambda self, **given: script.act(name, given.get("payload"))

    def guard(name: str) -> Any:
        return lambda self, **given: script.holds(name)

    members: dict[str, Any] = {name: action(name) for name in chart.actions}
    members |= {name: guard(name) for name in chart.guards}
    return declared(model=type("Model", (), members)())


def leaf(machine: Any) -> str:
    """The one leaf of a python-statemachine configuration."""
    (found,) = [state.id for state in machine.configuration if state.is_atomic]
    return str(found)


@define
class Pair:
    """One chart, ready to run in both engines."""

    chart: Chart
    declared: Any
    table: Table

    @property
    def resting(self) -> frozenset[str]:
        return frozenset(
            name
            for row in self.chart.rows
            if row.guard and not row.events
            for name in guard_names(row.guard)
        )

    def compare(self, seed: int, events: list[str]) -> str:
        """Run *events* through both; return the first difference, or an empty string."""
        ours, theirs = (Script(seed, self.resting, list(self.chart.events)) for _ in range(2))
        try:
            machine = Machine(self.table, actions_class(self.chart)(ours))
        except Boom:
            return ""  # both would go round in circles before the first event
        other = reference(self.chart, self.declared, theirs)
        ours.send = machine.send
        theirs.send = lambda event, payload: other.send(event, payload=payload)
        for step, event in enumerate(["", *events]):
            ours.step = theirs.step = step
            if event:
                raised = [
                    _raises(lambda m=m, e=event, s=step: m(e, s)) for m in (ours.send, theirs.send)
                ]
                if raised[0] != raised[1]:
                    return f"{event} (step {step}): raised {raised[0]!r}, reference {raised[1]!r}"
            if ours.log != theirs.log:
                return f"{event} (step {step}): {ours.log}, reference {theirs.log}"
            if machine.state != leaf(other):
                return f"{event} (step {step}): in {machine.state}, reference in {leaf(other)}"
        return ""


def _raises(call: Callable[[], object]) -> str:
    try:
        call()
    except Boom as boom:
        return str(boom)
    return ""


def pair(chart: Chart, make_table: Callable[[Chart, Any], Table]) -> Pair:
    declared = declare(chart)
    return Pair(chart, declared, make_table(chart, declared))
