"""Fixtures and Hypothesis profiles of the whole suite."""

from __future__ import annotations

import gc
import os
import re
import sys
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from minamo.core.config import ENVIRONMENT
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
# What the user has set for a bot or a terminal of their own changes no test.
OF_THE_USER = re.compile(
    r"(?!MINAMO_(SEED|SHOTS|DISCORD_OPENAPI)$)(MINAMO_.*|.*_API_KEY|DISCORD_TOKEN|NO_COLOR)$"
)
for variable in [name for name in os.environ if OF_THE_USER.match(name)] + list(ENVIRONMENT):
    os.environ.pop(variable, None)
os.environ["TERM"] = "xterm"

# The files that take longest, begun first: no worker shall be left alone with one of them.
LONGEST = (
    "docs/test_site.py", "bot/test_demo.py", "browser/test_page_live.py", "shell/delivery/test_closing.py",
    "browser/test_page_looking.py", "browser/test_page_visit.py", "bot/test_run.py",
    "examples/test_examples.py", "twin/test_faults.py",
    "testing/test_check_stream.py", "properties/test_bounds_props.py", "shell/delivery/test_client_editing.py",
    "shell/delivery/test_once.py", "shell/delivery/test_limits.py",
    "contract/test_release.py", "shell/turns/test_tool_schema.py", "judge/test_discord_js.py", "judge/test_sdks.py",
    "machine/test_svg.py", "wire/test_anthropic.py", "contract/test_walk.py", "core/lexing/test_boundaries.py",
)  # fmt: skip

_QUIET = [HealthCheck.too_slow, HealthCheck.data_too_large]
# Derandomised, so that a change never fails by luck; `promises` looks for new luck.
settings.register_profile(
    "check", max_examples=100, derandomize=True, deadline=None, suppress_health_check=_QUIET
)
settings.register_profile(
    "promises", max_examples=2_000, derandomize=False, deadline=None, suppress_health_check=_QUIET,
    print_blob=True,
)  # fmt: skip
settings.load_profile("check")


class MeasuredCalls:
    """Measures the coverage of imports and tests, and not of pytest's own work between them."""

    def __init__(self, measure: Any) -> None:
        self.measure = measure

    def pytest_collection_finish(self) -> None:
        self.measure.cov_controller.pause()

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_call(self) -> Generator[None, object, object]:
        self.measure.cov_controller.resume()
        try:
            return (yield)
        finally:
            self.measure.cov_controller.pause()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--progress", action="store_true", help="order and show tests by promise")
    parser.addoption("--promises", type=Path, help="run the tests of promises; report to this file")
    parser.addoption("--full", action="store_true", help="with --promises: all figures of the page")


def pytest_configure(config: pytest.Config) -> None:
    gc.disable()  # until all tests are collected
    worker = hasattr(config, "workerinput")
    if (worker or config.getoption("dist", "no") != "no") and (
        measure := config.pluginmanager.get_plugin("_cov")
    ):
        # A worker measures twice from the start of the session on.  The first measuring is ended, or
        # a test that is marked `no_cover` would be measured all the same.  So is that of the
        # process that starts the workers: it runs no test.
        measure.cov_controller.cov.stop()
        if worker:
            config.pluginmanager.register(MeasuredCalls(measure), "measured-calls")
    if config.getoption("--progress"):
        config.pluginmanager.register(Progress(config), "progress")
    if (file := config.getoption("--promises")) is not None:
        report = PromiseReport(file, full=config.getoption("--full"))
        config.pluginmanager.register(report, "promise-report")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    assert all((Path(__file__).parent / name).is_file() for name in LONGEST)
    order = {f"tests/{name}": place for place, name in enumerate(LONGEST)}
    items.sort(key=lambda item: order.get(item.nodeid.partition("::")[0], len(order)))


def pytest_collection_finish() -> None:
    """Keep the garbage collector away from modules and tests, which stay until the end."""
    gc.freeze()
    gc.enable()


def pytest_unconfigure() -> None:
    gc.freeze()  # nor need the process tidy up before it ends


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"  # hikari and aiohttp know no other
