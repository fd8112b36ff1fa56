"""One vocabulary of options for all dialects, and the sources that readers gather."""

from __future__ import annotations

import json
from typing import Any

import pytest

from minamo.core.chunks import Call, Citation, DoneChunk, TextChunk
from minamo.errors import BadRequest
from minamo.shell.providers.adapters import Anthropic, Gemini, OpenAI, OpenAICompatible
from minamo.wire.conversation import assistant, tool_result, user
from minamo.wire.options import EFFORTS, Tool
from support.recordings import KEY, adapter, once, read, recording, replayed

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


@pytest.mark.parametrize(
    ("model", "told"),
    [
        ("claude-opus-5", {"thinking": {"type": "disabled"}}),
        ("claude-sonnet-4-6", {"thinking": {"type": "disabled"}}),
        ("claude-opus-4-5@20251101", {"thinking": {"type": "disabled"}}),
        (
            "claude-sonnet-5-5",
            {"thinking": {"type": "between_tools"}, "output_config": {"effort": "low"}},
        ),
        ("claude-opus-5-5", {"output_config": {"effort": "low"}}),
        ("claude-fable-5-1", {"output_config": {"effort": "low"}}),
    ],
)
def test_no_thoughts_of_claude_as_far_as_it_goes(model: str, told: Any) -> None:
    sent = body(claude(model, thoughts=True), effort="none")
    assert {name: sent[name] for name in ("thinking", "output_config") if name in sent} == told


def test_a_forced_call_is_made_without_thinking() -> None:
    asked = {"tools": [Tool("roll")], "tool_choice": "required"}
    for model in ("claude-opus-5", "claude-sonnet-4-5"):
        told = body(claude(model, thoughts=True), **asked)
        assert (told["thinking"], told["tool_choice"]) == ({"type": "disabled"}, {"type": "any"})
    assert "thinking" in body(claude(thoughts=True), tools=[Tool("roll")], tool_choice="auto")
    for model in ("claude-opus-5-5", "claude-sonnet-5-5", "claude-fable-5-1"):
        with pytest.raises(BadRequest, match=f"{model} cannot be forced to call a tool"):
            body(claude(model), **asked)


@pytest.mark.parametrize(
    ("model", "continues"),
    [("claude-3-opus", True), ("claude-haiku-4-5", True), ("kimi-k3", True),
     ("claude-sonnet-4-6", False), ("claude-opus-5-5", False)],
)  # fmt: skip
def test_a_reply_is_begun_only_for_models_that_go_on_with_it(model: str, continues: bool) -> None:
    history = [user("Tell me a tale."), assistant("Once ")]
    *_, last = json.loads(claude(model).chat(history).request.body)["messages"]
    told = {"type": "text", "text": "Once" if continues else "…"}
    assert last == {"role": "assistant" if continues else "user", "content": [told]}


def test_a_model_that_thinks_by_a_budget_takes_over_a_round_of_tools() -> None:
    call = Call("roll", {}, "t1")
    history = [user("Go!"), assistant(calls=[call]), tool_result(call, "4")]
    llm = claude("claude-sonnet-4-5", thoughts=True)
    assert json.loads(llm.chat(history).request.body)["thinking"] == {"type": "disabled"}
    again = [*history, assistant("A four."), user("Again!")]
    assert json.loads(llm.chat(again).request.body)["thinking"]["type"] == "enabled"
    own = Call(
        "roll", {}, "t1", {"thinking": [{"type": "thinking", "thinking": "", "signature": "x"}]}
    )
    history = [user("Go!"), assistant(calls=[own]), tool_result(own, "4")]
    assert json.loads(llm.chat(history).request.body)["thinking"]["type"] == "enabled"


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

TIDES = Citation("https://example.invalid/tides", "example.invalid", ((0, 9),))
MOON = Citation("https://example.invalid/moon", "moon")


@pytest.mark.parametrize(
    ("name", "sources"),
    [
        ("openai-02-perplexity", [Citation("https://example.org", "T")]),
        ("openai-07-openrouter-search",
         [Citation("https://example.invalid/moon", "The moon", ((4, 8),))]),
        ("google-grounding", [TIDES, MOON]),
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
        Citation("https://a.invalid", "A", ((0, 1),)), Citation("https://b.invalid"),
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


@pytest.mark.parametrize(
    ("dialect", "frames", "count"),
    [
        ("anthropic", [{"type": "brand_new"}], 1),
        ("anthropic", [{"type": "content_block_start", "index": 8, "content_block": {"type": "x"}},
                       {"type": "content_block_delta", "index": 8, "delta": {"type": "y"}}], 2),
        ("responses", [{"type": "brand.new"}, {"type": "response.brand_new"}], 2),
        ("responses", [{"type": "response.output_item.done", "output_index": 9,
                        "item": {"type": "brand_new"}}], 1),
        ("openai", [{"type": "ping"}, {"object": "brand.new"}], 2),
        ("openai", [{"choices": [{"delta": {"content": [{"type": "reference", "ids": [1]}]}}]}], 1),
        ("google", [{"brandNew": {}}], 1),
        ("google", [{"candidates": [{"content": {"parts": [{"brandNew": {}}, {"text": ""}]}}]}], 1),
    ],
)  # fmt: skip
def test_what_a_reader_does_not_know_is_skipped_and_counted(
    dialect: str, frames: list[Any], count: int
) -> None:
    text = recording(f"{dialect}-text")
    new = b"".join(b"data: " + json.dumps(frame).encode() + b"\n\n" for frame in frames)
    said = read(dialect, new + text)

    assert said.text == "Hello there."
    assert isinstance(said.last, DoneChunk)
    assert said.last.skipped == count
    assert replayed(f"{dialect}-text").last.skipped == 0  # type: ignore[union-attr]


# Where in a reply its sources are cited.


def grounded(*frames: dict[str, Any], **options: Any) -> tuple[str, tuple[Citation, ...]]:
    """The text and the sources of a Gemini reply of these candidates."""
    told = [{"candidates": [frame]} for frame in frames]
    data = b"".join(b"data: " + json.dumps(frame).encode() + b"\n\n" for frame in told)
    said = read("google", data, **options)
    assert isinstance(said.last, DoneChunk)
    return said.text, said.last.citations


def parts(*texts: str) -> dict[str, Any]:
    return {"content": {"parts": [{"text": text} for text in texts]}}


def segment(text: str, start: int, end: int, *sources: int) -> dict[str, Any]:
    told = {"startIndex": start, "endIndex": end, **({"text": text} if text else {})}
    return {"segment": told, "groundingChunkIndices": list(sources)}


WEB = [{"web": {"uri": "https://a.invalid", "title": "A"}},
       {"maps": {"uri": "https://b.invalid", "title": "B"}}]  # fmt: skip


def test_gemini_counts_bytes() -> None:
    text = "Ebbe — 🌊 zweimal täglich. Ja."
    first, second = "Ebbe — 🌊", "zweimal täglich."
    starts = [len(text[: text.index(passage)].encode()) for passage in (first, second)]
    ends = [
        start + len(passage.encode())
        for start, passage in zip(starts, (first, second), strict=True)
    ]
    supports = [segment(first, starts[0], ends[0], 0), segment("", starts[1], ends[1], 1, 0)]
    grounding = {"groundingChunks": WEB, "groundingSupports": supports}
    last = {"finishReason": "STOP", "groundingMetadata": grounding}
    said, sources = grounded(parts(text[:3]), parts(text[3:8], text[8:]), last)

    assert said == text
    assert [(text[start:end]) for source in sources for start, end in source.places] == [
        first, second, second,
    ]  # fmt: skip
    assert [source.title for source in sources] == ["A", "B"]


@pytest.mark.parametrize("start", [0, 40, 10**9])
def test_a_passage_that_gemini_misplaces_is_found_by_its_text(start: int) -> None:
    """Positions behind a thought are counted in a part that Gemini does not name."""
    supports = [segment("The moon.", start, start + 9, 0), segment("No such.", 0, 8, 1),
                segment("", 3, 3, 1)]  # fmt: skip
    last = {"finishReason": "STOP",
            "groundingMetadata": {"groundingChunks": WEB, "groundingSupports": supports}}  # fmt: skip
    thought = {"content": {"parts": [{"text": "Hm.", "thought": True}]}}
    said, (moon, other) = grounded(thought, parts("Well. The moon."), last)
    assert said[slice(*moon.places[0])] == "The moon."
    assert other.places == ()


def test_a_passage_is_not_looked_for_in_a_book() -> None:
    supports = [segment("The moon.", 3, 9, 0)]
    last = {"finishReason": "STOP",
            "groundingMetadata": {"groundingChunks": WEB, "groundingSupports": supports}}  # fmt: skip
    frames = [{"candidates": [frame]} for frame in (parts("x" * 200_000 + "The moon."), last)]
    said = once(
        "google", b"".join(b"data: " + json.dumps(f).encode() + b"\n\n" for f in frames)
    ).last
    assert isinstance(said, DoneChunk)
    assert said.citations[0].places == ()


def test_no_position_in_a_text_that_was_changed() -> None:
    twice = "What repeats itself."
    last = {"finishReason": "STOP", "groundingMetadata": {
        "groundingChunks": WEB, "groundingSupports": [segment("", 0, 4, 0)]}}  # fmt: skip
    said, (first, _) = grounded(parts(twice), parts(twice), last, overlap_removal=True)
    assert (said, first.places) == (twice, ())


@pytest.mark.parametrize("field", ["citationSources", "citations"])
def test_what_gemini_recites_has_a_source(field: str) -> None:
    recited = {
        field: [{"uri": "https://a.invalid", "startIndex": 3, "endIndex": 6}, {"license": "x"}]
    }
    last = {"finishReason": "STOP", "citationMetadata": recited}
    assert grounded(parts("ä moon."), last) == (
        "ä moon.",
        (Citation("https://a.invalid", "", ((2, 5),)),),
    )


def test_sources_of_claude_belong_to_their_block() -> None:
    data = recording("anthropic-web-search")
    said = replayed("anthropic-web-search")
    assert isinstance(said.last, DoneChunk)
    first, second = said.last.citations
    assert [said.text[slice(*place)] for place in first.places] == ["Ebbe 🌊 folgt dem Mond", "Ja"]
    assert [said.text[slice(*place)] for place in second.places] == ["Ebbe 🌊 folgt dem Mond"]
    chunks = adapter("anthropic")._response().read(data)
    marked = [
        chunk.content or [source.title for source in chunk.citations]
        for chunk in chunks
        if isinstance(chunk, TextChunk) and (chunk.content or chunk.citations)
    ]
    assert marked == [
        "Ebbe 🌊",
        " folgt dem Mond",
        ["Gezeiten", "Mond"],
        ". ",
        "Ja",
        ["Gezeiten"],
        ".",
    ]
