"""Starting and ending: signals at awkward moments, and bots of several processes."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import hikari
import pytest
from aiohttp import web

from minamo.bot import run as living
from minamo.bot.failures import explained
from minamo.shell.stops.redis_registry import RedisStops
from minamo.twin import Twin
from support.provider_server import serving, streamed
from support.redis_server import RedisServer

pytestmark = pytest.mark.anyio
HELLO = b'data: {"choices": [{"delta": {"content": "Hello from a model."}}]}\n\n'


async def hanging(request: web.Request) -> web.StreamResponse:
    if request.path.endswith("/models"):
        return web.json_response({"data": []})
    response = await streamed(request, HELLO)
    await asyncio.sleep(60)
    return response


async def test_ended_while_it_starts(
    command: Callable[..., Any], config: Callable[..., str]
) -> None:
    async with Twin() as twin, serving(hanging) as provider:
        twin.faults.stall("GET /gateway/bot", times=None)
        path = config(
            "[discord]\nurl = '{d}'\n[[provider]]\nmodel = 'm'\nbase_url = '{p}'\n",
            {"d": twin.url, "p": provider.url},
        )
        async with command("run", "--config", path, DISCORD_TOKEN=twin.token) as bot:
            await twin.journal.until(lambda: twin.journal.requests_made, 30)
            bot.process.send_signal(signal.SIGTERM)
            assert await bot.ended() == (0, "", "")


async def test_a_stop_from_another_process(
    command: Callable[..., Any], config: Callable[..., str], tmp_path: Path
) -> None:
    server = RedisServer(tmp_path)
    try:
        async with Twin() as twin, serving(hanging) as provider:
            path = config(
                "[discord]\nurl = '{d}'\n[[provider]]\nmodel = 'm'\nbase_url = '{p}'\n"
                "[redis]\nurl = '{r}'\nprefix = 'two'\n",
                {"d": twin.url, "p": provider.url, "r": server.url},
            )
            async with command("run", "--config", path, DISCORD_TOKEN=twin.token) as bot:
                await bot.says("ready ")
                await twin.say(f"<@{twin.bot.id}> hello", user="ann")
                # Patient, or a busy machine turns a stop that acts into one that seems not to.
                stops = RedisStops(server.url, prefix="two", answer_timeout_ms=10_000)
                async with stops, asyncio.timeout(20):
                    channel_id = twin.channel("general").id
                    while provider.count < 2:  # noqa: ASYNC110 - the models, and the question
                        await asyncio.sleep(0.01)
                    await asyncio.sleep(0.3)  # for the words to arrive
                    while not await stops.request_stop(channel_id=channel_id, requester="ann"):  # noqa: ASYNC110
                        await asyncio.sleep(0.05)
                    while not twin.texts():  # noqa: ASYNC110
                        await asyncio.sleep(0.01)
                    assert twin.texts() == ["Hello from a model."]
    finally:
        server.kill()


async def test_the_second_signal_leaves_no_choice(monkeypatch: pytest.MonkeyPatch) -> None:
    left: list[int] = []
    monkeypatch.setattr(living, "leave_now", left.append)
    async with living.signals() as ending:
        signal.raise_signal(signal.SIGINT)
        await ending.wait()
        assert left == []
        signal.raise_signal(signal.SIGTERM)
        await asyncio.sleep(0.01)
        assert left == [130]


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (hikari.GatewayServerClosedConnectionError("", 4004), "does not accept the token"),
        (hikari.GatewayServerClosedConnectionError("", 4013), "Message Content"),
        (hikari.GatewayServerClosedConnectionError("", 4011), "needs shards"),
        (hikari.GatewayServerClosedConnectionError("", 4999), "code 4999"),
        (hikari.GatewayConnectionError("x"), "is this machine online?"),
        (hikari.GatewayError("x"), "start it again"),
        (OSError("x"), "is this machine online?"),
        (RuntimeError("Attempted to start more sessions than were allowed"), "too often today"),
    ],
    ids=["4004", "4013", "4011", "4999", "gateway", "lost", "network", "sessions"],
)
def test_every_failure_has_words(error: Exception, said: str) -> None:
    found = explained(error)
    assert found is not None
    assert said in str(found)


def test_what_is_not_known_is_not_explained_away() -> None:
    assert explained(KeyError("x")) is None
    assert explained(RuntimeError("x")) is None
