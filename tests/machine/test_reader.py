"""Charts are read, verified, or refused in one line; and the fields of python-statemachine that the compiler reads."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
from statemachine import State, StateChart
from statemachine.callbacks import CallbackGroup, CallbackSpec
from statemachine.transition import Transition

from minamo import ChartError
from minamo.machine import (
    Machine,
    Row,
    chart_names,
    compile,
    compiler,
    declare,
    load,
    paths,
    read,
    verify,
)

GOOD = """\
name: lamp
about: A lamp.
events: {press: somebody pressed, burn: it burnt out}
guards: {powered: there is power, bright: it is bright}
actions: {light: make light, click: make a sound}
states:
  off:
    transitions:
      - {event: press, cond: powered and not bright, target: lit, on: [click, light]}
    ignored: {burn: it is dark already}
  lit:
    exit: click
    about: Light.
    transitions:
      - {event: burn, target: broken, about: for ever}
      - {event: done.state.lit, target: off}
    states:
      warm: {transitions: [{event: press, target: hot}]}
      hot: {final: true}
  broken: {final: true, enter: light}
"""


def test_a_chart_is_read_as_it_is_written() -> None:
    chart = read(GOOD, "lamp.yaml")

    assert list(chart.states) == ["off", "lit", "warm", "hot", "broken"]
    assert [leaf.id for leaf in chart.leaves] == ["off", "warm", "hot", "broken"]
    assert (chart.initial, chart.leaf_of("lit"), chart.about) == ("off", "warm", "A lamp.")
    assert chart.rows[0] == Row(
        0, "off", ("press",), "powered and not bright", ("click", "light"), "lit", "", 9
    )
    assert chart.rows[0].name == "off: press [powered and not bright] -> lit"
    assert chart.states["lit"].exit == ("click",)
    assert chart.rows_for("warm", "burn")[0].about == "for ever"
    assert chart.reason_ignored("off", "burn") == "it is dark already"
    assert chart.reason_ignored("off", "press") == ""
    assert chart.handles("warm", "press")
    assert not chart.handles("broken", "press")


def test_an_initial_state_can_be_named() -> None:
    text = GOOD.replace("  broken: {final: true,", "  broken: {initial: true, final: true,")
    assert read(text, "lamp.yaml").initial == "broken"


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        ("target: hot", "target: hott", 18, "unknown target 'hott'; did you mean 'hot'?"),
        ("cond: powered", "cond: powerd", 9, "unknown guard 'powerd'; did you mean 'powered'?"),
        ("on: [click,", "on: [clik,", 9, "unknown action 'clik'; did you mean 'click'?"),
        ("exit: click", "exit: sing", 11, "unknown action 'sing'; known are light, click"),
        ("event: burn, t", "event: bur, t", 15, "unknown event 'bur'; did you mean 'burn'?"),
        ("ignored: {burn:", "ignored: {bun:", 7, "unknown event 'bun'; did you mean 'burn'?"),
        ("exit: click", "exits: click", 12, "a state has no key 'exits'; did you mean 'exit'?"),
        ("about: for ever", "zzzz: 1", 15, "a transition has no key 'zzzz'; known are event,"),
        ("name: lamp", "title: lamp", 1, "the chart has no key 'title'; known are name,"),
        ("name: lamp\n", "", 1, "the key 'name' is missing"),
        ("  broken: {", "  warm: {", 20, "this id is used twice"),
        ("    exit: click", "    exit: click\n    exit: light", 13, "'exit' is written twice"),
        ("  warm: {trans", "  Warm: {trans", 18, "'Warm' cannot name a state"),
        ("{powered: there", "{Powered: there", 4, "'Powered' cannot name a guard;"),
        ("{light: make", "{Light: make", 5, "'Light' cannot name an action;"),
        ("{press: some", "{Press: some", 3, "'Press' cannot name an event;"),
        ("{burn: it is", "{Burn: it is", 10, "'Burn' cannot name an ignored event;"),
        ("states:\n", "clocks: {t: {event: burn, length: l, about: a, since: {a: b}}}\nstates:\n", 6,
         "lamp.yaml:6: a single word or text belongs here"),
        ("states:\n", "clocks: {t: {event: burn, length: l}}\nstates:\n", 6,
         "the clock 't' has no 'about'; add it"),
        ("{press: some", "{done: some", 3, "belongs to the statechart library"),
        ("{press: somebody pressed", "{press: ", 3, "no reason given; say in a few words"),
        ("{burn: it is dark already}", "{burn: }", 10, "no reason given; say why it is ignored"),
        ("{burn: it is dark already}", "{burn: ~}", 10, "no reason given; say why it is ignored"),
        ("broken: {final: true", "broken: {final: maybe", 20, "true or false, not 'maybe'"),
        ("hot: {final: true}", "hot: {final: true, initial: true}\n      w: {initial: true}", 20,
         "a second initial state beside 'hot'"),
        ("exit: click", "final: true", 12, "neither children nor transitions"),
        ("exit: click", "transient: why", 12, "only a leaf can be transient"),
        ("event: press, target: hot", "on: light", 18, "needs an event or a target"),
        ("cond: powered and not bright", "cond: powered >", 9, "is not an expression"),
        ("cond: powered and not bright", "cond: powered == 1", 9, "only use names, and, or, not"),
        ("cond: powered and not bright", "cond: bright()", 9, "only use names, and, or, not"),
        ("event: burn, t", "event: [burn, burn], t", 15, "names an event twice"),
        ("done.state.lit", "done.state.off", 16, "compound state with a final child"),
        ("done.state.lit", "done.state.nobody", 16, "compound state with a final child"),
        ("event: burn, t", "event: {a: b}, t", 15, "a single word or text belongs here"),
        ("transitions: [{event: press, target: hot}]", "transitions: {a: b}", 18,
         "transitions must be a list"),
        ("warm: {transitions: [{event: press, target: hot}]}", "warm: [1]", 18,
         "a state must be a mapping"),
        ("states:\n      warm: {transitions: [{event: press, target: hot}]}\n"
         "      hot: {final: true}", "states: {}", 17, "no states in here"),
        ("exit: click", "parallel: true", 12, "'parallel' is not supported here: a machine"),
        ("exit: click", "history: {h: {}}", 12, "'history' is not supported here"),
        ("exit: click", "invoke: x", 12, "'invoke' is not supported here"),
        ("about: for ever", "internal: true", 15, "'internal' is not supported here: leave out"),
        ("about: for ever", "unless: bright", 15, "'unless' is not supported here: write"),
        ("about: for ever", "before: light", 15, "'before' is not supported here: use `on`"),
        ("bright: it is bright", "bright: it, dim: it", 0, "guard 'dim' is declared and never"),
        ("light: make light", "light: x, sing: y", 0, "action 'sing' is declared and never"),
        ("burn: it burnt out", "burn: x, fall: y", 0, "event 'fall' is declared and never"),
        ("about: A lamp.", "about: 'A lamp", 21, "not YAML: found unexpected end of stream"),
        ("about: A lamp.", "about: A: lamp.", 2, "not YAML: mapping values are not allowed"),
        ("about: A lamp.", "about: \x00", 1, "not YAML: unreadable; check quotes"),
    ],
)  # fmt: skip
def test_a_broken_chart_is_refused_in_one_line(old: str, new: str, line: int, message: str) -> None:
    assert old in GOOD
    with pytest.raises(ChartError) as caught:
        read(GOOD.replace(old, new, 1), "lamp.yaml")

    text = str(caught.value)
    assert message in text
    assert "\n" not in text
    assert text.startswith(f"lamp.yaml:{line}:" if line else "lamp.yaml: ")
    assert caught.value.line == line


def test_an_empty_chart_is_refused() -> None:
    with pytest.raises(ChartError, match=r"^lamp.yaml: the document is empty"):
        read("", "lamp.yaml")


def test_minamo_has_charts_and_finds_them_by_name() -> None:
    assert "stream" in chart_names()
    assert load("stream").name == "stream"
    with pytest.raises(ChartError, match="there is no chart 'steam'; did you mean 'stream'"):
        load("steam")


def test_a_chart_is_found_by_its_path(tmp_path: Path) -> None:
    path = tmp_path / "lamp.yaml"
    path.write_text(GOOD)
    assert load(path).name == "lamp"
    assert load(str(path)).name == "lamp"


def test_a_path_without_its_suffix_is_taken_for_a_name() -> None:
    with pytest.raises(ChartError, match=r"no chart 'mine/lamp'.*\(a path ends in \.yaml\)"):
        load("mine/lamp")


def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "lamp.yaml"
    with pytest.raises(ChartError, match=r"lamp.yaml: cannot be read: No such file"):
        load(path)
    path.write_bytes(b"name: \xff")
    with pytest.raises(ChartError, match=r"lamp.yaml: not UTF-8 text"):
        load(path)


SOUND = """\
name: door
events: {open: o, shut: s, lock: l}
guards: {free: f, tired: t}
states:
  closed:
    transitions:
      - {event: open, target: ajar}
      - {event: lock, cond: free, target: locked}
      - {event: lock}
    ignored: {shut: it is}
  ajar:
    transient: a draught takes it
    transitions:
      - {cond: tired, target: closed}
      - {target: wide}
  wide:
    transitions:
      - {event: shut, target: closed}
    ignored: {open: it is, lock: not while it is open}
  locked:
    final: true
    ignored: &never {open: locked, shut: locked, lock: locked}
"""


def test_nothing_is_wrong_with_a_good_chart() -> None:
    assert (
        verify(read(SOUND.replace("event: lock}", "event: lock, target: closed}"), "d.yaml")) == []
    )


@pytest.mark.parametrize("name", chart_names())
def test_p09_nothing_is_wrong_with_our_own_charts(name: str) -> None:
    assert verify(load(name)) == []


@pytest.mark.parametrize(
    ("old", "new", "findings"),
    [
        (
            "  wide:\n",
            "  attic:\n    transitions: [{event: open, target: closed}]\n"
            "    ignored: {shut: x, lock: x}\n  wide:\n",
            ["state 'attic': cannot be reached; give some row this target, or remove it"],
        ),
        (
            "{event: shut, target: closed}",
            "{event: shut, target: wide}",
            ["state 'wide': no outcome can be reached from here; add a way out"],
        ),
        (
            "      - {event: open, target: ajar}\n",
            "      - {event: open, target: ajar}\n      - {event: open, target: wide}\n",
            ["d.yaml:8: state 'closed', event 'open': competes with the row in line 7, which"],
        ),
        (
            "      - {event: lock, cond: free, target: locked}\n",
            "      - {event: lock, cond: free, target: locked}\n"
            "      - {event: lock, cond: free, target: wide}\n",
            ["state 'closed', event 'lock': competes with the row in line 8"],
        ),
        (
            "      - {cond: tired, target: closed}\n",
            "      - {target: closed}\n      - {cond: tired, target: closed}\n",
            [
                "d.yaml:15: state 'ajar', event '(at once)': competes with the row in line 14",
                "d.yaml:16: state 'ajar', event '(at once)': competes with the row in line 14",
            ],
        ),
        (
            "      - {event: lock}\n",
            "",
            ["state 'closed', event 'lock': is handled only if a guard holds; add a row"],
        ),
        (
            "    ignored: {shut: it is}\n",
            "",
            ["d.yaml:5: state 'closed', event 'shut': is neither handled nor ignored; add a row"],
        ),
        (
            "    ignored: {shut: it is}\n",
            "    ignored: {shut: it is, open: it opens}\n",
            ["d.yaml:5: state 'closed', event 'open': is listed as ignored but never is"],
        ),
        (
            "    transient: a draught takes it\n",
            "",
            ["d.yaml:11: state 'ajar': is left at once; say `transient:` and why"],
        ),
        (
            "      - {target: wide}\n",
            "      - {event: [open, shut, lock], target: wide}\n",
            [
                "state 'ajar': is called transient but no unguarded eventless row leaves it",
            ],
        ),
        (
            "      - {target: wide}\n",
            "      - {target: ajar}\n",
            ["state 'ajar': never comes to rest: it leads back to 'ajar' at once"],
        ),
        (
            "      - {cond: tired, target: closed}\n",
            "      - {cond: tired, target: closed}\n      - {event: open, target: wide}\n",
            ["d.yaml:15: state 'ajar', event 'open': this row can never be taken"],
        ),
    ],
)
def test_what_is_wrong_is_found(old: str, new: str, findings: list[str]) -> None:
    text = SOUND.replace("event: lock}", "event: lock, target: closed}")
    old = old.replace("event: lock}", "event: lock, target: closed}")
    assert old in text
    found = [str(finding) for finding in verify(read(text.replace(old, new, 1), "d.yaml"))]
    for finding in findings:
        assert any(finding in line for line in found), found


def test_a_row_behind_others_is_never_taken() -> None:
    text = """\
name: x
events: {go: g}
states:
  box:
    transitions: [{event: go, target: done}]
    states:
      a: {transitions: [{event: go, target: b}]}
      b: {transitions: [{event: go, target: end}]}
      end: {final: true, ignored: {}}
  done: {final: true, ignored: {go: over}}
"""
    found = [str(finding) for finding in verify(read(text, "x.yaml"))]
    assert found == []


def test_paths_lead_to_every_row_and_are_shortest() -> None:
    chart = load("stream")
    found = paths(chart)
    assert list(found) == [row.index for row in chart.rows]
    for index, way in found.items():
        assert way[-1].row.index == index
        at = chart.leaf_of(chart.initial)
        for hop in way:
            assert hop.source == at
            at = hop.target
    by_name = {row.name: [hop.event for hop in found[row.index]] for row in chart.rows}
    assert by_name["completing: flushed -> completed"] == ["provider_ended", "flushed"]
    assert by_name["handing: (at once) [fence_open] -> in_code"] == ["text", "", ""]


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
