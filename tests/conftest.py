"""Fixtures of the whole suite, Hypothesis profiles, and what the suite prints at its end."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from support.progress import Progress
from support.system_parts import summarise

pytest_plugins = ["minamo.twin.fixture", "support.hikari_clients", "support.redis_server"]

_QUIET = [HealthCheck.too_slow, HealthCheck.data_too_large]
# Derandomised, so that a change never fails by luck; `promises` looks for new luck.
settings.register_profile(
    "check", max_examples=200, derandomize=True, deadline=None, suppress_health_check=_QUIET
)
settings.register_profile(
    "promises", max_examples=2_000, deadline=None, suppress_health_check=_QUIET, print_blob=True
)
settings.load_profile("check")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--progress", action="store_true", help="order and show tests by promise")


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--progress"):
        config.pluginmanager.register(Progress(config), "progress")


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"  # hikari and aiohttp know no other


@pytest.fixture
def figure(record_property: Callable[[str, Any], None]) -> Callable[[str], None]:
    """Print a measured figure in the summary, whichever worker measured it."""
    return lambda text: record_property("figure", text)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    lines = [
        value
        for report in terminalreporter.stats.get("passed", [])
        for name, value in report.user_properties
        if name == "figure" and report.when == "call"
    ]
    if lines:
        terminalreporter.section("figures")
        for line in lines:
            terminalreporter.write_line(line)
    skipped = [
        (report.nodeid, str(report.longrepr))
        for report in terminalreporter.stats.get("skipped", [])
    ]
    for line in summarise(skipped):
        terminalreporter.write_line(line)
