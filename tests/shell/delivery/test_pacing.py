"""The pacer and the lanes in virtual time: faults of the parts around them, and the typing that is shown meanwhile."""

from __future__ import annotations

import math
from typing import Any

import anyio
import pytest

from minamo.core.messages import Receipt
from minamo.errors import BadSetting
from minamo.shell.delivery.interfaces import (
    Accepted,
    Rejected,
    RetryLater,
    SendOptions,
    SendOutcome,
    TextQueue,
    Unknown,
)
from minamo.shell.delivery.lanes import Lane, Lanes, open_lanes
from minamo.shell.delivery.pacing import MESSAGES, PACES, PAUSE_MAX_S, Pacer, RateLimit, TokenBucket
from minamo.shell.delivery.queue import StreamQueue
from minamo.shell.delivery.typing import Typing
from support.fake_discord import FakeSender, run_with_virtual_clock, with_lanes


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


BAD, GOOD = 1, 2


class Broken(FakeSender):
    """Fails at one method."""

    def __init__(self, fails_at: str) -> None:
        super().__init__(BAD)
        self.fails_at = fails_at

    def __getattribute__(self, name: str) -> Any:
        if name not in ("fails_at", "__class__") and name == self.fails_at:
            raise OSError("sk-secret")
        return super().__getattribute__(name)


def faulty(monkeypatch: pytest.MonkeyPatch, owner: Any, name: str) -> None:
    """Have a method of ours fail for the one channel, on every call."""
    sound = getattr(owner, name)

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        names = ("channel_id", "line", "_channel_id")
        place = next(
            (getattr(self, one) for one in names if hasattr(self, one)), args[-1:] == (BAD,)
        )
        if place == BAD:
            raise OSError("sk-secret")
        return sound(self, *args, **kwargs)

    monkeypatch.setattr(owner, name, method)


async def send(lanes: Lanes, sender: FakeSender, heard: Any = None) -> list[Receipt]:
    source = TextQueue(["one", "two"])
    with anyio.fail_after(60):
        async with lanes.open(
            sender.place, sender, source, stream_id="s", typing=True, on_receipt=heard
        ) as one:
            one.deliver()
            await one.finish()
    return one.receipts


def check(sender: FakeSender, heard: Any = None) -> list[Receipt]:
    """Use the bad channel twice, with the good one before, beside and after it."""
    told: list[Receipt] = []

    async def main() -> None:
        async with open_lanes() as lanes, anyio.create_task_group() as tasks:
            good = FakeSender(GOOD)
            tasks.start_soon(send, lanes, good)
            told.extend(await send(lanes, sender, heard))
            await anyio.sleep(20)
            told.extend(await send(lanes, sender, heard))
            assert all(one.delivered for one in await send(lanes, good))
            assert good.texts == ["one", "two"] * 2
            assert len(lanes) == 0

    run_with_virtual_clock(main)
    return told


@pytest.mark.parametrize("fails_at", ["create", "route", "typing"])
def test_a_sender_that_fails(fails_at: str, caplog: pytest.LogCaptureFixture) -> None:
    told = check(Broken(fails_at))
    assert told
    assert all(one.delivered if fails_at == "typing" else one.lost for one in told)
    assert "sk-secret" not in caplog.text
    # The typing indicator is only asked for if its task runs before the message is out.
    assert caplog.records or fails_at == "typing"


@pytest.mark.parametrize(
    ("owner", "name"),
    [
        (Lane, "_serve"), (Lane, "_send_all"), (Lane, "run"), (StreamQueue, "work"),
        (StreamQueue, "fit"), (Typing, "_rest"), (Typing, "before_message"),
        (Typing, "after_message"), (Typing, "_show"), (Pacer, "_of"),
    ],
)  # fmt: skip
def test_a_fault_of_ours(monkeypatch: pytest.MonkeyPatch, owner: Any, name: str) -> None:
    faulty(monkeypatch, owner, name)
    check(FakeSender(BAD))


def test_a_driver_that_fails_at_its_receipts(caplog: pytest.LogCaptureFixture) -> None:
    def heard(_: Receipt) -> None:
        raise OSError("sk-secret")

    assert [one.delivered for one in check(FakeSender(BAD), heard)] == [True] * 4
    assert "processing a receipt failed" in caplog.text
    assert "sk-secret" not in caplog.text


def test_typing_pauses_grow_with_the_text_and_a_stop_ends_them() -> None:
    from minamo.shell.delivery.typing import pause_s

    assert [pause_s(n) for n in (0, 100, 400, 9_999)] == [0.75, 1.0, 4.0, 4.0]
    sender = FakeSender()

    async def story(lanes: Lanes) -> None:
        manner = SendOptions(pause_s=pause_s)
        source = TextQueue(["a", "b" * 300, "c" * 300])
        one = lanes.open(1, sender, source, stream_id="s", options=manner)
        one.deliver()
        await anyio.sleep(1)
        one.hurry()
        await one.finish()

    with_lanes(story)
    (first, _), (second, _), (third, _) = sender.posts
    assert first < 0.1
    assert second == pytest.approx(1.0, abs=0.05)
    assert third == pytest.approx(second + 0.1, abs=0.05)


def test_typing_is_shown_while_text_is_awaited_and_never_after_the_last_message() -> None:
    sender, source = FakeSender(latency_s=0.2), TextQueue()

    async def story(lanes: Lanes) -> None:
        one = lanes.open(1, sender, source, stream_id="s", typing=True)
        await anyio.sleep(20)
        assert len(sender.typed) == 3
        source.put("a")
        one.deliver()
        await anyio.sleep(4)
        assert len(sender.typed) == 4  # a message ends what is shown
        source.put("b")
        one.deliver()
        await one.finish()
        sent = sender.posts[-1][0]
        await anyio.sleep(30)
        assert all(at + 0.2 <= sent for at in sender.typed)

    with_lanes(story)


def test_typing_that_is_refused_is_not_asked_for_again() -> None:
    class Mute(FakeSender):
        async def typing(self, channel_id: int) -> SendOutcome:
            self.typed.append(anyio.current_time())
            return Rejected("no_permission")

    sender = Mute()

    async def story(lanes: Lanes) -> None:
        one = lanes.open(1, sender, TextQueue(), stream_id="s", typing=True)
        await anyio.sleep(60)
        assert len(sender.typed) == 1
        assert one.typing is not None
        assert one.typing.errors == 1
        one.close()

    with_lanes(story)


def test_a_call_for_the_indicator_that_hangs_holds_no_message_up_for_long() -> None:
    class Stuck(FakeSender):
        async def typing(self, channel_id: int) -> SendOutcome:
            await anyio.sleep(30)
            return await super().typing(channel_id)

    sender = Stuck()

    async def story(lanes: Lanes) -> None:
        one = lanes.open(1, sender, TextQueue(["a"]), stream_id="s", typing=True)
        one.deliver()
        await one.finish()

    with_lanes(story)
    assert sender.posts[0][0] <= 1.5
