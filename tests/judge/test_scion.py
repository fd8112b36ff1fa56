"""SCION, an engine for SCXML written by others, runs our charts as we do.

Each chart is exported as SCXML.  Both engines get the same random events and guard results, and must
be in the same leaf after each event, by the same actions in the same order.
"""

from __future__ import annotations

import json
import random
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from minamo.machine import Chart, Machine, chart_names, compile, load, to_scxml
from minamo.machine.syntax import guard_names
from support.node_packages import node_environment
from support.seeds import dice

HERE = Path(__file__).parent / "scion"
ACTIONS_MAX = 400
"""After so many actions no row without an event is taken, so no chain of them is endless."""

Run = dict[str, Any]
Seen = list[tuple[list[str], list[str]]]
Judge = Callable[[Chart, list[Run]], list[Seen]]


@pytest.fixture(scope="module")
def scion() -> Iterator[Judge]:
    environment = node_environment(HERE)
    with subprocess.Popen(
        ["node", "scion.js"],
        cwd=HERE,
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        encoding="utf-8",
    ) as process:

        def ask(chart: Chart, runs: list[Run]) -> list[Seen]:
            assert process.stdin is not None
            assert process.stdout is not None
            sent = {"scxml": to_scxml(chart), "guards": list(chart.guards), "runs": runs}
            process.stdin.write(json.dumps(sent) + "\n")
            process.stdin.flush()
            told = json.loads(process.stdout.readline())
            assert isinstance(told, list), told
            return [[(leaf, log) for leaf, log in run] for run in told]

        yield ask
        assert process.stdin is not None
        process.stdin.close()


class Script:
    """What actions do and guards say: they are given, and the actions are noted.

    A guard of a row without an event may look only at what was done: SCXML tries such rows also
    before an event, and whenever an event did nothing.
    """

    def __init__(self, resting: dict[str, list[bool]]) -> None:
        self.resting = resting
        self.guards: dict[str, bool] = {}
        self.acted = 0
        self.log: list[str] = []

    def act(self, name: str) -> None:
        self.acted += 1
        self.log.append(name)

    def says(self, name: str) -> bool:
        if name in self.resting:
            return self.acted < ACTIONS_MAX and self.resting[name][self.acted]
        return self.guards.get(name, False)


def scripted(chart: Chart) -> type[Script]:
    methods: dict[str, Any] = {
        name: lambda self, _, name=name: self.act(name) for name in chart.actions
    }
    methods |= {name: lambda self, _, name=name: self.says(name) for name in chart.guards}
    return type("Scripted", (Script,), methods)


def ours(chart: Chart, runs: list[Run]) -> list[Seen]:
    actions = scripted(chart)
    table = compile(chart, actions)
    return [_run(Machine(table, actions(run["resting"])), run) for run in runs]


def _run(machine: Machine, run: Run) -> Seen:
    script: Script = machine.actions
    seen = [([machine.state], script.log)]
    for step in run["steps"]:
        script.guards, script.log = step["guards"], []
        machine.send(step["event"])
        seen.append(([machine.state], script.log))
    return seen


def random_runs(chart: Chart, rng: random.Random, count: int, most: int) -> list[Run]:
    at_once = {
        name for row in chart.rows if not row.events for name in guard_names(row.guard or "_")
    }
    resting = sorted(at_once & set(chart.guards))

    def step() -> dict[str, Any]:
        values = {name: rng.random() < 0.5 for name in chart.guards}
        return {"event": rng.choice(list(chart.events)), "guards": values}

    return [
        {
            "resting": {n: [rng.random() < 0.4 for _ in range(ACTIONS_MAX)] for n in resting},
            "steps": [step() for _ in range(rng.randint(1, most))],
        }
        for _ in range(count)
    ]


@pytest.mark.timeout(300)
@pytest.mark.parametrize("name", chart_names())
def test_p09_our_charts_run_in_scion_as_here(
    name: str, scion: Judge, figure: Callable[[str], None]
) -> None:
    chart = load(name)
    with dice(0) as rng:
        runs = random_runs(chart, rng, 300, 30)
    left, right = ours(chart, runs), scion(chart, runs)
    for run, mine, theirs in zip(runs, left, right, strict=True):
        assert mine == theirs, [step["event"] for step in run["steps"]]
    leaves = {leaf for seen in left for (leaf,), _ in seen}
    figure(f"P9: {len(runs)} sequences on {name} in SCION, {len(leaves)} leaves reached")
    assert len(leaves) > 2
