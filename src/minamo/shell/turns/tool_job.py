"""One call of a tool, in a task of its own that a turn can leave behind.

A task group always waits for its tasks.  A tool that runs code in a thread cannot be cancelled
while the thread works, and a tool may shield itself or swallow the cancellation; the turn, and
with it the channel, would wait.  So a tool runs outside of every task group.  It is cancelled like
any other task and has `CLEAN_UP_S` to clean up; if it still runs then, the turn continues without
it.  Its thread occupies a slot in anyio's thread limiter until it has ended.
"""

from __future__ import annotations

import asyncio
import contextvars
import logging
from collections.abc import Awaitable, Callable
from typing import Any

import anyio
from attrs import define, field

from minamo.shell.callbacks import place_of

_LOG = logging.getLogger("minamo.tools")

# A tool that takes longer to clean up continues in parallel with the turn.
CLEAN_UP_S = 1.0

# asyncio holds only weak references to tasks.
_TASKS: set[asyncio.Task[None]] = set()


@define(eq=False)
class ToolJob:
    """One running tool call."""

    name: str
    _work: Callable[[], Awaitable[Any]] = field(repr=False)
    result: Any = field(default=None, init=False, repr=False)
    error: BaseException | None = field(default=None, init=False, repr=False)
    returned: bool = field(default=False, init=False)
    """Whether the tool returned, so that `result` is valid (it may be None)."""
    left_behind: bool = field(default=False, init=False)
    _ended: anyio.Event = field(factory=anyio.Event, init=False, repr=False)
    _scope: anyio.CancelScope = field(factory=anyio.CancelScope, init=False, repr=False)

    @property
    def ended(self) -> bool:
        """Whether the tool has returned or raised."""
        return self._ended.is_set()

    def start(self) -> None:
        """Start the tool in a task that no task group waits for."""
        if anyio.get_cancelled_exc_class() is asyncio.CancelledError:
            task = asyncio.get_running_loop().create_task(self._run())
            _TASKS.add(task)
            task.add_done_callback(_TASKS.discard)
        else:
            from trio.lowlevel import spawn_system_task

            spawn_system_task(self._run, context=contextvars.copy_context())

    async def wait(self, seconds: float) -> bool:
        """Wait up to *seconds* for the tool; on timeout or cancellation, cancel the tool.

        Return whether it ended by itself.
        """
        in_time = False
        try:
            with anyio.move_on_after(seconds):
                await self._ended.wait()
            in_time = self.ended
        finally:
            if not self.ended:
                await self._end()
        return in_time

    async def _end(self) -> None:
        self._scope.cancel()
        with anyio.move_on_after(CLEAN_UP_S, shield=True):
            await self._ended.wait()
        if not self.ended:
            self.left_behind = True
            _stop_asking(self._scope)
            _LOG.warning("tool %s cannot be stopped, and is left behind", self.name)

    async def _run(self) -> None:
        try:
            with self._scope:
                self.result = await self._work()
                self.returned = True
        except Exception as error:  # noqa: BLE001 - a failure is an answer, no crash
            self.error = error
        except anyio.get_cancelled_exc_class():
            raise  # cancelled by the tool itself, or because the program ends
        except BaseException as error:  # such as `SystemExit`: raised by the turn
            if self.left_behind:
                raise
            self.error = error
        finally:
            self._ended.set()
            if self.left_behind:
                how = "" if self.error is None else f" with {type(self.error).__name__}"
                where = "" if self.error is None else f" at {place_of(self.error)}"
                _LOG.info("tool %s, left behind, has ended%s%s", self.name, how, where)


def _stop_asking(scope: anyio.CancelScope) -> None:
    """Stop anyio from repeating the cancellation.

    On asyncio, anyio cancels a task that swallows its cancellation again in every iteration of the
    event loop, which keeps one CPU busy for as long as the task lives.
    """
    again = getattr(scope, "_cancel_handle", None)
    if again is not None:
        again.cancel()
