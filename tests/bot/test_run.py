"""`minamo run` as a person starts it: the demo, the real bot, and every way it can fail."""

from __future__ import annotations

import asyncio
import json
import signal
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from aiohttp import web

from minamo.bot.settings_file import example
from minamo.cli.main import main
from minamo.twin import Rules, Twin
from support.provider_server import refusing, serving, streamed
from support.waiting import until

pytestmark = pytest.mark.anyio
CANARY = "sk-canary-0123456789"
HELLO = b'data: {"choices": [{"delta": {"content": "Hello from a model."}}]}\n\n'
END = b'data: {"choices": [{"delta": {}, "finish_reason": "stop"}]}\n\ndata: [DONE]\n\n'
PLACES = "[discord]\nurl = '{discord}'\n[[provider]]\nmodel = 'm'\nbase_url = '{provider}'\n"


def models(*names: str) -> web.Response:
    return web.json_response({"data": [{"id": name} for name in names]})


async def answer(request: web.Request) -> web.StreamResponse:
    if request.path.endswith("/models"):
        return models("m")
    return await streamed(request, HELLO, END)


def one_line(err: str) -> str:
    """The one clear message that a failure has; nothing secret in it."""
    assert "Traceback" not in err
    assert CANARY not in err
    lines = [line for line in err.splitlines() if line]
    assert len(lines) == 1, err
    assert lines[0].startswith("minamo: ")
    return lines[0]


async def test_the_demo_runs_and_ends(command: Callable[..., Any]) -> None:
    async with command("run") as demo:
        line = await demo.says("page ")
        address = line.split()[1]
        origin = address.split("/?key=")[0]
        jar = aiohttp.CookieJar(unsafe=True)  # cookies of an address, as browsers keep them
        async with aiohttp.ClientSession(cookie_jar=jar, headers={"Origin": origin}) as page:
            async with page.get(address) as entered:
                assert entered.status == 200
            async with page.get(f"{origin}/api/about") as about:
                prompts = (await about.json())["prompts"]
            assert {"Hello", "Code", "A tool"} <= {one["title"] for one in prompts}
            async with page.post(f"{origin}/api/say", json={"text": "details"}) as said:
                assert said.status == 200
            await ended(page, origin, "completed")
            async with page.post(f"{origin}/api/say", json={"text": "count slowly"}) as said:
                assert said.status == 200
            await asyncio.sleep(1.5)
            async with page.post(f"{origin}/api/stop") as stopped:
                assert stopped.status == 200
            await ended(page, origin, "stopped_by_user")
        demo.process.send_signal(signal.SIGTERM)
        code, _, err = await demo.ended()
        assert (code, err) == (0, "")


async def ended(page: aiohttp.ClientSession, origin: str, status: str) -> None:
    """Look at the live page until a stream has ended so."""
    async with asyncio.timeout(20), page.get(f"{origin}/api/live") as live:
        async for line in live.content:
            if line.startswith(b"data: ") and f'"status":"{status}"'.encode() in line:
                return


async def test_the_bot_answers_and_lets_a_reply_end(
    command: Callable[..., Any], config: Callable[..., str]
) -> None:
    async def slow(request: web.Request) -> web.StreamResponse:
        if request.path.endswith("/models"):
            return models("m")
        response = await streamed(request, HELLO)
        await asyncio.sleep(30)
        return response

    async with Twin() as twin, serving(slow) as provider:
        path = config(PLACES, {"discord": twin.url, "provider": provider.url})
        async with command("run", "--config", path, DISCORD_TOKEN=twin.token) as bot:
            assert "mentions, direct messages, /ask" in await bot.says("ready ")
            await twin.say(f"<@{twin.bot.id}> hello", user="ann")
            await until(lambda: provider.count >= 2)
            await asyncio.sleep(0.3)
            bot.process.send_signal(signal.SIGINT)
            code, out, err = await bot.ended()
        assert code == 0, err
        assert "come to their end" in out
        assert err == ""
        assert twin.texts() == ["Hello from a model."]


async def test_the_page_of_a_real_bot(
    command: Callable[..., Any], config: Callable[..., str]
) -> None:
    async with Twin() as twin, serving(answer) as provider:
        path = config(PLACES, {"discord": twin.url, "provider": provider.url})
        async with command("run", "--config", path, "--port", "0", DISCORD_TOKEN=twin.token) as bot:
            address = (await bot.says("page ")).split()[1]
            async with aiohttp.ClientSession() as page, page.get(address) as shown:
                assert shown.status == 200


@pytest.mark.parametrize(
    ("rules", "token", "more", "said"),
    [
        ({}, "{token}x", "", "Discord does not accept the token"),
        ({"privileged_intents": 0}, "{token}", "message_content = true\n", "Message Content"),
        ({}, "nonsense", "", "the token is not one of Discord's"),
    ],
    ids=["token", "intents", "shape"],
)
async def test_discord_refuses(
    run_command: Callable[..., Any],
    config: Callable[..., str],
    rules: dict[str, Any],
    token: str,
    more: str,
    said: str,
) -> None:
    async with Twin(rules=Rules(**rules)) as twin, serving(answer) as provider:
        text = PLACES.replace("[[", more + "[[", 1)
        path = config(text, {"discord": twin.url, "provider": provider.url})
        given = token.format(token=twin.token)
        code, out, err = await run_command("run", "--config", path, DISCORD_TOKEN=given)
        assert code == 1
        assert said in one_line(err)
        assert twin.token not in out + err


async def test_discord_closes_the_door_later(
    command: Callable[..., Any], config: Callable[..., str]
) -> None:
    async with Twin() as twin, serving(answer) as provider:
        path = config(PLACES, {"discord": twin.url, "provider": provider.url})
        async with command("run", "--config", path, DISCORD_TOKEN=twin.token) as bot:
            await bot.says("ready ")
            twin.disconnect(4014)
            code, _, err = await bot.ended()
        assert code == 1
        assert "Message Content" in one_line(err)


@pytest.mark.parametrize("status", [401, 403])
async def test_the_provider_refuses_the_key(
    run_command: Callable[..., Any], config: Callable[..., str], status: int
) -> None:
    body = json.dumps({"error": {"message": f"wrong key {CANARY}"}}).encode()
    async with Twin() as twin, serving(refusing(status, body)) as provider:
        text = PLACES + "api_key_env = 'MY_KEY'\n"
        path = config(text, {"discord": twin.url, "provider": provider.url})
        code, _, err = await run_command(
            "run", "--config", path, DISCORD_TOKEN=twin.token, MY_KEY=CANARY
        )
        assert code == 1
        assert "does not accept the key" in one_line(err)
        assert provider.requests[0]["headers"]["Authorization"] == f"Bearer {CANARY}"
        assert not twin.journal.events("IDENTIFY")


async def test_one_of_two_providers_is_enough(
    command: Callable[..., Any], config: Callable[..., str]
) -> None:
    second = "[[provider]]\nmodel = 'm'\nbase_url = '{second}'\n"
    async with Twin() as twin, serving(refusing(401)) as bad, serving(answer) as good:
        values = {"discord": twin.url, "provider": bad.url, "second": good.url}
        path = config(PLACES + second, values)
        async with command("run", "--config", path, DISCORD_TOKEN=twin.token) as bot:
            assert "does not accept the key" in await bot.says("warning ")
            await bot.says("ready ")
            await twin.say(f"<@{twin.bot.id}> hello", user="ann")
            await until(lambda: twin.texts() == ["Hello from a model."])


async def test_nothing_can_be_reached(
    run_command: Callable[..., Any], config: Callable[..., str]
) -> None:
    nowhere = f"http://127.0.0.1:{_free_port()}"
    path = config(PLACES, {"discord": f"{nowhere}/api/v10", "provider": nowhere})
    code, out, err = await run_command(
        "run", "--config", path, DISCORD_TOKEN="MTAwMDAwMDAwMDAwMDAwMDAwMA.a.b"
    )
    assert code == 1
    assert "cannot be reached: is this machine online?" in one_line(err)
    assert "warning" in out


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


async def test_the_port_is_taken(run_command: Callable[..., Any]) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        code, _, err = await run_command("run", "--port", str(port))
    assert code == 2
    assert f"port {port}" in one_line(err)


@pytest.mark.parametrize(
    ("arguments", "text", "said"),
    [
        (["--config", "{path}"], "[bot]\nmod = 1\n", "minamo.toml:2: bot.mod: unknown setting"),
        (["--config", "{path}.not"], "", "cannot be read"),
        (["--port", "70000"], "", "there is no port 70000"),
        (["--write-config", "{path}"], "", "is there already"),
        (["--write-config", "{path}/x"], "", "cannot be written"),
    ],
)
def test_mistakes_end_with_two(
    config: Callable[..., str],
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    text: str,
    said: str,
) -> None:
    path = config(text)
    assert main(["run", *(one.format(path=path) for one in arguments)]) == 2
    assert said in one_line(capsys.readouterr().err)


def test_a_token_without_a_model(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("OPENAI_API_KEY", "GEMINI_API_KEY", "ANTHROPIC_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("DISCORD_TOKEN", "MTAwMDAwMDAwMDAwMDAwMDAwMA.a.b")
    assert main(["run"]) == 2
    assert "no model to ask: set MINAMO_MODEL" in one_line(capsys.readouterr().err)


def test_the_settings_are_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "new.toml"
    assert main(["run", "--write-config", str(path)]) == 0
    assert f"minamo run --config {path}" in capsys.readouterr().out
    assert path.read_text() == example()
    assert path.stat().st_mode & 0o077 == 0  # for a token may be written into it
