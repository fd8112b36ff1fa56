"""The tables of docs/adapters.md: the tests they name exist, and the options are those in use."""

from __future__ import annotations

import re
from pathlib import Path

from minamo.wire.options import ReplyOptions

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "adapters.md").read_text(encoding="utf-8")


def test_every_test_that_the_table_names_exists() -> None:
    named = re.findall(r"`(test_\w+\.py)::(test_\w+)`", PAGE)
    assert len(named) > 30
    for file, test in set(named):
        (path,) = (ROOT / "tests").rglob(file)
        assert f"def {test}(" in path.read_text(encoding="utf-8"), f"{file} has no {test}"


def test_the_table_of_options_is_complete() -> None:
    table = PAGE[PAGE.index("## The options") : PAGE.index("## You have a stream")]
    for option in ReplyOptions.__annotations__:
        assert f"`{option}" in table, option
