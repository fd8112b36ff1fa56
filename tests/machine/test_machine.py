"""How a machine behaves: order, queue, errors, observers, clocks; and what `compile` refuses."""

from __future__ import annotations

import math
from typing import Any

import attrs
import pytest

from minamo.core.config import StreamConfig
from minamo.errors import ChartError, Stuck, UnknownEvent
from minamo.machine import (
    Coverage,
    Machine,
    RunningClocks,
    Table,
    TransitionRecord,
    chart_names,
    compile,
    load,
    read,
    to_markdown,
    to_mermaid,
    to_svg,
    verify,
)
from minamo.shell.discord import interaction
from minamo.shell.turns.turn_result import TurnSettings

CHART = """\
name: lift
events: {up: u, down: d, ring: r, jam: j, leave: l}
guards: {top: at the top, heavy: too heavy}
actions: {beep: b, motor: m, shut: s, part: p, hum: h, still: q}
states:
  low:
    exit: part
    enter: hum
    transitions:
      - {event: up, cond: not heavy, target: moving, on: [shut, motor]}
      - {event: ring, on: beep}
  moving:
    enter: hum
    exit: still
    transitions:
      - {event: jam, target: stuck, on: beep}
      - {event: down, target: low}
      - {event: done.state.moving, target: away, on: part}
    states:
      rising:
        enter: motor
        exit: shut
        transitions:
          - {event: up, target: gone}
          - {cond: top, target: resting, on: beep}
      resting: {enter: part}
      gone: {final: true, enter: still}
  stuck: {final: true}
  away: {transitions: [{event: leave, target: stuck}]}
"""


class Lift:
    def __init__(self) -> None:
        self.log: list[str] = []
        self.is_top = self.is_heavy = False
        self.fail_in = ""
        self.then: dict[str, list[tuple[str, object]]] = {}
        self.machine: Any = None

    def _do(self, name: str, payload: object) -> None:
        self.log.append(name if payload is None else f"{name}({payload})")
        if self.fail_in == name:
            raise RuntimeError(name)
        for event, value in self.then.pop(name, []):
            self.machine.send(event, value)

    def top(self, payload: object) -> bool:
        return self.is_top

    def heavy(self, payload: object) -> bool:
        return self.is_heavy

    def beep(self, payload: object) -> None:
        self._do("beep", payload)

    def motor(self, payload: object) -> None:
        self._do("motor", payload)

    def shut(self, payload: object) -> None:
        self._do("shut", payload)

    def part(self, payload: object) -> None:
        self._do("part", payload)

    def hum(self, payload: object) -> None:
        self._do("hum", payload)

    def still(self, payload: object) -> None:
        self._do("still", payload)


@pytest.fixture(scope="module")
def table() -> Table:
    return compile(read(CHART, "lift.yaml"), Lift)


@pytest.fixture
def lift() -> Lift:
    return Lift()


@pytest.fixture
def machine(table: Table, lift: Lift) -> Machine:
    lift.machine = Machine(table, lift)
    assert lift.log == ["hum"]
    lift.log.clear()
    return lift.machine


def test_a_step_exits_acts_and_enters_in_that_order(machine: Machine, lift: Lift) -> None:
    machine.send("up", 1)

    assert machine.state == "rising"
    assert lift.log == ["part(1)", "shut(1)", "motor(1)", "hum(1)", "motor(1)"]
    assert not machine.ended


def test_an_inherited_row_exits_from_the_inside_out(machine: Machine, lift: Lift) -> None:
    machine.send("up")
    lift.log.clear()
    machine.send("jam", "x")

    assert lift.log == ["shut(x)", "still(x)", "beep(x)"]
    assert (machine.state, machine.ended) == ("stuck", True)


def test_a_targetless_row_acts_and_stays(machine: Machine, lift: Lift) -> None:
    machine.send("ring", 3)
    assert (lift.log, machine.state) == (["beep(3)"], "low")


def test_a_guard_that_does_not_hold_changes_nothing(machine: Machine, lift: Lift) -> None:
    lift.is_heavy = True
    machine.send("up")
    assert (lift.log, machine.state) == ([], "low")


def test_an_eventless_row_is_taken_at_once_without_payload(machine: Machine, lift: Lift) -> None:
    lift.is_top = True
    machine.send("up", 1)
    assert machine.state == "resting"
    assert lift.log[-3:] == ["shut", "beep", "part"]


def test_resting_in_a_final_child_is_done_state(machine: Machine, lift: Lift) -> None:
    machine.send("up")
    lift.log.clear()
    machine.send("up", 2)
    assert machine.state == "away"
    assert lift.log == ["shut(2)", "still(2)", "still", "part"]


def test_done_state_may_act_without_leaving(lift: Lift) -> None:
    stays = CHART.replace("done.state.moving, target: away,", "done.state.moving,")
    machine = Machine(compile(read(stays, "lift.yaml"), Lift), lift)
    machine.send("up")
    lift.log.clear()
    machine.send("up")
    assert (machine.state, lift.log) == ("gone", ["shut", "still", "part"])


def test_an_event_sent_by_an_action_waits_for_the_step_to_end(machine: Machine, lift: Lift) -> None:
    lift.then["shut"] = [("jam", "late"), ("ring", "lost")]
    machine.send("up", 1)

    # Sent in the middle of the first step, run after its entry actions.
    assert lift.log[:5] == ["part(1)", "shut(1)", "motor(1)", "hum(1)", "motor(1)"]
    assert lift.log[-1] == "beep(late)"
    assert machine.state == "stuck"


class Eager(Lift):
    """Sends from the initial entry action, through the machine itself."""

    def hum(self, payload: object) -> None:
        if self.machine is None:
            self.machine = self.maker
            self.machine.send("ring", "first")
        self._do("hum", payload)


def test_a_machine_can_be_sent_events_before_it_is_ready() -> None:
    table = compile(read(CHART, "lift.yaml"), Eager)
    eager = Eager()
    machine = Machine.__new__(Machine)
    eager.maker = machine  # type: ignore[attr-defined]
    machine.__init__(table, eager)  # type: ignore[misc]
    assert eager.log == ["hum", "beep(first)"]


@pytest.mark.parametrize("where", ["part", "shut", "motor", "hum"])
def test_an_action_that_raises_leaves_the_state_as_it_was(
    machine: Machine, lift: Lift, where: str
) -> None:
    lift.fail_in = where
    lift.then["part"] = [("jam", None)]
    with pytest.raises(RuntimeError, match=where):
        machine.send("up")
    assert machine.state == "low"

    lift.fail_in = ""
    lift.then.clear()
    lift.log.clear()
    machine.send("ring", 1)
    assert lift.log == ["beep(1)"]  # the queued `jam` went with the error
    machine.send("up")
    assert machine.state == "rising"


def test_a_chain_that_was_interrupted_is_finished_first(machine: Machine, lift: Lift) -> None:
    lift.is_top = True
    lift.fail_in = "beep"
    with pytest.raises(RuntimeError):
        machine.send("up")
    assert machine.state == "rising"
    lift.fail_in = ""
    lift.log.clear()
    machine.send("down", 1)
    assert lift.log == ["shut", "beep", "part", "still(1)", "hum(1)"]
    assert machine.state == "low"


def test_an_unknown_event_is_an_error_that_names_the_known_ones(machine: Machine) -> None:
    with pytest.raises(UnknownEvent, match="'upp' is no event of lift: up, down, ring"):
        machine.send("upp")


def test_observers_see_steps_and_what_was_ignored(machine: Machine, lift: Lift) -> None:
    seen: list[TransitionRecord] = []
    end = machine.subscribe(seen.append)
    lift.is_top = True
    machine.send("down", 1)
    machine.send("ring", 2)
    machine.send("up", 3)
    end()
    machine.send("down", 4)

    assert [(t.event, t.payload, t.source, t.target, t.row and t.row.index) for t in seen] == [
        ("down", 1, "low", "low", None),
        ("ring", 2, "low", "low", 1),
        ("up", 3, "low", "rising", 0),
        ("", None, "rising", "resting", 6),
    ]


def test_an_observer_from_the_beginning_sees_no_entry(table: Table, lift: Lift) -> None:
    seen: list[TransitionRecord] = []
    machine = Machine(table, lift, watch=seen.append)
    assert seen == []
    machine.send("ring", 2)
    assert [(step.event, step.payload) for step in seen] == [("ring", 2)]


def test_coverage_names_the_rows_nobody_took(machine: Machine, table: Table) -> None:
    coverage = Coverage(table.chart)
    machine.subscribe(coverage)
    machine.send("ring")
    machine.send("down")
    assert [row.index for row in coverage.missing] == [0, 2, 3, 4, 5, 6, 7]
    assert str(coverage).startswith(
        "lift: 1 of 8 rows taken\n  never: low: up [not heavy] -> moving"
    )


def test_a_machine_says_where_it_is(machine: Machine) -> None:
    assert repr(machine) == "<Machine lift in low>"


CIRCLE = """\
name: circle
events: {go: g}
guards: {always: a}
actions: {again: a}
states:
  a: {transitions: [{event: go, target: b, on: again}]}
  b: {transitions: [{cond: always, target: c}]}
  c: {transitions: [{cond: always, target: b}]}
"""


class Circle:
    machine: Any = None
    round = True

    def always(self, payload: object) -> bool:
        return self.round

    def again(self, payload: object) -> None:
        pass


def test_a_circle_of_eventless_rows_is_noticed() -> None:
    circle = Circle()
    machine = Machine(compile(read(CIRCLE, "circle.yaml"), Circle), circle)
    with pytest.raises(Stuck, match="circle took 1000 steps without an event, last in"):
        machine.send("go")
    circle.round = False
    machine.send("go")  # usable again


class Endless(Circle):
    def again(self, payload: object) -> None:
        self.machine.send("go")


def test_actions_that_send_for_ever_are_noticed() -> None:
    text = CIRCLE.replace("target: b, on: again", "on: again")
    endless = Endless()
    endless.machine = Machine(compile(read(text, "circle.yaml"), Endless), endless)
    with pytest.raises(Stuck, match="actions of circle sent 1000 events in a row"):
        endless.machine.send("go")


def test_live_says_which_events_have_a_row(table: Table) -> None:
    assert table.live("rising", ["up", "ring", "jam"]) == {"up", "jam"}


def variant(**changes: object) -> type:
    return type("Lift", (Lift,), changes)


async def slow(self: object, payload: object) -> None: ...


@pytest.mark.parametrize(
    ("actions", "message"),
    [
        (type("Poor", (), {"top": Lift.top}), "'beep' has no method Poor.beep"),
        (type("Poor", (), {"beeb": Lift.beep}), "'beep' has no method Poor.beep; did you mean"),
        (variant(beep=slow), "action Lift.beep must be a plain method, not async"),
        (variant(beep=3), "action Lift.beep must be a plain method"),
        (variant(beep=lambda self: None), "action Lift.beep must take one argument, the payload"),
        (variant(top=lambda self, a, b: None), "guard Lift.top must take one argument"),
        (variant(on_up=lambda self: None), "Lift.on_up would be called by its spelling alone"),
        (variant(on_enter_low=lambda self: 0), "Lift.on_enter_low would be called by its spelling"),
        (variant(on_transition=lambda self: 0), "Lift.on_transition would be called"),
    ],
)
def test_actions_that_do_not_match_the_chart_are_refused(actions: type, message: str) -> None:
    with pytest.raises(ChartError, match=r"^lift\.yaml: ") as caught:
        compile(read(CHART, "lift.yaml"), actions)
    assert message in str(caught.value)


def test_an_event_named_like_a_part_of_the_library_is_refused() -> None:
    with pytest.raises(ChartError, match="event 'send': the statechart library uses this name"):
        compile(read(CIRCLE.replace("go", "send"), "circle.yaml"), Circle)


def test_the_stream_chart_lights_the_markers_of_each_state() -> None:
    chart = load("stream")
    markers = ("think_opened", "think_closed", "details_opened", "details_closed",
               "fence_opened", "fence_closed")  # fmt: skip
    live = {leaf.id: [m for m in markers if chart.handles(leaf.id, m)] for leaf in chart.leaves}
    assert live["in_think"] == ["think_opened", "think_closed"]
    assert live["in_details"] == ["details_opened", "details_closed"]
    assert live["in_code"] == ["fence_closed"]
    assert live["streaming"] == list(markers[:5])
    assert live["completing"] == live["completed"] == []


TIMED = """
name: tea
events: {poured: x, called: x, cooled: x, forgotten: x, drunk: x}
clocks:
  heat: {event: cooled, length: heat_ms, since: called, about: it is warm for so long after a call}
  guest: {event: forgotten, length: guest_ms, about: the guest waits so long}
  host: {event: forgotten, length: host_ms, until: called, about: the host waits for a call}
states:
  kettle:
    transitions: [{event: poured, target: hot}]
    ignored: {called: x, cooled: x, forgotten: x, drunk: x}
  cup:
    clocks: [heat, guest]
    transitions:
      - {event: [cooled, forgotten], target: gone}
      - {event: drunk, target: gone}
    ignored: {poured: x, called: x}
    states:
      hot: {clocks: host, transitions: [{event: called, target: warm}]}
      warm: {}
  gone: {final: true, ignored: {poured: x, called: x, cooled: x, forgotten: x, drunk: x}}
"""
LENGTHS = {"heat": 10.0, "guest": 60.0, "host": 5.0}


def clocks(state: str = "kettle", now: float = 0.0) -> RunningClocks:
    return RunningClocks(read(TIMED, "tea.yaml"), LENGTHS, state, now)


def test_a_clock_runs_in_the_states_that_list_it() -> None:
    running = clocks()
    assert running.first() == ("", math.inf)
    running.moved("hot", 3.0)
    assert running.first() == ("host", 8.0)
    running.moved("warm", 4.0)
    assert running.first() == ("guest", 63.0), "entered with the cup, and it runs on inside it"
    running.moved("warm", 50.0)
    assert running.first() == ("guest", 63.0)
    running.moved("gone", 51.0)
    assert running.first() == ("", math.inf)
    running.moved("hot", 100.0)
    assert running.first() == ("host", 105.0), "entered anew, started anew"


def test_a_signal_starts_and_ends_clocks() -> None:
    running = clocks("hot")
    running.heard("called", 2.0)
    assert running.first() == ("heat", 12.0), "the host's clock has ended"
    running.heard("called", 4.0)
    assert running.first() == ("heat", 14.0)
    running.shift(6.0)
    assert running.first() == ("heat", 20.0)


def test_a_signal_may_come_with_a_new_state() -> None:
    running = clocks()
    running.heard("called", 2.0, "kettle")
    assert running.first() == ("", math.inf)
    running.heard("called", 3.0, "hot")
    assert running.first() == ("heat", 13.0)


def test_no_clock_counts_a_pause() -> None:
    running = clocks("hot")
    running.resume(1.0)
    assert running.first() == ("host", 5.0), "there was no pause"
    running.pause(2.0)
    running.heard("called", 30.0)
    running.resume(52.0)
    assert running.first() == ("heat", 62.0), "heard when the pause began"
    running.heard("called", 55.0)
    assert running.first() == ("heat", 65.0)


def test_of_clocks_that_run_out_together_the_first_declared_counts() -> None:
    running = RunningClocks(read(TIMED, "tea.yaml"), LENGTHS | {"guest": 5.0}, "hot", 0.0)
    assert running.first() == ("guest", 5.0)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("event: cooled, length", "event: coled, length", "unknown event 'coled'; did you mean 'cooled'"),
        ("clocks: host,", "clocks: hast,", "unknown clock 'hast'; did you mean 'host'"),
        ("clocks: host, ", "", "clock 'host' is declared and never used"),
        ("length: heat_ms, ", "", "the clock 'heat' has no 'length'; add it"),
        (", until: called, about: the host waits for a call", ", untill: x", "has no key 'untill'"),
        ("  heat: {event", "  Heat: {event", "'Heat' cannot name a clock"),
    ],
)  # fmt: skip
def test_a_clock_that_is_declared_wrongly_is_refused(old: str, new: str, words: str) -> None:
    assert old in TIMED
    with pytest.raises(ChartError, match=r"tea\.yaml") as refused:
        read(TIMED.replace(old, new), "tea.yaml")
    assert words in str(refused.value)


def test_a_clock_whose_event_does_nothing_where_it_runs_is_found() -> None:
    assert verify(read(TIMED, "tea.yaml")) == []
    wrong = TIMED.replace("  kettle:\n", "  kettle:\n    clocks: guest\n")
    (found,) = verify(read(wrong, "tea.yaml"))
    assert "state 'kettle', event 'forgotten': the clock 'guest' runs here" in str(found)


def test_pictures_and_tables_show_the_clocks() -> None:
    chart = read(TIMED, "tea.yaml")
    assert "| host | hot | entry | called | `host_ms` | `forgotten` |" in to_markdown(chart)
    assert "    hot : clock / host\n" in to_mermaid(chart)
    assert "clock / heat" in to_mermaid(chart)
    assert ">clock</tspan>" in to_svg(chart)


def test_every_length_is_a_setting() -> None:
    settings = {
        field.name for holder in (StreamConfig, TurnSettings) for field in attrs.fields(holder)
    }
    for name in chart_names():
        for clock in load(name).clocks.values():
            known = clock.length in settings or hasattr(interaction, clock.length)
            assert known, f"{name}: {clock.name}"
