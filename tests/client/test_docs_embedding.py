"""The page about embedding: its programs run, on the twin, with a real HTTP provider."""

from __future__ import annotations

import functools
import json
import re
from pathlib import Path
from typing import Any

import hikari
import pytest
from aiohttp import web
from attrs import fields

import minamo
from minamo.core.result import Status
from minamo.shell.options import How, Options
from minamo.twin import Twin
from provider_server import serving, streamed
from rigging import until

pytestmark = pytest.mark.anyio
PAGE = Path(__file__).parents[2] / "docs" / "embedding.md"
TEXT = PAGE.read_text(encoding="utf-8")

PIECES = [
    b"data: " + json.dumps({"choices": [{"delta": {"content": piece}}]}).encode() + b"\n\n"
    for piece in ("Hello ", "there.")
]


async def say(request: web.Request) -> web.StreamResponse:
    return await streamed(request, *PIECES, b"data: [DONE]\n\n")


async def test_the_programs_of_the_page_run(
    twin: Twin, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    async with serving(say) as provider:
        monkeypatch.setenv("DISCORD_TOKEN", twin.token)
        monkeypatch.setenv("OPENAI_BASE_URL", provider.url)
        quiet = {"rest_url": twin.url, "logs": None, "suppress_optimization_warning": True}
        monkeypatch.setattr(hikari, "GatewayBot", functools.partial(hikari.GatewayBot, **quiet))
        names: dict[str, Any] = {"__name__": "page"}
        blocks = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
        exec(compile("\n".join(blocks), PAGE.name, "exec"), names)

        await names["bot"].start(check_for_updates=False)
        await until(lambda: any("ask" in str(shelf) for shelf in twin.world.commands.values()))
        asked = await twin.say("<@1000000000000000000> hi", user="ann")
        await until(lambda: twin.texts() == ["Hello there."])
        assert twin.messages()[-1].reply_to == asked.id
        await twin.slash("ask", {"prompt": "and you?"})
        await until(lambda: twin.texts() == ["Hello there."] * 2)
        await names["bot"].close()
        await names["llm"].aclose()
    assert "completed 12" in capsys.readouterr().out
    assert b"and you?" in provider.requests[-1]["body"]


def test_every_option_is_explained() -> None:
    known = {one.name for one in fields(Options)}
    assert known == set(How.__annotations__)
    missing = {name for name in known if f"`{name}=" not in TEXT} - {"on_stream_progress", "reply"}
    assert not missing
    assert "`reply=True`" in TEXT


def test_every_status_is_explained() -> None:
    assert all(f"`{status}`" in TEXT for status in Status.__args__)  # type: ignore[attr-defined]


def test_every_name_is_public() -> None:
    for name in ("Client", "Persona", "Overflow", "Thoughts", "Ping", "StreamConfig"):
        assert name in minamo.__all__
