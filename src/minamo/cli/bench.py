"""`minamo bench`: run a benchmark; only in a checkout, because the package has none."""

from __future__ import annotations

import argparse
import runpy
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from minamo.errors import BadRequest, MinamoError

# Rarely enough not to disturb a measurement.
_TELL_EVERY_S = 15.0
_FOLDER = Path(__file__).resolve().parents[3] / "tests" / "bench"


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
    parser.add_argument("--json", action="store_true", help="figures for programs")
    parser.set_defaults(run=_run)


def _known() -> list[str]:
    return sorted(path.stem.removeprefix("bench_") for path in _FOLDER.glob("bench_*.py"))


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
    module = runpy.run_path(str(_FOLDER / f"bench_{options.subject}.py"))
    about = (module["__doc__"] or "").partition("\n")[0]
    print(f"{about}\nIt takes some minutes; the figures come at the end.", file=sys.stderr)
    with _progress():
        return int(module["main"](as_json=options.json))


@contextmanager
def _progress() -> Iterator[None]:
    """Print the elapsed time now and then, from a thread: a measurement does not return for it."""
    done = threading.Event()

    def tell() -> None:
        began = time.monotonic()
        while not done.wait(_TELL_EVERY_S):
            print(f"measuring for {time.monotonic() - began:.0f} s …", file=sys.stderr, flush=True)

    thread = threading.Thread(target=tell, daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
