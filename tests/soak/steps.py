"""The longest steps of an event loop, and where each was: one step is one callback, run to its end."""

from __future__ import annotations

import asyncio
import gc
import sys
import threading
import time
from types import FrameType
from typing import NamedTuple

#: A step that takes longer is looked at while it runs.
LOOKED_AT_S = 0.03
LOOK_EVERY_S = 0.01


class Step(NamedTuple):
    """One step: processor milliseconds, those of the garbage collector in it, and where it was."""

    ms: float
    collected_ms: float
    where: str


class Steps:
    """Measures each step by the processor time of the thread, so that other processes do not count."""

    def __init__(self) -> None:
        self.longest = Step(0.0, 0.0, "")
        """The longest since it was last taken."""
        self._run = asyncio.Handle._run
        self._began = 0.0
        self._collected = 0.0
        self._where = ""
        self._thread = threading.get_ident()

    def install(self) -> None:
        """Measure all steps of this process from now on."""

        def run(handle: asyncio.Handle) -> None:
            self._collected, self._where = 0.0, ""
            before = time.thread_time()
            self._began = time.perf_counter()
            self._run(handle)
            self._began = 0.0
            ms = (time.thread_time() - before) * 1e3
            if ms > self.longest.ms:
                where = f"{_name(handle)}: {self._where or 'not looked at'}"
                self.longest = Step(round(ms, 1), round(self._collected * 1e3, 1), where)

        asyncio.Handle._run = run  # type: ignore[method-assign]
        gc.callbacks.append(self._collects)
        threading.Thread(target=self._look, daemon=True).start()

    def take(self) -> Step:
        """Return the longest step since the last call."""
        longest, self.longest = self.longest, Step(0.0, 0.0, "")
        return longest

    def _collects(self, phase: str, _: object) -> None:
        self._collected += -time.thread_time() if phase == "start" else time.thread_time()

    def _look(self) -> None:
        """Note the innermost functions of a step that has been running for long."""
        while True:
            time.sleep(LOOK_EVERY_S)
            began = self._began
            if began and time.perf_counter() - began > LOOKED_AT_S and not self._where:
                self._where = _innermost(sys._current_frames().get(self._thread))


def _name(handle: asyncio.Handle) -> str:
    callback = handle._callback  # type: ignore[attr-defined]
    owner = getattr(callback, "__self__", None)
    if isinstance(owner, asyncio.Task):
        return getattr(owner.get_coro(), "__qualname__", owner.get_name())
    return getattr(callback, "__qualname__", type(callback).__name__)


def _innermost(frame: FrameType | None, count: int = 4) -> str:
    names = []
    while frame is not None and len(names) < count:
        names.append(f"{frame.f_code.co_qualname}:{frame.f_lineno}")
        frame = frame.f_back
    return " < ".join(names)
