"""Every export says all of the chart, and the same bytes each time."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from statemachine.io import load as load_document

from minamo.machine import chart_names, load, read, to_markdown, to_mermaid, to_scxml, to_svg
from minamo.machine.compiler import ChartIR, declare, lower
from minamo.machine.export import entered_by_default, label
from minamo.machine.syntax import guard_in_javascript

TEXT = """\
name: tap
about: A tap.
events: {turn: t, drip: d}
guards: {open: o}
actions: {pour: p, hum: h}
states:
  outer:
    enter: hum
    exit: pour
    transitions:
      - {event: drip, on: pour}
      - {event: turn, cond: open, target: over}
      - {event: turn, target: outer, about: a | b}
    states:
      inner:
        enter: hum
        states:
          one: {exit: hum, transitions: [{cond: open, target: two}]}
          two: {transitions: [{event: turn, target: inner}]}
  over: {final: true, enter: pour, ignored: {turn: it is <off>, drip: it is off}}
"""


def test_mermaid_says_everything() -> None:
    assert to_mermaid(read(TEXT, "tap.yaml"), lit="two").splitlines() == [
        "stateDiagram-v2",
        "  [*] --> outer",
        "  state outer {",
        "    [*] --> inner",
        "    state inner {",
        "      [*] --> one",
        "      one : one",
        "      one : exit / hum",
        "      two : two",
        "    }",
        "    note right of inner",
        "      entry / hum",
        "    end note",
        "  }",
        "  note right of outer",
        "    drip / pour",
        "    entry / hum",
        "    exit / pour",
        "  end note",
        "  over : over",
        "  over : entry / pour",
        "  over --> [*]",
        "  outer --> over : turn [open]",
        "  outer --> outer : turn",
        "  one --> two : [open]",
        "  two --> inner : turn",
        "  classDef lit fill:#1d9bf0,color:#ffffff,stroke:#0b5f99",
        "  class two lit",
    ]


def test_states_that_treat_every_event_alike_share_a_column() -> None:
    text = (
        "name: b\nabout: B.\nevents: {go: g, on: o}\nstates:\n"
        "  outer:\n    transitions: [{event: go, target: over}, {event: on, target: two}]\n"
        "    states: {one: {}, two: {}}\n"
        "  over: {final: true, ignored: {go: over, on: over}}\n"
    )
    assert "| event | one<br>two | over |" in to_markdown(read(text, "b.yaml"))


def test_only_compounds_that_are_entered_as_a_whole_show_where_they_begin() -> None:
    assert entered_by_default(load("stream")) == {"live"}


@pytest.mark.parametrize("name", chart_names())
def test_every_row_is_in_mermaid(name: str) -> None:
    chart = load(name)
    text = to_mermaid(chart)
    for row in chart.rows:
        assert label(row) in text


def test_markdown_has_the_rows_and_the_matrix() -> None:
    text = to_markdown(read(TEXT, "tap.yaml"))
    assert "| 2 | outer | `turn` |  |  | outer | a \\| b |" in text
    assert "| 3 | one | *at once* | `open` |  | two |  |" in text
    assert "| `turn` | 1 2 | 4 | a |" in text
    assert "- **a** it is <off>" in text
    assert "| over | `pour` |  |" in text
    assert "- **over** (final)" in text


def test_a_chart_without_words_of_its_own_is_drawn_too() -> None:
    bare = "name: b\nevents: {go: on}\nstates:\n  a: {transitions: [{event: go, target: z}]}\n"
    text = to_markdown(read(bare + "  z: {final: true, ignored: {go: over}}\n", "b.yaml"))
    assert "## Guards" not in text
    assert "on entry" not in text
    assert "a --> z : go" in text
    assert "- **a**\n" in text
    assert "- **z** (final)\n" in text


def test_only_the_end_of_a_part_is_told_to_its_parent() -> None:
    inner = (
        "{transitions: [{event: done.state.a, target: z}], states: "
        "{b: {transitions: [{event: go, target: c}]}, c: {final: true}}}"
    )
    text = f"name: b\nevents: {{go: on}}\nstates:\n  a: {inner}\n  z: {{final: true}}\n"
    leaves = {leaf.id: leaf.done for leaf in lower(declare(read(text, "b.yaml"))).leaves}
    assert leaves == {"b": "", "c": "done.state.a", "z": ""}


def test_the_matrix_runs_out_of_letters_gracefully() -> None:
    leaves = "".join(
        f"  s{n}: {{transient: r{n}, transitions: [{{target: z}}]}}\n" for n in range(30)
    )
    text = "name: b\nevents: {go: on}\nstates:\n" + leaves
    text += "  z: {transitions: [{event: go, target: z}]}\n"
    page = to_markdown(read(text, "b.yaml"))
    assert "- **z** r25" in page
    assert "- **aa** r26" in page


def graph(lowered: ChartIR) -> object:
    """What SCXML carries: states, rows, guards, targets and outcomes, without actions."""
    return lowered.initial, [
        (
            leaf.id,
            leaf.final,
            leaf.done,
            [(s.source, s.events, s.guards, s.target) for s in leaf.steps],
        )
        for leaf in lowered.leaves
    ]


@pytest.mark.parametrize("name", [*chart_names(), ""])
def test_scxml_is_read_back_as_the_same_graph(name: str) -> None:
    chart = load(name) if name else read(TEXT, "tap.yaml")
    text = to_scxml(chart).replace("&amp;&amp;", "and").replace("||", "or").replace("!", "not ")
    theirs = load_document(text, format="scxml")
    assert graph(lower(theirs)) == graph(lower(declare(chart)))


def test_scxml_carries_actions_guards_and_clocks() -> None:
    root = ET.fromstring(to_scxml(read(TEXT, "tap.yaml")))
    space = "{http://www.w3.org/2005/07/scxml}"
    (outer,) = (state for state in root.iter(f"{space}state") if state.get("id") == "outer")

    def logged(tag: str) -> list[str | None]:
        return [log.get("expr") for part in outer.findall(f"{space}{tag}") for log in part]

    assert logged("onentry") == ["'hum'"]
    assert logged("onexit") == ["'pour'"]
    assert logged("transition")[0] == "'pour'"
    assert 'cond="patient &amp;&amp; repeatable"' in to_scxml(load("delivery"))
    assert 'cond="!has_tools"' in to_scxml(load("turn"))
    assert guard_in_javascript("a or b and not (c or d)") == "a || (b && !(c || d))"
    stream = to_scxml(load("stream"))
    assert '<state id="opening" minamo:clocks="first_token">' in stream
    assert 'minamo:clocks="inactivity deadline sdk_call_timeout"' in stream
    assert "first_token_timeout_ms" in stream


def test_p08_exports_are_the_same_bytes_whatever_the_hash_seed() -> None:
    program = (
        "from minamo.machine import *; c = load('stream');"
        "print(to_markdown(c), to_scxml(c), to_svg(c), to_svg(c, lit='streaming'))"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("0", "1", "4242")
    }
    assert len(outputs) == 1


@pytest.mark.parametrize("name", chart_names())
def test_the_stored_diagrams_are_what_is_drawn(name: str) -> None:
    stored = Path(__file__).parents[2] / "diagrams"
    assert to_markdown(load(name)) == (stored / f"{name}.md").read_text("utf-8")
    assert to_svg(load(name)) == (stored / f"{name}.svg").read_text("utf-8")
