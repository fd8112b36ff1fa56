"""A stream without Discord: the real loop, machine and clocks, and messages in a list."""

from __future__ import annotations

import anyio
from attrs import frozen

from minamo.core.config import StreamConfig
from minamo.core.result import StreamResult
from minamo.core.stream import Stream
from minamo.shell.drive import Driver
from minamo.shell.idle import Idle
from minamo.shell.outlet import Source
from minamo.shell.stopping.wishes import Wish, Wishes


@frozen
class Streamed:
    """What came of it."""

    result: StreamResult
    messages: tuple[str, ...]
    seconds: float
    """How long it took, by the clock of the event loop."""


async def stream_alone(
    source: Source, config: StreamConfig | None = None, *, stop_after_s: float | None = None
) -> Streamed:
    """Carry *source*, anything `Client.stream` takes, to an outcome; somebody may press Stop."""
    stream = Stream(config)
    said: list[str] = []
    wishes = Wishes()

    async def press() -> None:
        if stop_after_s is not None:
            await anyio.sleep(stop_after_s)
            wishes.put(Wish(kind="user", requester="somebody"))

    began = anyio.current_time()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(press)
        await Driver(stream, wishes=wishes).run(source, Idle(stream, said.append))
        tasks.cancel_scope.cancel()
    return Streamed(stream.result(), tuple(said), anyio.current_time() - began)
