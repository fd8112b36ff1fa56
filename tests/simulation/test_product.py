"""P1 for all charts together: every state of channel, stream and messages, and Spin agrees."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from simulation import product
from simulation.product import OUTCOMES, SETTLED, Rule, explore, rules, start, to_promela
from support.system_parts import report_missing

RULES = rules()


def test_p01_every_state_of_the_charts_together_leads_to_one_outcome(
    figure: Callable[[str], None],
) -> None:
    found = explore(RULES, start(turns=1, requests=1))
    figure(f"P1: one turn: {found.states:,} states, {found.steps:,} steps, {len(RULES)} rules")
    assert found.problems == ()
    assert found.outcomes == set(OUTCOMES), "every outcome can be reached"
    assert found.receipts == set(SETTLED)


@pytest.mark.slow
def test_p01_every_state_of_three_turns_and_two_requests(figure: Callable[[str], None]) -> None:
    found = explore(RULES, start(turns=3, requests=2))
    figure(f"P1: three turns, two requests: {found.states:,} states, {found.steps:,} steps")
    assert found.problems == ()


@pytest.mark.slow
@pytest.mark.timeout(600)  # the compiler takes most of it
@pytest.mark.parametrize(("turns", "requests"), [(1, 1), (3, 2)])
def test_p01_spin_sees_the_same_states_and_no_error(
    turns: int, requests: int, tmp_path: Path, figure: Callable[[str], None]
) -> None:
    begin = start(turns, requests)
    errors, states = spin(to_promela(RULES, begin), tmp_path)
    figure(f"P1: Spin: {states:,} states, {errors} errors")
    assert errors == 0
    assert states == explore(RULES, begin).states


def spin(model: str, folder: Path) -> tuple[int, int]:
    """Check *model*; return the number of errors and of states."""
    if shutil.which("spin") is None or shutil.which("gcc") is None:
        report_missing("spin")
    (folder / "product.pml").write_text(model, encoding="utf-8")
    for command in (
        ["spin", "-a", "product.pml"],
        ["gcc", "-O1", "-DSAFETY", "-DNOREDUCE", "-o", "pan", "pan.c"],
    ):
        subprocess.run(command, cwd=folder, check=True, capture_output=True)
    told = subprocess.run(
        [folder / "pan", "-m1000000"], cwd=folder, check=False, capture_output=True, text=True
    ).stdout
    errors, states = re.search(r"errors: (\d+)", told), re.search(r"(\d+) states, stored", told)
    assert errors is not None
    assert states is not None
    return int(errors[1]), int(states[1])


# It would find what is wrong.


def problems(broken: list[Rule]) -> str:
    return " ".join(explore(broken, start(turns=1, requests=1)).problems)


def test_an_outcome_that_changes_is_found() -> None:
    late = Rule("late", (("stream", frozenset(["completed"])),), (("stream", "error"),))
    assert "completed became error" in problems([*RULES, late])


def test_a_reply_that_is_never_flushed_is_found() -> None:
    assert "no way out" in problems([rule for rule in RULES if not rule.name.startswith("flushed")])


def test_a_call_after_the_end_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = {was: now for was, now in product.WITHDRAW.items() if was != "waiting"}
    monkeypatch.setattr(product, "WITHDRAW", kept)
    assert "a call is begun after the end" in problems(list(rules()))


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_p01_spin_finds_it_too(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    kept = {was: now for was, now in product.WITHDRAW.items() if was != "waiting"}
    monkeypatch.setattr(product, "WITHDRAW", kept)
    assert spin(to_promela(rules(), start(turns=1, requests=1)), tmp_path)[0] > 0
