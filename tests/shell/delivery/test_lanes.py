"""Lanes in virtual time: order, merging, back-pressure, message limits."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import anyio
import pytest

from minamo.core.messages import OutgoingMessage, Receipt
from minamo.shell.delivery import queue as dispatching
from minamo.shell.delivery.delivery import ATTEMPTS_MAX, NONCE_MAX, Composer, nonce_prefix
from minamo.shell.delivery.interfaces import (
    CLOSED,
    Accepted,
    Deleted,
    PlainMessage,
    Rejected,
    RetryLater,
    SendOptions,
    SendOutcome,
    TextQueue,
    Unknown,
)
from minamo.shell.delivery.lanes import Lanes, open_lanes
from minamo.shell.delivery.pacing import Pacer
from minamo.shell.delivery.queue import StreamQueue
from support.fake_discord import (
    FakeSender,
    answers,
    outbox,
    run_with_virtual_clock,
    segment,
    send,
    with_lanes,
)


def test_p17_messages_arrive_in_order_one_at_a_time_with_receipts() -> None:
    sender = FakeSender()

    async def story(lanes: Lanes) -> None:
        receipts = await send(lanes, sender, *"abcdef")
        assert sender.texts == list("abcdef")
        assert sender.out_max == 1
        assert [one.message_id for one in receipts] == [1, 2, 3, 4, 5, 6]
        assert [one.index for one in receipts] == [0, 1, 2, 3, 4, 5]
        assert {one.outcome for one in receipts} == {"delivered"}
        assert all(one.accepted_at <= (one.sent_at or 0) <= one.settled_at for one in receipts)

    with_lanes(story)


def test_p17_two_streams_in_one_channel_never_interleave() -> None:
    sender = FakeSender()

    async def story(lanes: Lanes) -> None:
        first, second = TextQueue(["a"]), TextQueue(["x"])
        one = lanes.open(1, sender, first, stream_id="one")
        two = lanes.open(1, sender, second, stream_id="two")
        for letter in "bc":
            await anyio.sleep(5)
            first.put(letter)
            second.put("y")
            one.deliver()
            two.deliver()
        two.close()
        await one.finish()
        await two.finish()
        assert sender.texts == ["a", "b", "c", "x", "y", "y"]

    with_lanes(story)


def test_a_stalled_channel_does_not_hold_up_another() -> None:
    slow, quick = FakeSender(1, latency_s=100), FakeSender(2)

    async def story(lanes: Lanes) -> None:
        await send(lanes, FakeSender(3), "opens the route")
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(send, lanes, slow, "late")
            with anyio.fail_after(2):
                await send(lanes, quick, "soon")

    with_lanes(story)


def test_an_idle_lane_sends_each_segment_and_one_that_is_behind_merges() -> None:
    sender, source = FakeSender(latency_s=1.0), outbox()

    async def story(lanes: Lanes) -> None:
        one = lanes.open(1, sender, source, stream_id="s")
        for text in ("One.\n", "Two.\n", "Three.\n", "Four.\n"):
            source.put(segment(text))
            one.deliver()
        await one.answered()
        await anyio.sleep(10)
        source.put(segment("Five."))
        one.deliver()
        await one.finish()

    with_lanes(story)
    assert sender.texts == ["One.", "Two.\nThree.\nFour.", "Five."]


def test_p16_a_full_lane_makes_the_driver_wait() -> None:
    sender, source = FakeSender(latency_s=60.0), TextQueue()
    most = 0

    async def story(lanes: Lanes) -> None:
        nonlocal most
        one = lanes.open(1, sender, source, stream_id="s")
        for _ in range(30):
            await one.room()
            source.put("x" * 500)
            one.deliver()
            most = max(most, one.held)
        began = anyio.current_time()
        await one.room()
        assert anyio.current_time() - began > 0
        await one.finish()

    with_lanes(story, drain_s=5000)
    assert most == dispatching.HELD_MAX
    assert len(sender.posts) == 30


def test_idle_lanes_are_gone() -> None:
    async def story(lanes: Lanes) -> None:
        for place in range(50):
            await send(lanes, FakeSender(place), "a", stream_id=str(place))
        await anyio.sleep(1)
        assert len(lanes) == 0

    with_lanes(story)


def test_the_message_limit_is_told_once() -> None:
    told: list[str] = []
    sender, source = FakeSender(), outbox(send_message_limit=2)

    async def story(lanes: Lanes) -> None:
        one = lanes.open(1, sender, source, stream_id="s", on_limit=lambda: told.append("limit"))
        for _ in range(4):
            source.put(segment("Some words.\n"))
            one.deliver()
            await anyio.sleep(5)
        await one.finish()

    with_lanes(story)
    assert len(sender.posts) == 2
    assert told == ["limit"]


def test_what_is_within_the_limit_is_sent_before_the_limit_is_told() -> None:
    sender, source = FakeSender(), outbox(send_message_limit=2, max_message_length=100)

    async def story(lanes: Lanes) -> None:
        opened: list[StreamQueue] = []
        one = lanes.open(
            1, sender, source, stream_id="s", on_limit=lambda: opened[0].withdraw("limit")
        )
        opened.append(one)
        source.put(segment("Some words. " * 100))
        one.deliver()
        receipts = await one.finish()
        assert [receipt.delivered for receipt in receipts] == [True, True]

    with_lanes(story)
    assert len(sender.posts) == 2


def test_only_the_first_message_replies_and_reprs_hold_no_text() -> None:
    sender = FakeSender()

    async def story(lanes: Lanes) -> None:
        manner = SendOptions(reply_to=5)
        one = lanes.open(1, sender, TextQueue(["hush", "hush"]), stream_id="s", options=manner)
        one.deliver()
        shown = [repr(one), repr(lanes), repr(lanes.pacer), repr(one.fitted)]
        receipts = await one.finish()
        shown += [repr(receipts), repr(sender.posts[0][1])]
        assert [post.reply_to for _, post in sender.posts] == [5, None]
        assert not any("hush" in text for text in shown)

    with_lanes(story)


def test_p18_nonces_are_stable_short_and_all_different() -> None:
    def nonces(stream_id: str) -> list[str | None]:
        composer = Composer(1, FakeSender(), SendOptions(), stream_id)
        return [composer.compose(PlainMessage("a"), print, 0.0).post.nonce for _ in range(2000)]

    made = [nonce for stream_id in ("a", "b", "\ud800") for nonce in nonces(stream_id)]
    assert len(set(made)) == 6000
    assert len(nonce_prefix("\ud800") + "9" * 8) <= NONCE_MAX
    assert nonces("a") == made[:2000]


@pytest.mark.parametrize(
    ("script", "outcome", "reason", "attempts"),
    [
        ([None], "delivered", "", 1),
        ([Deleted()], "delivered", "", 1),
        ([Rejected("no_permission")], "refused", "no_permission", 1),
        ([RetryLater("rate_limited", 3), None], "delivered", "", 2),
        ([RetryLater("rate_limited", 3)], "not_sent", "rate_limited", ATTEMPTS_MAX),
        ([RetryLater("rate_limited", 3_600)], "not_sent", "rate_limited", 1),
        ([CLOSED], "not_sent", "closed", 1),
        ([Unknown("connection"), None], "delivered", "", 2),
        ([Unknown("connection"), Deleted()], "delivered", "", 2),
        ([Unknown("connection"), RetryLater("rate_limited", 3), None], "delivered", "", 3),
        ([Unknown("connection"), Rejected("no_permission")], "unknown", "no_permission", 2),
        ([Unknown("connection"), CLOSED], "unknown", "closed", 2),
        ([Unknown("connection")], "unknown", "connection", ATTEMPTS_MAX),
    ],
)
def test_every_answer_has_its_outcome(
    script: list[SendOutcome | None], outcome: str, reason: str, attempts: int
) -> None:
    sender = answers(*script)

    async def story(lanes: Lanes) -> None:
        (receipt,) = await send(lanes, sender, "hello")
        assert (receipt.outcome, receipt.reason, receipt.attempts) == (outcome, reason, attempts)
        (after,) = await send(lanes, FakeSender(), "next", stream_id="t")
        assert after.delivered

    with_lanes(story)


def test_p19_without_a_nonce_a_lost_answer_is_not_asked_about() -> None:
    sender = answers(Unknown("connection"))
    sender.has_nonce = False

    async def story(lanes: Lanes) -> None:
        (receipt,) = await send(lanes, sender, "hello")
        assert (receipt.outcome, receipt.attempts, receipt.nonce) == ("unknown", 1, None)

    with_lanes(story)


def test_a_nonce_that_may_be_forgotten_is_not_trusted() -> None:
    sender = answers(Unknown("connection"))
    sender.latency_s = 70.0

    async def story(lanes: Lanes) -> None:
        (receipt,) = await send(lanes, sender, "hello")
        assert (receipt.outcome, receipt.attempts) == ("unknown", 2)

    with_lanes(story, drain_s=500)


def test_the_echo_ends_reconciling_at_once() -> None:
    sender = answers(Unknown("connection"))

    async def story(lanes: Lanes) -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(send, lanes, sender, "hello")
            await anyio.sleep(0.2)
            lanes.echoed(1, nonce_prefix("someone else's") + "0", 66)
            lanes.echoed(1, nonce_prefix("s") + "0", 77)
        assert sender.calls == 1

    with_lanes(story)


@pytest.mark.parametrize("after_s", [0.0, 0.05, 0.15, 1.0])
def test_a_stop_takes_back_what_is_not_out(after_s: float) -> None:
    sender = FakeSender()
    heard: list[Receipt] = []

    async def story(lanes: Lanes) -> None:
        source = TextQueue(["a", "b", "c", "d", "e", "f", "g"])
        one = lanes.open(1, sender, source, stream_id="s", on_receipt=heard.append)
        one.deliver()
        await anyio.sleep(after_s)
        one.withdraw("stop")
        sent = sender.calls
        with anyio.fail_after(0.2):  # what is out finishes; nothing waits for a pace
            await one.finish()
        assert sender.calls == sent
        assert sum(receipt.delivered for receipt in heard) == sent
        assert sum(receipt.characters for receipt in heard) == 7
        (receipt,) = await send(lanes, FakeSender(), "next", stream_id="t")
        assert receipt.delivered

    with_lanes(story)


def test_what_is_withdrawn_while_out_is_not_tried_again() -> None:
    for lost in (Unknown("connection"), RetryLater("rate_limited", 1)):
        sender = answers(lost)

        async def story(lanes: Lanes, sender: FakeSender = sender) -> None:
            one = lanes.open(1, sender, TextQueue(["a"]), stream_id="s")
            one.deliver()
            await anyio.sleep(0.05)
            one.withdraw("follow_up")
            (receipt,) = await one.finish()
            assert (receipt.lost, receipt.attempts) == (True, 1)

        with_lanes(story)


def test_a_stop_ends_reconciling() -> None:
    sender = answers(Unknown("connection"))

    async def story(lanes: Lanes) -> None:
        one = lanes.open(1, sender, TextQueue(["a"]), stream_id="s")
        one.deliver()
        await anyio.sleep(0.2)
        one.withdraw("stop")
        (receipt,) = one.receipts
        assert (receipt.outcome, receipt.reason) == ("unknown", "stop")
        one.close()

    with_lanes(story)


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
