"""Lanes in virtual time: faults of the parts around them, and the typing that is shown meanwhile."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from minamo.core.messages import Receipt
from minamo.shell.delivery.interfaces import Rejected, SendOptions, SendOutcome, TextQueue
from minamo.shell.delivery.lanes import Lane, Lanes, open_lanes
from minamo.shell.delivery.pacing import Pacer
from minamo.shell.delivery.queue import StreamQueue
from minamo.shell.delivery.typing import Typing
from support.fake_discord import FakeSender, run_with_virtual_clock, with_lanes

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
