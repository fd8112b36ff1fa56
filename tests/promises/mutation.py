"""Mutation testing of the pure code: change it in one place, and see one of its tests fail.

`make mutation N=400 SEED=1` draws so many changes from all that are possible inside the functions of
core/, machine/ and wire/, and runs for each the tests of the pure code that run its line until one
fails.  The tests are collected once; each change has a forked process, in which the functions
of the changed file get new code.  A change that lives there is written into a copy of the tree, and
the tests are run once more: some code runs only while modules are imported.  A test that fails must
pass without the change.  A change that makes the tests use too much time is caught.

The report names each change that lives, with its explanation if `lives.json` has one; `PUBLISH=1`
writes it into docs/promises.md.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import random
import resource
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from math import sqrt
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any, TypeVar, cast

import coverage
import pytest
from changes import Change, changes
from mutants import OUT, ROOT, Copy, limit_memory
from run import circumstances, commit_now, publish

PACKAGES = ("core", "machine", "wire")
TESTS = ("tests/core", "tests/machine", "tests/wire", "tests/properties")
KINDS = "logic bounds statements words"
SOURCE = ROOT / "src" / "minamo"
EXPLAINED = Path(__file__).with_name("lives.json")
REPORT = OUT.with_name("mutation.json")
# A change may run so many seconds of tests in a forked process, and so many in a new one; if its
# line runs only while modules are imported, the first figure counts for the new one.
FORKED_S = 15.0
FRESH_S = 4.0
WORST = 10
T = TypeVar("T")


def in_fork(work: Callable[[], T], seconds: float) -> T | None:
    """What *work* returns in a forked process; None if it uses more processor time, or dies."""
    reading, writing = os.pipe()
    if (child := os.fork()) == 0:
        try:
            limit_memory()
            resource.setrlimit(resource.RLIMIT_CPU, (int(seconds), int(seconds) + 1))
            silence = os.open(os.devnull, os.O_WRONLY)
            os.dup2(silence, 1)
            os.dup2(silence, 2)
            with os.fdopen(writing, "w") as answer:
                json.dump(work(), answer)
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as answer:
        told = answer.read()
    os.waitpid(child, 0)
    return cast("T", json.loads(told)) if told else None


class Mutation:
    """A plugin of pytest that runs the collected tests once for each change."""

    def __init__(self, count: int, seed: int, copy: Copy) -> None:
        self.count = count
        self.seed = seed
        self.copy = copy
        self.possible = 0
        self.rows: list[dict[str, Any]] = []
        self.failed: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.failed.append(report.nodeid)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        items = session.items
        measured = in_fork(lambda: self._measure(items), 3_600)
        assert measured is not None
        self.seconds: list[float] = measured["seconds"]
        self.lines: dict[str, dict[str, list[int]]] = measured["lines"]
        self.items = items
        self.functions = _functions()
        files = sorted(file for name in PACKAGES for file in (SOURCE / name).rglob("*.py"))
        every = [found for file in files for found in changes(file, range(1_000_000), KINDS)]
        self.possible = len(every)
        rng = random.Random(f"{self.seed} mutation")
        for number, change in enumerate(rng.sample(every, min(self.count, len(every))), 1):
            row = self._judge(change)
            self.rows.append(row)
            how = f"caught by {row['test']}" if row["test"] else "LIVED"
            print(f"{number} {row['place']} {row['change']}: {how}, {row['seconds']} s", flush=True)
        return True

    def _measure(self, items: list[pytest.Item]) -> dict[str, Any]:
        """The seconds of each test, and the tests that run each line; none that fails."""
        measuring = coverage.Coverage(
            data_file=None, config_file=False, include=[f"{SOURCE / name}/*" for name in PACKAGES]
        )
        seconds = []
        measuring.start()
        for number, item in enumerate(items):
            measuring.switch_context(str(number))
            begin = time.process_time()
            _run(item, items[number + 1] if number + 1 < len(items) else None)
            seconds.append(time.process_time() - begin)
        measuring.stop()
        bad = {str(number) for number, item in enumerate(items) if item.nodeid in self.failed}
        data = measuring.get_data()
        lines = {
            file: {
                line: sorted(int(test) for test in set(tests) - bad if test)
                for line, tests in data.contexts_by_lineno(file).items()
            }
            for file in data.measured_files()
        }
        return {"seconds": seconds, "lines": lines}

    def _tests_of(self, change: Change) -> list[int]:
        """The tests that run the change's line, or the line in which its statement begins."""
        lines = self.lines.get(str(change.file), {})
        for line in range(change.line, max(0, change.line - 40), -1):
            if found := lines.get(str(line)):
                return self._in_order(found, change)
        return []

    def _in_order(self, tests: list[int], change: Change) -> list[int]:
        """One case of each test first, then the second ones; the folder's own and quick ones first."""
        folder = "/".join(change.file.relative_to(SOURCE).parts[:2]).removesuffix(".py")
        cases = Counter[str]()
        keys = {}
        for test in sorted(tests, key=lambda test: self.seconds[test]):
            name = self.items[test].nodeid.partition("[")[0]
            keys[test] = (cases[name], not name.startswith(f"tests/{folder}"), self.seconds[test])
            cases[name] += 1
        return sorted(keys, key=keys.__getitem__)

    def _judge(self, change: Change) -> dict[str, Any]:
        begin = time.monotonic()
        text = change.file.read_text(encoding="utf-8").splitlines()[change.line - 1].strip()
        return {
            "place": f"{change.file.relative_to(SOURCE)}:{change.line}",
            "line": text,
            "change": change.what,
            "test": self._caught(change),
            "seconds": round(time.monotonic() - begin, 1),
        }

    def _caught(self, change: Change) -> str:
        """The test that catches a change, or nothing."""
        every = self._tests_of(change)
        if not every:  # it runs only while modules are imported
            folder = f"tests/{change.file.relative_to(SOURCE).parts[0]}"
            numbers = [n for n, item in enumerate(self.items) if item.nodeid.startswith(folder)]
            return self._caught_anew(
                change, self._within(self._in_order(numbers, change), FORKED_S)
            )
        tests = self._within(every, FORKED_S)
        while tests:
            failing = self._failing(tests, change)
            if failing is None:
                return "never ends"
            if not failing:
                break
            if self._failing(failing) == []:
                return self.items[failing[0]].nodeid
            tests.remove(failing[0])  # it fails without the change, too
        return self._caught_anew(change, self._within(tests, FRESH_S))

    def _caught_anew(self, change: Change, tests: list[int]) -> str:
        """The test that catches a change in a new process, which imports the changed file."""
        names = list(dict.fromkeys(self.items[test].nodeid.partition("[")[0] for test in tests))
        file = self.copy.root / change.file.relative_to(ROOT)
        return self.copy.failing(change._replace(file=file), names) if names else ""

    def _within(self, tests: list[int], seconds: float) -> list[int]:
        """As many of the tests as take so many seconds together."""
        total, some = 0.0, list[int]()
        for test in tests:
            total += self.seconds[test]
            if total > seconds and some:
                break
            some.append(test)
        return some

    def _failing(self, tests: list[int], change: Change | None = None) -> list[int] | None:
        """The first of the tests that fails, in a fork of its own; None if they never end."""

        def work() -> list[int]:
            if change is not None:
                self._exchange(change)
            self.failed.clear()
            some = [self.items[test] for test in tests]
            for number, following in enumerate([*some[1:], None]):
                _run(some[number], following)
                if self.failed:
                    return [tests[number]]
            return []

        return in_fork(work, 3 * FORKED_S)

    def _exchange(self, change: Change) -> None:
        """Give the functions of the changed file their new code."""
        for code in _codes(change.code()):
            for function in self.functions.get(_key(code), ()):
                if code.co_freevars == function.__code__.co_freevars:
                    function.__code__ = code


def _run(item: pytest.Item, following: pytest.Item | None) -> None:
    item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)


def _key(code: CodeType) -> tuple[str, str, int]:
    return code.co_filename, code.co_qualname, code.co_firstlineno


def _codes(code: CodeType) -> Iterator[CodeType]:
    """The code of a module and of every function in it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


def _functions() -> dict[tuple[str, str, int], list[FunctionType]]:
    """All functions of the program; the tests have frozen them."""
    gc.unfreeze()
    found = defaultdict(list)
    for thing in gc.get_objects():
        if isinstance(thing, FunctionType) and thing.__code__.co_filename.startswith(str(SOURCE)):
            found[_key(thing.__code__)].append(thing)
    gc.freeze()
    assert found
    return found


def interval(caught: int, of: int) -> tuple[float, float]:
    """The 95 % interval of a ratio, by Wilson's formula."""
    if not of:
        return 0.0, 1.0
    z = 1.96
    middle = (caught + z * z / 2) / (of + z * z)
    reach = z * sqrt(caught * (of - caught) / of + z * z / 4) / (of + z * z)
    return middle - reach, middle + reach


def as_markdown(report: dict[str, Any]) -> str:
    """The tables of a report: the ratio, the worst modules, and each change that lives."""
    about, rows = report["circumstances"], report["changes"]
    told = [
        f"`make mutation N={len(rows)} SEED={about['seed']}`, commit {about['commit']}, {about['date']};"
        f" {about['machine']}, Python {about['python']}; {report['possible']:,} possible changes,"
        f" {report['minutes']} minutes.",
        "",
        "| package | drawn | caught | ratio | 95 % interval | lived, and change nothing that counts | ratio without those |",
        "|---|--:|--:|--:|--:|--:|--:|",
    ]
    for name in ("", *PACKAGES):
        some = [row for row in rows if row["place"].startswith(name)]
        caught = sum(bool(row["test"]) for row in some)
        low, high = interval(caught, len(some))
        same = sum(bool(row["why"]) for row in some)
        told.append(
            f"| {name or 'all'} | {len(some)} | {caught} | {caught / max(1, len(some)):.1%}"
            f" | {low:.1%} to {high:.1%} | {same} | {caught / max(1, len(some) - same):.1%} |"
        )
    lived = [row for row in rows if not row["test"]]
    drawn = Counter(row["place"].partition(":")[0] for row in rows)
    worst = Counter(row["place"].partition(":")[0] for row in lived).most_common(WORST)
    told += ["", "The modules in which most changes live, with the number of all drawn there: "]
    told[-1] += ", ".join(f"{module} {count} of {drawn[module]}" for module, count in worst) + "."
    told += ["", "| lives | change | why |", "|---|---|---|"]
    for row in sorted(lived, key=lambda row: row["place"]):
        line = f"{row['place']} `{row['line']}` | `{row['change']}`".replace("||", "\\|\\|")
        told.append(f"| {line} | {row['why'] or 'open'} |")
    return "\n".join(told) + "\n"


def explanations() -> dict[tuple[str, str, str], str]:
    """Why a change of this line in this file lives."""
    rows = json.loads(EXPLAINED.read_text(encoding="utf-8")) if EXPLAINED.exists() else []
    return {(row["file"], row["line"], row["change"]): row["why"] for row in rows}


def measured(count: int, seed: int) -> dict[str, Any]:
    """Draw and judge so many changes; return the report."""
    begin, commit = time.monotonic(), commit_now()
    os.chdir(ROOT)
    with tempfile.TemporaryDirectory() as folder:
        mutation = Mutation(count, seed, Copy(Path(folder), seed))
        arguments = ["-q", "-m", "not slow", "-p", "no:cacheprovider", "--capture=no"]
        pytest.main([*arguments, *TESTS], plugins=[mutation])
    return {
        "circumstances": circumstances(seed, commit),
        "possible": mutation.possible,
        "minutes": round((time.monotonic() - begin) / 60),
        "changes": mutation.rows,
    }


def main() -> int:
    """Draw, judge, and write the reports."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=400)
    parser.add_argument("--publish", action="store_true", help="write docs/promises.md")
    parser.add_argument("--again", action="store_true", help="only explain the last report anew")
    options = parser.parse_args()
    if options.again:
        report = json.loads(REPORT.read_text(encoding="utf-8"))
    else:
        report = measured(options.count, options.seed)
    known = explanations()
    for row in report["changes"]:
        at = (row["place"].partition(":")[0], row["line"], row["change"])
        row["why"] = "" if row["test"] else known.get(at, "")
    REPORT.parent.mkdir(parents=True, exist_ok=True)
    REPORT.write_text(json.dumps(report, indent=1, ensure_ascii=False), encoding="utf-8")
    table = as_markdown(report)
    REPORT.with_suffix(".md").write_text(table, encoding="utf-8")
    print(f"\n{table}\nreports: {REPORT} and {REPORT.with_suffix('.md').name}")
    if options.publish:
        publish("mutation", table)
    return int(not report["changes"])


if __name__ == "__main__":
    sys.exit(main())
