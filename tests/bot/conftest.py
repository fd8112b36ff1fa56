"""The ready-made bot on the twin, and the real command in a process of its own."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from attrs import define, evolve, field

from minamo.bot.demo.provider import DemoProvider
from minamo.bot.factory import make_bot, make_client
from minamo.bot.listener import Answering
from minamo.bot.settings import Settings
from minamo.bot.tools import toolbox
from minamo.shell.turns.turn_result import TurnResult
from minamo.twin import Twin
from support.commands import minamo_command

SECRETS = ("DISCORD_TOKEN", "OPENAI_API_KEY", "GEMINI_API_KEY", "ANTHROPIC_API_KEY")


@define
class Running:
    """A bot that runs, and what became of its turns."""

    twin: Twin
    answering: Answering
    turns: list[TurnResult] = field(factory=list)

    def mention(self, text: str) -> str:
        return f"<@{self.twin.bot.id}> {text}"

    async def until(self, true: Callable[[], Any]) -> None:
        async with asyncio.timeout(10):
            while not true():  # noqa: ASYNC110 - hikari offers no event to wait for
                await asyncio.sleep(0.005)

    async def turn(self, number: int = 1) -> TurnResult:
        await self.until(lambda: len(self.turns) >= number)
        return self.turns[number - 1]


@asynccontextmanager
async def _running(
    twin: Twin, settings: Settings | None = None, *providers: Any
) -> AsyncIterator[Running]:
    settings = settings or Settings()
    own = evolve(settings, discord=evolve(settings.discord, token=twin.token, url=twin.url))
    bot = make_bot(own)
    client = make_client(bot, own)
    turns: list[TurnResult] = []
    voices = list(providers) or [DemoProvider(pace=0)]
    answering = Answering(bot, client, own, voices, toolbox(own.bot.tools), turns.append)
    answering.listen()
    await bot.start(check_for_updates=False)
    try:
        yield Running(twin, answering, turns)
    finally:
        await bot.close()


@pytest.fixture
def running() -> Callable[..., Any]:
    """``async with running(twin, settings, provider) as one`` is a bot that is connected."""
    return _running


@define
class Command:
    """`minamo …` as a process."""

    process: asyncio.subprocess.Process
    out: list[str] = field(factory=list)

    async def says(self, words: str) -> str:
        """Wait for a line that has these words in it."""
        assert self.process.stdout is not None
        async with asyncio.timeout(30):
            while True:
                line = (await self.process.stdout.readline()).decode()
                assert line, f"it ended without {words!r}: {self.out}"
                self.out.append(line)
                if words in line:
                    return line

    async def ended(self) -> tuple[int, str, str]:
        async with asyncio.timeout(40):
            out, err = await self.process.communicate()
        assert self.process.returncode is not None
        return self.process.returncode, "".join(self.out) + out.decode(), err.decode()


@asynccontextmanager
async def _command(*arguments: str, **environ: str) -> AsyncIterator[Command]:
    kept = {name: value for name, value in os.environ.items() if name not in SECRETS}
    process = await asyncio.create_subprocess_exec(
        *minamo_command(), *arguments,
        env={**kept, **environ},
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    try:
        yield Command(process)
    finally:
        if process.returncode is None:
            process.kill()
            await process.communicate()


@pytest.fixture
def command() -> Callable[..., Any]:
    """``async with command("run", DISCORD_TOKEN=…) as one``."""
    return _command


@pytest.fixture
def run_command() -> Callable[..., Awaitable[tuple[int, str, str]]]:
    """Run it to its end: exit code, standard output, standard error."""

    async def run(*arguments: str, **environ: str) -> tuple[int, str, str]:
        async with _command(*arguments, **environ) as one:
            return await one.ended()

    return run


@pytest.fixture
def config(tmp_path: Path) -> Callable[..., str]:
    """A settings file of this text; the path of it."""

    def write(text: str, values: Mapping[str, str] | None = None) -> str:
        path = tmp_path / "minamo.toml"
        path.write_text(text.format_map(values) if values else text, encoding="utf-8")
        return str(path)

    return write
