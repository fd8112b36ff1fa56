"""The page about embedding: its programs run, on the twin, with a real HTTP provider."""

from __future__ import annotations

import functools
import inspect
import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import hikari
import pytest
from aiohttp import web
from attrs import fields

import minamo
from minamo.core.config import ENVIRONMENT
from minamo.core.result import Status
from minamo.shell.options import ResolvedOptions, StreamOptions
from minamo.twin import Twin
from support.bot import served, until
from support.provider_server import Server, serving, streamed

pytestmark = pytest.mark.anyio
README = Path(__file__).parents[2] / "README.md"
PAGE = README.parent / "docs" / "embedding.md"
TEXT = PAGE.read_text(encoding="utf-8")

PIECES = [
    b"data: " + json.dumps({"choices": [{"delta": {"content": piece}}]}).encode() + b"\n\n"
    for piece in ("Hello ", "there.")
]


async def say(request: web.Request) -> web.StreamResponse:
    return await streamed(request, *PIECES, b"data: [DONE]\n\n")


def programs(page: Path) -> list[str]:
    return re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)


def run(
    blocks: list[str], twin: Twin, provider: Server, monkeypatch: pytest.MonkeyPatch
) -> dict[str, Any]:
    """Run programs as they are printed, but for where Discord and the provider are."""
    monkeypatch.setenv("DISCORD_TOKEN", twin.token)
    monkeypatch.setenv("OPENAI_BASE_URL", provider.url)
    quiet = {"rest_url": twin.url, "logs": None, "suppress_optimization_warning": True}
    monkeypatch.setattr(hikari, "GatewayBot", functools.partial(hikari.GatewayBot, **quiet))
    monkeypatch.setattr(hikari, "RESTBot", functools.partial(hikari.RESTBot, **quiet))
    names: dict[str, Any] = {"__name__": "page"}
    exec(compile("\n".join(blocks), "page", "exec"), names)
    return names


@asynccontextmanager
async def started(names: dict[str, Any]) -> AsyncIterator[None]:
    await names["bot"].start(check_for_updates=False)
    try:
        yield
    finally:
        await names["bot"].close()
        await names["llm"].close()


async def test_the_bot_of_the_readme_runs(
    twin: Twin, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    bot = programs(README)[0]
    program, ends, rest = bot.partition("\nbot.run()\n")
    assert ends
    assert not rest
    assert len([line for line in bot.splitlines() if line.strip()]) <= 20
    async with serving(say) as provider:
        names = run([program], twin, provider, monkeypatch)
        async with started(names):
            await twin.say("<@1000000000000000000> hi", user="ann")
            await until(lambda: twin.texts() == ["Hello there."])
            await until(lambda: "said: Hello there." in capsys.readouterr().out)


async def test_the_programs_of_the_page_run(
    twin: Twin, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    async with serving(say) as provider:
        blocks = [one for one in programs(PAGE) if "RESTBot" not in one]
        names = run(blocks, twin, provider, monkeypatch)

        async with started(names):
            await until(lambda: any("ask" in str(shelf) for shelf in twin.world.commands.values()))
            asked = await twin.say("<@1000000000000000000> hi", user="ann")
            await until(lambda: twin.texts() == ["Hello there."])
            assert twin.messages()[-1].reply_to == asked.id
            await twin.slash("ask", {"prompt": "and you?"})
            await until(lambda: twin.texts() == ["Hello there."] * 2)
            app = hikari.RESTApp(url=twin.url)
            await app.start()
            await names["announce"](app, int(twin.channel("news").id), "what is new?")
            await app.close()
            assert twin.texts("news") == ["Hello there."]
            result = await names["in_full"](int(twin.channel("full").id), "and in full?")
            assert (result.status, twin.texts("full")) == ("completed", ["Hello there."])
    said = capsys.readouterr().out
    assert "completed 12" in said
    assert "a reply begins for" in said
    assert re.search(r"a reply ended: \w+ completed", said)
    assert names["counts"] == {"completed": 1}  # the bot's own client; other programs have others
    assert b"and you?" in provider.requests[-3]["body"]


async def test_the_program_without_a_gateway_runs(
    twin: Twin, monkeypatch: pytest.MonkeyPatch
) -> None:
    (program,) = (one for one in programs(PAGE) if "RESTBot" in one)
    async with serving(say) as provider:
        names = run([program], twin, provider, monkeypatch)
        async with served(twin, names["bot"]):
            await twin.slash("ask", {"prompt": "how are you?"})
            await until(lambda: twin.texts() == ["Hello there."])
        await names["llm"].close()
    assert not names["replies"]
    assert b"how are you?" in provider.requests[-1]["body"]


def test_every_option_is_explained() -> None:
    known = {one.name for one in fields(ResolvedOptions)}
    assert known == set(StreamOptions.__annotations__)
    missing = {name for name in known if f"`{name}=" not in TEXT} - {"reply"}
    assert not missing
    assert "`reply=True`" in TEXT


def test_every_option_of_the_client_is_explained() -> None:
    known = set(inspect.signature(minamo.Client).parameters) - {"bot"}
    assert not {name for name in known if f"`{name}=" not in TEXT}


def test_every_number_is_explained_with_its_default() -> None:
    rows = re.findall(
        r"^\| (`\w+`(?:, `\w+`)?) \| (\S+?),? .*\|(?: `(\w+)`)? \|$", TEXT, re.MULTILINE
    )
    told = {name: row for row in rows for name in re.findall(r"\w+", row[0])}
    assert {one.name for one in fields(minamo.StreamConfig)} <= set(told)
    assert {told[setting][2]: setting for setting in ENVIRONMENT.values()} == dict(ENVIRONMENT)
    for one in fields(minamo.StreamConfig):
        if (
            isinstance(one.default, int)
            and not isinstance(one.default, bool)
            and one.name in ENVIRONMENT.values()
        ):
            assert told[one.name][1] == str(int(one.default)), one.name


def test_every_status_is_explained() -> None:
    assert all(f"`{status}`" in TEXT for status in Status.__args__)  # type: ignore[attr-defined]


def test_every_name_is_public() -> None:
    for name in (
        "Client",
        "Persona",
        "Overflow",
        "ThoughtDisplay",
        "AllowedMentions",
        "StreamConfig",
    ):
        assert name in minamo.__all__
