"""How many functions and modules of minamo a plain reply runs through, from bytes to Discord.

One test counts a whole reply, from `Client.stream` to its result; the other the way of one chunk
that completes a message, from its bytes to hikari's `create_message`.  The limits are what the code
needs today, with a little room.  A change that needs more adds a detour to every reply: look for
the forwarder before you raise them.
"""

from __future__ import annotations

import asyncio
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

REPLY_FUNCTIONS_MAX = 335
REPLY_MODULES_MAX = 44
CHUNK_FUNCTIONS_MAX = 108
CHUNK_MODULES_MAX = 25

HOME = Path(minamo.__file__).parent
TWIN = HOME / "twin"
WORDS = ["Hello ", "there, ", "this is ", "a plain ", "reply.\n\n", "And a ", "second ", "one."]
# What follows a paragraph proves that it has ended.
COMPLETES_A_MESSAGE = 5
# Long enough for a typing indicator on loopback; then nothing but the chunk is under way.
QUIET_S = 0.2
CREATE_MESSAGE = hikari.impl.RESTClientImpl.create_message.__code__

# No functions of their own: Python 3.12 runs them where they are written.
IN_PLACE = ("<listcomp>", "<dictcomp>", "<setcomp>")

Place = tuple[Path, str]


def place_of(frame: FrameType) -> Place | None:
    """The module and the function of a frame; None if it is no function of minamo's."""
    path = Path(frame.f_code.co_filename)
    if frame.f_code.co_name in IN_PLACE:
        return None
    if not path.is_relative_to(HOME) or path.is_relative_to(TWIN):
        return None
    return path, frame.f_code.co_qualname


class Walk:
    """The functions of minamo that run, each once, in the order in which they began."""

    def __init__(self) -> None:
        self.places: dict[Place, None] = {}

    @property
    def modules(self) -> set[Path]:
        return {path for path, _ in self.places}

    def called(self, frame: FrameType, event: str, _: Any) -> None:
        """For `sys.setprofile`: every function that is called."""
        if event == "call" and (place := place_of(frame)) is not None:
            self.places.setdefault(place)

    def traced(self, frame: FrameType, _: str, __: Any) -> Any:
        """For `sys.settrace`: every function that runs a line of its own, until the call.

        A coroutine that only waits for another one runs none.
        """
        if frame.f_code is CREATE_MESSAGE:
            sys.settrace(None)
        place = place_of(frame)
        if place is None or sys.gettrace() is None:
            return None

        def line(_: FrameType, event: str, __: Any) -> Any:
            if event == "line" and sys.gettrace() is not None:
                self.places.setdefault(place)
            return line

        return line

    def check(self, functions_max: int, modules_max: int) -> None:
        listed = "\n".join(f"{path.relative_to(HOME)} {name}" for path, name in self.places)
        assert len(self.places) <= functions_max, listed
        names = sorted(str(path.relative_to(HOME)) for path in self.modules)
        assert len(names) <= modules_max, names


class Provider:
    """A provider that speaks OpenAI's dialect; it may begin to trace at one of its chunks."""

    trace: Callable[[FrameType, str, Any], Any] | None = None

    async def chat(self, request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        for number, word in enumerate(WORDS):
            delta = {"choices": [{"index": 0, "delta": {"content": word}}]}
            data = b"data: " + json.dumps(delta).encode() + b"\n\n"
            if number == COMPLETES_A_MESSAGE and self.trace is not None:
                await asyncio.sleep(QUIET_S)
                sys.settrace(self.trace)
                await response.write(data)
                await asyncio.sleep(QUIET_S)
            else:
                await response.write(data)
        end = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
        await response.write(b"data: " + json.dumps(end).encode() + b"\n\ndata: [DONE]\n\n")
        return response


@asynccontextmanager
async def steady() -> AsyncIterator[tuple[Provider, Callable[[], Any]]]:
    """A provider and a function that has a bot reply; one reply was sent before."""
    provider = Provider()
    app = web.Application()
    app.router.add_post("/v1/chat/completions", provider.chat)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    url = f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
    async with Twin() as twin:
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
                yield provider, lambda: client.stream(channel, llm.ask("hi"))
        finally:
            await bot.close()
            await runner.cleanup()


async def test_a_plain_reply_takes_few_functions(figure: Callable[[str], None]) -> None:
    walk = Walk()
    async with steady() as (_, reply):
        sys.setprofile(walk.called)
        try:
            result = await reply()
        finally:
            sys.setprofile(None)
    assert result.accumulated_text == "".join(WORDS)
    figure(f"a plain reply: {len(walk.places)} functions in {len(walk.modules)} modules")
    walk.check(REPLY_FUNCTIONS_MAX, REPLY_MODULES_MAX)


async def test_a_chunk_takes_few_functions(figure: Callable[[str], None]) -> None:
    walk, before = Walk(), sys.gettrace()
    async with steady() as (provider, reply):
        provider.trace = walk.traced
        try:
            result = await reply()
        finally:
            sys.settrace(before)
    assert result.accumulated_text == "".join(WORDS)
    names = [name for _, name in walk.places]
    assert (names[0], names[-1]) == ("_ReadTimeout.read", "answer_of"), "from bytes to the call"
    figure(f"a chunk to its call: {len(names)} functions in {len(walk.modules)} modules")
    walk.check(CHUNK_FUNCTIONS_MAX, CHUNK_MODULES_MAX)
