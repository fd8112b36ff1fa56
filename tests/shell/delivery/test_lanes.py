"""Lanes in virtual time: order, merging, back-pressure, message limits."""

from __future__ import annotations

import anyio

from minamo.shell.delivery import queue as dispatching
from minamo.shell.delivery.interfaces import SendOptions, TextQueue
from minamo.shell.delivery.lanes import Lanes
from minamo.shell.delivery.queue import StreamQueue
from support.fake_discord import FakeSender, outbox, segment, send, with_lanes


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
        one = lanes.open(1, sender, TextQueue(["hush", "hush"]), stream_id="s", manner=manner)
        one.deliver()
        shown = [repr(one), repr(lanes), repr(lanes.pacer), repr(one.fitted)]
        receipts = await one.finish()
        shown += [repr(receipts), repr(sender.posts[0][1])]
        assert [post.reply_to for _, post in sender.posts] == [5, None]
        assert not any("hush" in text for text in shown)

    with_lanes(story)
