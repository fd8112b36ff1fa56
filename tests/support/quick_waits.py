"""A pytest plugin: a bot without the waits that only a person or a far Discord needs.

A bot that is made, started and closed takes a third of a second, and hundreds of tests do so.  Most
of that is a pause after the close of a TLS connection, and the certificates of the system, read for
each bot anew; the twin is reached over plain HTTP.  A client pretends to type for up to four
seconds before each message but the first; here it types 25 times as fast.
"""

from __future__ import annotations

import asyncio
import functools
import platform
from typing import Any

import hikari.impl.config
import hikari.impl.shard
import pytest

import minamo.shell.orchestrator
from minamo.shell.delivery.typing import pause_s

_PAUSE_S = 0.25  # "to allow aiohttp time to close SSL transports", says hikari.impl.shard
_TYPING = 25


class _Changed:
    """A module as one module of hikari sees it: with some functions replaced."""

    def __init__(self, module: Any, **functions: Any) -> None:
        self._module = module
        self.__dict__.update(functions)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._module, name)


async def _sleep(delay: float, result: Any = None) -> Any:
    return await asyncio.sleep(0 if delay == _PAUSE_S else delay, result)


def _short_pause_s(characters: int) -> float:
    return pause_s(characters) / _TYPING


def pytest_configure() -> None:
    shard: Any = hikari.impl.shard
    config: Any = hikari.impl.config
    shard.asyncio = _Changed(asyncio, sleep=_sleep)
    shard.platform = _Changed(platform, architecture=functools.cache(platform.architecture))
    config._ssl_factory = functools.cache(config._ssl_factory)  # of a bot that sets nothing else
    minamo.shell.orchestrator.pause_s = _short_pause_s


@pytest.fixture
def typing_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let clients pretend to type for as long as they do outside of tests."""
    monkeypatch.setattr(minamo.shell.orchestrator, "pause_s", pause_s)
