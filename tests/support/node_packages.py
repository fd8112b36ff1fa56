"""npm packages for tests: installed once per `package.json`, into a cache of the user; programs that use them."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from support.system_parts import report_missing


def node_environment(folder: Path) -> dict[str, str]:
    """Variables with which node finds the packages that *folder* asks for.

    Where there is no npm, or where it cannot install, the test is skipped; in CI that fails it.
    """
    try:
        modules = node_modules(folder)
    except (OSError, subprocess.SubprocessError) as error:
        output = str(getattr(error, "stderr", None) or error)
        report_missing("npm", output.strip().splitlines()[-1])
    return {**os.environ, "NODE_PATH": str(modules)}


@contextlib.contextmanager
def node_program(script: Path) -> Iterator[Callable[[Any], Any]]:
    """Start a program that answers each line of JSON with one; yield the function that asks it."""
    with subprocess.Popen(
        ["node", script.name],
        cwd=script.parent,
        env=node_environment(script.parent),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        encoding="utf-8",
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        question, answer = process.stdin, process.stdout

        def ask(sent: Any) -> Any:
            question.write(json.dumps(sent) + "\n")
            question.flush()
            return json.loads(answer.readline())

        yield ask
        question.close()


def node_modules(folder: Path) -> Path:
    """Return where the packages are that the `package.json` of *folder* asks for."""
    wanted = folder / "package.json"
    if shutil.which("node") is None or (npm := shutil.which("npm")) is None:
        raise FileNotFoundError("node and npm are not installed")
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "hikari-minamo"
    home = cache / f"npm-{hashlib.sha256(wanted.read_bytes()).hexdigest()[:16]}"
    if not home.exists():
        cache.mkdir(parents=True, exist_ok=True)
        with home.with_suffix(".lock").open("w") as lock:  # one worker installs, the others wait
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not home.exists():
                _install(npm, wanted, home)
    return home / "node_modules"


def _install(npm: str, wanted: Path, home: Path) -> None:
    """Install beside *home* and put the whole there, unless another process was faster."""
    made = Path(tempfile.mkdtemp(dir=home.parent))
    # One more try, at once: where there is no network, npm would try for minutes.
    command = [npm, "install", "--no-package-lock", "--no-audit", "--no-fund",
               "--fetch-retries=1", "--fetch-retry-mintimeout=1000"]  # fmt: skip
    try:
        shutil.copy(wanted, made)
        subprocess.run(command, cwd=made, check=True, capture_output=True, text=True, timeout=300)
        with contextlib.suppress(OSError):
            made.rename(home)
    finally:
        shutil.rmtree(made, ignore_errors=True)
