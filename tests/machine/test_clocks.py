"""The clocks of a chart: how they are declared, checked and drawn, and when they run out."""

from __future__ import annotations

import math

import attrs
import pytest

from minamo.core.config import StreamConfig
from minamo.errors import ChartError
from minamo.machine import (
    RunningClocks,
    chart_names,
    load,
    read,
    to_markdown,
    to_mermaid,
    to_svg,
    verify,
)
from minamo.shell.discord import interaction
from minamo.shell.turns.turn_result import TurnSettings

CHART = """
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
    return RunningClocks(read(CHART, "tea.yaml"), LENGTHS, state, now)


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
    running = RunningClocks(read(CHART, "tea.yaml"), LENGTHS | {"guest": 5.0}, "hot", 0.0)
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
    assert old in CHART
    with pytest.raises(ChartError, match=r"tea\.yaml") as refused:
        read(CHART.replace(old, new), "tea.yaml")
    assert words in str(refused.value)


def test_a_clock_whose_event_does_nothing_where_it_runs_is_found() -> None:
    assert verify(read(CHART, "tea.yaml")) == []
    wrong = CHART.replace("  kettle:\n", "  kettle:\n    clocks: guest\n")
    (found,) = verify(read(wrong, "tea.yaml"))
    assert "state 'kettle', event 'forgotten': the clock 'guest' runs here" in str(found)


def test_pictures_and_tables_show_the_clocks() -> None:
    chart = read(CHART, "tea.yaml")
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
