"""One vocabulary of options for all dialects, and the sources that readers gather."""

from __future__ import annotations

import json
from typing import Any

import pytest

from minamo.core.chunks import Citation, DoneChunk
from minamo.errors import BadRequest
from minamo.shell.providers.adapters import Anthropic, Gemini, OpenAI, OpenAICompatible
from minamo.wire.options import EFFORTS, Tool
from support.recordings import KEY, adapter, read, replayed

SCHEMA = {"type": "object", "properties": {"answer": {"type": "string"}}}


def openai(host: str = "api.openai.com", model: str = "gpt-5.6") -> OpenAICompatible:
    return OpenAICompatible(f"https://{host}/v1", model=model, api_key=KEY)


def responses() -> OpenAI:
    return OpenAI(model="gpt-5.6", api_key=KEY)


def claude(model: str = "claude-opus-5", **make: Any) -> Anthropic:
    return Anthropic(model=model, api_key=KEY, **make)


def gemini(model: str = "gemini-3-pro", **make: Any) -> Gemini:
    return Gemini(model=model, api_key=KEY, **make)


def body(llm: Any, **options: Any) -> Any:
    return json.loads(llm.ask("Hi", **options).request.body)


def test_effort() -> None:
    for effort in EFFORTS:
        assert body(openai(), effort=effort)["reasoning_effort"] == effort
        assert body(responses(), effort=effort)["reasoning"] == {"effort": effort}
    told = body(claude(), effort="xhigh")
    assert (told["output_config"], told["thinking"]) == ({"effort": "xhigh"}, {"type": "adaptive"})
    assert body(claude(), effort="minimal")["output_config"] == {"effort": "low"}
    assert body(claude(), effort="none")["thinking"] == {"type": "disabled"}
    levels = [body(gemini(), effort=e)["generationConfig"]["thinkingConfig"] for e in EFFORTS]
    assert [level["thinkingLevel"] for level in levels] == [
        "MINIMAL", "MINIMAL", "LOW", "MEDIUM", "HIGH", "XHIGH", "XHIGH",
    ]  # fmt: skip
    old = body(gemini("gemini-2.5-flash"), effort="low")["generationConfig"]["thinkingConfig"]
    assert old == {"thinkingBudget": 1_024}


@pytest.mark.parametrize(
    ("model", "options", "thinking"),
    [
        ("claude-opus-5", {}, {"type": "adaptive", "display": "summarized"}),
        ("claude-opus-4-6", {}, {"type": "adaptive", "display": "summarized"}),
        ("claude-sonnet-4-5-20250929", {}, {"type": "enabled", "budget_tokens": 8_192}),
        ("claude-opus-4-20250514", {"effort": "max"}, {"type": "enabled", "budget_tokens": 16_384}),
        ("claude-3-7-sonnet", {"max_tokens": 2_000}, {"type": "enabled", "budget_tokens": 1_999}),
        ("claude-opus-5", {"effort": "none"}, {"type": "disabled"}),
    ],
)
def test_thoughts_of_claude(model: str, options: Any, thinking: Any) -> None:
    assert body(claude(model, thoughts=True), **options)["thinking"] == thinking
    assert "thinking" not in body(claude(model))


def test_a_reply_in_json() -> None:
    asked = {"response_format": SCHEMA}
    assert body(openai(), **asked)["response_format"] == {
        "type": "json_schema", "json_schema": {"name": "reply", "schema": SCHEMA},
    }  # fmt: skip
    assert body(responses(), **asked)["text"]["format"] == {
        "type": "json_schema", "name": "reply", "schema": SCHEMA,
    }  # fmt: skip
    form = {"type": "json_schema", "schema": SCHEMA}
    assert body(claude(), **asked, effort="low")["output_config"] == {
        "effort": "low",
        "format": form,
    }
    config = body(gemini(), **asked)["generationConfig"]
    assert config == {"responseMimeType": "application/json", "responseJsonSchema": SCHEMA}


def test_caching_is_asked_for_where_it_must_be() -> None:
    assert body(claude(), cache=True)["cache_control"] == {"type": "ephemeral"}
    for llm in (openai(), responses(), gemini()):  # these cache by themselves
        assert body(llm, cache=True) == body(llm)


def test_a_search_beside_other_tools() -> None:
    asked = {"web_search": True, "tools": [Tool("roll")]}
    assert body(responses(), **asked)["tools"][0] == {"type": "web_search"}
    assert body(claude(), **asked)["tools"][0]["name"] == "web_search"
    assert body(gemini(), **asked)["tools"][0] == {"googleSearch": {}}
    assert body(gemini(), web_search=True)["tools"] == [{"googleSearch": {}}]
    assert body(openai("openrouter.ai"), **asked)["plugins"] == [{"id": "web"}]
    assert "plugins" not in body(openai("api.perplexity.ai"), web_search=True)
    assert len(body(claude(), **asked)["tools"]) == len(body(responses(), **asked)["tools"]) == 2


@pytest.mark.parametrize(
    ("llm", "options", "message"),
    [
        (responses(), {"stop": "x"}, "OpenAI has no option 'stop': the Responses API has no stop"),
        (responses(), {"seed": 0}, "OpenAI has no option 'seed'"),
        (claude(), {"seed": 7}, "Anthropic has no option 'seed'"),
        (openai(), {"web_search": True}, "OpenAICompatible has no option 'web_search': chat"),
        (openai(), {"effort": "huge"}, "effort must be one of none, minimal, low, medium"),
        (openai(), {"cache": "yes"}, "cache must be true or false"),
        (openai(), {"web_search": 1}, "web_search must be true or false"),
        (openai(), {"response_format": {"type": "text"}}, "response_format is no JSON schema"),
    ],
)
def test_what_a_service_does_not_know_is_refused(llm: Any, options: Any, message: str) -> None:
    with pytest.raises(BadRequest, match=message):
        llm.ask("Hi", **options)


def test_a_subclass_is_refused_by_its_own_name() -> None:
    class Mine(OpenAI):
        pass

    with pytest.raises(BadRequest, match="Mine has no option 'stop'"):
        Mine(model="m", api_key=KEY).ask("Hi", stop=["x"])


# Sources.

TIDES = Citation("https://example.invalid/tides", "example.invalid")


@pytest.mark.parametrize(
    ("name", "sources"),
    [
        ("openai-02-perplexity", [Citation("https://example.org", "T")]),
        ("openai-07-openrouter-search",
         [Citation("https://example.invalid/moon", "The moon", 4, 8)]),
        ("google-grounding", [TIDES, Citation("https://example.invalid/moon", "moon")]),
        ("openai-text", []), ("google-text", []), ("anthropic-text", []),
    ],
)  # fmt: skip
def test_sources_of_every_dialect(name: str, sources: list[Citation]) -> None:
    last = replayed(name).last
    assert isinstance(last, DoneChunk)
    assert list(last.citations) == sources


def test_sources_of_claude() -> None:
    start = {"type": "message_start", "message": {"id": "x", "content": [
        {"type": "text", "text": "A", "citations": [{"url": "https://a.invalid", "title": "A"}]},
        {"type": "text", "text": "B", "citations": 5}]}}  # fmt: skip
    opened = {"type": "content_block_start", "index": 5, "content_block": {"type": "text"}}
    more = [
        {"type": "content_block_delta", "index": 5, "delta": {"type": "citations_delta", **told}}
        for told in (
            {"citation": {"url": "https://b.invalid", "title": None, "cited_text": "x"}},
            {"citation": {"source": "https://c.invalid", "title": "C"}},
            {"citation": 5}, {},
        )
    ]  # fmt: skip
    end = {"type": "message_delta", "delta": {"stop_reason": "end_turn"}}
    frames = (start, opened, *more, end, {"type": "message_stop"})
    last = read("anthropic", b"".join(b"data: " + json.dumps(f).encode() + b"\n\n" for f in frames)).last  # fmt: skip
    assert isinstance(last, DoneChunk)
    assert last.citations == (
        Citation("https://a.invalid", "A"), Citation("https://b.invalid"),
        Citation("https://c.invalid", "C"),
    )  # fmt: skip


@pytest.mark.parametrize("found", [5, {}, {"groundingChunks": 5}, {"groundingChunks": [{}]}])
def test_grounding_of_another_form_is_no_source(found: Any) -> None:
    told = {"candidates": [{"finishReason": "STOP", "groundingMetadata": found}]}
    last = read("google", b"data: " + json.dumps(told).encode() + b"\n\n").last
    assert isinstance(last, DoneChunk)
    assert last.citations == ()


def test_a_paused_reply_says_so() -> None:
    said = replayed("anthropic-pause")
    assert (said.text, said.calls) == ("Still looking.", [])
    assert isinstance(said.last, DoneChunk)
    assert said.last.finish_reason == "pause"


def test_events_that_no_reader_knows_are_counted() -> None:
    data = b'data: {"type": "brand_new"}\n\n'
    reply = adapter("anthropic")._response()
    assert reply.read(data) == []
    assert reply._reply.skipped == 1
