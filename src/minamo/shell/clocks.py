"""The clocks of one machine in real time: they tell when the first of them has run out.

The chart declares them: where each runs, what starts it and which event it raises.  A chunk updates
a number, never a timer; one task checks them, and only when one may have expired.  Time spent
waiting for Discord is added back, so a slow channel never looks like a slow provider.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Mapping

import anyio

from minamo.machine import Chart, RunningClocks
from minamo.machine.model import ENTRY


def loop_clock() -> Callable[[], float]:
    """Return the running event loop's clock, cheap enough to read for every chunk.

    `anyio.current_time` returns the same, but looks up the loop each time, which costs more than
    all other timeout work for a chunk.
    """
    if anyio.get_cancelled_exc_class() is asyncio.CancelledError:
        return asyncio.get_running_loop().time
    return anyio.current_time


class Clocks:
    """The clocks of *chart* for a machine in *state*; *lengths* has the seconds of each."""

    __slots__ = ("_paused", "_resumed", "_running", "_soonest", "_state")

    def __init__(self, chart: Chart, lengths: Mapping[str, float], state: str, now: float) -> None:
        self._running = RunningClocks(chart, lengths, state, now)
        self._state = state
        again = [clock.name for clock in chart.clocks.values() if clock.since != (ENTRY,)]
        self._soonest = min((lengths[name] for name in again), default=math.inf)
        self._paused: float | None = None
        self._resumed: anyio.Event | None = None

    def heard(self, signal: str, state: str, now: float) -> None:
        """Record a chunk or a receipt, and the machine's *state* after it."""
        if self._paused is not None:
            now = self._paused  # `resume` will add the elapsed time
        if state is not self._state:
            self._state = state
            self._running.moved(state, now)
        self._running.heard(signal, now)

    def pause(self, now: float) -> None:
        """Pause all clocks: the driver is not waiting for the provider."""
        self._paused = now
        self._resumed = anyio.Event()

    def resume(self, now: float) -> None:
        """Resume, moving every deadline by the length of the pause."""
        if self._paused is not None and self._resumed is not None:
            self._running.shift(now - self._paused)
            self._paused = None
            self._resumed.set()

    async def watch(self, ran_out: Callable[[str], object]) -> None:
        """Wait until the first clock runs out, then call *ran_out* with its name."""
        while True:
            if self._paused is not None and self._resumed is not None:
                await self._resumed.wait()
            _, deadline = self._running.first()
            # A clock that is started later cannot run out earlier than this.
            await anyio.sleep_until(min(deadline, anyio.current_time() + self._soonest))
            clock, deadline = self._running.first()
            if self._paused is None and anyio.current_time() >= deadline:
                ran_out(clock)
                return
