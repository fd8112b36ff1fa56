"""The keys that announce running streams in Redis, in virtual time."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any, Self

import anyio
import anyio.lowlevel

from minamo.shell.stops.redis_registry import EXPIRE_S, Heartbeat
from minamo.shell.stops.registry import MemoryStops, StopSignal
from minamo.testing import run_with_virtual_clock


class Pipeline:
    """A Redis that only remembers when each key was last set."""

    def __init__(self) -> None:
        self.set_at: dict[str, float] = {}

    def pipeline(self, *, transaction: bool) -> Self:
        return self

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        pass

    def set(self, key: str, value: str, px: int) -> None:
        self.set_at[key] = anyio.current_time()

    def delete(self, key: str) -> None:
        self.set_at.pop(key, None)

    def eval(self, *_: Any) -> None:
        pass

    async def execute(self) -> None:
        pass


def test_a_long_stream_stays_announced_while_others_come_and_go() -> None:
    oldest = 0.0

    async def main() -> None:
        nonlocal oldest
        registry, redis = MemoryStops(), Pipeline()
        heartbeat = Heartbeat(registry, "p", "me")
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(heartbeat.run, lambda: redis)
            with ExitStack() as stack:
                stack.enter_context(registry.register("long", 1, StopSignal()))
                heartbeat.begun("long")
                for number in range(60):  # each change comes before everything is renewed
                    await anyio.sleep(1.0)
                    with registry.register(f"short{number}", 2, StopSignal()):
                        heartbeat.begun(f"short{number}")
                        await anyio.lowlevel.checkpoint()
                    heartbeat.ended(f"short{number}", 2)
                    oldest = max(oldest, anyio.current_time() - redis.set_at["p:stream:long"])
            tasks.cancel_scope.cancel()

    run_with_virtual_clock(main)
    assert oldest < EXPIRE_S / 2
