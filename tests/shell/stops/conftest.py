"""The registries under test, each as a pair: streams run here, requests are made there."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

import pytest
from attrs import frozen

from minamo.shell.stops.redis_registry import RedisStops
from minamo.shell.stops.registry import MemoryStops, Stops

# Where what is tested is not the time: a busy machine must not turn an answer into none.
PATIENT_MS = 10_000


@frozen
class Pair:
    here: Stops
    there: Stops


@pytest.fixture(params=["memory", "redis", "two_redis"])
async def pair(request: pytest.FixtureRequest, prefix: str) -> AsyncIterator[Pair]:
    if request.param == "memory":
        stops = MemoryStops()
        yield Pair(stops, stops)
        return
    url = request.getfixturevalue("redis_server").url
    async with AsyncExitStack() as stack:
        here = RedisStops(url, prefix=prefix, answer_timeout_ms=PATIENT_MS)
        there = here
        await stack.enter_async_context(here)
        if request.param == "two_redis":
            there = RedisStops(url, prefix=prefix, answer_timeout_ms=PATIENT_MS)
            await stack.enter_async_context(there)
        yield Pair(here, there)
