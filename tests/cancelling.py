"""Cancel a caller at its k-th await, for every k there is."""

from __future__ import annotations

import asyncio
import types
from collections.abc import Coroutine, Generator
from typing import Any

from attrs import define, field


@define(eq=False)
class CancelAt:
    """Runs a coroutine and cancels its task when it suspends for the k-th time.

    The cancellation is asyncio's own: it takes effect at that very await, wherever it is.
    """

    k: int
    suspended: int = field(default=0, init=False)

    @property
    def fired(self) -> bool:
        """Whether there was a k-th await."""
        return self.suspended >= self.k

    @types.coroutine
    def run(self, steps: Coroutine[Any, Any, Any]) -> Generator[Any, Any, Any]:
        """Await this in the task that is to be cancelled."""
        resume = lambda: steps.send(None)  # noqa: E731 - the first of many
        while True:
            try:
                awaited = resume()
            except StopIteration as end:
                return end.value
            self.suspended += 1
            if self.suspended == self.k:
                task = asyncio.current_task()
                assert task is not None
                task.cancel()
            try:
                value = yield awaited
            except BaseException as error:  # noqa: BLE001 - whatever it is, it is the coroutine's
                resume = lambda error=error: steps.throw(error)  # noqa: E731
            else:
                resume = lambda value=value: steps.send(value)  # noqa: E731


async def cancelled_at(k: int, steps: Coroutine[Any, Any, Any]) -> bool:
    """Run *steps* in a task of its own, cancelled at its k-th await; whether there was one."""
    at = CancelAt(k)

    async def caller() -> None:
        await at.run(steps)

    task = asyncio.create_task(caller())
    await asyncio.wait({task})
    if not task.cancelled() and (error := task.exception()) is not None:
        raise error
    assert task.cancelled() or not at.fired, "a cancellation was swallowed"
    return at.fired
