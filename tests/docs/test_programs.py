"""Programs in the README, the pages and examples/: their types are right, and quotes are true."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from support.doc_programs import PAGES, ROOT, blocks, programs
from support.system_parts import report_missing

QUOTES = [block for page in PAGES for block in blocks(page) if block.note.startswith("from ")]
EXAMPLES = sorted((ROOT / "examples").rglob("*.py"))


@pytest.mark.parametrize("block", QUOTES, ids=lambda block: f"{block.page.name}-{block.line}")
def test_a_quote_is_in_its_file(block: object) -> None:
    file = ROOT / block.note.removeprefix("from ")  # type: ignore[attr-defined]
    assert block.text.strip() in file.read_text(encoding="utf-8")  # type: ignore[attr-defined]


def test_every_note_is_understood() -> None:
    notes = {block.note for page in PAGES for block in blocks(page)}
    free = {note for note in notes if note.startswith(("from ", "not run: "))}
    assert notes - free <= {"", "continues"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All programs, as files of their own."""
    made = tmp_path_factory.mktemp("programs")
    for page in PAGES:
        for name, text in programs(page):
            (made / f"{name}.py").write_text(text, encoding="utf-8")
    for path in EXAMPLES:
        if path.stem != "with_lightbulb":  # tests/oldest; it needs another hikari
            name = "_".join(path.relative_to(ROOT / "examples").with_suffix("").parts)
            shutil.copy(path, made / f"example_{name}.py")
    assert len(list(made.iterdir())) > 30
    return made


@pytest.mark.timeout(300)
def test_mypy_finds_nothing(folder: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", str(folder)],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout


@pytest.mark.timeout(300)
def test_pyright_finds_nothing(folder: Path) -> None:
    command = Path(sys.executable).with_name("pyright")
    done = subprocess.run(
        [str(command), "--pythonpath", sys.executable, str(folder)],
        cwd=folder, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if "0 errors" not in done.stdout and " error" not in done.stdout:
        report_missing("npm", "pyright could not be started")
    assert done.returncode == 0, done.stdout
