"""The page about testing: its tests are collected and pass, in a folder of their own."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "testing.md"


@pytest.mark.timeout(180)
def test_the_tests_of_the_page_pass(tmp_path: Path) -> None:
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    for number, block in enumerate(blocks):
        (tmp_path / f"test_block_{number}.py").write_text(block, encoding="utf-8")
    # A busy computer is no reason to fail, and the examples are the same each time.
    (tmp_path / "conftest.py").write_text(
        "from hypothesis import HealthCheck, settings\n"
        "settings.register_profile('page', deadline=None, derandomize=True, max_examples=20,"
        " suppress_health_check=list(HealthCheck))\n"
        "settings.load_profile('page')\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "."],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
    assert f"{len(blocks) + 1} passed" in done.stdout
