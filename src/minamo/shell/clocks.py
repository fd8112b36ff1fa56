"""The clocks of one stream: how long it waits for its provider.

A chunk moves numbers, never a timer; one task looks at them, and only when one may have run out.
Time that is spent on Discord is given back, so a slow channel never looks like a slow provider.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable

import anyio

from minamo.core.config import StreamConfig
from minamo.core.result import StopReason


def loop_clock() -> Callable[[], float]:
    """The clock of the loop that runs, for whoever looks at it with every chunk.

    `anyio.current_time` gives the same, but looks for the loop each time, which costs more than
    all the rest that is done about a chunk's time.
    """
    if anyio.get_cancelled_exc_class() is asyncio.CancelledError:
        return asyncio.get_running_loop().time
    return anyio.current_time


class Clocks:
    """First token, silence, the provider's whole time, and the rolling timeout of a call."""

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
        """When the first of them runs out."""
        return min(self._silent, self._over, self._call)

    @property
    def all(self) -> dict[str, float]:
        """When each runs out; for looking at."""
        every = {
            "silence": self._silent,
            "deadline": self._over,
            "sdk_call_timeout": self._call,
        }
        return {name: at for name, at in every.items() if at < math.inf}

    @property
    def reason(self) -> StopReason:
        """Which one runs out first."""
        at = self.deadline
        if at == self._silent:
            return "inactivity"
        return "deadline" if at == self._over else "sdk_call_timeout"

    def heard(self, now: float) -> None:
        """A chunk came."""
        self._silent = now + self._idle_s
        self._call = now + self._call_s

    def progressed(self, now: float) -> None:
        """Discord took something: the call is alive, whatever its provider does."""
        # While nobody waits for the provider, `resume` will add the time that goes by.
        since = now if self._paused is None else self._paused
        self._call = max(self._call, since + self._call_s)

    def pause(self, now: float) -> None:
        """Nobody waits for the provider."""
        self._paused = now
        self._resumed = anyio.Event()

    def resume(self, now: float) -> None:
        """Somebody does again."""
        if self._paused is not None and self._resumed is not None:
            gone = now - self._paused
            self._silent += gone
            self._over += gone
            self._call += gone
            self._paused = None
            self._resumed.set()

    async def watch(self, ran_out: Callable[[StopReason], object]) -> None:
        """Wait until the first runs out, and say which."""
        while True:
            if self._paused is not None and self._resumed is not None:
                await self._resumed.wait()
            # No chunk that comes after this moment can make one run out sooner than this.
            now = anyio.current_time()
            await anyio.sleep_until(min(self.deadline, now + self._idle_s, now + self._call_s))
            if self._paused is None and anyio.current_time() >= self.deadline:
                ran_out(self.reason)
                return
