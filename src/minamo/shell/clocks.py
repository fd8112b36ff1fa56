"""The timeouts of one stream: how long it waits for its provider.

A chunk updates numbers, never a timer; one task checks them, and only when one may have expired.
Time spent waiting for Discord is added back, so a slow channel never looks like a slow provider.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable

import anyio

from minamo.core.config import StreamConfig
from minamo.core.result import StopReason


def loop_clock() -> Callable[[], float]:
    """Return the running event loop's clock, cheap enough to read for every chunk.

    `anyio.current_time` returns the same, but looks up the loop each time, which costs more than
    all other timeout work for a chunk.
    """
    if anyio.get_cancelled_exc_class() is asyncio.CancelledError:
        return asyncio.get_running_loop().time
    return anyio.current_time


class Clocks:
    """Deadlines: first token, silence, the provider's total time, and a call's rolling timeout."""

    __slots__ = ("_call", "_call_s", "_idle_s", "_over", "_paused", "_resumed", "_silent")

    def __init__(self, config: StreamConfig, now: float, call_timeout_ms: int | None) -> None:
        self._idle_s = config.inactivity_timeout_ms / 1000
        self._call_s = math.inf if call_timeout_ms is None else call_timeout_ms / 1000
        self._silent = now + config.first_token_timeout_ms / 1000
        self._over = now + config.stream_deadline_ms / 1000
        self._call = now + self._call_s
        self._paused: float | None = None
        self._resumed: anyio.Event | None = None

    @property
    def deadline(self) -> float:
        """The earliest of the deadlines."""
        return min(self._silent, self._over, self._call)

    @property
    def all(self) -> dict[str, float]:
        """Each finite deadline by name; for inspection."""
        every = {
            "silence": self._silent,
            "deadline": self._over,
            "sdk_call_timeout": self._call,
        }
        return {name: at for name, at in every.items() if at < math.inf}

    @property
    def reason(self) -> StopReason:
        """The stop reason of the earliest deadline."""
        at = self.deadline
        if at == self._silent:
            return "inactivity"
        return "deadline" if at == self._over else "sdk_call_timeout"

    def heard(self, now: float) -> None:
        """Restart the silence and call timeouts: a chunk arrived."""
        self._silent = now + self._idle_s
        self._call = now + self._call_s

    def progressed(self, now: float) -> None:
        """Restart the call timeout: Discord accepted a message, so the call is alive."""
        # While paused, `resume` will add the elapsed time.
        since = now if self._paused is None else self._paused
        self._call = max(self._call, since + self._call_s)

    def pause(self, now: float) -> None:
        """Pause all timeouts: the driver is not waiting for the provider."""
        self._paused = now
        self._resumed = anyio.Event()

    def resume(self, now: float) -> None:
        """Resume, moving every deadline by the length of the pause."""
        if self._paused is not None and self._resumed is not None:
            gone = now - self._paused
            self._silent += gone
            self._over += gone
            self._call += gone
            self._paused = None
            self._resumed.set()

    async def watch(self, ran_out: Callable[[StopReason], object]) -> None:
        """Wait until the first deadline expires, then call *ran_out* with its reason."""
        while True:
            if self._paused is not None and self._resumed is not None:
                await self._resumed.wait()
            # No chunk that arrives later can make a deadline earlier than this.
            now = anyio.current_time()
            await anyio.sleep_until(min(self.deadline, now + self._idle_s, now + self._call_s))
            if self._paused is None and anyio.current_time() >= self.deadline:
                ran_out(self.reason)
                return
