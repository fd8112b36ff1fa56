"""What can be understood and is wrong all the same."""

from __future__ import annotations

import pytest

from minamo.machine import chart_names, load, paths, read, verify

GOOD = """\
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
        verify(read(GOOD.replace("event: lock}", "event: lock, target: closed}"), "d.yaml")) == []
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
    text = GOOD.replace("event: lock}", "event: lock, target: closed}")
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
