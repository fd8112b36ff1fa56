"""npm packages for tests: installed once per `package.json`, into a cache of the user."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest


def node_environment(folder: Path) -> dict[str, str]:
    """Variables with which node finds the packages that *folder* asks for.

    Where there is no npm, or where it cannot install, the test is skipped; in CI that fails it.
    """
    try:
        modules = _installed(folder / "package.json")
    except (OSError, subprocess.SubprocessError) as error:
        told = getattr(error, "stderr", "") or str(error)
        if os.environ.get("CI") == "true":
            pytest.fail(f"npm cannot install: {told}")
        pytest.skip(f"npm cannot install: {told.strip().splitlines()[-1]}")
    return {**os.environ, "NODE_PATH": str(modules)}


def _installed(wanted: Path) -> Path:
    if shutil.which("node") is None or (npm := shutil.which("npm")) is None:
        raise FileNotFoundError("node and npm are not installed")
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "hikari-minamo"
    home = cache / f"npm-{hashlib.sha256(wanted.read_bytes()).hexdigest()[:16]}"
    if not home.exists():
        cache.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=cache) as made:
            shutil.copy(wanted, made)
            command = [npm, "install", "--no-package-lock", "--no-audit", "--no-fund"]
            subprocess.run(
                command, cwd=made, check=True, capture_output=True, text=True, timeout=300
            )
            _keep(Path(made), home)
    return home / "node_modules"


def _keep(made: Path, home: Path) -> None:
    """Put a finished installation in its place, unless another process was faster."""
    ready = made.with_name(f"{made.name}.ready")
    shutil.copytree(made, ready, symlinks=True)
    try:
        ready.rename(home)
    except OSError:
        shutil.rmtree(ready)
