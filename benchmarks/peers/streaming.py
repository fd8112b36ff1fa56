"""What Python contestants share: many replies at once, and one reply cut in many ways.

Standard library only.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Awaitable, Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

_TICK_S = 0.005


def resident() -> int:
    """Return the bytes of memory this process holds."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


async def many_streams(read: Callable[[], Awaitable[str]], streams: int) -> dict[str, Any]:
    """Read so many replies at once; return texts that differ, the loop's delays and memory."""
    late: list[float] = []
    most = before = resident()

    async def tick() -> None:
        nonlocal most
        while True:
            began = time.perf_counter()
            await asyncio.sleep(_TICK_S)
            late.append(time.perf_counter() - began - _TICK_S)
            most = max(most, resident())

    ticking = asyncio.ensure_future(tick())
    try:
        texts = await asyncio.gather(*(read() for _ in range(streams)))
    finally:
        ticking.cancel()
    return {"texts": sorted(set(texts)), "late_s": late, "grown_bytes": most - before}


def different(text: str, cuts: list[list[int]], show: Callable[[list[str]], str]) -> list[str]:
    """Return the different texts that *show* makes of one text, cut in many ways."""
    found = set()
    for places in cuts:
        ends = pairwise([0, *places, len(text)])
        found.add(show([text[start:end] for start, end in ends]))
    return sorted(found)
