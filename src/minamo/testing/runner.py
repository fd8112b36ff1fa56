"""A stream without Discord: the real driver, machine and timeouts, with messages in a list.

Also a runner with a virtual clock.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

import anyio
import trio.testing
from attrs import field, frozen

from minamo.core.config import StreamConfig
from minamo.core.result import StreamResult
from minamo.shell.driver import ChunkSource
from minamo.shell.stops.registry import StopRequest, StopSignal
from minamo.shell.turns.turn import TextPass


@frozen
class Heard:
    """A reply that was streamed into a list."""

    result: StreamResult
    messages: list[str] = field(repr=False)
    """The messages a channel would have received."""
    seconds: float
    """Duration, on the event loop's clock."""


async def listen(
    source: ChunkSource, config: StreamConfig | None = None, *, stop_after_s: float | None = None
) -> Heard:
    """Stream a reply through the machine, as if a channel accepted every message immediately.

    *source* is anything that `Client.stream` takes; *stop_after_s* simulates a user's Stop.
    """
    messages: list[str] = []
    stop_signal = StopSignal()
    began = anyio.current_time()

    async def press(after_s: float) -> None:
        await anyio.sleep(after_s)
        stop_signal.request(StopRequest(kind="user", requester="somebody"))

    async with anyio.create_task_group() as tasks:
        if stop_after_s is not None:
            tasks.start_soon(press, stop_after_s)
        result = await TextPass(messages.append, stop_signal, config or StreamConfig())(source)
        tasks.cancel_scope.cancel()
    return Heard(result, messages, anyio.current_time() - began)


Told = TypeVar("Told")


def run_with_virtual_clock(story: Callable[[], Awaitable[Told]]) -> Told:
    """Run *story* with a clock that advances when all tasks wait, and return its result.

    It runs on trio, so all code in it must use anyio to wait: streams and `ScriptedProvider` do.
    """
    clock = trio.testing.MockClock(autojump_threshold=0)
    return anyio.run(story, backend="trio", backend_options={"clock": clock})
