"""Short ways to use lanes with a fake sender, in virtual time."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from minamo.core.messages import OutgoingMessage, Receipt
from minamo.shell.delivery.interfaces import SendOutcome, TextQueue
from minamo.shell.delivery.lanes import Lanes, open_lanes
from senders import FakeSender, run_with_virtual_clock


def with_lanes(story: Callable[[Lanes], Awaitable[None]], drain_s: float = 60.0) -> None:
    async def main() -> None:
        async with open_lanes(drain_s=drain_s) as lanes:
            await story(lanes)

    run_with_virtual_clock(main)


async def send(
    lanes: Lanes, sender: FakeSender, *texts: str, stream_id: str = "s"
) -> tuple[Receipt, ...]:
    source = TextQueue(list(texts))
    async with lanes.open(sender.place, sender, source, stream_id=stream_id) as one:
        one.deliver()
        return await one.finish()


def answers(*script: SendOutcome | None) -> FakeSender:
    def say(number: int, post: OutgoingMessage) -> SendOutcome | None:
        return script[min(number, len(script)) - 1]

    return FakeSender(script=say)
