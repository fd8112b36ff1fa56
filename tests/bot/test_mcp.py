"""`[[mcp]]`: the ready-made bot with the tools of a real MCP server."""

from __future__ import annotations

import json
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from minamo.bot.settings_file import read_settings
from minamo.errors import BadSetting
from minamo.twin import Twin
from support.provider_server import serving, streamed

pytestmark = pytest.mark.anyio

PROGRAM = Path(__file__).parents[1] / "support" / "mcp_example.py"
CALL = (
    b'data: {"choices": [{"delta": {"tool_calls": [{"index": 0, "id": "1", "function": '
    b'{"name": "math_add", "arguments": "{\\"a\\": 20, \\"b\\": 22}"}}]}, '
    b'"finish_reason": "tool_calls"}]}\n\n'
)
DONE = b"data: [DONE]\n\n"


async def calculating(request: web.Request) -> web.StreamResponse:
    """Call the tool; when its answer is there, say it."""
    if request.method == "GET":
        return web.json_response({"data": [{"id": "m"}]})
    *_, last = json.loads(await request.read())["messages"]
    if last["role"] != "tool":
        return await streamed(request, CALL, DONE)
    said = json.dumps({"choices": [{"delta": {"content": f"It is {last['content']}."}}]})
    return await streamed(request, f"data: {said}\n\n".encode(), DONE)


async def test_a_model_calls_the_tool_of_a_server(
    command: Callable[..., Any], config: Callable[..., str]
) -> None:
    async with Twin() as twin, serving(calculating) as provider:
        path = config(
            f"[discord]\nurl = '{twin.url}'\n[[provider]]\nmodel = 'm'\n"
            f"base_url = '{provider.url}'\n[[mcp]]\ncommand = ['{sys.executable}', '{PROGRAM}']\n"
            "prefix = 'math_'\nonly = ['add']\n"
        )
        async with command("run", "--config", path, DISCORD_TOKEN=twin.token) as bot:
            await bot.says("ready ")
            await twin.say(f"<@{twin.bot.id}> what is 20 + 22?", user="ann")
            await twin.journal.until(lambda: "It is 42." in twin.texts(), 20)
            bot.process.send_signal(signal.SIGTERM)
            code, _, _ = await bot.ended()
        assert code == 0


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("command = ['no-such-program-anywhere']", "mcp 1: an MCP server cannot be used"),
        ("url = 'https://example.invalid/mcp'\ntoken_env = 'NOT_SET'", "mcp 1: NOT_SET is not set"),
    ],
)
async def test_a_server_that_cannot_be_used_is_one_line(
    run_command: Callable[..., Any], config: Callable[..., str], text: str, words: str
) -> None:
    path = config(f"[[provider]]\nmodel = 'm'\nbase_url = 'http://127.0.0.1:9'\n[[mcp]]\n{text}\n")
    code, _, err = await run_command("run", "--config", path, DISCORD_TOKEN="a.b.c")
    assert code == 2
    assert words in err
    assert len(err.splitlines()) == 1


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "needs one of them"),
        ("command = ['a']\nurl = 'https://x.invalid'", "and not both"),
        ("command = 'uvx time'", "a list of words"),
        ("url = 'nonsense'", "begins with https:// or http://"),
    ],
)
def test_wrong_tables_are_refused(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "minamo.toml"
    path.write_text(f"[[mcp]]\n{text}\n")
    with pytest.raises(BadSetting, match=words):
        read_settings(path, {})
