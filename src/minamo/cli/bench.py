"""`minamo bench`: run a benchmark; only in a checkout, because the package has none."""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

from minamo.errors import BadRequest, MinamoError

_FOLDER = Path(__file__).resolve().parents[3] / "benchmarks"


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the sub-command."""
    parser = commands.add_parser(
        "bench",
        help="measure, in a checkout",
        description="Measure a part of minamo beside its peers, in one interleaved run.  "
        "`make bench` runs them all.",
    )
    known = ", ".join(_known()) or "nothing here; the measurements are in a checkout"
    parser.add_argument("subject", nargs="?", help=f"what to measure: {known}")
    parser.add_argument("--quick", action="store_true", help="a short run, with rough figures")
    parser.add_argument("--json", action="store_true", help="figures for programs")
    parser.set_defaults(run=_run)


def _known() -> list[str]:
    return sorted(path.stem for path in (_FOLDER / "suites").glob("[a-z]*.py"))


def _run(options: argparse.Namespace) -> int:
    known = _known()
    if not known:
        raise MinamoError("the measurements are not in the package; run this in a checkout")
    if options.subject is None:
        print("\n".join(known))
        return 0
    if options.subject not in known:
        raise BadRequest(
            f"nothing to measure called {options.subject!r}; there is {', '.join(known)}"
        )
    flags = [f"--{flag}" for flag in ("quick", "json") if getattr(options, flag)]
    command = [sys.executable, "-m", "benchmarks", options.subject, *flags]
    return subprocess.run(command, cwd=_FOLDER.parent, check=False).returncode  # noqa: S603
