"""Servers that are not ours, and speak our dialects: aimock, and litellm's proxy in front of it.

They are installed from the package indexes and answer from a script, so no model and no network
is needed.  `make servers` runs this.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from minamo import Anthropic, Gemini, OpenAI, OpenAICompatible, Tools, assistant, system, user
from minamo.core.chunks import DoneChunk, ErrorChunk
from minamo.testing import TextPass, run_turn
from support.foreign_servers import aimock, litellm
from support.recordings import gathered

# The proxy alone takes half a minute to start, and several on a busy machine.
pytestmark = [pytest.mark.anyio, pytest.mark.slow, pytest.mark.timeout(600)]

KEY = "sk-canary-0123456789abcdef"
TEXT = "Ebbe und Flut, 潮の満ち引き: zweimal täglich. " * 20
ROME, OSLO = '{"city": "Rome"}', '{"city": "Oslo"}'
SCRIPT: list[dict[str, Any]] = [
    {"match": {"userMessage": "plain"}, "response": {"content": TEXT}},
    {"match": {"userMessage": "think"}, "response": {"content": "So.", "reasoning": "Hm, tides."}},
    {"match": {"userMessage": "weather", "hasToolResult": True},
     "response": {"content": "21 in Rome, 21 in Oslo."}},
    {"match": {"userMessage": "weather"}, "response": {
        "content": "I look. ", "reasoning": "Two cities.",
        "toolCalls": [{"name": "weather", "arguments": ROME}, {"name": "weather", "arguments": OSLO}]}},
    {"match": {"userMessage": "cut"}, "response": {"content": "Half a", "finishReason": "length"}},
    {"match": {"userMessage": "busy"}, "response": {
        "error": {"message": "too many of you", "type": "rate_limit_error"}, "status": 429,
        "retryAfter": 7}},
]  # fmt: skip
ADAPTERS = {
    "openai": OpenAICompatible,
    "responses": OpenAI,
    "anthropic": Anthropic,
    "google": Gemini,
}


def adapter(dialect: str, url: str, model: str, **options: Any) -> Any:
    base = f"{url}/v1" if dialect in ("openai", "responses") else url
    return ADAPTERS[dialect](base_url=base, model=model, **{"api_key": KEY, **options})


@pytest.fixture(scope="module")
def mock(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with aimock(tmp_path_factory.mktemp("aimock"), SCRIPT) as url:
        yield url


@pytest.fixture(scope="module")
def proxy(mock: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The proxy with a model behind each of the dialects."""
    models = {
        "gpt-5": {"model": "openai/gpt-5", "api_base": f"{mock}/v1", "api_key": "x"},
        "claude-opus-4-5": {"model": "anthropic/claude-opus-4-5", "api_base": mock, "api_key": "x"},
        "gemini-3-pro": {
            "model": "gemini/gemini-3-pro",
            "api_base": f"{mock}/v1beta/models/gemini-3-pro",
            "api_key": "x",
        },
    }
    with litellm(tmp_path_factory.mktemp("litellm"), models, KEY) as url:
        yield url


MODELS = {
    "openai": "gpt-5",
    "responses": "gpt-5",
    "anthropic": "claude-opus-4-5",
    "google": "gemini-3-pro",
}
# Behind the proxy, each dialect is translated into another one, and not.
AT = [
    *(("mock", dialect, model) for dialect, model in MODELS.items()),
    *(("proxy", dialect, model) for dialect, model in MODELS.items()),
    *(("proxy", dialect, "claude-opus-4-5") for dialect in ("openai", "responses")),
    *(("proxy", dialect, "gpt-5") for dialect in ("anthropic", "google")),
]


@pytest.fixture(params=AT, ids="-".join)
async def llm(request: pytest.FixtureRequest) -> Any:
    server, dialect, model = request.param
    async with adapter(dialect, request.getfixturevalue(server), model) as made:
        yield made


async def test_a_text(llm: Any) -> None:
    found = gathered([chunk async for chunk in llm.ask("plain")])
    assert found.text == TEXT
    assert isinstance(found.last, DoneChunk)
    assert found.last.finish_reason == "stop"
    assert found.last.usage is not None


async def test_a_round_of_tools(llm: Any) -> None:
    tools, cities = Tools(), []

    @tools.add
    async def weather(city: str) -> dict[str, object]:
        """Look up the weather of a city."""
        cities.append(city)
        return {"city": city, "degrees": 21}

    shown: list[str] = []
    told = [system("Be brief."), user("Hi", name="Ann"), assistant("Hello."), user("weather")]
    turn = await run_turn(llm, told, stream_pass=TextPass(shown.append), tools=tools, user_id=1)

    assert (turn.status, turn.data) == ("completed", None)
    assert sorted(cities) == ["Oslo", "Rome"]
    assert shown[-1] == "21 in Rome, 21 in Oslo."
    # What this turn left in the history is accepted in the next one.
    again = await run_turn(
        llm,
        [*turn.messages, user("plain")],
        stream_pass=TextPass(shown.append),
        tools=tools,
        user_id=1,
    )
    assert (again.status, again.data) == ("completed", None)


async def test_a_thought(llm: Any) -> None:
    found = gathered([chunk async for chunk in llm.ask("think")])
    # The proxy does not translate thoughts into Gemini's dialect.
    lost = isinstance(llm, Gemini) and llm.model == "gpt-5"
    assert (found.text, found.thoughts) == ("So.", "" if lost else "Hm, tides.")


async def test_a_reply_that_was_cut(llm: Any) -> None:
    found = gathered([chunk async for chunk in llm.ask("cut")])
    assert (found.text, found.last.finish_reason) == ("Half a", "length")


async def test_a_refusal_with_its_words(llm: Any) -> None:
    found = gathered([chunk async for chunk in llm.ask("busy")]).last
    assert isinstance(found, ErrorChunk)
    assert found.status == 429
    assert found.kind == "rate_limit"
    assert "too many of you" in found.message


@pytest.mark.parametrize("dialect", MODELS)
async def test_a_wrong_key(dialect: str, proxy: str) -> None:
    async with adapter(dialect, proxy, "gpt-5", api_key="sk-wrong-0123456789") as llm:
        found = gathered([chunk async for chunk in llm.ask("plain")]).last
    assert isinstance(found, ErrorChunk)
    # Without a database the proxy knows the one key, and answers 400 to any other.
    assert (found.status, found.retryable) == (400, False)
    assert "0123456789" not in found.message
