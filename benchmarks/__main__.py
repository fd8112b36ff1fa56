"""Run the benchmarks: `python -m benchmarks [name …] [--quick] [--publish] [--check] [--json]`."""

from __future__ import annotations

import argparse
import datetime
import importlib
import json
import os
import platform
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks import report
from benchmarks.contestants import PEERS, kept, versions
from benchmarks.environments import BUILD, HERE, ROOT
from benchmarks.suites import CHECK, FULL, QUICK, Scale

SUITES = ("ingest", "pipeline", "growth", "concurrency", "first_visible", "chunking", "splitting",
          "stops", "machine", "delivery")  # fmt: skip
RESULTS = HERE / "results.json"
RATIOS = HERE / "ratios.json"
#: A stored ratio may be lost by so much before `make bench-check` fails.
TOLERANCE = 1.25


def main(arguments: list[str] | None = None) -> int:
    """Run what the command line names."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="name", help=f"any of {', '.join(SUITES)}")
    parser.add_argument("--quick", action="store_true", help="shorter inputs, fewer rounds")
    parser.add_argument("--publish", action="store_true", help="write results and the docs page")
    parser.add_argument("--report", action="store_true", help="write the page from stored results")
    parser.add_argument("--check", action="store_true", help="compare with the stored ratios")
    parser.add_argument("--json", action="store_true", help="print the figures for programs")
    options = parser.parse_args(arguments)
    if unknown := [name for name in options.names if name not in SUITES]:
        parser.error(f"nothing to measure called {unknown[0]!r}; there is {', '.join(SUITES)}")
    if options.report:
        return _publish(json.loads(RESULTS.read_text(encoding="utf-8")))
    if options.check:
        return _check()
    run = perform(options.names or SUITES, QUICK if options.quick else FULL, options.quick)
    if options.json:
        print(json.dumps(run["benchmarks"], ensure_ascii=False))
    else:
        print(report.section(run))
    BUILD.mkdir(parents=True, exist_ok=True)
    _write(BUILD / "results.json", run)
    if options.publish:
        _write(RESULTS, run)
        _write(RATIOS, ratios(run))
        return _publish(run)
    return 0


def perform(names: tuple[str, ...] | list[str], scale: Scale, quick: bool) -> dict[str, Any]:
    """Measure; return everything that a report needs."""
    began, load = time.time(), os.getloadavg()[0]
    found: dict[str, Any] = {}
    for name in names:
        _tell(f"{name} …")
        found[name] = importlib.import_module(f"benchmarks.suites.{name}").measure(scale)
        _tell(f"{name}: done after {time.time() - began:.0f} s")
    return {
        "date": datetime.datetime.now(tz=datetime.UTC).date().isoformat(),
        "commit": _commit(),
        "quick": quick,
        "minutes": round((time.time() - began) / 60, 1),
        "load_average": {"before": round(load, 2), "after": round(os.getloadavg()[0], 2)},
        "machine": {
            "cpu": _processor(),
            "cores": os.cpu_count(),
            "system": f"{platform.system()} {platform.release()}",
            "python": platform.python_version(),
        },
        "versions": versions(PEERS) if scale.peers else {},
        "benchmarks": found,
    }


def _tell(words: str) -> None:
    print(words, file=sys.stderr, flush=True)


def _commit() -> str:
    done = subprocess.run(
        ["git", "describe", "--always", "--dirty", "--exclude=*"],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    return done.stdout.strip() or "unknown"


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("model name"):
            return " ".join(line.partition(":")[2].split())
    return platform.processor() or "unknown"


def _write(path: Path, value: Any) -> None:
    path.write_text(json.dumps(value, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def _publish(run: dict[str, Any]) -> int:
    for path in report.publish(run):
        _tell(f"wrote {path.relative_to(ROOT)}")
    return 0


def ratios(run: dict[str, Any]) -> dict[str, float]:
    """Return the ratios that `make bench-check` compares; smaller is better."""
    found, kept = run["benchmarks"], {}
    for dialect, contestants in found.get("ingest", {}).get("dialects", {}).items():
        kept[f"ingest, {dialect}, to by hand"] = contestants["minamo"]["to_floor"]["ratio"]
    for size, contestants in found.get("pipeline", {}).get("chunk", {}).items():
        for way in ("minamo", "minamo, driver", "minamo, busy channel"):
            if "to_yardstick" in contestants[way]:  # older runs have none
                to_yardstick = contestants[way]["to_yardstick"]["ratio"]
                kept[f"pipeline, {size}, {way}, to a loop over characters"] = to_yardstick
    for name, contestants in found.get("machine", {}).get("events", {}).items():
        kept[f"machine, {name}, to by hand"] = contestants["minamo"]["to_floor"]["ratio"]
    return kept


def compare(stored: dict[str, float], now: dict[str, float]) -> list[str]:
    """Return a line for each ratio that was lost."""
    return [
        f"{name}: {now[name]:.2f}, stored {value:.2f}"
        for name, value in stored.items()
        if name in now and now[name] > value * TOLERANCE
    ]


def _check() -> int:
    stored: dict[str, float] = json.loads(RATIOS.read_text(encoding="utf-8"))
    names = ("ingest", "pipeline", "machine")
    with kept("minamo", "floor"):
        now = ratios(perform(names, CHECK, quick=True))
        lost = compare(stored, now)
        if lost:  # other work on the machine can lose a ratio once
            again = ratios(perform(names, CHECK, quick=True))
            now = {name: min(value, again[name]) for name, value in now.items()}
            lost = compare(stored, now)
    for name, value in now.items():
        print(f"{name:<60} {value:>8.2f}   stored {stored.get(name, float('nan')):>8.2f}")
    for line in lost:
        _tell(f"lost: {line}")
    return 1 if lost else 0


if __name__ == "__main__":
    raise SystemExit(main())
