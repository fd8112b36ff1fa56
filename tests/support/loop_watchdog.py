"""A pytest plugin: in no test may one callback hold the event loop for 50 ms.

Every callback of every event loop is measured by the processor time of its thread, so that other
processes do not count, and without the garbage collector, which collects for all tests.  A test
that holds the loop itself says why: `@pytest.mark.holds_the_loop("imports an SDK")`.
"""

from __future__ import annotations

import asyncio
import gc
import time
from collections.abc import Generator

import pytest

from support.slow_texts import LIMIT_S, REFERENCE_S, reference

# Tests run side by side, and share the caches of the processor.
MARGIN = 1.5


class Watchdog:
    """Measures every callback of the event loops of this process."""

    def __init__(self) -> None:
        self.held: list[tuple[float, str]] = []
        """What took longer than the limit: processor seconds, and the callback."""
        self._collected = 0.0
        self._run = asyncio.Handle._run

    def install(self) -> None:
        def run(handle: asyncio.Handle) -> None:
            begin = time.thread_time() - self._collected
            self._run(handle)
            took = time.thread_time() - self._collected - begin
            if took > LIMIT_S * MARGIN:
                self._note(took, handle)

        asyncio.Handle._run = run  # type: ignore[method-assign]
        gc.callbacks.append(self._collects)

    def remove(self) -> None:
        asyncio.Handle._run = self._run  # type: ignore[method-assign]
        gc.callbacks.remove(self._collects)

    def _collects(self, phase: str, _: object) -> None:
        self._collected += -time.thread_time() if phase == "start" else time.thread_time()

    def _note(self, took: float, handle: asyncio.Handle) -> None:
        slowness = max(1.0, min(reference() for _ in range(5)) / REFERENCE_S)
        if took > LIMIT_S * MARGIN * slowness:
            callback = handle._callback  # type: ignore[attr-defined]
            self.held.append((took / slowness, repr(getattr(callback, "__self__", callback))))


WATCHDOG = Watchdog()


def pytest_configure(config: pytest.Config) -> None:
    WATCHDOG.install()


def pytest_unconfigure() -> None:
    WATCHDOG.remove()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    WATCHDOG.held.clear()
    result = yield
    if WATCHDOG.held and item.get_closest_marker("holds_the_loop") is None:
        took, callback = max(WATCHDOG.held)
        pytest.fail(f"the event loop was held for {took * 1e3:.0f} ms by {callback}", pytrace=False)
    return result
