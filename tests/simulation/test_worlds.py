"""P10, P17 and the rest at once: worlds out of seeds, judged by somebody who knows no code of ours.

`MINAMO_SEED=123 pytest tests/simulation/test_worlds.py -k one_world -s` shows one of them again.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable

import pytest

from simulation.history import check
from simulation.world import World, simulate
from support.seeds import FIRST, dice, seeds

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
