"""Clients of the twin: bare hikari, over real sockets on 127.0.0.1."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from typing import Any

import hikari
import pytest
from attrs import evolve

from minamo.twin import Rules, Twin
from minamo.twin.fixture import pytest_runtest_makereport, twin, twin_rules
from overseeing import overseeing, uses_ours
from rigging import make_bot

__all__ = ["pytest_runtest_makereport", "twin", "twin_rules"]


def pytest_configure(config: pytest.Config) -> None:
    about = "rule_breaking(why): sends what must never be sent, to see it refused"
    config.addinivalue_line("markers", about)


@pytest.fixture(autouse=True)
def overseen(request: pytest.FixtureRequest) -> Iterator[None]:
    """Every request of every test that uses minamo's senders is looked at; see overseeing.py."""
    if not uses_ours(request.module) or request.node.get_closest_marker("rule_breaking"):
        yield
        return
    with overseeing() as overseer:
        yield
    assert not overseer.wrongs, "\n".join(overseer.wrongs[:20])


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"  # hikari knows no other


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


@pytest.fixture
def until() -> Callable[[Callable[[], Any]], Awaitable[None]]:
    """Wait for something inside the bot, which no journal can see."""

    async def wait(true: Callable[[], Any]) -> None:
        async with asyncio.timeout(5):
            while not true():  # noqa: ASYNC110 - hikari offers no event to wait for
                await asyncio.sleep(0.005)

    return wait
