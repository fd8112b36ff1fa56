"""The compiled machine does what other engines do: python-statemachine's interpreter, step for step, and SCION.

SCION is an engine for SCXML written by others.  Each chart is exported as SCXML.  Both engines get the
same random events and guard results, and must be in the same leaf after each event, by the same
actions in the same order.
"""

from __future__ import annotations

import functools
import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from contract import random_charts
from contract.random_charts import EVENTS, actions_class, pair, random_chart
from minamo.errors import ChartError
from minamo.machine import Chart, Machine, Table, chart_names, compile, load, read, to_scxml
from minamo.machine import machine as machine_module
from minamo.machine.compiler import ChartIR, Leaf, LeafRow, bind, lower
from minamo.machine.syntax import guard_names
from support.node_packages import node_program
from support.seeds import dice, seeds

FEATURES = (
    "compound depth 1", "compound depth 2", "compound depth 3", "inherited row", "guard",
    "and/or/not", "enter", "exit", "eventless", "multi-event", "targetless", "done.state",
    "initial", "final",
)  # fmt: skip

PARTS = 10


def compile_plainly(chart: Chart, declared: Any) -> Table:
    return bind(chart, lower(declared), actions_class(chart))


def sequence(rng: random.Random, events: Sequence[str] = EVENTS, most: int = 14) -> list[str]:
    return rng.choices(events, k=rng.randint(1, most))


def check_chart(rng: random.Random, sequences: int) -> Counter[str]:
    """Run one random chart so many times; what there is in it."""
    text, found = random_chart(rng)
    both = pair(read(text, "random.yaml"), compile_plainly)
    for _ in range(sequences):
        assert not both.compare(rng.randrange(2**32), sequence(rng)), text
    return found


def told(sequences: int, features: Counter[str]) -> str:
    assert all(features[name] for name in FEATURES)
    counts = ", ".join(f"{name} {features[name]}" for name in FEATURES)
    return f"P9: {sequences:,} sequences on random charts; {counts}"


@pytest.mark.timeout(300)
def test_p09_random_charts_run_as_the_reference_does(figure: Callable[[str], None]) -> None:
    features: Counter[str] = Counter()
    charts = 0

    # No shrinking: it takes minutes here, and the chart itself is printed.
    @settings(max_examples=30, phases=[Phase.generate])
    @given(st.randoms(use_true_random=False))
    def one_chart(rng: random.Random) -> None:
        nonlocal charts
        features.update(check_chart(rng, 10))
        charts += 1

    one_chart()
    figure(told(charts * 10, features))
    assert charts >= 27


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("part", range(PARTS))
def test_p09_40_000_sequences_on_random_charts(part: int, figure: Callable[[str], None]) -> None:
    features: Counter[str] = Counter()
    for seed in seeds(2_000 // PARTS, part):
        with dice(seed) as rng:
            # Building a chart costs as much as running it five times.
            features.update(check_chart(rng, 20))
    figure(told(40_000 // PARTS, features))


def check_own_chart(name: str, sequences: range) -> str:
    chart = load(name)
    both = pair(chart, compile_plainly)
    for seed in sequences:
        with dice(seed) as rng:
            # Outcomes come early, so most sequences are longer than the life they drive.
            events = sequence(rng, list(chart.events), rng.choice([6, 14, 30]))
            assert not both.compare(seed, events)
    return f"P9: {len(sequences):,} sequences on {name}"


@pytest.mark.timeout(300)
@pytest.mark.parametrize("name", chart_names())
def test_p09_our_charts_run_as_the_reference_does(name: str, figure: Callable[[str], None]) -> None:
    figure(check_own_chart(name, seeds(120)))


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", chart_names())
@pytest.mark.parametrize("part", range(PARTS))
def test_p09_60_000_sequences_on_our_charts(
    name: str, part: int, figure: Callable[[str], None]
) -> None:
    assert len(chart_names()) == 6
    figure(check_own_chart(name, seeds(10_000 // PARTS, part)))


# Mutants: each is a plausible mistake in the compiler or the machine.


def steps(change: Callable[[Leaf, LeafRow, Chart], LeafRow]) -> Callable[[ChartIR, Chart], ChartIR]:
    """A mutant that changes every step by itself."""

    def mutate(lowered: ChartIR, chart: Chart) -> ChartIR:
        return evolve(
            lowered,
            leaves=tuple(
                evolve(leaf, steps=tuple(change(leaf, step, chart) for step in leaf.steps))
                for leaf in lowered.leaves
            ),
        )

    return mutate


def leaves(change: Callable[[Leaf], Leaf]) -> Callable[[ChartIR, Chart], ChartIR]:
    """A mutant that changes every leaf by itself."""
    return lambda lowered, chart: evolve(
        lowered, leaves=tuple(change(leaf) for leaf in lowered.leaves)
    )


def own(step: LeafRow, chart: Chart) -> int:
    return len(chart.states[step.source].rows[step.place].actions)


def action_before_exit(leaf: Leaf, step: LeafRow, chart: Chart) -> LeafRow:
    split = len(step.before) - own(step, chart)
    return evolve(step, before=step.before[split:] + step.before[:split])


def exit_outside_in(leaf: Leaf, step: LeafRow, chart: Chart) -> LeafRow:
    split = len(step.before) - own(step, chart)
    return evolve(step, before=step.before[:split][::-1] + step.before[split:])


def no_exit(leaf: Leaf, step: LeafRow, chart: Chart) -> LeafRow:
    return evolve(step, before=step.before[len(step.before) - own(step, chart) :])


def targetless_reenters(leaf: Leaf, step: LeafRow, chart: Chart) -> LeafRow:
    if step.target is not None:
        return step
    state = chart.states[leaf.id]
    return evolve(
        step, target=leaf.id, before=state.exit + step.before, after=step.after + state.enter
    )


def enter_before_action(leaf: Leaf, step: LeafRow, chart: Chart) -> LeafRow:
    split = len(step.before) - own(step, chart)
    return evolve(step, before=step.before[:split] + step.after + step.before[split:], after=())


def or_becomes_and(leaf: Leaf, step: LeafRow, chart: Chart) -> LeafRow:
    return evolve(step, guards=tuple(guard.replace(" or ", " and ") for guard in step.guards))


COMPILER_MUTANTS: dict[str, Callable[[ChartIR, Chart], ChartIR]] = {
    "guard order swapped": leaves(
        lambda leaf: evolve(
            leaf, steps=tuple(sorted(leaf.steps, key=lambda s: (depth(leaf, s), -s.place)))
        )
    ),
    "inherited first": leaves(
        lambda leaf: evolve(
            leaf, steps=tuple(sorted(leaf.steps, key=lambda s: (-depth(leaf, s), s.place)))
        )
    ),
    "action before exit": steps(action_before_exit),
    "exit from the outside in": steps(exit_outside_in),
    "exit forgotten": steps(no_exit),
    "entry from the inside out": steps(lambda _, s, __: evolve(s, after=s.after[::-1])),
    "entry before action": steps(enter_before_action),
    "entry forgotten": steps(lambda _, s, __: evolve(s, after=())),
    "targetless leaves and enters": steps(targetless_reenters),
    "guard forgotten": steps(lambda _, s, __: evolve(s, guards=())),
    "or becomes and": steps(or_becomes_and),
    "second event of a row forgotten": steps(lambda _, s, __: evolve(s, events=s.events[:1])),
    "done.state never raised": leaves(lambda leaf: evolve(leaf, done="")),
    "initial entry forgotten": lambda lowered, chart: evolve(lowered, enter=()),
}


def depth(leaf: Leaf, step: LeafRow) -> int:
    """How far out the row is declared: 0 for the leaf itself."""
    return list(dict.fromkeys(s.source for s in leaf.steps)).index(step.source)


def done_first(self: Machine, entered: Any) -> None:
    """As `_settle`, with done.state taken before eventless rows."""
    done: list[str] = []
    for _ in range(machine_module.STEPS_MAX):
        if entered is not None and entered.done:
            done.append(entered.done)
        event, way = "", None
        while way is None and done:
            event = done.pop(0)
            way = self._open(self._node.on.get(event, ()))
        if way is None:
            event, way = "", self._open(self._node.at_once)
        if way is None:
            return
        self._take(way, event, None)
        entered = way.target


def eager_queue(self: Machine, event: str, payload: object = None) -> None:
    """As `send`, without waiting for the step at hand."""
    self._happen(event, payload)


def no_rollback(self: Machine, way: Any, event: str, payload: object) -> None:
    """As `_take`, staying in the target when an entry action raises."""
    for act in way.before:
        act(self.actions, payload)
    if way.target is not None:
        self._node = way.target
        for act in way.after:
            act(self.actions, payload)


ENGINE_MUTANTS = {
    "done.state before eventless": ("_settle", done_first),
    "inner events not queued": ("send", eager_queue),
    "no way back after an error": ("_take", no_rollback),
}


@functools.cache
def seeded_charts() -> list[str]:
    return [random_chart(random.Random(seed))[0] for seed in range(70)]


def first_difference(make_table: Callable[[Chart, Any], Table]) -> str:
    for seed, text in enumerate(seeded_charts()):
        rng = random.Random(seed)
        try:
            both = pair(read(text, "random.yaml"), make_table)
            for _ in range(4):
                if found := both.compare(rng.randrange(2**32), sequence(rng)):
                    return found
        except (KeyError, ChartError) as broken:  # a mutant may not even compile
            return repr(broken)
    return ""


def test_the_seeded_charts_find_no_fault_in_the_real_compiler() -> None:
    assert first_difference(compile_plainly) == ""


@pytest.mark.parametrize("name", COMPILER_MUTANTS)
def test_p09_a_mutant_of_the_compiler_is_caught(name: str) -> None:
    mutate = COMPILER_MUTANTS[name]

    def make(chart: Chart, declared: Any) -> Table:
        return bind(chart, mutate(lower(declared), chart), actions_class(chart))

    assert first_difference(make)


@pytest.mark.parametrize("name", ENGINE_MUTANTS)
def test_p09_a_mutant_of_the_machine_is_caught(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    method, mutant = ENGINE_MUTANTS[name]
    monkeypatch.setattr(random_charts.Machine, method, mutant)
    assert first_difference(compile_plainly)


SCION = Path(__file__).parents[1] / "judge" / "scion"
ACTIONS_MAX = 400
"""After so many actions no row without an event is taken, so no chain of them is endless."""

Run = dict[str, Any]
Seen = list[tuple[list[str], list[str]]]
Judge = Callable[[Chart, list[Run]], list[Seen]]


@pytest.fixture(scope="module")
def scion() -> Iterator[Judge]:
    with node_program(SCION / "scion.js") as ask:

        def judge(chart: Chart, runs: list[Run]) -> list[Seen]:
            told = ask({"scxml": to_scxml(chart), "guards": list(chart.guards), "runs": runs})
            assert isinstance(told, list), told
            return [[(leaf, log) for leaf, log in run] for run in told]

        yield judge


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
