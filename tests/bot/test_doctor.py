"""`minamo doctor`: a machine where all is well, and each thing broken."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from minamo.bot import doctor
from minamo.bot.doctor import examine
from minamo.bot.doctor_discord import Diagnosis
from minamo.bot.probe import probe
from minamo.bot.settings import ProviderSettings
from minamo.twin import Permission, Rules, Twin
from support.provider_server import refusing, serving
from support.redis_server import RedisServer

pytestmark = pytest.mark.anyio
CANARY = "sk-canary-0123456789"
PLACES = "[discord]\nurl = '{discord}'\n[[provider]]\nmodel = 'm'\nbase_url = '{provider}'\n"


async def models(_: web.Request) -> web.StreamResponse:
    return web.json_response({"data": [{"id": "m"}, {"id": "n"}]})


def by_check(found: list[Diagnosis]) -> dict[str, list[tuple[str, str]]]:
    out: dict[str, list[tuple[str, str]]] = {}
    for one in found:
        assert CANARY not in one.words
        assert "\n" not in one.words
        out.setdefault(one.check, []).append((one.level, one.words))
    return out


async def look(path: str | None = None, **environ: str) -> dict[str, list[tuple[str, str]]]:
    return by_check(await examine(Path(path) if path else None, environ))


async def test_all_is_well(run_command: Callable[..., Any], config: Callable[..., str]) -> None:
    async with Twin() as twin, serving(models) as provider:
        path = config(PLACES, {"discord": twin.url, "provider": provider.url})
        code, out, err = await run_command("doctor", "--config", path, DISCORD_TOKEN=twin.token)
        assert (code, err) == (0, "")
        lines = out.splitlines()
        assert [line.split()[1] for line in lines] == [
            "python", "packages", "settings", "tools", "token", "gateway", "intents", "servers",
            "provider",
        ]  # fmt: skip
        assert all(line.startswith("ok ") for line in lines)
        assert twin.token not in out


async def test_a_clean_machine(run_command: Callable[..., Any]) -> None:
    code, out, err = await run_command("doctor", "--json")
    assert (code, err) == (0, "")
    found = {one["check"]: one for one in map(json.loads, out.splitlines())}
    assert found["token"]["level"] == found["provider"]["level"] == "warning"
    assert "demo" in found["token"]["words"]


@pytest.mark.parametrize(
    ("rules", "token", "more", "check", "said"),
    [
        ({}, "{token}x", "", "token", "does not accept the token"),
        ({}, CANARY, "", "token", "three parts"),
        ({"privileged_intents": 0}, "{token}", "message_content = true\n", "intents", "switch it on"),
    ],
    ids=["token", "shape", "intents"],
)  # fmt: skip
async def test_discord_refuses(
    config: Callable[..., str], rules: dict[str, Any], token: str, more: str, check: str, said: str
) -> None:
    async with Twin(rules=Rules(**rules)) as twin:
        path = config(f"[discord]\nurl = '{twin.url}'\n{more}")
        found = await look(path, DISCORD_TOKEN=token.format(token=twin.token))
        (level, words), *_ = found[check]
        assert level == "problem"
        assert said in words


async def test_discord_fails(config: Callable[..., str]) -> None:
    async with Twin() as twin:
        path = config(f"[discord]\nurl = '{twin.url}'\n")
        twin.faults.status(500, "GET /users/@me/guilds")
        found = await look(path, DISCORD_TOKEN=twin.token)
        assert found["token"][0][0] == "ok"
        assert found["discord"] == [
            ("problem", "Discord answers with an error (500); try again later")
        ]


async def test_permissions_that_are_missing(config: Callable[..., str]) -> None:
    async with Twin() as twin:
        path = config(f"[discord]\nurl = '{twin.url}'\n[[persona]]\nname = 'N'\n")
        found = await look(path, DISCORD_TOKEN=twin.token)
        assert found["servers"][0][0] == "ok"
        for role in twin.guild.roles.values():
            role.permissions &= ~(Permission.MANAGE_WEBHOOKS | Permission.EMBED_LINKS)
        found = await look(path, DISCORD_TOKEN=twin.token)
        assert found["servers"] == [
            ("warning", "The Twin: the bot's role lacks Embed Links, Manage Webhooks")
        ]
        twin.world.guilds.clear()
        (level, words), *_ = (await look(path, DISCORD_TOKEN=twin.token))["servers"]
        assert level == "warning"
        assert f"client_id={twin.bot.id}&scope=bot+applications.commands" in words


def closed_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


async def test_offline(config: Callable[..., str]) -> None:
    nowhere = f"http://127.0.0.1:{closed_port()}"
    text = PLACES + "[redis]\nurl = 'redis://:{secret}@127.0.0.1:{port}'\n"
    values = {"discord": f"{nowhere}/api", "provider": nowhere}
    path = config(text, {**values, "secret": CANARY, "port": str(closed_port())})
    found = await look(path, DISCORD_TOKEN="MTAwMDAwMDAwMDAwMDAwMDAwMA.a.b", OPENAI_API_KEY=CANARY)
    assert [found[one][0][0] for one in ("discord", "provider", "redis")] == ["problem"] * 3
    assert "is this machine online?" in found["discord"][0][1]


async def test_nothing_answers_and_nobody_waits(config: Callable[..., str]) -> None:
    async with Twin() as twin:
        twin.faults.stall("GET /users/@me", times=None)
        path = Path(config(f"[discord]\nurl = '{twin.url}'\n"))
        found = by_check(await examine(path, {"DISCORD_TOKEN": twin.token}, within_s=0.3))
        assert found["discord"] == [("problem", "no answer within 0.3 s: is this machine online?")]
        for task in asyncio.all_tasks() - {asyncio.current_task()}:
            if "DiscordChecks" in repr(task):
                task.cancel()
                await asyncio.wait([task])


@pytest.mark.parametrize(
    ("answer", "level", "said"),
    [
        (models, "ok", "takes the key"),
        (refusing(401), "problem", "does not accept the key"),
        (refusing(403), "problem", "does not accept the key"),
        (refusing(400, b'{"error": {"message": "API key not valid"}}'), "problem", "does not accept"),
        (refusing(404), "warning", "does not list its models (404)"),
        (refusing(500), "warning", "(500)"),
        (refusing(200, b"not json"), "ok", "takes the key"),
        (refusing(200, b'{"data": [{"id": "other"}]}'), "problem", "has no model 'm'"),
        (refusing(200, b'{"data": [{"id": "m:latest"}]}'), "ok", "takes the key"),
    ],
    ids=["fine", "401", "403", "400", "404", "500", "no list", "no model", "tag"],
)  # fmt: skip
async def test_a_provider(answer: Any, level: str, said: str) -> None:
    async with serving(answer) as server:
        found = await look(OPENAI_BASE_URL=server.url, OPENAI_API_KEY=CANARY, MINAMO_MODEL="m")
        assert [one for one, _ in found["provider"]] == [level]
        assert said in found["provider"][0][1]
        assert server.requests[0]["headers"]["Authorization"] == f"Bearer {CANARY}"


@pytest.mark.parametrize(
    ("kind", "path", "header"),
    [
        ("gemini", "/v1beta/models?pageSize=1000", "x-goog-api-key"),
        ("anthropic", "/v1/models?limit=1000", "x-api-key"),
    ],
)
async def test_the_other_dialects(kind: str, path: str, header: str) -> None:
    body = b'{"models": [{"name": "models/m"}]}'
    async with serving(refusing(200, body)) as server:
        one = ProviderSettings(kind=kind, model="m", base_url=server.url, api_key=CANARY)
        assert (await probe(one)).verdict == "fine"
        assert server.requests[0]["path"] == path
        assert server.requests[0]["headers"][header] == CANARY


async def test_a_provider_that_never_answers() -> None:
    async def stall(_: web.Request) -> web.StreamResponse:
        await asyncio.sleep(30)
        raise AssertionError

    async with serving(stall) as server:
        one = ProviderSettings(model="m", base_url=server.url)
        assert (await probe(one, within_s=0.2)).verdict == "unreachable"


async def test_a_provider_without_a_key() -> None:
    found = await look(OPENAI_API_KEY=" ", GEMINI_API_KEY=CANARY)
    assert found["provider"] == [
        ("problem", "provider 1 (gemini) has no model: set MINAMO_MODEL or `model`")
    ]


async def test_a_broken_file_and_the_rest_is_still_looked_at(config: Callable[..., str]) -> None:
    path = config("[bot]\nmod = 1\n")
    found = await look(path)
    assert found["settings"][0][0] == "problem"
    assert ":2: bot.mod: unknown setting" in found["settings"][0][1]
    assert found["tools"] == [("ok", "roll, now")]
    assert (await look(MAX_MESSAGE_LENGTH="x"))["settings"][0][0] == "problem"


async def test_a_broken_file_of_tools(config: Callable[..., str]) -> None:
    found = await look(config("[bot]\ntools_file = 'none.py'\n"))
    assert found["tools"][0][0] == "problem"


async def test_redis(config: Callable[..., str], tmp_path: Path) -> None:
    server = RedisServer(tmp_path, "--requirepass", CANARY)
    try:
        place = f"127.0.0.1:{server.port}"
        found = await look(config(f"[redis]\nurl = 'redis://:{CANARY}@{place}'\n"))
        assert found["redis"] == [("ok", "answers")]
        found = await look(config(f"[redis]\nurl = 'redis://:wrong@{place}'\n"))
        assert found["redis"][0][0] == "problem"
    finally:
        server.kill()


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("hikari<3,>=2.6", None),
        ("hikari>=99", "does not fit: pip install 'hikari>=99'"),
        ("hikari<2", "does not fit"),
        ("no-such-thing>=1", "no-such-thing is not installed"),
        ('redis>=99; extra == "redis"', None),
        ("", None),
    ],
)
def test_packages(monkeypatch: pytest.MonkeyPatch, line: str, said: str | None) -> None:
    monkeypatch.setattr(doctor, "requires", lambda _: [line])
    found = doctor._packages()
    assert [one.level for one in found] == (["problem"] if said else ["ok"])
    assert said is None or said in found[0].words
