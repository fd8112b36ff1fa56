"""Every Python program in the README and on the page about the machine runs as it is printed.

The bot of the README is run on the twin, by tests/client/test_docs_embedding.py; the other pages
in docs/ have tests of their own.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

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


def test_every_link_leads_somewhere() -> None:
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")]
    for page in pages:
        for target in re.findall(
            r"\]\((?!https?://|#)([^)#]+)\)", page.read_text(encoding="utf-8")
        ):
            assert (page.parent / target).exists(), f"{page.name}: {target}"
