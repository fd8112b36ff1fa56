"""A pytest plugin: what a run prints at its end.

Figures that tests measured, a line for each missing part of the system, and, with `--proof`, a last
line that says what the run has proven.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import Any

import pytest

from support.progress import promises
from support.system_parts import MISSING, summarise


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--proof", type=float, metavar="BEGAN", help="end with a line that says what was proven"
    )


@pytest.fixture
def figure(record_property: Callable[[str, Any], None]) -> Callable[[str], None]:
    """Print a measured figure in the summary, whichever worker measured it."""
    return lambda text: record_property("figure", text)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    figures = [
        value
        for report in terminalreporter.stats.get("passed", [])
        for name, value in report.user_properties
        if name == "figure" and report.when == "call"
    ]
    if figures:
        terminalreporter.section("figures")
        for line in figures:
            terminalreporter.write_line(line)
    for line in summarise(_skips(terminalreporter)):
        terminalreporter.write_line(line)


def _skips(terminalreporter: Any) -> list[str]:
    """The reason of every test that was skipped."""
    return [str(report.longrepr[2]) for report in terminalreporter.stats.get("skipped", [])]


def proof(
    passed: Iterable[str], failed: int, waiting: int, coverage: float | None, s: float
) -> str:
    """Return the last line of a run, of the ids of the tests that *passed*."""
    names = [test.rpartition("::")[2] for test in passed]
    kept = {each for name in names for each in promises(name)}
    parts = [f"{len(names):,} tests passed"]
    parts += [f"{failed:,} FAILED"] if failed else []
    parts += [f"{waiting:,} wait for a missing part"] if waiting else []
    parts += [f"promises touched: {_ranges(sorted(int(each[1:]) for each in kept))}"]
    parts += [f"{coverage:g} % of the pure code's branches"] if coverage is not None else []
    return f"{'not proven' if failed else 'proven'}: {', '.join(parts)}, in {s:.0f} s"


def _ranges(numbers: list[int]) -> str:
    """Return `P01-P03 P05` for 1, 2, 3 and 5."""
    groups: list[list[int]] = []
    for number in numbers:
        if groups and groups[-1][-1] == number - 1:
            groups[-1].append(number)
        else:
            groups.append([number])
    names = [(f"P{group[0]:02}", f"P{group[-1]:02}") for group in groups]
    return " ".join(a if a == b else f"{a}-{b}" for a, b in names) or "none"


@pytest.hookimpl(trylast=True)
def pytest_unconfigure(config: pytest.Config) -> None:
    reporter: Any = config.pluginmanager.get_plugin("terminalreporter")
    began = config.getoption("--proof")
    if began is None or reporter is None or hasattr(config, "workerinput"):
        return
    stats = reporter.stats
    measured = getattr(config.pluginmanager.get_plugin("_cov"), "cov_total", None)
    waiting = sum(MISSING in reason for reason in _skips(reporter))
    failed = len(stats.get("failed", [])) + len(stats.get("error", []))
    passed = [report.nodeid for report in stats.get("passed", []) if report.when == "call"]
    reporter.write_line(proof(passed, failed, waiting, measured, time.time() - began))
