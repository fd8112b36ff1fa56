"""Do something at the k-th await of a coroutine, on any backend."""

from __future__ import annotations

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
