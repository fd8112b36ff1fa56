"""Worlds out of seeds (P10, P17), the judge of their histories, and every state of all charts together (P1)."""

from __future__ import annotations

import re
import shutil
import subprocess
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from simulation import product
from simulation.history import check, marks
from simulation.product import OUTCOMES, SETTLED, Rule, explore, rules, start, to_promela
from simulation.world import World, simulate
from support.seeds import FIRST, dice, seeds
from support.system_parts import report_missing

FINE = """
0.0 a opens channel=1 drain=5.0
0.5 b opens channel=1 drain=5.0
1.0 a chunk 12 0-9
1.0 a send a-0 10 0-9
1.2 a shows a-0
1.2 a answer a-0
1.2 a receipt a-0 delivered
1.5 a chunk 27 10-14,15-16
2.0 a wish user
2.0 a decided
2.0 a send a-1 10 10-14
2.0 b chunk 4 0-3
2.3 a shows a-1
2.3 a answer a-1
2.3 a receipt a-1 delivered
2.3 a settled stopped_by_user user_request
2.3 a books characters=39 marker=15 seam=7 +fence=5 aside=2 aside_marks=15-16 said=0-14
3.0 b send b-0 4 0-3
3.1 b answer b-0
3.5 b send b-0 4 0-3
3.6 b shows b-0
3.6 b answer b-0
3.6 b receipt b-0 delivered
4.0 b end
4.0 b decided
4.0 b settled completed -
4.0 b books characters=4 aside=0 aside_marks=- said=0-3
""".strip()

# What is wrong, the line that is changed, and what it becomes.
DOCTORED = [
    ("one_outcome", "4.0 b settled completed -", ""),
    ("one_outcome", "4.0 b settled completed -", "4.0 b settled completed -\n4.0 b settled error -"),
    ("one_outcome", "2.0 a decided", "2.0 a decided\n2.0 a decided"),
    ("one_outcome", "4.0 b decided", "4.0 b cancelled\n4.0 b decided"),
    ("the_first_decides", "settled stopped_by_user user_request", "settled stopped_by_user killed"),
    ("the_first_decides", "4.0 b end", "4.0 b failed\n4.0 b end"),
    ("the_first_decides", "4.0 b end\n", ""),
    ("quiet", "2.0 a wish user", "2.0 a wish kill"),
    ("quiet", "2.0 a wish user", "2.0 a wish follow_up"),
    ("quiet", "2.0 a decided", "2.0 a decided\n2.0 a wish kill"),
    ("complete", "b books characters=4 aside=0 aside_marks=- said=0-3",
     "b books characters=4 killed=1 aside=0 aside_marks=- said=0-2"),
    ("quiet", "2.0 a decided", "2.0 a decided\n2.0 a chunk 0 -\n2.0 a chunk 0 -"),
    ("at_once", "2.0 a wish user", "1.9 a wish user"),
    ("in_order", "2.0 a send a-1 10 10-14", "2.0 a send a-1 10 14,10-13"),
    ("in_order", "1.2 a shows a-0", "1.2 a shows a-1\n1.2 a shows a-0"),
    ("once", "2.3 a shows a-1", "2.3 a shows a-1\n2.3 a shows a-1"),
    ("once", "2.0 a send a-1 10 10-14", "2.0 a send a-1 10 9-14"),
    ("once", "2.3 a receipt a-1 delivered", "2.3 a receipt a-1 refused"),
    ("once", "2.3 a shows a-1\n", ""),
    ("once", "1.2 a receipt a-0 delivered", "1.2 a receipt a-0 delivered\n1.2 a receipt a-0 unknown"),
    ("drained", "0.0 a opens channel=1 drain=5.0", "0.0 a opens channel=1 drain=0.2"),
    ("conserved", "seam=7", "seam=6"),
    ("conserved", "seam=7", "seam=8"),
    ("conserved", "a books characters=39", "a books characters=40"),
    ("conserved", "said=0-14", "said=0-13"),
    ("conserved", "aside_marks=15-16", "aside_marks=14-15"),
    ("conserved", "aside_marks=15-16", "aside_marks=15-17"),
    ("conserved", "4.0 b books characters=4 aside=0 aside_marks=- said=0-3", ""),
    ("not_interleaved", "1.2 a answer a-0", "1.2 b send b-0 4 0-3\n1.2 a answer a-0"),
    ("not_interleaved", "1.5 a chunk", "1.3 b send b-0 4 0-3\n1.3 b answer b-0\n1.5 a chunk"),
]  # fmt: skip


def test_a_fine_history_is_fine() -> None:
    assert check(FINE.splitlines()) == []


@pytest.mark.parametrize(("promise", "line", "instead"), DOCTORED)
def test_p17_a_doctored_history_is_found_out(promise: str, line: str, instead: str) -> None:
    assert line in FINE
    doctored = FINE.replace(line, instead, 1)
    found = check([each for each in doctored.splitlines() if each])
    assert any(promise in fault for fault in found), found


def test_it_reads_marks() -> None:
    assert marks("-") == []
    assert marks("0-3,7") == [0, 1, 2, 3, 7]


def test_it_knows_nothing_of_the_program() -> None:
    source = (Path(__file__).parent / "history.py").read_text()
    assert "minamo" not in source


QUICK = 200
SLOW = 15_000
PARTS = 15
STATUSES = {
    "completed", "function_call", "error", "timeout", "stopped_by_user", "empty_response",
    "follow_up_interrupt",
}  # fmt: skip


def judged(seed: int) -> World:
    with dice(seed):
        world = simulate(seed)
        faults = check(world.lines)
        assert not faults, "; ".join(faults)
        return world


def judge(worlds: range) -> str:
    """Let all these worlds run; what there is to say of them."""
    began, virtual_s, streams = time.process_time(), 0.0, 0
    ends: Counter[str] = Counter()
    for seed in worlds:
        world = judged(seed)
        virtual_s += world.virtual_s
        streams += world.streams
        ends.update(line.split()[3] for line in world.lines if line.split()[2] == "settled")
    assert set(ends) <= STATUSES
    assert set(ends) == STATUSES or len(worlds) < 1_000, "every outcome comes up"
    took = time.process_time() - began
    return (
        f"P17: {len(worlds)} worlds, {streams} streams, {virtual_s:,.0f} virtual s, "
        f"0 broken promises; {len(worlds) / took:.0f} worlds per CPU second"
    )


def test_p17_worlds_keep_every_promise(figure: Callable[[str], None]) -> None:
    figure(judge(seeds(QUICK)))


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("part", range(PARTS))
def test_p17_many_more_worlds(part: int, figure: Callable[[str], None]) -> None:
    figure(judge(seeds(SLOW // PARTS, part)))


def test_one_world_again() -> None:
    """The same seed gives the same history, to the letter."""
    first = judged(FIRST)
    print("\n".join(first.lines))
    assert simulate(FIRST).lines == first.lines


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
