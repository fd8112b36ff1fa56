"""discord.js judges the twin, and the programs for other clients in the page about it run."""

from __future__ import annotations

import asyncio
import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from attrs import define, evolve, field

from minamo.twin import CREATE, Message, Rules, Twin, faster
from support.node_packages import node_environment

DISCORD_JS = Path(__file__).parent / "discord_js"


@define(eq=False)
class Script:
    """The other side of the pipe: it acts in the twin when it is asked to."""

    twin: Twin
    steps: list[str] = field(factory=list)
    problems: dict[str, str | None] = field(factory=dict)

    async def run(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        async for line in process.stdout:
            told = json.loads(line)
            if "do" in told:
                answer = {"id": told["id"], **await self._act(told["do"], told["args"])}
                process.stdin.write(json.dumps(answer).encode() + b"\n")
            elif "step" in told:
                self.problems.setdefault(told["step"], told["error"])
            else:
                self.steps = told["steps"]

    async def _act(self, name: str, args: list[Any]) -> dict[str, Any]:
        try:
            return {"value": await _ACTS[name](self, *args)}
        except Exception as error:  # noqa: BLE001 - the step that asked for it fails
            return {"error": repr(error)}

    def message(self, number: str) -> Message:
        found = self.twin.world.find_message(self.twin.channel().id, int(number))
        assert found is not None
        return found

    async def say(self, text: str, who: dict[str, Any] | None = None) -> str:
        return str((await self.twin.say(text, **(who or {}))).id)

    async def react(self, message: str, emoji: str, user: str) -> None:
        await self.twin.react(self.message(message), emoji, user=user)

    async def slash(self, name: str, options: dict[str, Any], who: str | None = None) -> None:
        chosen = {"who": self.twin.user(who)} if who else {}
        await self.twin.slash(name, options | chosen)

    async def click(self, message: str, custom_id: str) -> None:
        await self.twin.click(self.message(message), custom_id)

    async def texts(self) -> list[str]:
        return self.twin.texts()

    async def limited(self, scope: str) -> None:
        self.twin.faults.limited(0.2, on=CREATE, scope=scope)

    async def status(self, status: int) -> None:
        self.twin.faults.status(status, on=CREATE)

    async def reconnect(self) -> None:
        self.twin.reconnect()

    async def disconnect(self, code: int) -> None:
        self.twin.disconnect(code)

    async def invalidate(self) -> None:
        self.twin.invalidate()


_ACTS: dict[str, Callable[..., Any]] = {
    name: act for name, act in vars(Script).items() if not name.startswith("_") and callable(act)
}


@pytest.mark.anyio
@pytest.mark.timeout(120)
async def test_discord_js_finds_nothing_amiss() -> None:
    environment = node_environment(DISCORD_JS)
    rules = Rules()
    async with Twin(rules=evolve(rules, limits=faster(rules, 5))) as twin:
        script = Script(twin)
        process = await asyncio.create_subprocess_exec(
            "node",
            str(DISCORD_JS / "steps.js"),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            env={
                **environment,
                "API": twin.url.removesuffix("/v10"),
                "TOKEN": twin.token,
                "GUILD": str(twin.guild.id),
                "CHANNEL": str(twin.channel().id),
            },
        )
        try:
            async with asyncio.timeout(100):
                await script.run(process)
        except BaseException:
            process.kill()
            raise
        finally:
            await process.wait()
    assert list(script.problems) == script.steps
    wrong = {x: y for x, y in script.problems.items() if y is not None}
    assert not wrong, "\n\n".join(f"{name}: {problem}" for name, problem in wrong.items())


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
