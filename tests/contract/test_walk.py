"""How many functions and modules of minamo a plain reply runs through, from bytes to Discord.

The limits are what the code needs today, with a little room.  A change that needs more adds a
detour to every reply: look for the forwarder before you raise them.
"""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import hikari
import pytest
from aiohttp import web

import minamo
from minamo.twin import Twin

pytestmark = pytest.mark.anyio

FUNCTIONS_MAX = 410
MODULES_MAX = 57

HOME = Path(minamo.__file__).parent
TWIN = HOME / "twin"
WORDS = ["Hello ", "there, ", "this is ", "a plain ", "reply.\n\n", "And a ", "second ", "one."]


@asynccontextmanager
async def provider() -> AsyncIterator[str]:
    """A provider on loopback that speaks OpenAI's dialect; yields its address."""

    async def chat(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        for word in WORDS:
            delta = {"choices": [{"index": 0, "delta": {"content": word}}]}
            await response.write(b"data: " + json.dumps(delta).encode() + b"\n\n")
        end = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
        await response.write(b"data: " + json.dumps(end).encode() + b"\n\ndata: [DONE]\n\n")
        return response

    app = web.Application()
    app.router.add_post("/v1/chat/completions", chat)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
    finally:
        await runner.cleanup()


async def test_a_plain_reply_takes_few_hops(figure: Callable[[str], None]) -> None:
    seen: dict[tuple[Path, str], None] = {}

    def profile(frame: FrameType, event: str, _: Any) -> None:
        path = Path(frame.f_code.co_filename)
        if event == "call" and path.is_relative_to(HOME) and not path.is_relative_to(TWIN):
            seen.setdefault((path, frame.f_code.co_qualname))

    async with Twin() as twin, provider() as url:
        bot = hikari.GatewayBot(
            twin.token, rest_url=twin.url, banner=None, logs=None,
            suppress_optimization_warning=True,
        )  # fmt: skip
        client = minamo.Client(bot)
        await bot.start(check_for_updates=False)
        try:
            async with minamo.OpenAICompatible(url, model="m") as llm:
                channel = twin.channel("general").id
                await client.stream(channel, llm.ask("warm up"))
                sys.setprofile(profile)
                try:
                    result = await client.stream(channel, llm.ask("hi"))
                finally:
                    sys.setprofile(None)
        finally:
            await bot.close()
    assert result.accumulated_text == "".join(WORDS)
    modules = {path for path, _ in seen}
    figure(f"a plain reply: {len(seen)} functions in {len(modules)} modules")
    listed = "\n".join(f"{path.relative_to(HOME)} {name}" for path, name in seen)
    assert len(seen) <= FUNCTIONS_MAX, listed
    assert len(modules) <= MODULES_MAX, sorted(str(path.relative_to(HOME)) for path in modules)
