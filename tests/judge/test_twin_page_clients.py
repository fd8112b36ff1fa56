"""The programs for other clients in the page about the twin run as they stand there."""

from __future__ import annotations

import asyncio
import re
import sys
from pathlib import Path

import pytest

from minamo.twin import Twin
from support.node_packages import node_environment

HERE = Path(__file__).parent
PAGE = HERE.parents[1] / "docs" / "twin.md"


def _program(language: str) -> str:
    return re.findall(rf"```{language}\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)[-1]


@pytest.mark.anyio
async def test_the_program_for_discord_py_runs() -> None:
    assert "import discord" in _program("python")
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", _program("python"), stdout=asyncio.subprocess.PIPE
    )
    told, _ = await process.communicate()
    assert process.returncode == 0
    assert b"'pong' -> 200" in told


@pytest.mark.anyio
async def test_the_program_for_discord_js_runs(twin: Twin) -> None:
    environment = node_environment(HERE / "discord_js")
    environment |= {"TWIN_API": twin.url.removesuffix("/v10"), "DISCORD_TOKEN": twin.token}
    process = await asyncio.create_subprocess_exec("node", "-e", _program("js"), env=environment)
    try:
        await twin.journal.until(lambda: twin.journal.events("READY"), timeout_s=20)
        await twin.say("ping")
        await twin.journal.until(lambda: twin.texts() == ["pong"], timeout_s=10)
    finally:
        process.terminate()
        await process.wait()
