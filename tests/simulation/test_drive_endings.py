"""P10, P1 in the shell: each ending at every step of a stream has its own outcome, and no other."""

from __future__ import annotations

import pytest

from simulation.endings import ENDS, EVERY_S, HALF_S, STEPS, End, Plot
from support.driver import Drive, check_books, check_quiet

# Those that come from Discord need a message; the first is out after the second chunk.
FROM_DISCORD = {"limit", "delivery_lost"}
# Of fifty chunks, so many begin a new message.
MESSAGES = 44


def steps(end: End) -> range:
    return range(2, MESSAGES) if end.name in FROM_DISCORD else range(STEPS + 1)


def possible(end: End, step: int) -> bool:
    """The guard does not look into a thought, and one is open after these chunks."""
    return end.name != "guard" or step % 10 != 4


def expected(end: End, run: Drive) -> tuple[str, str | None]:
    status = end.status
    if status == "completed" and not run.discord.shown:
        status = "empty_response"
    return status, end.reason


@pytest.mark.parametrize("end", ENDS, ids=lambda end: end.name)
def test_p10_each_ending_at_every_step(end: End) -> None:
    for step in filter(lambda step: possible(end, step), steps(end)):
        at = step * EVERY_S + HALF_S
        if end.name in FROM_DISCORD:
            at = (step - 1) * EVERY_S
        plot = Plot()
        end.bring(plot, at)
        run = plot.run()
        assert run.how == expected(end, run), f"step {step}"
        check_books(run)
        check_quiet(run)
        decided = run.at("decided")
        if end.name not in FROM_DISCORD | {"went_silent", "call_timeout"}:
            assert decided == pytest.approx(at), f"step {step}: decided at the very instant"
        assert run.at("settled") - decided <= 5.0
        if end.flushes:
            assert run.discord.shown or not step, "what was said is delivered"
            assert not {"stop", "killed", "follow_up", "undelivered"} & set(run.settled.suppressed)


@pytest.mark.parametrize("end", ENDS, ids=lambda end: end.name)
def test_p10_each_ending_in_the_instant_of_a_chunk(end: End) -> None:
    for step in filter(lambda step: possible(end, step), steps(end)[2::7]):
        plot = Plot()
        end.bring(plot, step * EVERY_S)
        run = plot.run()
        assert run.how == expected(end, run), f"step {step}"
        check_books(run)
        check_quiet(run)


@pytest.mark.parametrize("end", [end for end in ENDS if end.event in ("user", "follow_up", "kill")],
                         ids=lambda end: end.name)  # fmt: skip
def test_a_wish_from_before_the_start_ends_the_stream_unasked(end: End) -> None:
    plot = Plot()
    end.bring(plot, 0.0)
    wish = plot.happenings.pop()[1]
    run = plot.run(before=[wish])
    assert run.how == (end.status, end.reason)
    assert run.provider.closed == 0, "the provider was never asked"
    assert not run.discord.begun
