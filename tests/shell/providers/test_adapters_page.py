"""The page about adapters: its programs run, and its adapter is as short as it says."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from minamo.core.chunks import DoneChunk, TextChunk
from minamo.testing import as_chunks

pytestmark = pytest.mark.anyio
PAGE = Path(__file__).parents[3] / "docs" / "adapters.md"


async def test_the_programs_of_the_page_run() -> None:
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    names: dict[str, Any] = {}
    exec(compile("\n".join(blocks), PAGE.name, "exec"), names)

    assert await names["main"]() == [
        TextChunk("You said: "),
        TextChunk("Hi"),
        DoneChunk("stop", model="m1"),
    ]
    echoed = [chunk async for chunk in as_chunks(names["echo"]("a b"))]
    assert echoed == [TextChunk("a "), TextChunk("b ")]


def test_the_adapter_has_thirty_lines() -> None:
    text = PAGE.read_text(encoding="utf-8")
    adapter = text[text.index("class Mine") :].partition("```")[0]

    assert len([line for line in adapter.splitlines() if line.strip()]) <= 30
