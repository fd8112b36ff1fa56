"""The report of `make promises`: which tests it runs, and what it found, for people and programs."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from attrs import define, field

from support.progress import promises
from support.seeds import FIRST

ROOT = Path(__file__).resolve().parents[2]
SHARE = 10
"""The standard form takes one of so many cases of each slow test; others each time."""
_ROW = re.compile(r"^\| P(\d+) \| \*(.+?)\*", re.MULTILINE)
_SEED = re.compile(r"seed=(\d+)")


def titles() -> dict[str, str]:
    """The promises of the page, by id."""
    page = (ROOT / "docs" / "promises.md").read_text(encoding="utf-8")
    return {f"p{int(number):02}": title.rstrip(".") for number, title in _ROW.findall(page)}


@define
class Kept:
    """What is known of one promise."""

    title: str
    tests: int = 0
    skipped: int = 0
    cpu_s: float = 0.0
    figures: list[str] = field(factory=list)
    failures: list[str] = field(factory=list)

    @property
    def verdict(self) -> str:
        """One word."""
        if self.failures:
            return "FAILED"
        return "ok" if self.tests > self.skipped else "not tested"

    def line(self, name: str) -> str:
        """One line, with the figure that says most."""
        told = re.sub(r"^P\d+: ", "", self.figures[0]) if self.figures else ""
        more = f" (and {len(self.figures) - 1} more)" if len(self.figures) > 1 else ""
        counted = f"{self.tests} tests, {self.cpu_s:.0f} s"
        return (
            f"{name.upper()} {self.title} … {told[:110] + more if told else counted} {self.verdict}"
        )


class PromiseReport:
    """A plugin that runs the tests of promises alone, a share of them if wanted, and reports."""

    def __init__(self, file: Path, *, full: bool) -> None:
        self.file = file
        self.full = full
        self.found = {name: Kept(title) for name, title in titles().items()}
        self.begin = time.monotonic()

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(
        self, config: pytest.Config, items: list[pytest.Item]
    ) -> None:
        named = [item for item in items if promises(item.name)]
        kept = named if self.full else list(_share(named))
        dropped = set(items) - set(kept)
        if dropped:
            config.hook.pytest_deselected(items=list(dropped))
            items[:] = kept

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Iterator[None]:
        begin = time.process_time()
        try:
            return (yield)  # type: ignore[return-value]
        finally:
            item.user_properties.append(("cpu", time.process_time() - begin))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        for name in promises(report.nodeid.rpartition("::")[2]):
            kept = self.found[name]
            if report.failed:
                seed = _SEED.search(report.longreprtext)
                again = f"SEED={seed[1] if seed else FIRST} make promises K={name}"
                kept.failures.append(f"{report.nodeid}: {again}")
            if report.when == "call" or (report.when == "setup" and report.skipped):
                kept.tests += 1
                kept.skipped += report.skipped
                told: dict[str, list[Any]] = {}
                for key, value in report.user_properties:
                    told.setdefault(key, []).append(value)
                kept.cpu_s += sum(told.get("cpu", []))
                kept.figures += told.get("figure", [])

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if hasattr(session.config, "workerinput"):
            return
        self.file.parent.mkdir(parents=True, exist_ok=True)
        data = {
            name: {
                "title": kept.title,
                "verdict": kept.verdict,
                "tests": kept.tests,
                "skipped": kept.skipped,
                "cpu_s": round(kept.cpu_s, 1),
                "figures": kept.figures,
                "failures": kept.failures,
            }
            for name, kept in self.found.items()
            if kept.tests
        }
        whole = {"wall_s": round(time.monotonic() - self.begin, 1), "promises": data}
        self.file.write_text(json.dumps(whole, indent=1, ensure_ascii=False), encoding="utf-8")

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        terminalreporter.section("promises")
        for name, kept in self.found.items():
            if kept.tests:
                terminalreporter.write_line(kept.line(name))
                for failure in kept.failures[:3]:
                    terminalreporter.write_line(f"    {failure}")


def _share(items: list[pytest.Item]) -> Iterator[pytest.Item]:
    """Quick tests all; slow ones with parts their first, with other cases one in `SHARE`.

    The seed is new each time, so a first part is as good as any, and a case that failed is met
    first with its seed.  The other cases are chosen by the seed.
    """
    slow: dict[str, list[pytest.Item]] = {}
    for item in items:
        case = getattr(item, "callspec", None)
        if not item.get_closest_marker("slow"):
            yield item
        elif case is None or "part" not in case.params:
            slow.setdefault(item.nodeid.partition("[")[0], []).append(item)
        elif case.params["part"] == 0:
            yield item
    for name, cases in slow.items():
        yield from Random(f"{FIRST} {name}").sample(cases, -(-len(cases) // SHARE))
