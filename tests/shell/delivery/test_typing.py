"""Lanes in virtual time: typing, shown and pretended."""

from __future__ import annotations

import anyio
import pytest

from minamo.shell.delivery.interfaces import Rejected, SendOptions, SendOutcome, TextQueue
from minamo.shell.delivery.lanes import Lanes
from support.fake_discord import FakeSender, with_lanes


def test_typing_pauses_grow_with_the_text_and_a_stop_ends_them() -> None:
    from minamo.shell.delivery.typing import pause_s

    assert [pause_s(n) for n in (0, 100, 400, 9_999)] == [0.75, 1.0, 4.0, 4.0]
    sender = FakeSender()

    async def story(lanes: Lanes) -> None:
        manner = SendOptions(pause_s=pause_s)
        source = TextQueue(["a", "b" * 300, "c" * 300])
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
