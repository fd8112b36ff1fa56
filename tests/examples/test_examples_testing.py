"""The tests of examples/testing pass as they are; with a wrong expectation they fail, and end."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from support.example_programs import EXAMPLES


def run(folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist"],
        cwd=folder, capture_output=True, text=True, check=False, timeout=55,
    )  # fmt: skip


def copied(tmp_path: Path) -> Path:
    ignored = shutil.ignore_patterns("__pycache__", ".hypothesis")
    return shutil.copytree(EXAMPLES / "testing", tmp_path / "mine", ignore=ignored)


def test_the_tests_pass(tmp_path: Path) -> None:
    done = run(copied(tmp_path))
    assert done.returncode == 0, done.stdout
    assert "6 passed" in done.stdout


def test_a_wrong_expectation_fails_at_once_and_shows_the_journal(tmp_path: Path) -> None:
    folder = copied(tmp_path)
    file = folder / "test_bot.py"
    words = file.read_text(encoding="utf-8")
    assert "== asked.id" in words
    file.write_text(words.replace("== asked.id", "== 7"), encoding="utf-8")
    (folder / "test_sequences.py").unlink()
    done = run(folder)
    assert done.returncode == 1
    assert "1 failed, 2 passed" in done.stdout
    assert "the twin's journal" in done.stdout
