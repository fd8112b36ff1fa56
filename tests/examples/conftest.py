"""Examples run on asyncio, with a twin."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from minamo.twin.fixture import pytest_runtest_makereport, twin, twin_rules
from redis_server import RedisServer

__all__ = ["pytest_runtest_makereport", "twin", "twin_rules"]


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def redis_server(tmp_path: Path) -> Iterator[RedisServer]:
    server = RedisServer(tmp_path)
    yield server
    server.kill()
