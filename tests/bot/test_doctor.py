"""`minamo doctor`: a machine where all is well, each thing broken, and `--try` against local servers."""

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
from minamo.bot.factory import make_provider, with_options
from minamo.bot.provider_check import probe
from minamo.bot.settings import OPTIONS, ProviderSettings
from minamo.bot.settings_file import example, read_settings
from minamo.cli.main import parser
from minamo.errors import BadSetting
from minamo.shell.providers.adapters import OpenAI, OpenAICompatible
from minamo.twin import Permission, Rules, Twin
from minamo.wire.conversation import user
from support.provider_server import Server, refusing, serving, streamed
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


KEY = "sk-canary-0123456789abcdef"
WORD = b'data: {"choices": [{"delta": {"content": "ready"}}]}\n\n'
CALL = (
    b'data: {"choices": [{"delta": {"tool_calls": [{"index": 0, "id": "1", "function": '
    b'{"name": "lamp_state", "arguments": "{}"}}]}, "finish_reason": "tool_calls"}]}\n\n'
)
DONE = b"data: [DONE]\n\n"


def model(*, tools: Any = CALL, text: Any = WORD) -> Any:
    """A model that answers with these bytes, or refuses with this message."""

    async def handle(request: web.Request) -> web.StreamResponse:
        if request.method == "GET":
            return web.json_response({"data": [{"id": "m"}]})
        answer = tools if b'"tools"' in await request.read() else text
        if isinstance(answer, str):
            return web.json_response({"error": {"message": answer}}, status=400)
        return await streamed(request, answer, DONE)

    return handle


async def tried(server: Server, tmp_path: Path, text: str = "") -> list[tuple[str, str]]:
    path = tmp_path / "minamo.toml"
    provider = f"[[provider]]\nmodel = 'm'\nbase_url = '{server.url}'\napi_key = '{KEY}'\n"
    path.write_text(provider + text, encoding="utf-8")
    found = await examine(path, {}, try_models=True)
    assert KEY not in repr(found)
    return [(one.level, one.words) for one in found if one.check == "model"]


async def test_a_model_that_streams_and_calls_tools(tmp_path: Path) -> None:
    async with serving(model()) as server:
        streams, calls = await tried(server, tmp_path, "[bot]\nsystem_prompt = 'Be kind.'\n")
    assert streams[0] == "ok"
    assert "openai m streams; the first word came after" in streams[1]
    assert calls == ("ok", "openai m calls tools")
    bodies = [json.loads(one["body"]) for one in server.requests if one["body"]]
    assert all(body["stream"] is True for body in bodies)
    assert bodies[0]["messages"][0]["content"] == "Be kind."


@pytest.mark.parametrize(
    ("answer", "level", "words"),
    [
        (model(tools="m does not support tools"), "problem", "set tools = [] in [bot]"),
        (model(tools=WORD), "warning", "did not call a tool when asked to"),
    ],
)
async def test_a_model_without_tools(tmp_path: Path, answer: Any, level: str, words: str) -> None:
    async with serving(answer) as server:
        _, calls = await tried(server, tmp_path)
    assert calls[0] == level
    assert words in calls[1]


@pytest.mark.parametrize(
    ("refusal", "remedy"),
    [
        ("Unsupported parameter: 'max_tokens' is not supported", "change or remove `max_tokens`"),
        ("temperature may only be 1", "change or remove `temperature` in [provider.options]"),
        ("Your organization must be verified to stream this model", "that may stream"),
        ("System role not supported", "empty system_prompt"),
        (f"the key {KEY} is odd", "look it up in the documentation"),
    ],
)
async def test_a_refusal_names_what_to_change(tmp_path: Path, refusal: str, remedy: str) -> None:
    options = "[provider.options]\nmax_tokens = 50\ntemperature = 0.5\n"
    async with serving(model(text=refusal)) as server:
        [(level, words)] = await tried(server, tmp_path, options)
    assert level == "problem"
    assert remedy in words
    assert "\n" not in words


async def test_nothing_is_asked_unless_wanted(tmp_path: Path) -> None:
    async with serving(model()) as server:
        path = tmp_path / "minamo.toml"
        path.write_text(f"[[provider]]\nmodel = 'm'\nbase_url = '{server.url}'\napi_key = 'k'\n")
        found = await examine(path, {})
        assert not [one for one in found if one.check == "model"]
        assert all(one["body"] == b"" for one in server.requests)


async def test_a_provider_that_cannot_be_reached(tmp_path: Path) -> None:
    path = tmp_path / "minamo.toml"
    path.write_text("[[provider]]\nmodel = 'm'\nbase_url = 'http://127.0.0.1:9/v1'\n")
    found = await examine(path, {}, try_models=True)
    [words] = [one.words for one in found if one.check == "model"]
    assert "check `base_url`, and whether the server runs" in words


def test_the_command_has_the_option() -> None:
    assert parser().parse_args(["doctor", "--try"]).try_models is True


# The options of a provider.


async def test_options_are_sent_with_every_request(tmp_path: Path) -> None:
    path = tmp_path / "minamo.toml"
    async with serving(model()) as server:
        path.write_text(
            f"[[provider]]\nmodel = 'm'\nbase_url = '{server.url}'\n"
            "[provider.options]\ntemperature = 0.25\nstop = ['END']\nextra = {top_k = 3}\n"
        )
        one = read_settings(path, {}).provider[0]
        adapter = make_provider(one)
        async with adapter:
            async for _ in with_options(adapter, one).chat([user("hi")], temperature=0.5):
                pass
    body = json.loads(server.requests[-1]["body"])
    assert (body["temperature"], body["stop"], body["top_k"]) == (0.5, ["END"], 3)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("temprature = 1", "provider.options: has no 'temprature'; known are"),
        ("tools = []", "has no 'tools'"),
        ("temperature = 9", "temperature must be a number from 0 to 2"),
        ("max_tokens = 0", "max_tokens must be a whole number"),
    ],
)
def test_wrong_options_are_one_line(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "minamo.toml"
    path.write_text(f"[[provider]]\nmodel = 'm'\n[provider.options]\n{text}\n")
    with pytest.raises(BadSetting) as caught:
        read_settings(path, {})
    assert words in str(caught.value)
    assert str(caught.value).startswith(f"{path}:")


@pytest.mark.parametrize("name", OPTIONS)
def test_every_option_is_in_the_example(name: str) -> None:
    table = example().partition("# [provider.options]")[2].partition("\n\n")[0]
    assert f"\n# {name} = " in table


@pytest.mark.parametrize(
    ("base_url", "kind"),
    [
        ("", OpenAI),
        ("https://api.openai.com/v1", OpenAI),
        ("https://openrouter.ai/api/v1", OpenAICompatible),
        ("https://api.openai.com.example.invalid/v1", OpenAICompatible),
    ],
)
async def test_openai_itself_is_asked_by_its_own_api(base_url: str, kind: type) -> None:
    adapter = make_provider(ProviderSettings(model="m", base_url=base_url, api_key=KEY))
    assert type(adapter) is kind
    await adapter.close()
