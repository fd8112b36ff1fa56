"""Run the promises and report: `make promises`, `K=p07`, `SEED=…`, `FULL=1`, `HOURS=1`.

The standard form runs every quick test of a promise, and of each slow one the first part or a tenth
of its cases, chosen by the seed; it is sized for a quarter of an hour of two idle cores.  `FULL=1` runs all figures of the
page.  `HOURS=1` repeats the standard form with a new seed until the hour is over.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import platform
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "promises.md"
PACKAGES = ("anyio", "aiohttp", "hikari", "hypothesis", "python-statemachine", "trio")


def circumstances(seed: int, commit: str) -> dict[str, Any]:
    """Where and with what it was run."""
    return {
        "commit": commit,
        "seed": seed,
        "date": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()),
        "machine": f"{platform.machine()}, {os.cpu_count()} processors, {platform.system()}",
        "python": platform.python_version(),
        "packages": {name: importlib.metadata.version(name) for name in PACKAGES},
    }


def commit_now() -> str:
    """The commit, with a plus if files have changed since."""
    ask = [
        "git",
        "-C",
        str(ROOT),
        "describe",
        "--always",
        "--dirty=+",
        "--abbrev=12",
        "--exclude=*",
    ]
    asked = subprocess.run(ask, capture_output=True, text=True, check=False)
    return asked.stdout.strip() or "unknown"


def run_once(seed: int, options: argparse.Namespace, out: Path) -> int:
    """One round; returns pytest's exit code."""
    command = [
        *(sys.executable, "-m", "pytest", "-q", "-n", "2", "--maxschedchunk=1", "--progress"),
        *("-m", "slow or not slow", "--timeout=900", "-p", "no:cacheprovider"),
        *("--hypothesis-profile=promises", f"--hypothesis-seed={seed}", "--ignore=tests/oldest"),
        f"--promises={out}",
        *(["--full"] if options.full else []),
        *(["-k", options.only] if options.only else []),
    ]
    environ = {**os.environ, "MINAMO_SEED": str(seed)}
    return subprocess.run(command, cwd=ROOT, env=environ, check=False).returncode


def fuzz(seconds: int) -> int:
    """Run each fuzzer with coverage guidance, one after the other; needs the group `fuzz`."""
    for file in sorted((ROOT / "tests" / "fuzz").glob("fuzz_*.py")):
        print(f"{file.name}, {seconds} s", flush=True)
        command = [sys.executable, str(file), f"-max_total_time={seconds}"]
        if code := subprocess.run(command, cwd=ROOT / "build", check=False).returncode:
            return code
    return 0


def as_markdown(report: dict[str, Any]) -> str:
    """The report as a page."""
    about = report["circumstances"]
    packages = ", ".join(f"{name} {version}" for name, version in about["packages"].items())
    lines = [
        "# The promises, tested",
        "",
        f"Commit {about['commit']}, seed {about['seed']}, {about['date']}, {about['machine']}, "
        f"Python {about['python']}, {packages}. {report['wall_s']:.0f} s.",
        "",
        "| id | promise | tests | processor | verdict | figures |",
        "|---|---|--:|--:|---|---|",
    ]
    for name, kept in report["promises"].items():
        figures = "<br>".join(figure.replace("|", "\\|") for figure in kept["figures"][:3])
        cells = (
            name.upper(), kept["title"], str(kept["tests"]), f"{kept['cpu_s']:.0f} s",
            kept["verdict"], figures,
        )  # fmt: skip
        lines.append(f"| {' | '.join(cells)} |")
        lines += [f"|  | {failure} |  |  |  |  |" for failure in kept["failures"][:5]]
    return "\n".join(lines) + "\n"


def runs_table(folder: Path, commit: str) -> str:
    """A row for each report of this commit that covers all promises, and where they were made."""
    count = len(re.findall(r"^\| P\d+ \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE))
    reports = [json.loads(file.read_text(encoding="utf-8")) for file in folder.glob("*.json")]
    whole = [
        report
        for report in reports
        if len(report["promises"]) == count and report["circumstances"]["commit"] == commit
    ]
    whole.sort(key=lambda report: report["circumstances"]["date"])
    lines = ["| seed | ended | tests | seconds | promises kept |", "|--:|---|--:|--:|--:|"]
    for report in whole:
        about, promises = report["circumstances"], report["promises"].values()
        kept = sum(promise["verdict"] == "ok" for promise in promises)
        tests = sum(promise["tests"] for promise in promises)
        cells = (about["seed"], about["date"], f"{tests:,}", f"{report['wall_s']:.0f}")
        lines.append(f"| {' | '.join(map(str, cells))} | {kept} of {len(promises)} |")
    about = whole[-1]["circumstances"]
    where = f"Commit {commit}; {about['machine']}, Python {about['python']}."
    return "\n".join([where, "", *lines]) + "\n"


def publish(name: str, table: str) -> None:
    """Write the table of this name into the page about the promises."""
    begin, end = (
        f"<!-- {name}: written by `make {name}`, not by hand -->",
        f"<!-- end of {name} -->",
    )
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(begin)
    _, _, after = rest.partition(end)
    PAGE.write_text(f"{before}{begin}\n\n{table}\n{end}{after}", encoding="utf-8")


def main() -> int:
    """Run, once or for hours, and write the reports."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--only", default="", help="as pytest's -k: p07")
    parser.add_argument("--hours", type=float, default=0.0)
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--fuzz", type=int, default=0, help="seconds for each fuzzer afterwards")
    parser.add_argument("--publish", action="store_true", help="write docs/promises.md")
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "promises")
    options = parser.parse_args()
    end = time.monotonic() + options.hours * 3600
    seed, worst, commit = options.seed, 0, commit_now()
    while True:
        print(
            f"SEED={seed} make promises{' K=' + options.only if options.only else ''}", flush=True
        )
        raw = options.out / f"{seed}.json"
        code = run_once(seed, options, raw)
        worst = worst or code
        if raw.exists():
            report = {"circumstances": circumstances(seed, commit), **json.loads(raw.read_text())}
            raw.write_text(json.dumps(report, indent=1, ensure_ascii=False), encoding="utf-8")
            page = raw.with_suffix(".md")
            page.write_text(as_markdown(report), encoding="utf-8")
            print(f"reports: {raw} and {page.name}", flush=True)
        if options.publish:
            publish("promises", runs_table(options.out, commit))
        if worst or time.monotonic() >= end:
            return worst or (fuzz(options.fuzz) if options.fuzz else 0)
        seed += 1_000_003  # far from the seeds that this round has used


if __name__ == "__main__":
    sys.exit(main())
