"""Time that jumps: an hour of waiting takes no time at all."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

import anyio
import trio.testing

Told = TypeVar("Told")


def virtually(story: Callable[[], Awaitable[Told]]) -> Told:
    """Run *story* with a clock that jumps whenever everybody waits; return what it returns.

    It runs on trio, so everything in it must wait by anyio: streams and `Scripted` do.
    """
    clock = trio.testing.MockClock(autojump_threshold=0)
    return anyio.run(story, backend="trio", backend_options={"clock": clock})
