"""A Discord in memory, on whatever clock the test runs, and short ways to use lanes with it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import anyio
from attrs import define, field

from minamo.core.accounting.outbox import Outbox
from minamo.core.accounting.spans import Ledger
from minamo.core.config import StreamConfig
from minamo.core.lexing.segmenter import Run, Segment
from minamo.core.messages import Kind, OutgoingMessage, Receipt
from minamo.shell.delivery.interfaces import Accepted, SendOutcome, TextQueue
from minamo.shell.delivery.lanes import Lanes, open_lanes
from minamo.testing import run_with_virtual_clock as run_with_virtual_clock

Script = Callable[[int, OutgoingMessage], SendOutcome | None]


@define(eq=False)
class FakeSender:
    """Takes everything after `latency_s`, unless `script` answers instead."""

    place: int = 1
    latency_s: float = 0.1
    script: Script | None = None
    has_nonce: bool = True
    posts: list[tuple[float, OutgoingMessage]] = field(factory=list)
    edits: list[tuple[float, OutgoingMessage, int]] = field(factory=list)
    deleted: list[int] = field(factory=list)
    typed: list[float] = field(factory=list)
    threads: list[tuple[int, int, str]] = field(factory=list)
    thread: SendOutcome = field(factory=lambda: Accepted(777))
    out: int = 0
    out_max: int = 0
    calls: int = 0

    @property
    def texts(self) -> list[str]:
        return [post.text for _, post in self.posts]

    def route(self, kind: Kind) -> str:
        return kind

    async def delete(self, channel_id: int, message_id: int) -> SendOutcome:
        self.deleted.append(message_id)
        return Accepted(None)

    async def create(self, post: OutgoingMessage) -> SendOutcome:
        return await self._call(post, lambda at: self.posts.append((at, post)))

    async def edit(self, post: OutgoingMessage, message_id: int) -> SendOutcome:
        return await self._call(post, lambda at: self.edits.append((at, post, message_id)))

    async def start_thread(self, channel_id: int, message_id: int, name: str) -> SendOutcome:
        self.threads.append((channel_id, message_id, name))
        return self.thread

    async def typing(self, channel_id: int) -> SendOutcome:
        self.typed.append(anyio.current_time())
        await anyio.sleep(self.latency_s)
        return Accepted(None)

    async def _call(self, post: OutgoingMessage, note: Callable[[float], object]) -> SendOutcome:
        self.out += 1
        self.out_max = max(self.out_max, self.out)
        began = anyio.current_time()
        self.calls += 1
        number = self.calls
        try:
            await anyio.sleep(self.latency_s)
            answer = self.script(number, post) if self.script else None
        finally:
            self.out -= 1
        if answer is None or isinstance(answer, Accepted):
            note(began)
        return answer or Accepted(number)


def outbox(*texts: str, **settings: Any) -> Outbox:
    """An outbox in which segments wait."""
    made = Outbox(StreamConfig(**settings), Ledger())
    for text in texts:
        made.put(segment(text))
    return made


def segment(text: str) -> Segment:
    return Segment(text, (Run(0, 0),))


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
