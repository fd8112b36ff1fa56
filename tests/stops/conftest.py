"""The registries under test, each as a pair: streams run here, requests are made there."""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
from attrs import frozen

from minamo.shell.stops.redis_registry import RedisStops
from minamo.shell.stops.registry import MemoryStops, Stops
from redis_server import RedisServer

_prefixes = (f"test{n}" for n in itertools.count())
# Where what is tested is not the time: a busy machine must not turn an answer into none.
PATIENT_MS = 10_000


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="session")
def redis_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    """Shared, so not to be killed; tests keep apart by their prefixes."""
    server = RedisServer(tmp_path_factory.mktemp("redis"))
    yield server
    server.kill()


@pytest.fixture
def own_redis(tmp_path: Path) -> Iterator[RedisServer]:
    """For one test, which may do with it what it likes."""
    server = RedisServer(tmp_path)
    yield server
    server.kill()


@pytest.fixture
def prefix() -> str:
    return next(_prefixes)


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
