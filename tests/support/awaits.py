"""Do something at the k-th await of a coroutine, on any backend: cancel it, say."""

from __future__ import annotations

import asyncio
import types
from collections.abc import Callable, Coroutine, Generator
from typing import Any

import anyio
from attrs import define, field


@define(eq=False)
class AtAwait:
    """Runs a coroutine and calls *act* when it is about to wait for the k-th time."""

    k: int
    act: Callable[[], object]
    awaits: int = field(default=0, init=False)

    @property
    def fired(self) -> bool:
        """Whether there was a k-th await."""
        return self.awaits >= self.k

    @types.coroutine
    def run(self, steps: Coroutine[Any, Any, Any]) -> Generator[Any, Any, Any]:
        """Await this in the task that is to be watched."""
        resume: Callable[[], Any] = lambda: steps.send(None)  # noqa: E731 - the first of many
        while True:
            try:
                awaited = resume()
            except StopIteration as end:
                return end.value
            self.awaits += 1
            if self.awaits == self.k:
                self.act()
            try:
                value = yield awaited
            except BaseException as error:  # noqa: BLE001 - whatever it is, it is the coroutine's
                resume = lambda error=error: steps.throw(error)  # noqa: E731
            else:
                resume = lambda value=value: steps.send(value)  # noqa: E731


async def cancel_at(k: int, steps: Coroutine[Any, Any, Any]) -> bool:
    """Cancel *steps* from outside at its k-th await; whether there was one."""
    with anyio.CancelScope() as scope:
        at = AtAwait(k, scope.cancel)
        await at.run(steps)
    assert scope.cancelled_caught or not at.fired, "a cancellation was swallowed"
    return at.fired


def natively(k: int) -> AtAwait:
    """Cancels the task that awaits it as asyncio itself does: at that very await, scopes or not."""

    def cancel() -> None:
        task = asyncio.current_task()
        assert task is not None
        task.cancel()

    return AtAwait(k, cancel)


async def cancelled_at(k: int, steps: Coroutine[Any, Any, Any]) -> bool:
    """Run *steps* in a task of its own, cancelled at its k-th await; whether there was one."""
    at = natively(k)

    async def caller() -> None:
        await at.run(steps)

    task = asyncio.create_task(caller())
    await asyncio.wait({task})
    if not task.cancelled() and (error := task.exception()) is not None:
        raise error
    assert task.cancelled() or not at.fired, "a cancellation was swallowed"
    return at.fired
