"""The endpoints for supervisors, the figures, and the log in JSON."""

from __future__ import annotations

import asyncio
import gc
import json
import signal
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import aiohttp
import hikari
import pytest
from aiohttp import web
from prometheus_client.parser import text_string_to_metric_families

from minamo.bot import run as living
from minamo.bot.doctor_discord import explained
from minamo.bot.health import PrometheusMetrics
from minamo.bot.settings_file import read_settings
from minamo.core.chunks import ErrorChunk, Usage
from minamo.core.result import StreamResult
from minamo.errors import BadSetting
from minamo.shell.stops.redis_registry import RedisStops
from minamo.shell.telemetry.telemetry import StreamInfo
from minamo.twin import Twin
from support.bot import make_bot
from support.provider_server import serving, streamed
from support.redis_server import RedisServer

pytestmark = pytest.mark.anyio


SETTINGS = """
[discord]
url = '{discord}'
[[provider]]
model = 'm'
base_url = '{provider}'
[health]
port = {port}
"""
WORDS = b'data: {"choices": [{"delta": {"content": "The first part.\\n\\nAnd the"}}]}\n\n'


async def slow(request: web.Request) -> web.StreamResponse:
    """Answer with some words, and then with nothing for a minute."""
    if request.path.endswith("/models"):
        return web.json_response({"data": [{"id": "m"}]})
    response = await streamed(request, WORDS)
    await asyncio.sleep(60)
    return response


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


async def get(port: int, path: str) -> tuple[int, str]:
    async with (
        aiohttp.ClientSession() as session,
        session.get(f"http://127.0.0.1:{port}{path}") as answer,
    ):
        return answer.status, await answer.text()


async def until_ready(port: int) -> None:
    async with asyncio.timeout(20):
        while (await get(port, "/readyz"))[0] != 200:  # noqa: ASYNC110 - it is polled in life, too
            await asyncio.sleep(0.05)


def samples(text: str) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


async def test_sigterm_turns_readiness_off_first_and_then_drains(
    command: Callable[..., Any], config: Callable[..., str]
) -> None:
    port = free_port()
    async with Twin() as twin, serving(slow) as provider:
        twin.faults.latency_s = 0.2  # Discord takes its time with the rest of the reply
        places = {"discord": twin.url, "provider": provider.url, "port": str(port)}
        path = config(SETTINGS, places)
        async with command("run", "--config", path, DISCORD_TOKEN=twin.token) as bot:
            await bot.says("ready ")
            await until_ready(port)
            assert (await get(port, "/healthz"))[0] == 200
            await twin.say(f"<@{twin.bot.id}> hello", user="ann")
            async with asyncio.timeout(20):
                while not twin.texts():  # noqa: ASYNC110
                    await asyncio.sleep(0.01)
            bot.process.send_signal(signal.SIGTERM)
            async with asyncio.timeout(10):
                while (answer := await get(port, "/readyz"))[0] == 200:  # noqa: ASYNC110
                    await asyncio.sleep(0.001)
            # Not ready any more, and still healthy, while the rest is delivered.
            assert json.loads(answer[1]) == {"ready": False, "problems": {"bot": "ending"}}
            assert twin.texts() == ["The first part."]
            assert bot.process.returncode is None
            code, _, err = await bot.ended()
    assert (code, err) == (0, "")
    assert twin.texts() == ["The first part.", "And the"]


async def test_readyz_names_what_is_missing(
    command: Callable[..., Any], config: Callable[..., str], tmp_path: Path
) -> None:
    port = free_port()
    server = RedisServer(tmp_path)
    try:
        async with Twin() as twin, serving(slow) as provider:
            places = {"discord": twin.url, "provider": provider.url, "port": str(port)}
            path = config(SETTINGS, places)
            environ = {"DISCORD_TOKEN": twin.token, "MINAMO_REDIS_URL": server.url}
            async with command("run", "--config", path, **environ) as bot:
                await bot.says("ready ")
                await until_ready(port)
                server.kill()
                async with asyncio.timeout(20):
                    while (answer := await get(port, "/readyz"))[0] == 200:  # noqa: ASYNC110
                        await asyncio.sleep(0.1)
                assert json.loads(answer[1])["problems"] == {"redis": "unreachable"}
    finally:
        server.kill()


async def test_it_is_off_unless_asked_for(
    command: Callable[..., Any], config: Callable[..., str]
) -> None:
    async with Twin() as twin, serving(slow) as provider:
        places = {"discord": twin.url, "provider": provider.url, "port": "0"}
        path = config(SETTINGS, places)
        async with command("run", "--config", path, DISCORD_TOKEN=twin.token) as bot:
            await bot.says("ready ")
            assert not any("health" in line for line in bot.out)


async def test_a_taken_port_is_said(
    run_command: Callable[..., Any], config: Callable[..., str]
) -> None:
    async with Twin() as twin, serving(slow) as provider:
        taken = provider.url.rpartition(":")[2].partition("/")[0]
        places = {"discord": twin.url, "provider": provider.url, "port": taken}
        code, _, err = await run_command(
            "run", "--config", config(SETTINGS, places), DISCORD_TOKEN=twin.token
        )
    assert code == 2
    assert f"health: 127.0.0.1:{taken} cannot be used" in err


async def test_logs_in_json_have_one_object_a_line(
    command: Callable[..., Any], config: Callable[..., str]
) -> None:
    port = free_port()
    async with Twin() as twin, serving(slow) as provider:
        places = {"discord": twin.url, "provider": provider.url, "port": str(port)}
        path = config(SETTINGS, places)
        arguments = ("run", "--verbose", "--log", "json", "--config", path)
        async with command(*arguments, DISCORD_TOKEN=twin.token) as bot:
            await bot.says("ready ")
            await twin.say(f"<@{twin.bot.id}> hello", user="ann")
            async with asyncio.timeout(20):
                while not twin.texts():  # noqa: ASYNC110
                    await asyncio.sleep(0.01)
            status, text = await get(port, "/metrics")
            assert status == 200
            assert samples(text)["minamo_streams_running", ()] == 1
            assert samples(text)["minamo_gateway_connected", ()] == 1
            bot.process.send_signal(signal.SIGTERM)
            code, _, err = await bot.ended()
    assert code == 0
    lines = [json.loads(line) for line in err.splitlines()]
    [ended] = [line for line in lines if line["logger"] == "minamo.stream"]
    assert ended["minamo"]["status"] == "stopped_by_user"
    assert ended["level"] == "info"
    assert twin.token not in err


@pytest.mark.parametrize(
    ("given", "host", "port"),
    [
        ("8081", "127.0.0.1", 8081),
        ("0.0.0.0:9", "0.0.0.0", 9),
        ("[::1]:9", "::1", 9),
        ("", "127.0.0.1", 0),
    ],
)
def test_the_environment_sets_the_address(given: str, host: str, port: int) -> None:
    health = read_settings(None, {"MINAMO_HEALTH": given}).health
    assert (health.host, health.port) == (host, port)


@pytest.mark.parametrize("given", ["x", "host:", "1:70000", "-1"])
def test_a_wrong_address_is_refused(given: str) -> None:
    with pytest.raises(BadSetting, match="MINAMO_HEALTH must be a port or host:port"):
        read_settings(None, {"MINAMO_HEALTH": given})


def test_figures_are_what_prometheus_reads() -> None:
    metrics = PrometheusMetrics()
    span = metrics.stream_started(StreamInfo(stream_id="s", channel_id=1, model='m"\n\\'))
    metrics.stream_started(StreamInfo(stream_id="t", channel_id=1)).cancelled()
    figures = {"duration_ms": 2_000.0, "time_to_first_visible_ms": 300.0}
    error = ErrorChunk("rate_limit", "words")
    result = StreamResult(
        status="error", data=error, usage=Usage(input_tokens=7, output_tokens=3), metrics=figures
    )
    span.ended(result)
    metrics.tool_started("roll").ended("timeout")
    found = samples(metrics.text())
    model = ("model", 'm"\n\\')
    labels = (model, ("reason", "rate_limit"), ("status", "error"))
    assert found["minamo_streams_total", labels] == 1
    assert found["minamo_tokens_total", (model, ("type", "input"))] == 7
    assert found["minamo_tool_calls_total", (("problem", "timeout"),)] == 1
    assert found["minamo_streams_running", ()] == 0
    assert found["minamo_stream_seconds_sum", ()] == 2
    assert found["minamo_stream_seconds_bucket", (("le", "1"),)] == 0
    assert found["minamo_stream_seconds_bucket", (("le", "2.5"),)] == 1
    assert found["minamo_first_visible_seconds_count", ()] == 1


def test_the_number_of_labels_is_bounded() -> None:
    metrics = PrometheusMetrics()
    for number in range(500):
        info = StreamInfo(stream_id="s", channel_id=1, model=f"m{number}")
        metrics.stream_started(info).cancelled()
    models = [line for line in metrics.text().splitlines() if line.startswith("minamo_streams_to")]
    assert len(models) <= 51
    assert 'model="other"' in "".join(models)


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


async def test_the_garbage_collector_leaves_alone_what_stays(twin: Twin) -> None:
    bot, before = make_bot(twin), gc.get_freeze_count()
    async with living.signals() as ending:
        assert await living.start(bot, ending, twin.url)
        assert gc.get_freeze_count() > before
        await living.close(bot)


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
