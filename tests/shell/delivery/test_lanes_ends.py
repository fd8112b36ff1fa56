"""Lanes in virtual time: callers that are cancelled, and closing."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import anyio
import pytest

from minamo.core.messages import OutgoingMessage, Receipt
from minamo.shell.delivery.interfaces import Accepted, SendOutcome, TextQueue
from minamo.shell.delivery.lanes import Lanes, open_lanes
from minamo.shell.delivery.pacing import Pacer
from minamo.shell.delivery.queue import StreamQueue
from support.fake_discord import FakeSender, run_with_virtual_clock, send, with_lanes


def test_p14_a_caller_cancelled_at_every_moment_leaves_the_lane_working() -> None:
    """P14: the waits of a caller are all cancelled once, on a clock of 10 ms steps."""

    async def main() -> None:
        for step in range(60):
            sender = FakeSender(latency_s=0.2)
            async with open_lanes(pacer=Pacer()) as lanes:
                with anyio.move_on_after(step * 0.05):
                    source = TextQueue(["x" * 1_990] * 6)
                    async with lanes.open(1, sender, source, stream_id="s") as one:
                        one.deliver()
                        await one.room()
                        await one.finish()
                assert sender.out <= 1
                (receipt,) = await send(lanes, sender, "next", stream_id="t")
                assert receipt.delivered
                assert sender.texts[-1] == "next"
                assert sender.out_max == 1
                assert (await send(lanes, FakeSender(2), "other"))[0].delivered

    run_with_virtual_clock(main)


def test_all_who_wait_for_one_queue_are_woken_each_in_its_time() -> None:
    ended: dict[str, float] = {}

    async def story(lanes: Lanes) -> None:
        began = anyio.current_time()

        async def wait(name: str, what: Callable[[], Awaitable[object]]) -> None:
            await what()
            ended[name] = anyio.current_time() - began

        source = TextQueue(["x" * 1_990] * 6)
        one = lanes.open(1, FakeSender(latency_s=1.0), source, stream_id="s")
        one.deliver()
        async with anyio.create_task_group() as tasks:
            for name, what in (("room", one.room), ("finish", one.finish), ("tidy", one.tidy)):
                tasks.start_soon(wait, name, what)
            with anyio.move_on_after(0.5):  # one who gives up holds up no other
                await one.room()

    with_lanes(story)
    assert 1.0 < ended["room"] < ended["finish"] == ended["tidy"]


@pytest.mark.parametrize("drain_s", [0.0, 0.05, 1.0, 3.0, 60.0])
def test_closing_drains_in_time_and_reports_the_rest(drain_s: float) -> None:
    sender = FakeSender()
    heard: list[Receipt] = []
    took = 0.0

    async def main() -> None:
        nonlocal took
        async with open_lanes() as lanes:
            source = TextQueue([str(n) for n in range(10)])
            one = lanes.open(1, sender, source, stream_id="s", on_receipt=heard.append)
            one.deliver()
            await anyio.sleep(0.03)
            began = anyio.current_time()
            told = await lanes.close(drain_s)
            took = anyio.current_time() - began
            assert [receipt for receipt in heard if receipt.lost] == told
            source.put("late")
            one.deliver()
            assert heard[-1].reason == "closed"
            assert not lanes.open(1, sender, TextQueue(), stream_id="t").busy

    run_with_virtual_clock(main)
    assert took <= drain_s + 0.01
    assert sum(receipt.characters for receipt in heard[:-1]) == 10
    assert sender.texts == [str(n) for n in range(len(sender.posts))]
    assert len(sender.posts) + sender.out == sum(one.delivered for one in heard) or drain_s < 1


def test_a_call_that_never_ends_does_not_hold_up_closing() -> None:
    sender = FakeSender(latency_s=1e6)
    told: list[Receipt] = []

    async def main() -> None:
        async with open_lanes(drain_s=5.0) as lanes:
            one = lanes.open(
                1, sender, TextQueue(["a", "b"]), stream_id="s", on_receipt=told.append
            )
            one.deliver()
            await anyio.sleep(1)
        assert anyio.current_time() < 1e5

    run_with_virtual_clock(main)
    assert [one.outcome for one in told] == ["unknown", "not_sent"]


def test_a_program_that_is_cancelled_still_drains() -> None:
    sender = FakeSender()

    async def main() -> None:
        with anyio.move_on_after(0.05):
            async with open_lanes(drain_s=30) as lanes:
                lanes.open(1, sender, TextQueue(list("abcdefgh")), stream_id="s").deliver()
                await anyio.sleep_forever()

    run_with_virtual_clock(main)
    assert sender.texts == list("abcdefgh")


def test_a_dispatch_is_left_in_order_when_its_block_ends() -> None:
    sender = FakeSender()

    async def story(lanes: Lanes) -> None:
        async with lanes.open(1, sender, TextQueue(["a"]), stream_id="s") as one:
            assert isinstance(one, StreamQueue)
            one.deliver()
        await one.answered()
        assert sender.texts == ["a"]
        assert one.receipts[0].message_id == Accepted(1).message_id

    with_lanes(story)


def test_a_sender_that_breaks_ends_its_own_lane_only() -> None:
    """A sender must not raise; if one does, no other channel and no later reply may pay for it."""

    class Broken(FakeSender):
        async def create(self, post: OutgoingMessage) -> SendOutcome:
            raise TypeError("secret")

    async def main() -> None:
        async with open_lanes() as lanes:
            other = FakeSender(2, latency_s=1.0)
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(send, lanes, other, "elsewhere")
                with anyio.fail_after(5):
                    (receipt,) = await send(lanes, Broken(), "never")
            assert (receipt.outcome, receipt.reason) == ("unknown", "broken")
            assert other.texts == ["elsewhere"]
            assert (await send(lanes, FakeSender(), "later"))[0].delivered

    run_with_virtual_clock(main)
