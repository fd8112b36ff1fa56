"""A stream without Discord: the real loop, machine and clocks, and messages in a list."""

from __future__ import annotations

import anyio
from attrs import field, frozen

from minamo.core.config import StreamConfig
from minamo.core.result import StreamResult
from minamo.shell.outlet import Source
from minamo.shell.stopping.wishes import Wish, Wishes
from minamo.shell.turns.turn_listen import ListeningPass


@frozen
class Heard:
    """A reply that was streamed to nobody."""

    result: StreamResult
    messages: list[str] = field(repr=False)
    """What a channel would have been sent."""
    seconds: float
    """How long it took, by the clock of the event loop."""


async def listen(
    source: Source, config: StreamConfig | None = None, *, stop_after_s: float | None = None
) -> Heard:
    """Stream a reply through the machine, as to a channel that takes every message at once.

    *source* is anything that `Client.stream` takes; somebody may press Stop on the way.
    """
    messages: list[str] = []
    wishes = Wishes()
    began = anyio.current_time()

    async def press(after_s: float) -> None:
        await anyio.sleep(after_s)
        wishes.put(Wish(kind="user", requester="somebody"))

    async with anyio.create_task_group() as tasks:
        if stop_after_s is not None:
            tasks.start_soon(press, stop_after_s)
        result = await ListeningPass(messages.append, wishes, config or StreamConfig())(source)
        tasks.cancel_scope.cancel()
    return Heard(result, messages, anyio.current_time() - began)
