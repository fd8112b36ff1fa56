"""Show that every promise can fail: break the code it guards, and see its own quick test fail.

`make mutants` draws, for each promise, small changes on lines that its quick tests run, until three
of them are caught; `K=p07` for one promise, `SEED=…` for other changes.  A change is caught if a
test with the promise in its name fails, and passes again without the change.  All of it happens in
a copy of the tree.  The table in build/promises/ keeps the rows of promises that were not run;
`PUBLISH=1` writes it into docs/promises.md.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from functools import cached_property
from importlib.util import cache_from_source
from pathlib import Path
from typing import Any, NamedTuple

from changes import Change, changes
from run import circumstances, commit_now, publish

ROOT = Path(__file__).resolve().parents[2]
OUT = ROOT / "build" / "promises" / "mutants.json"
WANTED = 3
TRIES = 30
TEST_TIMEOUT_S = 30
RUN_TIMEOUT_S = 240
NO_IMPORT = "no test, for a module cannot be imported"
MEMORY_MAX = 8 * 1024**3


class Guard(NamedTuple):
    """The modules below src/minamo that keep a promise, and the kinds of changes that break it."""

    modules: str
    kinds: str = "logic"


GUARDED = {
    "p01": Guard("core/stream.py core/actions.py machine/machine.py"),
    "p02": Guard("core/lexing core/actions.py core/stream.py"),
    "p03": Guard("core/accounting core/actions.py core/fitting"),
    "p04": Guard("core/fitting"),
    "p05": Guard("core/lexing core/captures.py"),
    "p06": Guard("core/lexing core/captures.py core/accounting machine/machine.py", "bounds"),
    "p07": Guard("core/fitting core/cleaning core/accounting core/lexing", "bounds"),
    "p08": Guard("core machine", "hashes"),
    "p09": Guard("machine/compiler.py machine/machine.py machine/reader.py"),
    "p10": Guard("shell/driver.py shell/stops shell/delivery/queue.py"),
    "p11": Guard("machine/machine.py shell/driver.py"),
    "p12": Guard("machine/machine.py shell/driver.py"),
    "p13": Guard("shell/driver.py shell/delivery shell/turns/channel.py", "cleanup"),
    "p14": Guard("shell/driver.py shell/delivery", "cleanup faults"),
    "p15": Guard("shell/driver.py shell/delivery shell/providers/scripted.py", "faults logic"),
    "p16": Guard("shell/delivery/queue.py shell/driver.py", "logic bounds"),
    "p17": Guard("shell/delivery shell/turns/channel.py"),
    "p18": Guard("shell/delivery/delivery.py shell/discord/bot.py"),
    "p19": Guard("shell/delivery/delivery.py shell/discord/webhook.py"),
    "p20": Guard("shell/discord shell/delivery/interfaces.py"),
    "p21": Guard("core/redact.py wire/errors.py"),
    "p22": Guard("shell/providers"),
    "p23": Guard("wire/sse.py wire/assembler.py shell/providers/http.py", "logic bounds"),
    "p24": Guard("wire"),
    "p25": Guard("core/cleaning core/fitting/masked.py"),
    "p26": Guard("core/stream.py core/actions.py shell/driver.py"),
    "p27": Guard("shell/callbacks.py", "faults logic"),
}


class Copy:
    """A copy of the tree, in which tests are run."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.root = folder / "tree"
        self.seed = seed
        skip = shutil.ignore_patterns(
            ".venv*", ".git", ".hypothesis", "build", "node_modules", "__pycache__"
        )
        shutil.copytree(ROOT, self.root, ignore=skip, symlinks=True)

    @cached_property
    def tests(self) -> dict[str, list[str]]:
        """The quick tests of each promise."""
        wanted = " or ".join(GUARDED)
        told = self.pytest("--collect-only", "-k", wanted, "--ignore=tests/oldest", "tests")
        found = defaultdict(list)
        for name in told.stdout.splitlines():
            if named := re.search(r"::test_((?:p\d\d_)+)", name):
                for promise in named[1].strip("_").split("_"):
                    found[promise].append(name)
        return found

    def pytest(self, *arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
        """Run quick tests, and end everything that they have started if they never end."""
        command = [
            *(sys.executable, "-m", "pytest", "-q", "-m", "not slow", "-p", "no:cacheprovider"),
            *(f"--timeout={TEST_TIMEOUT_S}", f"--hypothesis-seed={self.seed}", *arguments),
        ]
        variables = {
            **os.environ,
            "PYTHONPATH": str(self.root / "src"),
            "PYTHONDONTWRITEBYTECODE": "",  # compiling anew takes most of the time of a short run
            "MINAMO_SEED": str(self.seed),
            "PYTHONHASHSEED": str(self.seed + 100),  # none that a test of P8 uses
            **environ,
        }
        with subprocess.Popen(
            command, cwd=self.root, env=variables, text=True, start_new_session=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, preexec_fn=limit_memory,
        ) as process:  # fmt: skip
            try:
                output, _ = process.communicate(timeout=RUN_TIMEOUT_S)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                output = "FAILED never ends"
        return subprocess.CompletedProcess(command, process.returncode, output)

    def covered(self, promise: str) -> dict[Path, dict[int, list[str]]]:
        """The lines of the guarded modules that the quick tests run, and which of them do."""
        settings, data = self.root / "coveragerc", self.root / "coverage-data"
        settings.write_text(f"[run]\npatch = subprocess\ndata_file = {data}\n")
        files = sorted({name.partition("::")[0] for name in self.tests[promise]})
        told = self.pytest(
            "-k", promise, *files, "--cov=minamo", "--cov-context=test", "--cov-report=",
            f"--cov-config={settings}",
        )  # fmt: skip
        if told.returncode and (told := self.pytest("-k", promise, *files)).returncode:  # untraced
            print(f"{promise}: its quick tests fail before anything is changed", flush=True)
            print(told.stdout[-2_000:], flush=True)
            return {}
        report = self.root / "lines.json"
        subprocess.run(
            [sys.executable, "-m", "coverage", "json", "--show-contexts", f"--rcfile={settings}", "-o", str(report), "-q"],
            cwd=self.root, check=True, capture_output=True,
        )  # fmt: skip
        guarded = tuple(f"src/minamo/{each}" for each in GUARDED[promise].modules.split())
        return {
            self.root / name: {int(line): tests for line, tests in found["contexts"].items()}
            for name, found in json.loads(report.read_text())["files"].items()
            if name.startswith(guarded)
        }

    def broken(self, promise: str, change: Change, contexts: list[str]) -> str:
        """The test of *promise* that fails with *change* and passes without it, or nothing."""
        run_by = {name.partition("|")[0].partition("[")[0] for name in contexts}
        mine = {name.partition("[")[0] for name in self.tests[promise]}
        return self.failing(
            change, sorted(run_by & mine) or sorted(mine)
        )  # or another process does

    def failing(self, change: Change, names: list[str]) -> str:
        """The first of these tests that fails with *change* and passes without it, or nothing."""
        kept = change.file.read_text(encoding="utf-8")
        _write(change.file, change.source())
        try:
            told = self.pytest("-x", *names)
        finally:
            _write(change.file, kept)
        failed = re.search(r"^(?:FAILED|ERROR) (\S+?::\w+|never ends)", told.stdout, re.MULTILINE)
        if not told.returncode:
            return ""
        found = failed[1] if failed else NO_IMPORT
        again = [found] if "::" in found else names
        return found if self.pytest(*again).returncode == 0 else ""


def _write(file: Path, source: str) -> None:
    """Write a module, and remove what Python has compiled of it."""
    file.write_text(source, encoding="utf-8")
    Path(cache_from_source(str(file))).unlink(missing_ok=True)


def limit_memory() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_MAX, MEMORY_MAX))


def judge(copy: Copy, promise: str, rng: random.Random) -> dict[str, Any]:
    """Change the code until enough changes are caught; returns the row of the table."""
    begin = time.monotonic()
    lines = copy.covered(promise)
    kinds = GUARDED[promise].kinds
    every = [found for file in sorted(lines) for found in changes(file, set(lines[file]), kinds)]
    tried, caught = 0, []
    for change in rng.sample(every, min(len(every), TRIES)):
        since = time.monotonic()
        test = copy.broken(promise, change, lines[change.file][change.line])
        place = f"{change.file.relative_to(copy.root / 'src' / 'minamo')}:{change.line}"
        how = f"caught by {test}" if test else "lived"
        taken = time.monotonic() - since
        print(f"  {promise} {place} {change.what}: {how}, {taken:.0f} s", flush=True)
        tried += 1
        if test:
            name = test.rpartition("::")[2]
            caught.append({"place": place, "change": change.what, "test": name})
        if len(caught) == WANTED:
            break
    seconds = round(time.monotonic() - begin)
    return {"possible": len(every), "tried": tried, "caught": caught, "seconds": seconds}


def as_markdown(report: dict[str, Any]) -> str:
    """The table, with how it was made."""
    about = report["circumstances"]
    lines = [
        f"`make mutants`, until {about['date']}; {about['machine']}, Python {about['python']}.",
        "",
        "| promise | caught | of drawn | of possible | seconds | seed, commit | the caught changes |",
        "|---|--:|--:|--:|--:|---|---|",
    ]
    for promise, row in report["promises"].items():
        shown = "<br>".join(
            f"{found['place']} `{found['change']}`".replace("|", "\\|") for found in row["caught"]
        )
        cells = (
            *(f"`{promise}`", len(row["caught"]), row["tried"], row["possible"], row["seconds"]),
            f"{row['seed']}, {row['commit']}",
        )
        lines.append(f"| {' | '.join(map(str, cells))} | {shown} |")
    return "\n".join(lines) + "\n"


def record(row: dict[str, Any], promise: str, seed: int, commit: str) -> str:
    """Put the row into the reports, which keep the rows of other promises; returns the table."""
    OUT.parent.mkdir(parents=True, exist_ok=True)
    rows = json.loads(OUT.read_text(encoding="utf-8"))["promises"] if OUT.exists() else {}
    rows[promise] = {**row, "seed": seed, "commit": commit}
    report = {"circumstances": circumstances(seed, commit), "promises": dict(sorted(rows.items()))}
    OUT.write_text(json.dumps(report, indent=1, ensure_ascii=False), encoding="utf-8")
    table = as_markdown(report)
    OUT.with_suffix(".md").write_text(table, encoding="utf-8")
    return table


def main() -> int:
    """Judge the promises, print the table, and write the reports."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="a promise, such as p07")
    parser.add_argument("--publish", action="store_true", help="write docs/promises.md")
    options = parser.parse_args()
    commit, few, table = commit_now(), [], ""
    with tempfile.TemporaryDirectory() as folder:
        copy = Copy(Path(folder), options.seed)
        for promise in GUARDED:
            if re.search(options.only, promise):
                row = judge(copy, promise, random.Random(f"{options.seed} {promise}"))
                table = record(row, promise, options.seed, commit)
                few += [promise] if len(row["caught"]) < WANTED else []
    print(f"\n{table}\nreports: {OUT} and {OUT.with_suffix('.md').name}")
    if options.publish:
        publish("mutants", table)
    for promise in few:
        print(f"{promise.upper()}: fewer than {WANTED} are caught")
    return int(bool(few))


if __name__ == "__main__":
    sys.exit(main())
