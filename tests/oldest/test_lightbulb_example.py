"""examples/with_lightbulb.py runs as it is, with the hikari that lightbulb needs."""

from __future__ import annotations

import json

import pytest

from minamo.twin import CREATE, Twin
from support.example_programs import load_example, place, saying, serving, started, until

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
