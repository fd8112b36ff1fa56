"""The page about tools: its programs run and say what it says."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import attrs
import pytest

from minamo.shell.turns.tool_job import CLEAN_UP_S, LINES_MAX
from minamo.shell.turns.tool_runner import LEFT_BEHIND_MAX
from minamo.shell.turns.turn_result import STOP_GRACE_MS, TurnSettings

pytestmark = pytest.mark.anyio
PAGE = (Path(__file__).parents[3] / "docs" / "tools.md").read_text(encoding="utf-8")


async def test_the_programs_of_the_page_run() -> None:
    blocks = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    names: dict[str, Any] = {}
    exec(compile("\n".join(blocks), "tools.md", "exec"), names)
    shown, progress, result = await names["main"]()

    assert f"`{[shown[0]]!r}"[:-1].replace("'", '"') in PAGE
    assert repr(shown[1]) in PAGE
    assert progress == ["Looking at the sky over Rome…"]
    assert result.status == "completed"
    assert [one.role for one in result.messages] == ["user", "assistant", "tool", "assistant"]
    assert len(await names["roll"](6, 3)) == 3
    assert await names["sum_up"](2) == 2


def test_the_table_of_limits_is_right() -> None:
    rows = dict(re.findall(r"^\| `(\w+)` \| ([\d ]+|none) \|", PAGE, re.MULTILINE))
    told = {name: value.replace(" ", "") for name, value in rows.items()}
    real = {name: str(value or "none") for name, value in attrs.asdict(TurnSettings()).items()}
    assert told == real


def test_the_numbers_in_the_prose_are_right() -> None:
    assert "every tool that it ends a second to clean up" in " ".join(PAGE.split())
    assert CLEAN_UP_S == 1
    assert "After four calls of one tool" in PAGE
    assert LEFT_BEHIND_MAX == 4
    assert f"a turn shows at most {LINES_MAX} of them" in PAGE
    scaling = (Path(__file__).parents[3] / "docs" / "scaling.md").read_text(encoding="utf-8")
    for page in (PAGE, scaling):
        assert re.search(r"a second[^.]* \(`stop_grace_ms`\)", page)
    assert STOP_GRACE_MS == 1_000
