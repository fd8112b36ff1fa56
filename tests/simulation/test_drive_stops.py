"""P26: what a first stop promised is delivered, whatever is asked for after it; a kill excepted."""

from __future__ import annotations

import pytest

from minamo.shell.stops.registry import StopRequest
from simulation.endings import EVERY_S, HALF_S, Plot
from support.driver import FOLLOW_UP, KILL, SYSTEM, USER, Discord, Drive, check_books

SLOW_S = 1.47
"""A call to Discord takes so long: messages wait when the stop comes, and no two times are equal."""
AFTER = [0.0, 0.01, 0.4, 0.8, 1.2, 1.6, 2.4, 3.2, 4.0, 4.8]
STEPS = range(1, 12)


def stopped(step: int, *wishes: tuple[float, StopRequest]) -> Drive:
    """A stream whose chunks come faster than Discord takes them, and what is wanted of it."""
    plot = Plot()
    plot.script = [(at / 8, text) for at, text in plot.script]
    at = (step * EVERY_S + HALF_S) / 8
    plot.happenings += [(at + after, wish) for after, wish in wishes]
    return plot.run(discord=Discord(latency_s=SLOW_S))


@pytest.mark.parametrize("first", [USER, SYSTEM], ids=["user", "system"])
@pytest.mark.parametrize("second", [USER, SYSTEM, FOLLOW_UP], ids=["user", "system", "follow_up"])
def test_p26_a_second_wish_takes_nothing_back(first: StopRequest, second: StopRequest) -> None:
    waited = 0
    for step in STEPS:
        alone = stopped(step, (0.0, first))
        waited += len(alone.discord.begun) > 1
        for after in AFTER[1:]:
            both = stopped(step, (0.0, first), (after, second))
            assert both.how == alone.how, f"step {step}, {after} s later"
            assert both.discord.texts == alone.discord.texts, f"step {step}, {after} s later"
            assert both.settled.suppressed == alone.settled.suppressed
            check_books(both)
    assert waited > 3, "often, more than one message was still to be sent"


def test_p26_only_a_kill_takes_it_back() -> None:
    fewer = 0
    for step in STEPS:
        alone, killed = stopped(step, (0.0, USER)), stopped(step, (0.0, USER), (0.01, KILL))
        check_books(killed)
        assert killed.how[0] == "stopped_by_user"
        assert alone.discord.texts[: len(killed.discord.texts)] == killed.discord.texts
        fewer += len(killed.discord.texts) < len(alone.discord.texts)
    assert fewer > 3, "the test can tell a difference"
