"""Tools of a real MCP server, in a process of its own, over stdio and streamable HTTP."""

from __future__ import annotations

import asyncio
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest

import minamo
from minamo.core.chunks import Call
from minamo.shell.stops.registry import StopSignal
from minamo.shell.turns.tool_job import Progress
from minamo.shell.turns.tool_runner import ToolRunner
from minamo.shell.turns.turn_result import TurnSettings

pytestmark = pytest.mark.anyio

PROGRAM = str(Path(__file__).parents[2] / "support" / "mcp_example.py")
STDIO = [sys.executable, PROGRAM]


def runner(tools: minamo.Tools, **settings: Any) -> tuple[ToolRunner, list[Progress]]:
    shown: list[Progress] = []
    made = ToolRunner(
        tools=tools,
        settings=TurnSettings(**settings),
        stop_signal=StopSignal(),
        show=shown.append,
    )
    return made, shown


async def call(tools: minamo.Tools, name: str, settings: Any = None, **given: Any) -> Any:
    made, _ = runner(tools, **(settings or {}))
    [answer] = await made.run([Call(name, given, id="1")], anyio.CancelScope())
    return answer


@asynccontextmanager
async def over_http() -> AsyncIterator[str]:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port = one.getsockname()[1]
    process = await asyncio.create_subprocess_exec(
        *STDIO, str(port), stderr=asyncio.subprocess.DEVNULL
    )
    try:
        async with asyncio.timeout(30):
            while True:
                try:
                    _, writer = await asyncio.open_connection("127.0.0.1", port)
                    writer.close()
                    break
                except OSError:
                    await asyncio.sleep(0.1)
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        process.terminate()
        await process.wait()


async def check(server: minamo.McpServer) -> None:
    async with server:
        assert set(server.tools) == {"add", "slow", "files_read", "fail"}
        [spec] = server.tools.only("add").specs
        assert spec.description == "Add two numbers."
        answer = await call(server.tools, "add", a=2, b=3.0)
        assert (answer.text, answer.problem) == ("5", "")


async def test_a_program_over_stdio() -> None:
    await check(minamo.McpServer(STDIO))


async def test_a_server_over_http() -> None:
    async with over_http() as url:
        await check(minamo.McpServer(url, headers={"Authorization": "Bearer secret-0123456789"}))


async def test_its_results_and_errors_are_those_of_a_tool() -> None:
    async with minamo.McpServer(STDIO) as server:
        wrong = await call(server.tools, "add", a="x", b=1)
        assert wrong.problem == "bad_arguments"
        assert "$.a" in wrong.text
        failed = await call(server.tools, "fail")
        assert failed.problem == "refused"
        long = await call(server.tools, "files_read", {"tool_result_chars_max": 1_000})
        assert len(long.text) == 1_000
        assert "cut off" in long.text


async def test_progress_is_shown_and_a_late_call_is_cancelled(tmp_path: Path) -> None:
    note = tmp_path / "note"
    async with minamo.McpServer(STDIO, timeout_ms=1_500) as server:
        made, shown = runner(server.tools)
        [answer] = await made.run([Call("slow", {"note": str(note)}, id="1")], anyio.CancelScope())
        assert answer.problem == "timeout"
        assert [progress.text for progress in shown] == ["one third"]
        async with asyncio.timeout(10):
            while not note.exists():  # noqa: ASYNC110 - another process writes it
                await asyncio.sleep(0.05)
        # The session is as usable as before.
        assert (await call(server.tools, "add", a=1, b=1)).text == "2"


async def test_tools_of_several_places_go_together() -> None:
    async def roll() -> int:
        return 4

    tools = minamo.Tools([roll])
    async with minamo.McpServer(STDIO, prefix="math_", only=["add"]) as server:
        tools.include(server.tools)
        assert list(tools) == ["roll", "math_add"]
        assert (await call(tools, "math_add", a=1, b=2)).text == "3"
    gone = await call(tools, "math_add", a=1, b=2)
    assert gone.problem == "refused"
    assert "cannot be reached" in gone.text


async def test_it_may_be_left_in_another_task() -> None:
    server = minamo.McpServer(STDIO)
    await asyncio.create_task(server.__aenter__())
    assert "add" in server.tools
    await asyncio.create_task(server.close())


@pytest.mark.parametrize(
    ("server", "words"),
    [
        (["no-such-program-anywhere"], "an MCP server cannot be used"),
        ([sys.executable, "-c", "pass"], "an MCP server cannot be used"),
        ("http://127.0.0.1:9/mcp", "an MCP server cannot be used"),
    ],
)
async def test_a_server_that_does_not_work_is_said(server: Any, words: str) -> None:
    with pytest.raises(minamo.MinamoError, match=words):
        async with minamo.McpServer(server):
            pass


@pytest.mark.parametrize("server", [[], [""], "http://example.invalid/mcp", "nonsense"])
async def test_a_wrong_server_is_refused(server: Any) -> None:
    with pytest.raises(minamo.BadRequest):
        minamo.McpServer(server)


async def test_a_tool_that_is_not_there_is_said() -> None:
    with pytest.raises(minamo.BadRequest, match="no tool 'subtract'; it has add"):
        async with minamo.McpServer(STDIO, only=["subtract"]):
            pass
