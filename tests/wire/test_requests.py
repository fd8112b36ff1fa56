"""The requests of any conversation: judged by the official SDKs' own types, and taken by every service."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minamo.core.chunks import Call
from minamo.shell.providers.adapters import Anthropic, Gemini, OpenAI, OpenAICompatible
from minamo.wire.anthropic.request import max_tokens_of
from minamo.wire.conversation import ChatMessage, Image, assistant, system, tool_result, user
from minamo.wire.openai.request import ways_for
from minamo.wire.options import Tool
from support.recordings import KEY, adapter, replayed
from wire import service_rules

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 16
SCHEMA = {"type": "object", "properties": {"sides": {"type": "integer"}}, "required": ["sides"]}
TOOLS = [Tool("roll", "Roll a die", SCHEMA), Tool("now", "The time")]
URL = "https://example.invalid/cat.png"


def conversation(
    calls: tuple[Call, ...], replay: dict[str, Any] | None = None
) -> list[ChatMessage]:
    """Ten messages with everything that a conversation may hold."""
    return [
        system("You are a bot."),
        user("Hello", name="Ann"),
        assistant("Hi!", replay=replay),
        user("What is this?", images=[PNG, URL]),
        assistant("A cat."),
        user("Roll!", name="Bo b"),
        assistant("I roll. ", calls=calls),
        *(tool_result(call, f"{i}", failed=i == 1) for i, call in enumerate(calls)),
        system("Be brief."),
        user("", images=[Image(PNG)]),
    ]


def body(dialect: str, messages: list[ChatMessage], make: dict[str, Any] | None = None,
         **options: Any) -> Any:  # fmt: skip
    request = adapter(dialect, **(make or {})).chat(messages, **options).request
    assert KEY not in request.url
    return json.loads(request.body)


OPTIONS: dict[str, Any] = {
    "tools": TOOLS, "tool_choice": "roll", "stop": ["\nBo b:"], "temperature": 0.5, "top_p": 0.9,
    "max_tokens": 99, "seed": 7,
}  # fmt: skip


def test_openai_request() -> None:
    adapters = pytest.importorskip("pydantic")
    params = pytest.importorskip("openai.types.chat.completion_create_params")
    calls = (*replayed("openai-06-all-in-one").raw_calls, Call("now"))
    told = body("openai", conversation(calls), **OPTIONS)

    adapters.TypeAdapter(params.CompletionCreateParamsStreaming).validate_python(told)
    assert told["stream"] is True
    assert told["stream_options"] == {"include_usage": True}
    now = {"name": "now", "description": "The time", "parameters": TOOLS[1].parameters}
    roll = {"name": "roll", "description": "Roll a die", "parameters": SCHEMA}
    assert told["tools"] == [{"type": "function", "function": tool} for tool in (roll, now)]
    assert told["tool_choice"] == {"type": "function", "function": {"name": "roll"}}
    assert (told["max_tokens"], told["seed"], told["stop"]) == (99, 7, ["\nBo b:"])
    roles = [message["role"] for message in told["messages"]]
    assert roles == ["system", "user", "assistant", "user", "assistant", "user", "assistant",
                     "tool", "tool", "system", "user"]  # fmt: skip
    assert told["messages"][1]["content"] == "Ann: Hello"
    picture = f"data:image/png;base64,{base64.b64encode(PNG).decode()}"
    assert told["messages"][3]["content"] == [
        {"type": "text", "text": "What is this?"},
        {"type": "image_url", "image_url": {"url": picture}},
        {"type": "image_url", "image_url": {"url": URL}},
    ]
    called = told["messages"][6]
    assert called["content"] == "I roll. "
    assert called["reasoning_content"] == "Dice."
    assert [(call["id"], call["type"]) for call in called["tool_calls"]] == [
        ("a", "function"), ("call00001", "function"),
    ]  # fmt: skip
    assert json.loads(called["tool_calls"][0]["function"]["arguments"]) == {"sides": 6}
    assert [m["tool_call_id"] for m in told["messages"][7:9]] == ["a", "call00001"]
    assert told["messages"][10]["content"] == [{"type": "image_url", "image_url": {"url": picture}}]


@pytest.mark.parametrize(
    ("host", "field"),
    [("api.openai.com", "max_completion_tokens"), ("llm.example", "max_tokens")],
)
def test_the_field_of_the_most_tokens(host: str, field: str) -> None:
    assert ways_for(host, "m").max_tokens_field == field


def test_openai_ways() -> None:
    call = replayed("openai-05-index-zero").raw_calls[0]
    told = body(
        "openai",
        [user("a", name="Ann"), user("b", name="Bo b"), assistant(calls=[call], name="Bot"),
         tool_result(call, "4")],
        {"names": True, "include_usage": False, "max_tokens_field": "max_completion_tokens"},
        max_tokens=5, tools=TOOLS, tool_choice="required", extra={"reasoning": {"effort": "low"}},
    )  # fmt: skip

    assert told["messages"][0] == {"role": "user", "name": "Ann", "content": "a"}
    assert told["messages"][1] == {"role": "user", "content": "Bo b: b"}
    assert told["messages"][2]["name"] == "Bot"
    assert told["messages"][2]["content"] is None
    signature = {"google": {"thought_signature": "c2ln"}}
    assert told["messages"][2]["tool_calls"][0]["extra_content"] == signature
    assert "stream_options" not in told
    assert told["max_completion_tokens"] == 5
    assert told["tool_choice"] == "required"
    assert told["reasoning"] == {"effort": "low"}


def test_anthropic_request() -> None:
    adapters = pytest.importorskip("pydantic")
    params = pytest.importorskip("anthropic.types.message_create_params")
    said = replayed("anthropic-thinking")
    told = body("anthropic", conversation(said.raw_calls), **(OPTIONS | {"seed": None}))

    adapters.TypeAdapter(params.MessageCreateParamsStreaming).validate_python(told)
    assert told["system"] == "You are a bot.\n\nBe brief."
    assert told["max_tokens"] == 99
    assert told["stop_sequences"] == ["\nBo b:"]
    assert (told["temperature"], told["top_p"]) == (0.5, 0.9)
    assert told["tool_choice"] == {"type": "tool", "name": "roll"}
    assert told["tools"][0]["input_schema"] == SCHEMA
    roles = [message["role"] for message in told["messages"]]
    assert roles == ["user", "assistant", "user", "assistant", "user", "assistant", "user"]
    kinds = [block["type"] for block in told["messages"][5]["content"]]
    assert kinds == ["thinking", "redacted_thinking", "text", "tool_use", "tool_use"]
    answers = told["messages"][6]["content"]
    assert [block["type"] for block in answers] == ["tool_result", "tool_result", "image"]
    assert [block.get("is_error", False) for block in answers] == [False, True, False]
    assert answers[2]["source"]["media_type"] == "image/png"
    assert told["messages"][2]["content"][1]["source"] == {"type": "url", "url": URL}


def test_anthropic_defaults() -> None:
    told = body("anthropic", [user("Hi"), assistant("So \n"), assistant("it is \n")])

    assert told["messages"][1]["content"][-1]["text"] == "it is"  # a reply to be continued
    assert {"temperature", "top_p", "tools", "tool_choice", "system", "stop_sequences"}.isdisjoint(
        told
    )
    told = body("anthropic", [user("Hi")], tools=TOOLS, tool_choice="required")
    assert told["tool_choice"] == {"type": "any"}


@pytest.mark.parametrize(
    ("model", "most"),
    [("claude-3-haiku-20240307", 4_096), ("claude-3-5-sonnet-latest", 8_192), ("kimi-k3", 8_192),
     ("claude-opus-4-1", 32_000), ("claude-opus-5-5", 32_000), ("anthropic.claude-opus-5", 32_000)],
)  # fmt: skip
def test_anthropic_is_asked_for_as_much_as_the_model_may_write(model: str, most: int) -> None:
    assert max_tokens_of(model) == most
    request = Anthropic(model=model, api_key=KEY).ask("Hi").request
    assert json.loads(request.body)["max_tokens"] == most


def test_google_request() -> None:
    types = pytest.importorskip("google.genai.types")
    said = replayed("google-14-signature-on-call")
    replay = {"thought_signature": "c2lnMg=="}
    told = body("google", conversation(said.raw_calls, replay), {"thoughts": True}, **OPTIONS)

    contents = [types.Content.model_validate(content) for content in told["contents"]]
    tools = types.Tool.model_validate(told["tools"][0])
    config = types.ToolConfig.model_validate(told["toolConfig"])
    types.GenerationConfig.model_validate(told["generationConfig"])
    types.Content.model_validate(told["systemInstruction"])

    assert [content.role for content in contents] == ["user", "model"] * 3 + ["user"]
    assert contents[1].parts[0].thought_signature == b"sig2"
    parts = contents[5].parts
    assert (parts[0].text, parts[1].function_call.name) == ("I roll. ", "roll")
    assert parts[1].thought_signature == b"sig"
    assert parts[1].function_call.args == {"sides": 6}
    assert (parts[2].function_call.id, parts[2].thought_signature) == ("f2", None)
    answers = contents[6].parts
    assert answers[0].function_response.response == {"output": "0"}
    assert answers[1].function_response.response == {"error": "1"}
    assert answers[1].function_response.id == "f2"
    assert answers[2].inline_data.data == PNG
    assert contents[2].parts[1].file_data.file_uri == URL
    assert contents[2].parts[2].text == "What is this?"
    assert tools.function_declarations[0].parameters_json_schema == SCHEMA
    assert config.function_calling_config.allowed_function_names == ["roll"]
    assert told["generationConfig"] == {
        "temperature": 0.5, "topP": 0.9, "maxOutputTokens": 99, "stopSequences": ["\nBo b:"],
        "seed": 7, "thinkingConfig": {"includeThoughts": True},
    }  # fmt: skip


def test_google_defaults() -> None:
    told = body("google", [user("Hi", images=["https://example.invalid/cat"])])
    assert told == {
        "contents": [
            {
                "role": "user",
                "parts": [
                    {"fileData": {"fileUri": "https://example.invalid/cat"}},
                    {"text": "Hi"},
                ],
            }
        ]
    }
    call = Call("now")
    told = body(
        "google",
        [user("Hi"), assistant(calls=[call]), tool_result(call, "12:00")],
        tools=TOOLS,
        tool_choice="auto",
    )
    assert told["toolConfig"] == {"functionCallingConfig": {"mode": "AUTO"}}
    assert told["contents"][1]["parts"] == [
        {
            "functionCall": {"name": "now", "args": {}},
            "thoughtSignature": "skip_thought_signature_validator",
        }
    ]


@pytest.mark.parametrize("dialect", ["openai", "anthropic", "google"])
def test_replay_data_of_another_dialect_is_not_sent(dialect: str) -> None:
    foreign = {"openai": "google-14-signature-on-call", "google": "anthropic-thinking",
               "anthropic": "openai-06-all-in-one"}[dialect]  # fmt: skip
    calls = replayed(foreign).raw_calls
    told = json.dumps(body(dialect, conversation(calls)))

    assert not any(word in told for word in ("c2ln", "Let me think.", "Dice."))


WEATHER = [Tool("roll"), Tool("now")]
SERVICES: dict[str, tuple[Any, Callable[[Any], None]]] = {
    host: (OpenAICompatible(f"https://{host}/v1", model="m", api_key=KEY), door)
    for host, door in {
        "api.openai.com": service_rules.openai,
        "api.groq.com": service_rules.groq,
        "api.mistral.ai": service_rules.mistral,
        "api.perplexity.ai": service_rules.alternating,
        "openrouter.ai": service_rules.lenient,
    }.items()
}
SERVICES["openai"] = (OpenAI(model="gpt-5.6", api_key=KEY), service_rules.responses)
SERVICES["anthropic"] = (Anthropic(model="m", api_key=KEY), service_rules.anthropic)
SERVICES["google"] = (Gemini(model="gemini-3-flash", api_key=KEY), service_rules.gemini)

# What the readers of all dialects leave for the next request.
REPLAYS: list[dict[str, Any]] = [
    {},
    {"thinking": [{"type": "thinking", "thinking": "Hm. \ud83d\ude00", "signature": "c2ln"}]},
    {"blocks": [{"type": "thinking", "thinking": "", "signature": "c2ln"},
                {"type": "text", "text": "Well."},
                {"type": "redacted_thinking", "data": "b3Bh"}]},
    {"thought_signature": "c2ln"},
    {"reasoning_content": "Hm."},
    {"reasoning": "Hm. \ud83d"},
    {"reasoning_details": [{"type": "reasoning.text", "text": "Hm.", "signature": "c2ln"}]},
    {"extra_content": {"google": {"thought_signature": "c2ln"}}},
    {"output": [{"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAA"},
                {"type": "message", "text": "Well.", "phase": None}]},
    {"output": [{"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAA"},
                {"call": 0}]},
    {"custom": True},
]  # fmt: skip
IDS = ["", "a", "functions.roll:0", "call_" + "x" * 60, "toolu_01A", "call00001", "Ab3Ab3Ab3"]
NAMES = ["roll", "now", "browser.open", "", "7 dwarfs", "würfeln" * 20]

replays = st.sampled_from(REPLAYS)
texts = st.sampled_from(["Hi", " so \n", "…", "a\ud83d", "Ann: x"])
said = st.one_of(texts, st.just(""), st.just(" \n"))
arguments = st.sampled_from([{}, {"sides": 6}, {"a": ["\ud83d"]}])
# A call without a name never comes out of a reader.
calls = st.builds(Call, st.sampled_from([name for name in NAMES if name]), arguments,
                  st.sampled_from(IDS), replays)  # fmt: skip
systems = st.builds(system, texts)
users = st.one_of(
    st.builds(user, texts, name=st.sampled_from(["", "Ann", "Bo b", "<@1>|"])),
    st.builds(user, said, images=st.just([PNG, "https://example.invalid/a.png"])),
)
replies = st.builds(assistant, texts, replay=replays)


@st.composite
def rounds(draw: Any) -> list[ChatMessage]:
    """The model asks for tools after some text, and each has its answer: they were run, failed,
    or were stopped."""
    asked = draw(st.lists(calls, min_size=1, max_size=3))
    answers = [tool_result(call, draw(said), failed=draw(st.booleans())) for call in asked]
    return [assistant(draw(said), calls=asked, replay=draw(replays)), *answers]


@st.composite
def histories(draw: Any) -> list[ChatMessage]:
    """Turns of people and of the model, whole and cut short, up to where somebody is asked."""
    pieces: list[list[ChatMessage]] = draw(
        st.lists(
            st.one_of(st.lists(users, min_size=1, max_size=2), rounds(), replies.map(lambda m: [m]),
                      systems.map(lambda m: [m])),
            max_size=8,
        )
    )  # fmt: skip
    last = draw(st.one_of(users.map(lambda m: [m]), rounds()))
    return [message for piece in (*pieces, last) for message in piece]


@pytest.mark.parametrize("service", SERVICES)
@pytest.mark.no_cover  # measuring would be most of its time
@given(history=histories(), with_tools=st.booleans(), choice=st.sampled_from([None, "none"]))
def test_every_service_takes_what_a_bot_remembers(
    service: str, history: list[ChatMessage], with_tools: bool, choice: str | None
) -> None:
    llm, door = SERVICES[service]
    tools = WEATHER if with_tools else []
    request = llm.chat(history, tools=tools, tool_choice=choice, max_tokens=9).request

    door(json.loads(request.body.decode()))
    # Nothing that a person or a tool said is lost on the way.
    told = request.body.decode()
    for message in history:
        if message.role != "assistant":
            assert json.dumps(message.text.strip(), ensure_ascii=False)[1:-1] in told
