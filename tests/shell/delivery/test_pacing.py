"""The pacer, in virtual time."""

from __future__ import annotations

import math
from typing import Any

import anyio
import pytest

from minamo.errors import BadSetting
from minamo.shell.delivery.interfaces import Accepted, Rejected, RetryLater, Unknown
from minamo.shell.delivery.pacing import MESSAGES, PACES, PAUSE_MAX_S, Pacer, RateLimit, TokenBucket
from support.fake_discord import run_with_virtual_clock


def test_a_burst_and_then_one_at_a_time() -> None:
    meter = TokenBucket(RateLimit(4, 1.05))

    assert [meter.reserve(0.0) for _ in range(6)] == pytest.approx([0, 0, 0, 0, 1.05, 2.1])
    assert meter.reserve(100.0) == 100.0


def test_an_emptied_meter_has_no_burst() -> None:
    meter = TokenBucket(RateLimit(4, 1.0))
    meter.empty(10.0)

    assert [meter.reserve(3.0) for _ in range(3)] == pytest.approx([10.0, 11.0, 12.0])


def test_no_five_seconds_see_more_than_the_leaky_bucket_allows() -> None:
    # What Discord counts: a level that falls by one a second and must not pass five.
    async def story() -> None:
        pacer, level, last = Pacer(), 0.0, anyio.current_time()
        for _ in range(40):
            async with pacer.turn("create", 1) as turn:
                now = anyio.current_time()
                level, last = max(0.0, level - (now - last)) + 1, now
                turn.settle(Accepted(1))
            assert level <= 5

    run_with_virtual_clock(story)


def test_the_process_makes_forty_a_second_over_all_channels() -> None:
    times: list[float] = []

    async def story() -> None:
        pacer = Pacer()

        async def call(channel: int) -> None:
            async with pacer.turn("create", channel) as turn:
                times.append(anyio.current_time())
                turn.settle(Accepted(1))

        async with anyio.create_task_group() as tasks:
            for channel in range(200):
                tasks.start_soon(call, channel)

    run_with_virtual_clock(story)
    busiest = max(sum(at <= other < at + 1 for other in times) for at in times)
    assert len(times) == 200
    assert busiest <= 44


@pytest.mark.parametrize(
    ("first", "together"), [(Accepted(1), True), (Rejected("x"), True), (Unknown("x"), False)]
)
def test_the_first_call_of_a_route_opens_it_only_when_answered(
    first: Accepted | Rejected | Unknown, together: bool
) -> None:
    began: list[float] = []

    async def story() -> None:
        pacer = Pacer()

        async def call(channel: int, answer: Accepted | Rejected | Unknown) -> None:
            async with pacer.turn("create", channel) as turn:
                began.append(anyio.current_time())
                await anyio.sleep(1)
                turn.settle(answer)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(call, 1, first)
            await anyio.sleep(0.5)
            tasks.start_soon(call, 2, Accepted(2))
            tasks.start_soon(call, 3, Accepted(3))

    run_with_virtual_clock(story)
    assert began[1] - began[0] >= 1.0
    assert (began[2] - began[1] < 0.1) is together


def test_a_caller_cancelled_at_the_gate_or_in_its_wait_harms_nobody() -> None:
    async def story() -> None:
        for after in (0.0, 0.3, 1.2, 2.5):
            pacer = Pacer({**PACES, "create": (RateLimit(1, 1.0),)})

            async def call(channel: int, pacer: Pacer = pacer) -> None:
                async with pacer.turn("create", channel) as turn:
                    await anyio.sleep(0.5)
                    turn.settle(Accepted(1))

            async with anyio.create_task_group() as tasks:
                for _ in range(5):
                    tasks.start_soon(call, 1)
                await anyio.sleep(after)
                tasks.cancel_scope.cancel()
            with anyio.fail_after(10):
                await call(1)
                await call(2)

    run_with_virtual_clock(story)


def test_a_first_call_that_hangs_does_not_shut_the_route() -> None:
    began: list[float] = []

    async def story() -> None:
        pacer = Pacer()

        async def call(channel: int, took_s: float) -> None:
            async with pacer.turn("create", channel) as turn:
                began.append(anyio.current_time())
                await anyio.sleep(took_s)
                turn.settle(Accepted(1))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(call, 1, 1_000)
            await anyio.sleep(0.1)
            for channel in range(2, 6):
                tasks.start_soon(call, channel, 1)

    run_with_virtual_clock(story)
    assert began[1] - began[0] == pytest.approx(5, abs=0.2)
    assert all(at - began[1] == pytest.approx(1, abs=0.2) for at in began[2:])


def test_a_pause_that_discord_asks_for_is_kept() -> None:
    async def story() -> None:
        pacer = Pacer()
        async with pacer.turn("create", 1) as turn:
            turn.settle(RetryLater("rate_limited", 7.0))
        began = anyio.current_time()
        async with pacer.turn("create", 1):
            assert anyio.current_time() - began >= 7.0
        began = anyio.current_time()
        async with pacer.turn("create", 2):
            assert anyio.current_time() - began < 1.0

    run_with_virtual_clock(story)


def test_a_call_that_took_very_long_costs_the_burst() -> None:
    async def story() -> None:
        pacer = Pacer()
        async with pacer.turn("create", 1) as turn:
            await anyio.sleep(3)
            turn.settle(Accepted(1))
        began = anyio.current_time()
        for _ in range(3):
            async with pacer.turn("create", 1):
                pass
        assert anyio.current_time() - began >= 2.0

    run_with_virtual_clock(story)


def test_a_webhook_keeps_within_its_hidden_minute() -> None:
    times: list[float] = []

    async def story() -> None:
        pacer = Pacer()
        for _ in range(60):
            async with pacer.turn("webhook", 1) as turn:
                times.append(anyio.current_time())
                turn.settle(Accepted(1))

    run_with_virtual_clock(story)
    assert max(sum(at <= other < at + 2 for other in times) for at in times) <= 9
    # A leaky bucket of 30 that loses one every two seconds.
    level, last = 0.0, times[0]
    for at in times:
        level, last = max(0.0, level - (at - last) / 2) + 1, at
        assert level <= 30


def test_idle_channels_are_forgotten() -> None:
    async def story() -> None:
        pacer = Pacer(PACES, RateLimit(1000, 0.001))
        for channel in range(300):
            async with pacer.turn("create", channel) as turn:
                turn.settle(Accepted(1))
        await anyio.sleep(60)
        for _ in range(300):
            async with pacer.turn("create", 1) as turn:
                turn.settle(Accepted(1))
        assert pacer.remembered == 1

    run_with_virtual_clock(story)


def test_a_very_long_pause_is_asked_about_again() -> None:
    async def main() -> None:
        pacer = Pacer()
        async with pacer.turn("create", 1) as turn:
            turn.settle(RetryLater("rate_limited", 3_600.0))
        began = anyio.current_time()
        async with pacer.turn("create", 1):
            assert anyio.current_time() - began == pytest.approx(PAUSE_MAX_S, abs=0.1)

    run_with_virtual_clock(main)


@pytest.mark.parametrize("route", PACES)
def test_a_pacer_without_a_route_is_refused(route: str) -> None:
    paces = {name: pace for name, pace in PACES.items() if name != route}
    with pytest.raises(BadSetting, match=f"needs a pace for {route};"):
        Pacer(paces)


@pytest.mark.parametrize("burst", [0, -1, True, 1.5, None, "4"])
def test_a_burst_that_lets_nothing_through_is_refused(burst: Any) -> None:
    with pytest.raises(BadSetting, match="burst must be a whole number, 1 or more"):
        RateLimit(burst, 1.0)


@pytest.mark.parametrize("every_s", [0, 0.0, -1, math.inf, math.nan, True, None, "1"])
def test_a_rate_that_is_none_is_refused(every_s: Any) -> None:
    with pytest.raises(BadSetting, match="every_s must be a number of seconds above 0"):
        RateLimit(1, every_s)


@pytest.mark.parametrize("paces", [(MESSAGES, 5), (None,)])
def test_what_is_no_pace_is_refused(paces: Any) -> None:
    with pytest.raises(BadSetting, match="the paces of edit must be a tuple"):
        Pacer({**PACES, "edit": paces})
    with pytest.raises(BadSetting, match="the paces of process"):
        Pacer(PACES, paces[-1])
