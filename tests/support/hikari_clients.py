"""Fixtures: clients of the twin, bare hikari over real sockets on 127.0.0.1."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import hikari
import pytest
from attrs import evolve

from minamo.twin import Rules, Twin
from support.bot import make_bot


@asynccontextmanager
async def _client(twin: Twin, **settings: Any) -> AsyncIterator[hikari.impl.RESTClientImpl]:
    app = hikari.RESTApp(url=twin.url, **settings)
    await app.start()
    try:
        async with app.acquire(twin.token, hikari.TokenType.BOT) as client:
            yield client
    finally:
        await app.close()


@pytest.fixture
def client() -> Callable[..., Any]:
    """``async with client(twin) as rest`` is a bare hikari REST client."""
    return _client


@pytest.fixture
async def rest(twin: Twin) -> AsyncIterator[hikari.impl.RESTClientImpl]:
    async with _client(twin) as client:
        yield client


@pytest.fixture
async def bot(twin: Twin) -> AsyncIterator[hikari.GatewayBot]:
    """A GatewayBot that is connected."""
    made = make_bot(twin)
    await made.start(check_for_updates=False)
    yield made
    if made.is_alive:
        await made.close()


@pytest.fixture
def new_bot() -> Callable[..., hikari.GatewayBot]:
    return make_bot


@pytest.fixture
def broken() -> Callable[[Callable[[Twin, hikari.impl.RESTClientImpl], Awaitable[None]]], None]:
    """Run a story that leaves hikari hanging, in a loop of its own, and walk away from it.

    `asyncio.run` cancels what is left over, so a test that proves a hang never waits for it.
    """

    def run(
        story: Callable[[Twin, hikari.impl.RESTClientImpl], Awaitable[None]],
        *,
        rules: Rules | None = None,
        **settings: Any,
    ) -> None:
        async def main() -> None:
            asyncio.get_running_loop().set_exception_handler(lambda *_: None)
            async with Twin(rules=rules) as twin:
                app = hikari.RESTApp(url=twin.url, **settings)
                await app.start()
                client = app.acquire(twin.token, hikari.TokenType.BOT)
                client.start()
                try:
                    await story(twin, client)
                finally:
                    closing = asyncio.create_task(app.close())
                    await asyncio.wait([closing], timeout=1)

        asyncio.run(main())

    return run


@pytest.fixture
def limits() -> Callable[..., Rules]:
    """Rules with some per-route limits replaced."""

    def make(changed: dict[str, Any], **numbers: Any) -> Rules:
        rules = Rules()
        return evolve(rules, limits={**rules.limits, **changed}, **numbers)

    return make


@pytest.fixture
def refused() -> Callable[[Awaitable[Any]], Awaitable[tuple[int, int]]]:
    """Status and Discord's own code of a call that must fail."""

    async def refusal(call: Awaitable[Any]) -> tuple[int, int]:
        with pytest.raises(hikari.ClientHTTPResponseError) as caught:
            await call
        return int(caught.value.status), int(getattr(caught.value, "code", 0))

    return refusal
