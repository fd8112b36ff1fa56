"""Fixtures and Hypothesis profiles of the whole suite."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from support.progress import Progress
from support.promise_report import PromiseReport

pytest_plugins = [
    "minamo.twin.fixture",
    "support.chromium",
    "support.hikari_clients",
    "support.loop_watchdog",
    "support.quick_waits",
    "support.redis_server",
    "support.summary",
]

# Programs that the package index has, node among them, where the system has none.
os.environ["PATH"] += os.pathsep + str(Path(sys.executable).parent)

_QUIET = [HealthCheck.too_slow, HealthCheck.data_too_large]
# Derandomised, so that a change never fails by luck; `promises` looks for new luck.
settings.register_profile(
    "check", max_examples=100, derandomize=True, deadline=None, suppress_health_check=_QUIET
)
settings.register_profile(
    "promises", max_examples=2_000, deadline=None, suppress_health_check=_QUIET, print_blob=True
)
settings.load_profile("check")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--progress", action="store_true", help="order and show tests by promise")
    parser.addoption("--promises", type=Path, help="run the tests of promises; report to this file")
    parser.addoption("--full", action="store_true", help="with --promises: all figures of the page")


def pytest_configure(config: pytest.Config) -> None:
    if hasattr(config, "workerinput") and (measure := config.pluginmanager.get_plugin("_cov")):
        # A worker measures twice from the start of the session on.  Its own measuring is ended, or
        # a test that is marked `no_cover` would be measured all the same.
        measure.cov_controller.cov.stop()
    if config.getoption("--progress"):
        config.pluginmanager.register(Progress(config), "progress")
    if (file := config.getoption("--promises")) is not None:
        report = PromiseReport(file, full=config.getoption("--full"))
        config.pluginmanager.register(report, "promise-report")


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"  # hikari and aiohttp know no other
