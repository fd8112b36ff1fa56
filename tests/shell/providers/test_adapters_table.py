"""The tables of docs/adapters.md: the tests they name exist, and the options are those in use."""

from __future__ import annotations

import re
from pathlib import Path

from minamo.wire.options import ReplyOptions

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "adapters.md").read_text(encoding="utf-8")


CELL = re.compile(r"`([\w/]+\.py)::(test_\w+)`")


def test_every_test_that_the_table_names_exists() -> None:
    table = PAGE[PAGE.index("| feature |") : PAGE.index("## The options")]
    rows = [line[1:-1].split("|") for line in table.splitlines()[2:] if line]
    assert {len(row) for row in rows} == {5}
    cells = [cell.strip() for row in rows for cell in row[1:] if cell.strip()]
    assert len(cells) > 50
    for cell in cells:
        named = CELL.fullmatch(cell)
        assert named, f"{cell} names no test"
        told = (ROOT / "tests" / named[1]).read_text(encoding="utf-8")
        assert f"def {named[2]}(" in told, f"{named[1]} has no {named[2]}"


def test_the_table_of_options_is_complete() -> None:
    table = PAGE[PAGE.index("## The options") : PAGE.index("## You have a stream")]
    for option in ReplyOptions.__annotations__:
        assert f"`{option}" in table, option
