"""One channel that fails, by whatever fault, never ends the others."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from minamo.core.messages import Receipt
from minamo.shell.delivery.interfaces import TextQueue
from minamo.shell.delivery.lanes import Lane, Lanes, open_lanes
from minamo.shell.delivery.pacing import Pacer
from minamo.shell.delivery.queue import StreamQueue
from minamo.shell.delivery.typing import Typing
from support.fake_discord import FakeSender, run_with_virtual_clock

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
