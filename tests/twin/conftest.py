"""Every request that the tests of the twin make through minamo is checked."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from support.overseer import overseen
from support.twin_http import Lab, twin_lab

__all__ = ["overseen"]


@pytest.fixture
async def lab() -> AsyncIterator[Lab]:
    async with twin_lab() as made:
        yield made
