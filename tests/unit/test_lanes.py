"""Lanes in virtual time: order, merging, back-pressure, stops, cancellation, closing."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import anyio
import pytest

from minamo.shell import dispatch as dispatching
from minamo.shell.delivery import ATTEMPTS_MAX
from minamo.shell.dispatch import Dispatch
from minamo.shell.lanes import Lanes, open_lanes
from minamo.shell.pacing import Pacer
from minamo.shell.receipts import NONCE_MAX, Receipt, nonce_for
from minamo.shell.sender import CLOSED, Answer, Lost, Post, PutOff, Rejected, Took, Vanished
from minamo.shell.source import Manner, Texts
from senders import FakeSender, outbox, segment, virtually


def with_lanes(story: Callable[[Lanes], Awaitable[None]], drain_s: float = 60.0) -> None:
    async def main() -> None:
        async with open_lanes(drain_s=drain_s) as lanes:
            await story(lanes)

    virtually(main)


async def send(
    lanes: Lanes, sender: FakeSender, *texts: str, stream_id: str = "s", **options: object
) -> tuple[Receipt, ...]:
    source = Texts(list(texts))
    async with lanes.open(sender.place, sender, source, stream_id=stream_id) as one:
        one.deliver()
        return await one.finish()


def test_messages_arrive_in_order_one_at_a_time_with_receipts() -> None:
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


def test_two_streams_in_one_channel_never_interleave() -> None:
    sender = FakeSender()

    async def story(lanes: Lanes) -> None:
        first, second = Texts(["a"]), Texts(["x"])
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


def test_a_full_lane_makes_the_driver_wait() -> None:
    sender, source = FakeSender(latency_s=60.0), Texts()
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


def test_nonces_are_stable_short_and_all_different() -> None:
    made = {nonce_for(stream, index) for stream in ("a", "b", "\ud800") for index in range(2000)}

    assert len(made) == 6000
    assert max(map(len, made)) <= NONCE_MAX
    assert nonce_for("a", 7) == nonce_for("a", 7)


def answers(*script: Answer | None) -> FakeSender:
    def say(number: int, post: Post) -> Answer | None:
        return script[min(number, len(script)) - 1]

    return FakeSender(script=say)


@pytest.mark.parametrize(
    ("script", "outcome", "reason", "attempts"),
    [
        ([None], "delivered", "", 1),
        ([Vanished()], "delivered", "", 1),
        ([Rejected("no_permission")], "refused", "no_permission", 1),
        ([PutOff("rate_limited", 3), None], "delivered", "", 2),
        ([PutOff("rate_limited", 3)], "not_sent", "rate_limited", ATTEMPTS_MAX),
        ([PutOff("rate_limited", 3_600)], "not_sent", "rate_limited", 1),
        ([CLOSED], "not_sent", "closed", 1),
        ([Lost("connection"), None], "delivered", "", 2),
        ([Lost("connection"), Vanished()], "delivered", "", 2),
        ([Lost("connection"), PutOff("rate_limited", 3), None], "delivered", "", 3),
        ([Lost("connection"), Rejected("no_permission")], "unknown", "no_permission", 2),
        ([Lost("connection"), CLOSED], "unknown", "closed", 2),
        ([Lost("connection")], "unknown", "connection", ATTEMPTS_MAX),
    ],
)
def test_every_answer_has_its_outcome(
    script: list[Answer | None], outcome: str, reason: str, attempts: int
) -> None:
    sender = answers(*script)

    async def story(lanes: Lanes) -> None:
        (receipt,) = await send(lanes, sender, "hello")
        assert (receipt.outcome, receipt.reason, receipt.attempts) == (outcome, reason, attempts)
        (after,) = await send(lanes, FakeSender(), "next", stream_id="t")
        assert after.delivered

    with_lanes(story)


def test_without_a_nonce_a_lost_answer_is_not_asked_about() -> None:
    sender = answers(Lost("connection"))
    sender.has_nonce = False

    async def story(lanes: Lanes) -> None:
        (receipt,) = await send(lanes, sender, "hello")
        assert (receipt.outcome, receipt.attempts, receipt.nonce) == ("unknown", 1, None)

    with_lanes(story)


def test_a_nonce_that_may_be_forgotten_is_not_trusted() -> None:
    sender = answers(Lost("connection"))
    sender.latency_s = 70.0

    async def story(lanes: Lanes) -> None:
        (receipt,) = await send(lanes, sender, "hello")
        assert (receipt.outcome, receipt.attempts) == ("unknown", 2)

    with_lanes(story, drain_s=500)


def test_the_echo_ends_reconciling_at_once() -> None:
    sender = answers(Lost("connection"))

    async def story(lanes: Lanes) -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(send, lanes, sender, "hello")
            await anyio.sleep(0.2)
            lanes.echoed(1, nonce_for("someone else's", 0), 66)
            lanes.echoed(1, nonce_for("s", 0), 77)
        assert sender.calls == 1

    with_lanes(story)


@pytest.mark.parametrize("after_s", [0.0, 0.05, 0.15, 1.0])
def test_a_stop_takes_back_what_is_not_out(after_s: float) -> None:
    sender = FakeSender()
    heard: list[Receipt] = []

    async def story(lanes: Lanes) -> None:
        source = Texts(["a", "b", "c", "d", "e", "f", "g"])
        one = lanes.open(1, sender, source, stream_id="s", heard=heard.append)
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
    for lost in (Lost("connection"), PutOff("rate_limited", 1)):
        sender = answers(lost)

        async def story(lanes: Lanes, sender: FakeSender = sender) -> None:
            one = lanes.open(1, sender, Texts(["a"]), stream_id="s")
            one.deliver()
            await anyio.sleep(0.05)
            one.withdraw("follow_up")
            (receipt,) = await one.finish()
            assert (receipt.lost, receipt.attempts) == (True, 1)

        with_lanes(story)


def test_a_stop_ends_reconciling() -> None:
    sender = answers(Lost("connection"))

    async def story(lanes: Lanes) -> None:
        one = lanes.open(1, sender, Texts(["a"]), stream_id="s")
        one.deliver()
        await anyio.sleep(0.2)
        one.withdraw("stop")
        (receipt,) = one.receipts
        assert (receipt.outcome, receipt.reason) == ("unknown", "stop")
        one.close()

    with_lanes(story)


def test_a_caller_cancelled_at_every_moment_leaves_the_lane_working() -> None:
    """P14: the waits of a caller are all cancelled once, on a clock of 10 ms steps."""

    async def main() -> None:
        for step in range(60):
            sender = FakeSender(latency_s=0.2)
            async with open_lanes(pacer=Pacer()) as lanes:
                with anyio.move_on_after(step * 0.05):
                    source = Texts(["x" * 1_990] * 6)
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

    virtually(main)


@pytest.mark.parametrize("drain_s", [0.0, 0.05, 1.0, 3.0, 60.0])
def test_closing_drains_in_time_and_reports_the_rest(drain_s: float) -> None:
    sender = FakeSender()
    heard: list[Receipt] = []
    took = 0.0

    async def main() -> None:
        nonlocal took
        async with open_lanes() as lanes:
            source = Texts([str(n) for n in range(10)])
            one = lanes.open(1, sender, source, stream_id="s", heard=heard.append)
            one.deliver()
            await anyio.sleep(0.03)
            began = anyio.current_time()
            told = await lanes.close(drain_s)
            took = anyio.current_time() - began
            assert [receipt for receipt in heard if receipt.lost] == told
            source.put("late")
            one.deliver()
            assert heard[-1].reason == "closed"
            assert not lanes.open(1, sender, Texts(), stream_id="t").busy

    virtually(main)
    assert took <= drain_s + 0.01
    assert sum(receipt.characters for receipt in heard[:-1]) == 10
    assert sender.texts == [str(n) for n in range(len(sender.posts))]
    assert len(sender.posts) + sender.out == sum(one.delivered for one in heard) or drain_s < 1


def test_a_call_that_never_ends_does_not_hold_up_closing() -> None:
    sender = FakeSender(latency_s=1e6)
    told: list[Receipt] = []

    async def main() -> None:
        async with open_lanes(drain_s=5.0) as lanes:
            one = lanes.open(1, sender, Texts(["a", "b"]), stream_id="s", heard=told.append)
            one.deliver()
            await anyio.sleep(1)
        assert anyio.current_time() < 1e5

    virtually(main)
    assert [one.outcome for one in told] == ["unknown", "not_sent"]


def test_a_program_that_is_cancelled_still_drains() -> None:
    sender = FakeSender()

    async def main() -> None:
        with anyio.move_on_after(0.05):
            async with open_lanes(drain_s=30) as lanes:
                lanes.open(1, sender, Texts(list("abcdefgh")), stream_id="s").deliver()
                await anyio.sleep_forever()

    virtually(main)
    assert sender.texts == list("abcdefgh")


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
        one = lanes.open(
            1, sender, source, stream_id="s", limit_reached=lambda: told.append("limit")
        )
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
        opened: list[Dispatch] = []
        one = lanes.open(
            1, sender, source, stream_id="s", limit_reached=lambda: opened[0].withdraw("limit")
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
        manner = Manner(reply_to=5)
        one = lanes.open(1, sender, Texts(["hush", "hush"]), stream_id="s", manner=manner)
        one.deliver()
        shown = [repr(one), repr(lanes), repr(lanes.pacer), repr(one.first)]
        receipts = await one.finish()
        shown += [repr(receipts), repr(sender.posts[0][1])]
        assert [post.reply_to for _, post in sender.posts] == [5, None]
        assert not any("hush" in text for text in shown)

    with_lanes(story)


def test_typing_pauses_grow_with_the_text_and_a_stop_ends_them() -> None:
    from minamo.core.config import HumanizerDegree
    from minamo.shell.typing import pause_for, pause_s

    assert pause_for(HumanizerDegree.NONE) is None
    assert [pause_s(n) for n in (0, 100, 400, 9_999)] == [0.75, 1.0, 4.0, 4.0]
    sender = FakeSender()

    async def story(lanes: Lanes) -> None:
        manner = Manner(pause_s=pause_for(HumanizerDegree.LOW))
        source = Texts(["a", "b" * 300, "c" * 300])
        one = lanes.open(1, sender, source, stream_id="s", manner=manner)
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
    sender, source = FakeSender(latency_s=0.2), Texts()

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
        async def typing(self, channel_id: int) -> Answer:
            self.typed.append(anyio.current_time())
            return Rejected("no_permission")

    sender = Mute()

    async def story(lanes: Lanes) -> None:
        one = lanes.open(1, sender, Texts(), stream_id="s", typing=True)
        await anyio.sleep(60)
        assert len(sender.typed) == 1
        assert one.typing is not None
        assert one.typing.errors == 1
        one.close()

    with_lanes(story)


def test_a_dispatch_is_left_in_order_when_its_block_ends() -> None:
    sender = FakeSender()

    async def story(lanes: Lanes) -> None:
        async with lanes.open(1, sender, Texts(["a"]), stream_id="s") as one:
            assert isinstance(one, Dispatch)
            one.deliver()
        await one.answered()
        assert sender.texts == ["a"]
        assert one.receipts[0].message_id == Took(1).message_id

    with_lanes(story)
