"""`minamo doctor --try` and the options of a provider, against real local servers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from minamo.bot.doctor import examine
from minamo.bot.factory import make_provider, with_options
from minamo.bot.settings import OPTIONS, ProviderSettings
from minamo.bot.settings_file import example, read_settings
from minamo.cli.main import parser
from minamo.errors import BadSetting
from minamo.shell.providers.adapters import OpenAI, OpenAICompatible
from minamo.wire.conversation import user
from support.provider_server import Server, serving, streamed

pytestmark = pytest.mark.anyio

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
