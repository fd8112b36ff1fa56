"""examples/with_lightbulb.py runs as it is, with the hikari that lightbulb needs."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from minamo.twin import CREATE, Twin
from support.example_programs import (
    EXAMPLES,
    ROOT,
    load_example,
    place,
    saying,
    serving,
    started,
    until,
)

pytestmark = pytest.mark.anyio


async def test_with_lightbulb(monkeypatch: pytest.MonkeyPatch) -> None:
    model = saying("One.\n\n", "Two.")
    async with Twin() as twin, serving(model):
        place(twin, model.url, monkeypatch)
        program = load_example("with_lightbulb")
        async with started(program.bot, program.llm):
            await until(lambda: "ask" in str(twin.world.commands))
            await twin.slash("ask", {"question": "why?"})
            await until(lambda: twin.texts() == ["One.", "Two."])
        assert twin.journal.count(CREATE) == 0
    assert "why?" in json.dumps(model.bodies)


def test_its_types_are_right(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path), str(EXAMPLES / "with_lightbulb.py")],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
