"""The small parts: how much one may ask for, the tools, the providers, the script."""

from __future__ import annotations

import json
import re
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from minamo.bot.demo.provider import PIECES, DemoProvider
from minamo.bot.factory import make_providers
from minamo.bot.listener import too_much
from minamo.bot.rate_limit import PEOPLE_MAX, Allowed, Limited, RateLimiter
from minamo.bot.settings import LimitSettings, ProviderSettings
from minamo.bot.settings_file import read_settings
from minamo.bot.tools import now, roll, toolbox
from minamo.core.chunks import Call, Chunk, DoneChunk, ErrorChunk, FunctionCall, TextChunk
from minamo.errors import BadSetting
from minamo.shell.notices.localization import Languages
from minamo.shell.turns.tool_job import ToolError
from minamo.twin import Twin
from minamo.wire.conversation import assistant, tool_result, user
from support.provider_server import serving, streamed

pytestmark = pytest.mark.anyio


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def ask(allowance: RateLimiter, who: int = 1) -> Allowed | Limited:
    with allowance.asked(who) as verdict:
        return verdict


def test_so_many_replies_a_minute() -> None:
    clock = Clock()
    allowance = RateLimiter(LimitSettings(replies_per_minute=2, at_once=0), clock)
    assert ask(allowance) == Allowed()
    clock.now += 10
    assert ask(allowance) == Allowed()
    assert ask(allowance) == Limited(wait_s=50.0, notified=False)
    assert ask(allowance) == Limited(wait_s=50.0, notified=True)
    assert ask(allowance, who=2) == Allowed()
    clock.now += 50
    assert ask(allowance) == Allowed()


def test_every_call_of_a_model_counts() -> None:
    clock = Clock()
    allowance = RateLimiter(LimitSettings(replies_per_minute=3, at_once=0), clock)
    with allowance.asked(1) as granted:
        assert isinstance(granted, Allowed)
        for _ in range(50):  # the turn goes on; it is the next question that waits
            granted.call_model()
            clock.now += 1
    assert ask(allowance) == Limited(wait_s=57.0, notified=False)
    assert ask(allowance, who=2) == Allowed()
    clock.now += 57
    assert ask(allowance) == Allowed()


def test_the_first_call_is_what_was_granted() -> None:
    allowance = RateLimiter(LimitSettings(replies_per_minute=2, at_once=0), Clock())
    for _ in range(2):
        with allowance.asked(1) as granted:
            assert isinstance(granted, Allowed)
            granted.call_model()
    assert isinstance(ask(allowance), Limited)


def test_so_many_at_a_time() -> None:
    allowance = RateLimiter(LimitSettings(replies_per_minute=0, at_once=1), Clock())
    with allowance.asked(1) as first:
        assert first == Allowed()
        assert ask(allowance) == Limited(wait_s=None, notified=False)
        assert ask(allowance, who=2) == Allowed()
    assert ask(allowance) == Allowed()


def test_what_is_refused_does_not_count() -> None:
    clock = Clock()
    allowance = RateLimiter(LimitSettings(replies_per_minute=1, at_once=0), clock)
    ask(allowance)
    for _ in range(10):
        clock.now += 5
        ask(allowance)
    clock.now = 160.0
    assert ask(allowance) == Allowed()


def test_a_reply_that_fails_is_over_too() -> None:
    allowance = RateLimiter(LimitSettings(replies_per_minute=0, at_once=1), Clock())
    with pytest.raises(RuntimeError), allowance.asked(1):
        raise RuntimeError
    assert ask(allowance) == Allowed()


def test_the_memory_is_bounded() -> None:
    allowance = RateLimiter(LimitSettings(), Clock())
    for number in range(PEOPLE_MAX + 50):
        ask(allowance, who=number)
    assert len(allowance) == PEOPLE_MAX


def test_the_words_of_a_refusal() -> None:
    words = Languages().wording
    assert "again in 12 s" in too_much(Limited(11.2, notified=False), words("en"))
    assert "in 12 s noch einmal" in too_much(Limited(11.2, notified=False), words("de"))
    assert "12秒後" in too_much(Limited(11.2, notified=False), words("ja"))
    assert "still answering" in too_much(Limited(None, notified=False), words("en-GB"))


async def test_roll() -> None:
    found = await roll(sides=6, count=100)
    rolled = found["rolled"]
    assert isinstance(rolled, list)
    assert set(rolled) <= set(range(1, 7))
    assert len(rolled) == 100
    assert found["total"] == sum(rolled)
    with pytest.raises(ToolError):
        await roll(sides=1)
    with pytest.raises(ToolError):
        await roll(count=101)


async def test_now() -> None:
    assert re.fullmatch(r"\w+day, \d{4}-\d\d-\d\d \d\d:\d\d UTC", await now())
    for zone in ("Nowhere/At all", "../../etc/passwd", ""):
        with pytest.raises(ToolError):
            await now(zone)


def test_only_the_tools_that_are_named() -> None:
    assert list(toolbox(["now"])) == ["now"]
    assert list(toolbox([])) == []
    with pytest.raises(BadSetting, match="there is no 'shell'; there are roll, now"):
        toolbox(["shell"])


OWN = """
from __future__ import annotations
from dataclasses import dataclass
from asyncio import sleep
async def greet(name: str) -> str:
    "Greet somebody."
    await sleep(0)
    return f"Hello {name}"
async def _hidden(): ...
def plain(): ...
"""


def test_the_owners_file(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(OWN)
    assert list(toolbox(["roll"], file)) == ["roll", "greet"]
    file.write_text(
        "from minamo.shell.turns.tools import Tools\ntools = Tools()\n@tools.add(name='other')\n"
        "async def greet(name: str): ...\nasync def not_this(): ...\n"
    )
    assert list(toolbox([], file)) == ["other"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("x = 1\n", "no tools in it"),
        ("x = (\n", "line 1: SyntaxError"),
        ("\nx = 1 / 0\n", "line 2: ZeroDivisionError: division by zero"),
        ("async def roll(): ...\n", "two tools 'roll'"),
        ("async def bad(x): ...\n", "has no type"),
    ],
)
def test_a_broken_file_of_the_owners(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "mine.py"
    file.write_text(text)
    with pytest.raises(BadSetting, match=re.escape(said)):
        toolbox(["roll"], file)


def test_the_tool_of_the_documentation(tmp_path: Path) -> None:
    page = Path(__file__).parents[2] / "docs" / "run.md"
    (program,) = re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    file = tmp_path / "my_tools.py"
    file.write_text(program)
    (spec,) = toolbox([], file).specs
    assert (spec.name, spec.description) == ("weather", "What the weather is like.")
    assert spec.parameters["properties"]["town"]["description"] == "The name of the town."


def test_no_file_of_the_owners(tmp_path: Path) -> None:
    with pytest.raises(BadSetting, match="there is no file"):
        toolbox([], tmp_path / "none.py")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ([], "no model to ask"),
        ([ProviderSettings(api_key="k")], r"provider 1 \(openai\) has no model"),
        ([ProviderSettings(model="m")], "has no key: set OPENAI_API_KEY"),
        ([ProviderSettings(model="m", kind="gemini")], "set GEMINI_API_KEY"),
        ([ProviderSettings(model="m", api_key_env="MINE")], "set MINE"),
        ([ProviderSettings(model="m", base_url="https://far.example")], 'such as api_key_env = "OPENAI'),
        ([ProviderSettings(model="m", api_key="k k")], "characters that no key has"),
        ([ProviderSettings(model="m", api_key="k", base_url="http://far.example/v1")], "plain http"),
        ([ProviderSettings(model="m", api_key="k", media_types=["application/pdf"])], "not needed here"),
        ([ProviderSettings(model="m", base_url="http://localhost", media_types=["a/b"])], "these: appl"),
    ],
)  # fmt: skip
def test_a_provider_that_cannot_be(given: list[ProviderSettings], said: str) -> None:
    with pytest.raises(BadSetting, match=said):
        make_providers(given)


async def test_providers_of_every_kind() -> None:
    local = "http://localhost:1"
    made = make_providers(
        [
            ProviderSettings(model="m", kind="gemini", api_key="k"),
            ProviderSettings(model="m", base_url=local, media_types=["application/pdf"]),
            ProviderSettings(model="m", kind="anthropic", base_url=local),
        ]
    )
    assert made[1]._media_types == {"application/pdf"}
    assert [type(one).__name__ for one in made] == ["Gemini", "OpenAICompatible", "Anthropic"]
    for one in made:
        await one.close()


async def said(source: object) -> list[Chunk]:
    return [chunk async for chunk in source]  # type: ignore[attr-defined]


@pytest.mark.parametrize("piece", PIECES, ids=lambda one: one.name)
def test_every_prompt_leads_to_its_piece(piece: object) -> None:
    script = DemoProvider()
    assert script.find(piece.prompt) is piece  # type: ignore[attr-defined]
    assert script.find(piece.name) is piece  # type: ignore[attr-defined]


async def test_the_script_says_the_same_every_time() -> None:
    script = DemoProvider(pace=0)
    once, twice = [await said(script.chat([user("Hey, some CODE please")])) for _ in range(2)]
    assert once == twice
    text = "".join(chunk.content for chunk in once if isinstance(chunk, TextChunk))
    assert "```python\nimport hikari" in text
    assert isinstance(once[-1], DoneChunk)


async def test_the_script_calls_a_tool_and_takes_its_answer() -> None:
    script = DemoProvider(pace=0)
    asked = user("roll the dice")
    *_, call = await said(script.chat([asked], tools=toolbox(["roll"]).specs))
    assert isinstance(call, FunctionCall)
    one = call.calls[0]
    before = [asked, assistant("x", calls=[one])]
    answer = await said(script.chat([*before, tool_result(one, '{"rolled": [3, 4], "total": 7}')]))
    assert "**3, 4**, which makes **7**" in "".join(
        chunk.content for chunk in answer if isinstance(chunk, TextChunk)
    )
    failed = await said(script.chat([*before, tool_result(one, "no dice", failed=True)]))
    assert any("no" in chunk.content for chunk in failed if isinstance(chunk, TextChunk))
    odd = await said(script.chat([*before, tool_result(Call("x"), "something")]))
    assert odd


async def test_the_script_without_tools_calls_none() -> None:
    chunks = await said(DemoProvider(pace=0).chat([user("roll")]))
    assert not any(isinstance(chunk, FunctionCall) for chunk in chunks)


async def test_the_script_fails_and_is_lost_on_purpose() -> None:
    *_, last = await said(DemoProvider(pace=0).chat([user("an error, please")]))
    assert isinstance(last, ErrorChunk)
    lost = await said(DemoProvider(pace=0).chat([user("qwertz")]))
    assert "only a script" in "".join(c.content for c in lost if isinstance(c, TextChunk))


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
