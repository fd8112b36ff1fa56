"""Runs the programs of examples/ and docs/ as they are, on the twin, with a local model server."""

from __future__ import annotations

import functools
import json
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

import anyio
import hikari
import pytest
from aiohttp import web
from attrs import define, field

from minamo.twin import Twin

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"
Delta = dict[str, Any]


def text(*pieces: str) -> list[Delta]:
    return [{"content": piece} for piece in pieces]


def call(name: str, **arguments: Any) -> list[Delta]:
    function = {"name": name, "arguments": json.dumps(arguments)}
    return [{"tool_calls": [{"index": 0, "id": "c1", "type": "function", "function": function}]}]


@define(eq=False)
class ModelServer:
    """A server that speaks OpenAI's protocol and answers from a script."""

    answer: Callable[[Delta], Sequence[Delta]]
    """Returns the deltas of a reply to the body of a request."""
    hangs: bool = False
    """After the deltas, keep the stream open instead of ending it."""
    url: str = ""
    bodies: list[Delta] = field(factory=list)

    async def respond(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        self.bodies.append(body)
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        for delta in self.answer(body):
            frame = {"choices": [{"delta": delta}]}
            await response.write(b"data: " + json.dumps(frame).encode() + b"\n\n")
        if self.hangs:
            await anyio.sleep_forever()
        await response.write(b"data: [DONE]\n\n")
        return response


@asynccontextmanager
async def serving(server: ModelServer) -> AsyncIterator[ModelServer]:
    app = web.Application()
    app.router.add_post("/chat/completions", server.respond)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        server.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
        yield server
    finally:
        await runner.cleanup()


def saying(*pieces: str, hangs: bool = False) -> ModelServer:
    return ModelServer(lambda _: text(*pieces), hangs)


def place(twin: Twin, model_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Set the environment of a program, and the address of Discord, which has no variable."""
    monkeypatch.setenv("DISCORD_TOKEN", twin.token)
    monkeypatch.setenv("OPENAI_BASE_URL", model_url)
    for name in ("OPENAI_API_KEY", "MODEL"):
        monkeypatch.delenv(name, raising=False)
    for kind in (hikari.GatewayBot, hikari.RESTBot):
        monkeypatch.setattr(hikari, kind.__name__, _local(kind, twin.url))
    monkeypatch.setattr(hikari, "RESTApp", functools.partial(hikari.RESTApp, url=twin.url))


def _local(kind: Any, url: str) -> type:
    """Return a subclass of a bot's class that connects to *url*."""

    class Local(kind):  # type: ignore[misc]
        def __init__(self, *arguments: Any, **settings: Any) -> None:
            quiet = {"logs": None, "suppress_optimization_warning": True}
            super().__init__(*arguments, **{**settings, **quiet, "rest_url": url})

    return Local


def load_example(name: str) -> ModuleType:
    """Import a program of examples/ under a name of its own."""
    spec = spec_from_file_location(f"example_{Path(name).stem}", EXAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    sys.modules[spec.name] = module
    try:
        spec.loader.exec_module(module)
    finally:
        del sys.modules[spec.name]
    return module


@asynccontextmanager
async def started(bot: hikari.GatewayBot, *adapters: Any) -> AsyncIterator[None]:
    """Run *bot*, and close it and *adapters*, whatever happens."""
    await bot.start(check_for_updates=False)
    try:
        yield
    finally:
        await bot.close()
        await close(*adapters)


async def close(*adapters: Any) -> None:
    for adapter in adapters:
        await adapter.close()


async def until(holds: Callable[[], bool]) -> None:
    """Wait for an effect on the other side of a socket."""
    with anyio.fail_after(20):
        while not holds():  # noqa: ASYNC110 - nothing signals it
            await anyio.sleep(0.005)
