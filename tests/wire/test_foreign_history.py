"""Histories that another provider, or a model's fancy, has left its marks on."""

from __future__ import annotations

import json
from typing import Any

import pytest

from minamo.core.chunks import Call
from minamo.errors import BadRequest
from minamo.shell.providers.adapters import Anthropic, Gemini, OpenAI, OpenAICompatible
from minamo.wire.conversation import (
    ChatMessage,
    Origin,
    assistant,
    match_tool_results,
    system,
    tool_result,
    user,
)
from minamo.wire.openai.request import build, ways_for
from minamo.wire.options import RequestOptions, Tool, encoded
from support.recordings import KEY, adapter, read, replayed

DIALECTS = ("openai", "anthropic", "google")
# As Kimi, OpenAI and Gemini's compatible server name their calls.
KIMI = Call("roll", {"sides": 6}, "functions.roll:0")
LONG = Call("roll", {}, "call_" + "x" * 60)


def round_of(*calls: Call) -> list[ChatMessage]:
    return [assistant(calls=calls), *(tool_result(call, "4") for call in calls)]


def body(dialect: str, messages: list[ChatMessage], **options: Any) -> Any:
    return json.loads(adapter(dialect).chat(messages, **options).request.body)


def sent_to(host: str, messages: list[ChatMessage], model: str = "m", **options: Any) -> Any:
    ways = ways_for(host, model)
    told = RequestOptions(**options)
    return json.loads(encoded(build(Origin(host, model), messages, told, ways=ways), {}).json)


def openai_ids(told: Any) -> tuple[list[str], list[str]]:
    asked = [call["id"] for message in told["messages"] for call in message.get("tool_calls", ())]
    return asked, [one["tool_call_id"] for one in told["messages"] if one["role"] == "tool"]


def test_an_id_that_does_not_fit_is_replaced_in_call_and_answer() -> None:
    history = [user("Roll!"), *round_of(KIMI)]

    assert openai_ids(body("openai", history)) == (["functions.roll:0"],) * 2
    assert openai_ids(sent_to("api.mistral.ai", history)) == (["call00001"],) * 2
    told = body("anthropic", history)
    assert told["messages"][1]["content"][0]["id"] == "call00001"
    assert told["messages"][2]["content"][0]["tool_use_id"] == "call00001"


def test_ids_are_unique_in_the_whole_conversation() -> None:
    taken = Call("roll", {}, "call00001")
    history = [user("Roll!"), *round_of(KIMI), *round_of(KIMI, taken), *round_of(taken)]
    ids = [turn.ids for turn in match_tool_results(history)]

    assert [one for one in ids if len(one) != 1] == [(), ("call00002", "call00001")]
    assert ids[1:3] == [("functions.roll:0",)] * 2
    assert ids[4:6] == [("call00002",), ("call00001",)]
    assert ids[6:] == [("call00003",)] * 2
    parts = body("google", history)["contents"]
    assert [part["functionCall"]["id"] for part in parts[3]["parts"]] == ["call00002", "call00001"]
    answers = [part["functionResponse"]["id"] for part in parts[4]["parts"]]
    assert answers == ["call00002", "call00001"]


@pytest.mark.parametrize(
    ("host", "kept"),
    [("api.openai.com", False), ("x.openai.azure.com", False), ("openai.com.evil.example", True)],
)
def test_openai_takes_ids_of_forty_characters(host: str, kept: bool) -> None:
    asked, answered = openai_ids(sent_to(host, [user("Roll!"), *round_of(LONG)]))

    assert asked == answered == [LONG.id if kept else "call00001"]


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize(
    ("name", "sent"),
    [
        ("browser.tabs.open", "_browser_tabs_open"),
        ("roll<|channel|>commentary", "_roll__channel__commentary"),
        ("7up", "_7up"),
        ("würfeln " * 20, ("_" + "w_rfeln_" * 20)[:64]),
        ("roll-2_b", "roll-2_b"),
    ],
)
def test_a_name_that_no_tool_has_does_not_spoil_the_history(
    dialect: str, name: str, sent: str
) -> None:
    told = body(dialect, [user("Go!"), *round_of(Call(name))], tools=[Tool("roll")])

    found = {
        "openai": lambda: [told["messages"][1]["tool_calls"][0]["function"]["name"]],
        "anthropic": lambda: [told["messages"][1]["content"][0]["name"]],
        "google": lambda: [
            told["contents"][1]["parts"][0]["functionCall"]["name"],
            told["contents"][2]["parts"][0]["functionResponse"]["name"],
        ],
    }[dialect]()
    assert set(found) == {sent}


def test_anthropic_is_told_of_the_tools_of_the_history() -> None:
    history = [user("Roll!"), *round_of(KIMI, LONG), user("And now without.")]
    told = body("anthropic", history)

    assert [one["name"] for one in told["tools"]] == ["roll"]
    assert told["tool_choice"] == {"type": "none"}
    assert "tool_choice" not in body("anthropic", history, tools=[Tool("now")])


@pytest.mark.parametrize("dialect", DIALECTS)
def test_there_is_no_choice_without_tools(dialect: str) -> None:
    told = body(dialect, [user("Hi")], tool_choice="none")

    assert not {"tool_choice", "toolConfig"} & set(told)


def test_empty_answers_of_tools() -> None:
    calls = [Call("a"), Call("b")]
    history = [user("Go!"), assistant(calls=calls), tool_result(calls[0], " "),
               tool_result(calls[1], "", failed=True)]  # fmt: skip
    quiet, failed = body("anthropic", history)["messages"][2]["content"]

    assert "content" not in quiet
    assert (failed["content"], failed["is_error"]) == ("failed", True)


def test_the_model_does_not_speak_first() -> None:
    history = [assistant("Welcome!"), *round_of(KIMI)]

    assert body("anthropic", history)["messages"][0] == {
        "role": "user",
        "content": [{"type": "text", "text": "…"}],
    }
    contents = body("google", history)["contents"]
    assert contents[0] == {"role": "user", "parts": [{"text": "…"}]}
    assert [one["role"] for one in contents] == ["user", "model", "user"]


@pytest.mark.parametrize(
    ("model", "signed"),
    [
        ("gemini-3.1-pro-preview", True),
        ("gemini-4-flash", True),
        ("gemini-flash-latest", True),
        ("gemini-2.5-flash", False),
        ("gemma-3-27b-it", False),
    ],
)
def test_gemini_wants_a_signature_on_the_calls_of_others(model: str, signed: bool) -> None:
    ours = Call("roll", {"sides": 6}, "a", {"thought_signature": "c2ln"})
    history = [user("Roll!"), *round_of(KIMI, LONG), *round_of(ours, KIMI)]
    gemini = Gemini(model=model, api_key=KEY)
    contents = json.loads(gemini.chat(history).request.body)["contents"]
    found = [part.get("thoughtSignature") for n in (1, 3) for part in contents[n]["parts"]]

    mark = "skip_thought_signature_validator" if signed else None
    assert found == [mark, None, "c2ln", None]


@pytest.mark.parametrize(
    ("host", "model"),
    [("api.mistral.ai", "m"), ("localhost", "mistralai/Devstral-2"), ("localhost", "Mixtral-8x7B")],
)
def test_mistral_wants_its_order(host: str, model: str) -> None:
    stopped = [system("Be a bot."), user("Roll!"), *round_of(KIMI), user("Stop, wait."),
               assistant("Yes?"), system("Be brief."), user("Go on.")]  # fmt: skip

    roles = [one["role"] for one in sent_to(host, stopped, model)["messages"]]
    assert roles == ["system", "system", "user", "assistant", "tool", "assistant", "user",
                     "assistant", "user"]  # fmt: skip
    plain = [one["role"] for one in sent_to("localhost", stopped)["messages"]]
    assert plain == [one.role for one in stopped]


def test_sides_that_take_turns() -> None:
    """Perplexity refuses two people in a row, and so do the templates of Mistral's models."""
    call = Call("roll", {}, "a")
    history = [
        user("Hi", name="Ann"), user("Hello", name="Bo b"), assistant("Hey."),
        assistant("Both.", calls=[call]), tool_result(call, "4"), assistant("Four."), user("Look!"),
        user("", images=["https://example.invalid/a.png"]), user("There.", images=[]),
    ]  # fmt: skip
    told = sent_to("api.perplexity.ai", history)["messages"]

    assert [one["role"] for one in told] == ["user", "assistant", "tool", "assistant", "user"]
    assert told[0]["content"] == "Ann: Hi\n\nBo b: Hello"
    assert (told[1]["content"], len(told[1]["tool_calls"])) == ("Hey.\n\nBoth.", 1)
    assert told[4]["content"] == [
        {"type": "text", "text": "Look!"},
        {"type": "image_url", "image_url": {"url": "https://example.invalid/a.png"}},
        {"type": "text", "text": "There."},
    ]


def test_names_in_their_own_field_are_not_joined() -> None:
    ways = ways_for("api.perplexity.ai", "sonar", names=True)
    history = [user("Hi", name="Ann"), user("Hello", name="Bo")]
    told = build(Origin("", "sonar"), history, RequestOptions(), ways=ways)["messages"]

    assert [one["name"] for one in told] == ["Ann", "Bo"]


def test_mistral_names_its_seed_otherwise() -> None:
    assert sent_to("api.mistral.ai", [user("Hi")], seed=7)["random_seed"] == 7
    assert sent_to("localhost", [user("Hi")], "mistral", seed=7)["seed"] == 7


@pytest.mark.parametrize(
    ("host", "fields"),
    [
        ("api.groq.com", {"reasoning"}),
        ("api.cerebras.ai", {"reasoning"}),
        ("api.mistral.ai", set()),
        ("api.openai.com", set()),
        ("api.deepseek.com", {"reasoning", "reasoning_content", "extra_content"}),
    ],
)
def test_fields_that_a_server_does_not_know_are_kept_from_it(host: str, fields: set[str]) -> None:
    replay = {"reasoning_content": "Hm.", "reasoning": "Hm.", "extra_content": {"a": 1}}
    call = Call("roll", {}, "a", replay)
    called = sent_to(host, [user("Roll!"), *round_of(call)])["messages"][1]

    assert {*called, *called["tool_calls"][0]} & set(replay) == fields


def test_half_a_character_in_replayed_data_is_made_good() -> None:
    halves = {"text": "a\ud83d\ude00", "lone": ["b\ud83d"]}
    call = Call("roll", halves, "a", {"reasoning_content": "\ud83d\ude00"})
    called = body("openai", [user("Roll!"), *round_of(call)])["messages"][1]

    assert called["reasoning_content"] == "😀"
    assert json.loads(called["tool_calls"][0]["function"]["arguments"]) == {
        "text": "a😀",
        "lone": ["b\ufffd"],
    }
    for dialect in ("anthropic", "google"):
        assert (
            b"a\xf0\x9f\x98\x80"
            in adapter(dialect).chat([user("Roll!"), *round_of(call)]).request.body
        )


def test_arguments_with_half_a_character_go_round() -> None:
    part = {"functionCall": {"name": "roll", "args": {"a": "b\ud83d"}}}
    frame = {"candidates": [{"content": {"parts": [part]}, "finishReason": "STOP"}]}
    said = read("google", b"data: " + json.dumps(frame).encode() + b"\n\n")

    assert said.calls == [("roll", {"a": "b\ud83d"})]
    told = body("google", [user("Roll!"), *round_of(*said.raw_calls)])
    assert told["contents"][1]["parts"][0]["functionCall"]["args"] == {"a": "b\ufffd"}


@pytest.mark.parametrize("arguments", [{"a": object()}, {"a\ud83d": object()}])
def test_arguments_that_are_not_json(arguments: Any) -> None:
    with pytest.raises(BadRequest, match="not JSON"):
        body("openai", [user("Roll!"), *round_of(Call("roll", arguments))])


# Reasoning goes back only to the model that made it.


def made(llm: Any, name: str) -> list[ChatMessage]:
    """A round of tools of this adapter, from a recording."""
    said = replayed(name, llm)
    answers = [tool_result(call, "4") for call in said.raw_calls]
    return [user("Go!"), assistant(said.text, calls=said.raw_calls), *answers]


@pytest.mark.parametrize(
    ("name", "secret", "others"),
    [
        ("anthropic-thinking", b"c2ln", [Anthropic(model="claude-b", api_key=KEY),
                                         Anthropic(model="m", api_key=KEY)]),
        ("responses-interleaved", b"gAAAAABo", [
            OpenAI(model="gpt-b", api_key=KEY),
            OpenAI(model="m", api_key=KEY, base_url="https://x.openai.azure.com/v1")]),
        ("google-14-signature-on-call", b"c2ln", [Gemini(model="gemini-b", api_key=KEY)]),
        ("openai-05-index-zero", b"c2ln",
         [OpenAICompatible("https://b.invalid/v1", model="m", api_key=KEY)]),
    ],
)  # fmt: skip
def test_reasoning_goes_back_only_to_its_own_model(name: str, secret: bytes, others: Any) -> None:
    llm = adapter(name)
    history = made(llm, name)

    assert secret in llm.chat(history).request.body
    for other in others:
        assert secret not in other.chat(history).request.body


def test_reasoning_in_plain_text_goes_to_any_model() -> None:
    """DeepSeek refuses a round of tools without it."""
    history = made(adapter("openai"), "openai-06-all-in-one")
    other = OpenAICompatible("https://api.deepseek.com/v1", model="deepseek-v4", api_key=KEY)
    told = json.loads(other.chat(history).request.body)["messages"][1]
    assert told["reasoning_content"] == "Dice."


def test_a_call_of_another_gemini_gets_the_signature_for_foreign_ones() -> None:
    history = made(adapter("google"), "google-14-signature-on-call")
    other = Gemini(model="gemini-3-pro", api_key=KEY)
    parts = json.loads(other.chat(history).request.body)["contents"][1]["parts"]
    signed = [part["thoughtSignature"] for part in parts if "thoughtSignature" in part]
    assert signed == ["skip_thought_signature_validator"]


def test_details_with_signatures_stay_with_their_model() -> None:
    details = {"reasoning_details": [{"type": "reasoning.encrypted", "data": "c2ln"}]}
    for origin, sent in ((Origin("127.0.0.1", "m"), True), (Origin("127.0.0.1", "b"), False)):
        call = Call("roll", {}, "1", origin.stamp(details))
        told = body("openai", [user("Go!"), *round_of(call)])["messages"][1]
        assert ("reasoning_details" in told) is sent
