"""Every Python program in the README and on the page about the machine runs as it is printed.

The bot of the README is run on the twin, by tests/shell/test_first_visit.py; the other pages
in docs/ have tests of their own.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from minamo.cli import main

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "docs" / "machine.md"]
PROGRAMS = [
    pytest.param(program, id=f"{page.name}-{number}")
    for page in PAGES
    for number, program in enumerate(
        re.findall(r"^```python\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL)
    )
    if "DISCORD_TOKEN" not in program
]


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_program_runs(program: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("page", [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))])
def test_programs_use_public_names_alone(page: Path) -> None:
    inner = r"^\s*(?:from|import) (minamo\.(?!testing|twin|machine)\w+.*)"
    assert re.findall(inner, page.read_text(encoding="utf-8"), re.MULTILINE) == []


def test_every_command_is_on_some_page() -> None:
    text = "".join(
        page.read_text(encoding="utf-8") for page in [*PAGES, *(ROOT / "docs").glob("*.md")]
    )
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    missing = [name for name in main._COMMANDS if f"minamo {name}" not in text + makefile]
    assert not missing


def test_every_link_leads_somewhere() -> None:
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")]
    for page in pages:
        for target in re.findall(
            r"\]\((?!https?://|#)([^)#]+)\)", page.read_text(encoding="utf-8")
        ):
            assert (page.parent / target).exists(), f"{page.name}: {target}"
