"""Wait for what happens on the other side of a socket or in another task, where no event tells."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import anyio


async def until(holds: Callable[[], Any], within_s: float = 15.0) -> Any:
    """Wait until *holds* returns something true, and return that."""
    with anyio.fail_after(within_s):
        while not (found := holds()):  # noqa: ASYNC110 - no event tells
            await anyio.sleep(0.005)
    return found
