"""The documentation, built once for all tests of a run."""

from __future__ import annotations

import fcntl
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
# As `python -m sphinx`, but the garbage collector, which takes a third of the time, is off.
BUILD = (
    "import gc, sys, sphinx.cmd.build; gc.disable(); sys.exit(sphinx.cmd.build.main(sys.argv[1:]))"
)


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of the site; the first worker builds it, the others wait."""
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if base.name.startswith("popen-") else base
    out = shared / "site"
    with (shared / "site.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not out.exists():
            done = subprocess.run(
                [sys.executable, "-c", BUILD, "-W", "--keep-going", "-q", "-E",
                 "-d", str(shared / "doctrees"), "-b", "html", "docs", str(out)],
                cwd=ROOT, capture_output=True, text=True, check=False,
            )  # fmt: skip
            if done.returncode:
                (shared / "site").rename(shared / "site-failed")
            assert done.returncode == 0, done.stdout + done.stderr
    return out
