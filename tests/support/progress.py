"""What `make promises` shows while it runs: each promise as it begins, goes on and is done."""

from __future__ import annotations

import re
import time
from collections import Counter
from typing import Any

import pytest

REST = "rest"
EVERY_S = 30.0  # how long nothing at all may be shown
REASON_MAX = 300


def promises(test: str) -> list[str]:
    """The promises that a test names, as in `test_p02_p03_text_is_kept[part 1]`."""
    return re.findall(r"_(p\d+)(?=_)", test.partition("[")[0])


def group(test: str) -> str:
    """Where a test is counted: under the first promise that it names."""
    return next(iter(promises(test)), REST)


def _reason(report: pytest.TestReport) -> str:
    """The first line of what went wrong; all of it is shown at the end."""
    crash = getattr(report.longrepr, "reprcrash", None)
    lines = (crash.message if crash is not None else report.longreprtext).splitlines()
    return next(filter(None, lines), "")[:REASON_MAX]


class Progress:
    """Puts the tests in the order of the promises, and tells how far they are."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.total: Counter[str] = Counter()
        self.done: Counter[str] = Counter()
        self.failed: Counter[str] = Counter()
        self.began: dict[str, float] = {}
        self.start = self.told = time.monotonic()

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items.sort(key=lambda item: group(item.name))
        self.total = Counter(group(item.name) for item in items)

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, node: Any, ids: list[str]) -> None:
        self.total = Counter(group(each.partition("::")[2]) for each in ids)

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        here = group(nodeid.partition("::")[2])
        if here not in self.began:
            self.began[here] = time.monotonic()
            self._tell(f"{here}  begins, tests: {self.total[here]}")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        here = group(report.nodeid.partition("::")[2])
        now = time.monotonic()
        if report.failed:
            self.failed[here] += 1
            self._tell(f"{here}  FAILED {report.nodeid}: {_reason(report)}")
        if report.when != "teardown":
            return
        self.done[here] += 1
        if self.done[here] == self.total[here]:
            how = f"{self.failed[here]} FAILED" if self.failed[here] else "kept"
            self._tell(f"{here}  {how}, tests: {self.done[here]}, {now - self.began[here]:.0f} s")
        elif now - self.told >= EVERY_S:
            under_way = [each for each in self.began if self.done[each] < self.total[each]]
            self._tell(", ".join(f"{e}  {self.done[e]} of {self.total[e]}" for e in under_way))

    def pytest_report_teststatus(self, report: Any) -> tuple[str, str, str] | None:
        """No dots."""
        return (report.outcome, "", "") if report.when == "call" and report.passed else None

    def _tell(self, what: str) -> None:
        self.told = time.monotonic()
        if (terminal := self.config.pluginmanager.get_plugin("terminalreporter")) is not None:
            minutes, seconds = divmod(int(self.told - self.start), 60)
            terminal.ensure_newline()
            terminal.write_line(f"{minutes:3d}:{seconds:02d}  {what}", flush=True)
