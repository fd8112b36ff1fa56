"""Those who wait until something is true.

Each says what for, and is woken when that is so: most changes of a busy stream matter to nobody,
and an event that everybody waits for would wake them all every time.
"""

from __future__ import annotations

from collections.abc import Callable

import anyio


class Waiting:
    """The waiters of one thing that changes."""

    __slots__ = ("_waiters",)

    def __init__(self) -> None:
        self._waiters: list[tuple[Callable[[], bool], anyio.Event]] = []

    def change(self) -> None:
        """Something is different now."""
        for true, event in self._waiters:
            if true():
                event.set()

    async def until(self, true: Callable[[], bool]) -> None:
        """Wait for it; it may be cancelled at any time."""
        while not true():  # it may have been for a moment only
            event = anyio.Event()
            waiter = true, event
            self._waiters.append(waiter)
            try:
                await event.wait()
            finally:
                self._waiters.remove(waiter)
