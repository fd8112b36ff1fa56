"""lightbulb and its example, as they are, with the hikari they want; `make oldest` runs this."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import hikari
import lightbulb
import pytest

from minamo.core.chunks import ErrorChunk
from minamo.core.result import StreamResult
from minamo.shell.client import Client
from minamo.shell.notices.thoughts import ThoughtDisplay
from minamo.shell.providers.scripted import ScriptedProvider
from minamo.twin import CREATE, Twin
from support.bot import make_bot, until
from support.example_programs import EXAMPLES, ROOT, load_example, place, saying, serving, started

pytestmark = pytest.mark.anyio


async def test_a_command_is_answered() -> None:
    assert hikari.__version__.startswith("2.6.")
    results: list[StreamResult] = []
    async with Twin() as twin:
        bot = make_bot(twin)
        client = Client(bot)
        framework = lightbulb.client_from_app(bot)
        registry = framework.di.registry_for(lightbulb.di.Contexts.DEFAULT)
        registry.register_value(Client, client)
        bot.subscribe(hikari.StartingEvent, framework.start)

        @framework.register
        class Ask(lightbulb.SlashCommand, name="ask", description="Ask the model"):
            q = lightbulb.string("q", "what")

            @lightbulb.invoke
            async def invoke(self, ctx: lightbulb.Context, minamo: Client) -> None:
                results.append(
                    await minamo.stream(ctx, ScriptedProvider(["One.\n\n", "Two: ", self.q]))
                )

        await bot.start(check_for_updates=False)
        await until(lambda: bool(twin.world.commands))
        await twin.slash("ask", {"q": "why?"})
        await until(lambda: bool(results))
        await bot.close()
        assert results[0].status == "completed"
        assert twin.texts() == ["One.", "Two: why?"]
        assert twin.journal.count(CREATE) == 0


@pytest.mark.parametrize("asked", [True, False], ids=["for us", "by the author"])
async def test_what_was_deferred_privately_stays_private(asked: bool) -> None:
    results: list[StreamResult] = []
    async with Twin() as twin:
        bot = make_bot(twin)
        client = Client(bot)
        framework = lightbulb.client_from_app(bot)
        bot.subscribe(hikari.StartingEvent, framework.start)

        @framework.register
        class Ask(lightbulb.SlashCommand, name="ask", description="Ask the model"):
            @lightbulb.invoke
            async def invoke(self, ctx: lightbulb.Context) -> None:
                if not asked:
                    await ctx.defer(ephemeral=True)
                said = ScriptedProvider(
                    ["<think>Hm.</think>One.\n\n", "Two.", ErrorChunk("api_error", "down")]
                )
                how = {"ephemeral": asked, "thoughts": ThoughtDisplay("spoiler")}
                results.append(await client.stream(ctx, said, **how))  # type: ignore[arg-type]

        await bot.start(check_for_updates=False)
        await until(lambda: bool(twin.world.commands))
        await twin.slash("ask")
        await until(lambda: bool(results))
        await bot.close()
        assert len(twin.messages()) == 4
        assert all(one.is_ephemeral for one in twin.messages())
        assert twin.journal.count(CREATE) == 0


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
