"""A Chromium or Chrome for tests: the system's, else one from npm, unpacked into a cache.

As a pytest plugin, it offers the fixture `browser`: one browser for the tests of a file.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from attrs import frozen

from support.node_packages import node_modules
from support.system_parts import report_missing

_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_PACKAGE = Path(__file__).parents[1] / "browser" / "chromium"
# Chromium needs these where there is no display, no user and little shared memory.
_ARGUMENTS = ("--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu")


@frozen
class Chromium:
    """How to start a browser."""

    program: str
    environ: dict[str, str]
    arguments: tuple[str, ...] = _ARGUMENTS


def find_chromium() -> Chromium:
    """Return a browser; where there is none the test is skipped, and in CI it fails."""
    found = next(filter(None, map(shutil.which, _NAMES)), None)
    if found is not None:
        return Chromium(found, dict(os.environ))
    try:
        home = _unpacked(node_modules(_PACKAGE))
    except (OSError, subprocess.SubprocessError) as error:
        report_missing("chromium", str(error).splitlines()[-1])
    libraries = [str(home / "lib"), *filter(None, [os.environ.get("LD_LIBRARY_PATH")])]
    environ = {**os.environ, "LD_LIBRARY_PATH": os.pathsep.join(libraries)}
    return Chromium(str(home / "chromium"), environ)


# Not for the session: while an async fixture is open, no test of another folder can start a loop.
@pytest.fixture(scope="module")
async def browser() -> AsyncIterator[Any]:
    """A browser of playwright."""
    from playwright.async_api import async_playwright

    found = find_chromium()
    async with async_playwright() as playwright:
        made = await playwright.chromium.launch(
            executable_path=found.program, env=found.environ, args=[*found.arguments]
        )
        yield made
        await made.close()


def _unpacked(modules: Path) -> Path:
    home = modules.parent / "unpacked"
    if not home.exists():
        made = Path(tempfile.mkdtemp(dir=modules.parent))
        source = modules / "@sparticuz" / "chromium" / "bin"
        command = ["node", str(_PACKAGE / "unpack.js"), str(source), str(made)]
        subprocess.run(command, check=True, capture_output=True, timeout=120)
        with tarfile.open(made / "al2023.tar") as libraries:
            libraries.extractall(made, filter="data")
        try:
            made.rename(home)
        except OSError:  # another process was faster
            shutil.rmtree(made)
    return home
