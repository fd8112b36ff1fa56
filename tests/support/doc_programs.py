"""The programs in README.md and docs/*.md: blocks of Python, joined where a page continues one."""

from __future__ import annotations

import re
from pathlib import Path

from attrs import frozen

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
_BLOCK = re.compile(
    r"(?:^<!-- (?P<note>[^\n]*) -->\n)?^```(?P<language>\w+)\n(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)


@frozen
class Block:
    """A block of code on a page."""

    page: Path
    line: int
    language: str
    text: str
    note: str
    """The comment in the line before it: ``from FILE``, or ``continues`` the block before."""


def blocks(page: Path) -> list[Block]:
    text = page.read_text(encoding="utf-8")
    return [
        Block(page, text.count("\n", 0, found.start("text")) + 1, found["language"], found["text"],
              found["note"] or "")
        for found in _BLOCK.finditer(text)
    ]  # fmt: skip


def programs(page: Path) -> list[tuple[str, str]]:
    """Return the names and texts of the Python programs of a page.

    A block with the note ``continues`` belongs to the block before it; one that is quoted from a
    file is checked where that file is.
    """
    found: list[tuple[str, str]] = []
    for block in blocks(page):
        if block.language != "python" or block.note.startswith("from "):
            continue
        if block.note == "continues":
            name, text = found.pop()
            found.append((name, f"{text}\n\n{block.text}"))
        else:
            found.append((f"{page.stem.replace('-', '_').lower()}_{block.line}", block.text))
    return found
