"""Every benchmark runs, its report is made from its figures, and the stored ratios are guarded."""

from __future__ import annotations

import importlib
import json
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest

from benchmarks import __main__ as program
from benchmarks import contestants, figures, goals, inputs, judge, pictures, report
from benchmarks.suites import TINY

ROOT = Path(__file__).resolve().parents[2]
# In real time: part of the slow tests.
QUICK = [name for name in program.SUITES if name not in ("first_visible", "delivery")]


def test_every_benchmark_runs_and_its_report_is_made_from_its_figures() -> None:
    # One test, so that no second worker measures again.
    with contestants.kept("minamo", "minamo live", "floor"):
        run = program.perform(QUICK, TINY, quick=True)
    json.dumps(run)
    check_figures(run["benchmarks"])
    check_report(run)
    check_goals(run)


def check_figures(found: dict[str, Any]) -> None:
    assert list(found) == QUICK
    assert not any(one["notes"] for one in found.values())
    for readers in found["ingest"]["dialects"].values():
        assert all(one["text_is_whole"] for one in readers.values())
    ours = found["pipeline"]["chunk"]["4"]["minamo"]
    assert ours["messages"] > 1
    assert not ours["lost"] + ours["thoughts_shown"] + ours["too_long"]
    assert found["chunking"]["contestants"]["minamo"]["wrong"] == 0
    assert found["splitting"]["contestants"]["minamo"]["documents_with_a_fault"] == 0
    assert found["splitting"]["contestants"]["floor"]["documents_with_a_fault"] > 5
    assert sum(one["sends_begun_after"] for one in found["stops"]["states"].values()) == 0


def check_report(run: dict[str, Any]) -> None:
    words = report.section(run)
    cost = run["benchmarks"]["ingest"]["dialects"]["google"]["minamo"]["us_per_chunk"]
    assert f"| google: minamo | {pictures.number(cost)} |" in words
    drawn = pictures.pictures(run)
    assert set(drawn) == {"ingest", "growth", "machine"}
    for svg in drawn.values():
        assert "prefers-color-scheme:dark" in svg
        assert len(ET.fromstring(svg).findall("{http://www.w3.org/2000/svg}g")) >= 2


def check_goals(run: dict[str, Any]) -> None:
    found = {goal.what: goal for goal in goals.goals(run)}
    assert found["split with a fault"].is_met
    run["benchmarks"]["splitting"]["contestants"]["minamo"]["documents_with_a_fault"] = 3
    missed = next(goal for goal in goals.goals(run) if goal.what == "split with a fault")
    assert (missed.found, missed.is_met) == ("3", False)
    assert "| split with a fault | 0 | 3 | **no** |" in report.section(run)


def test_the_page_and_the_pictures_are_those_of_the_stored_run() -> None:
    run = json.loads(program.RESULTS.read_text(encoding="utf-8"))
    page = report.PAGE.read_text(encoding="utf-8")
    assert f"{report.BEGIN}\n\n{report.section(run)}\n{report.END}" in page
    for name, svg in pictures.pictures(run).items():
        assert (report.PICTURES / f"bench-{name}.svg").read_text(encoding="utf-8") == svg
    assert program.ratios(run) == json.loads(program.RATIOS.read_text(encoding="utf-8"))


def test_a_loss_of_a_quarter_is_told() -> None:
    stored = {"a": 1.0, "b": 2.0, "c": 3.0}
    assert program.compare(stored, {"a": 1.24, "b": 2.6}) == ["b: 2.60, stored 2.00"]


def test_a_ratio_has_its_interval_and_a_curve_its_slope() -> None:
    found = figures.ratio([2.0, 4.0, 6.0, 8.0], [1.0, 2.0, 3.0, 2.0])
    assert (found["ratio"], found["low"]) == (2.0, 2.0)
    assert 2.0 < found["high"] <= 4.0
    assert figures.slope([(n, n * n) for n in (10.0, 20.0, 40.0)]) == 2.0
    assert figures.quantile([3.0, 1.0, 2.0], 0.99) == 3.0


def test_the_judge_sees_what_a_channel_would_show() -> None:
    assert judge.lost(["a k1k", "b"], ["k1k", "k2k"]) == 1
    assert judge.broken_fences(["```py\nx", "x\n```", "```\nx\n```"]) == 2
    table = "| a | b |\n|---|:-:|\n| 1 | 2 |"
    assert judge.raw_tables([table, f"```\n{table}\n```", "a\n---\nb", "x\n---|---\n1|2"]) == 2
    assert judge.revealed(["||k1k and", "k2k||", "||k3k||", "k4k"], ["k1k", "k2k", "k3k"]) == 2
    assert judge.left_open(["**a", "**b** `**`"]) == 1
    assert judge.torn(["see http://a", "/b"], ["http://a/b"]) == 1


def test_a_peer_that_cannot_run_is_named_with_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(contestants.PEERS, "broken", contestants.Peer("missing.py"))
    notes: contestants.Notes = {}
    with contestants.field(["broken"], notes) as workers:
        assert not workers
    assert "No such file" in notes["broken"]


def test_every_dialect_says_the_whole_reply() -> None:
    for dialect in inputs.PATHS:
        assert "below" in "".join(inputs.frames(dialect, inputs.words(9)))


@pytest.mark.parametrize("name", program.SUITES)
def test_every_benchmark_says_what_it_measures(name: str) -> None:
    module = importlib.import_module(f"benchmarks.suites.{name}")
    assert module.__doc__
    assert name in report._SECTIONS
