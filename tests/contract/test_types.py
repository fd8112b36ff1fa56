"""The types of every public name are complete, and a user's strict type checker accepts them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from support.system_parts import report_missing


def run_pyright(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run pyright with this interpreter's packages; skip the test where node is missing."""
    if shutil.which("node") is None:
        report_missing("npm")
    # `--verifytypes` ignores --pythonpath: it asks the `python` of PATH where packages are.
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        [sys.executable, "-m", "pyright", *arguments],
        env={**os.environ, "PATH": path, "PYRIGHT_PYTHON_IGNORE_WARNINGS": "1"},
        capture_output=True, text=True, check=False,
    )  # fmt: skip


@pytest.mark.timeout(300)
def test_every_public_name_has_a_known_type() -> None:
    done = run_pyright("--verifytypes", "minamo", "--ignoreexternal")
    problems = "\n".join(line for line in done.stdout.splitlines() if "error:" in line)
    assert "Type completeness score: 100%" in done.stdout, problems or done.stdout + done.stderr
