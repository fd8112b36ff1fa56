"""Whatever a bot remembers, every service takes the request that is made of it."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minamo.core.chunks import Call
from minamo.shell.providers.adapters import Anthropic, Gemini, OpenAI, OpenAICompatible
from minamo.wire.conversation import ChatMessage, assistant, system, tool_result, user
from minamo.wire.options import Tool
from support.recordings import KEY
from wire import service_rules

TOOLS = [Tool("roll"), Tool("now")]
PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 16
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
    tools = TOOLS if with_tools else []
    request = llm.chat(history, tools=tools, tool_choice=choice, max_tokens=9).request

    door(json.loads(request.body.decode()))
    # Nothing that a person or a tool said is lost on the way.
    told = request.body.decode()
    for message in history:
        if message.role != "assistant":
            assert json.dumps(message.text.strip(), ensure_ascii=False)[1:-1] in told
