"""The twin, for clients whose authors never saw it."""

from __future__ import annotations

import pytest

from minamo.twin.fixture import pytest_runtest_makereport, twin, twin_rules

__all__ = ["pytest_runtest_makereport", "twin", "twin_rules"]


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"
