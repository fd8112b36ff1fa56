"""A pytest plugin: in no test may one callback hold the event loop for 50 ms.

Every callback of every event loop is measured by the processor time of its thread, so that other
processes do not count, and without the garbage collector, which collects for all tests.  The task
in which tests run does not count either: a test may compute what it likes.  The tasks of a bot, of
its replies and of its servers do.
"""

from __future__ import annotations

import asyncio
import gc
import threading
import time
from collections.abc import Generator

import pytest

from support.slow_texts import LIMIT_S, REFERENCE_S, reference

# Tests run side by side, and share the caches of the processor.
MARGIN = 1.5
# The task of anyio's pytest plugin in which tests and fixtures run.
RUNNER = "TestRunner._run_tests_and_fixtures"


class _Clock(threading.local):
    """The processor time of this thread, without that of the garbage collector."""

    collected = 0.0

    def seconds(self) -> float:
        return time.thread_time() - self.collected

    def collects(self, phase: str, _: object) -> None:
        self.collected += -time.thread_time() if phase == "start" else time.thread_time()


class Watchdog:
    """Measures every callback of the event loops of this process."""

    def __init__(self) -> None:
        self.held: list[tuple[float, str]] = []
        """What took longer than the limit: processor seconds, and the callback."""
        self._clock = _Clock()
        self._run = asyncio.Handle._run

    def install(self) -> None:
        def run(handle: asyncio.Handle) -> None:
            begin = self._clock.seconds()
            self._run(handle)
            took = self._clock.seconds() - begin
            if took > LIMIT_S * MARGIN:
                self._note(took, handle)

        asyncio.Handle._run = run  # type: ignore[method-assign]
        gc.callbacks.append(self._clock.collects)

    def remove(self) -> None:
        asyncio.Handle._run = self._run  # type: ignore[method-assign]
        gc.callbacks.remove(self._clock.collects)

    def _note(self, took: float, handle: asyncio.Handle) -> None:
        slowness = max(1.0, min(reference() for _ in range(5)) / REFERENCE_S)
        callback = handle._callback  # type: ignore[attr-defined]
        held = repr(getattr(callback, "__self__", callback))
        if took > LIMIT_S * MARGIN * slowness and RUNNER not in held:
            self.held.append((took / slowness, held))


WATCHDOG = Watchdog()


def pytest_configure() -> None:
    WATCHDOG.install()


def pytest_unconfigure() -> None:
    WATCHDOG.remove()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Generator[None, object, object]:
    WATCHDOG.held.clear()
    result = yield
    if WATCHDOG.held:
        took, callback = max(WATCHDOG.held)
        pytest.fail(f"the event loop was held for {took * 1e3:.0f} ms by {callback}", pytrace=False)
    return result
