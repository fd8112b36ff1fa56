"""What the three providers are sent on the next pass, over HTTP, by the real adapters."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from aiohttp import web

from minamo.shell.turns.tool_job import ToolError
from minamo.shell.turns.tools import Tools
from minamo.shell.turns.turn_result import TurnResult
from minamo.wire.conversation import system, user
from support.provider_server import serving, streamed
from support.recordings import adapter, recording
from support.turns import Stage

pytestmark = pytest.mark.anyio
FAILED = '{"error":"no coins left"}'


async def roll(sides: int) -> list[int]:
    """Roll a die."""
    return [sides]


async def flip(coins: int) -> None:
    """Flip coins."""
    raise ToolError("no coins left")


async def second_body(calls: str, text: str) -> tuple[Any, TurnResult, Stage]:
    """Play a turn whose first answer is one recording and whose second is another."""

    async def answer(request: web.Request) -> web.StreamResponse:
        return await streamed(request, recording(calls if server.count == 1 else text))

    stage = Stage()
    async with serving(answer) as server, adapter(calls, server.url) as llm:
        begin = [system("Be kind."), user("Play!", name="Ann")]
        result = await stage.turn(llm, Tools([roll, flip]), messages=begin)
    assert server.count == 2
    assert result.status == "completed"
    bodies = [msgspec.json.decode(one["body"]) for one in server.requests]
    assert bodies[0].keys() == bodies[1].keys()
    return bodies[1], result, stage


async def test_openai() -> None:
    body, _, stage = await second_body("openai-05-parallel", "openai-text")

    assert body["messages"] == [
        {"role": "system", "content": "Be kind."},
        {"role": "user", "content": "Ann: Play!"},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {
                    "id": "a",
                    "type": "function",
                    "function": {"name": "roll", "arguments": '{"sides":6}'},
                },
                {
                    "id": "b",
                    "type": "function",
                    "function": {"name": "flip", "arguments": '{"coins":2}'},
                },
            ],
        },
        {"role": "tool", "tool_call_id": "a", "content": "[6]"},
        {"role": "tool", "tool_call_id": "b", "content": FAILED},
    ]
    assert [one["function"]["name"] for one in body["tools"]] == ["roll", "flip"]
    assert len(stage.shown) == 1


async def test_gemini_sees_its_thought_signatures_again() -> None:
    body, result, _ = await second_body("google-14-signature-on-call", "google-text")

    assert body["contents"] == [
        {"role": "user", "parts": [{"text": "Ann: Play!"}]},
        {
            "role": "model",
            "parts": [
                {"text": "I roll."},
                {
                    "functionCall": {"name": "roll", "args": {"sides": 6}},
                    "thoughtSignature": "c2ln",
                },
                {"functionCall": {"id": "f2", "name": "flip", "args": {"coins": 2}}},
            ],
        },
        {
            "role": "user",
            "parts": [
                {"functionResponse": {"name": "roll", "response": {"output": "[6]"}}},
                {
                    "functionResponse": {
                        "id": "f2",
                        "name": "flip",
                        "response": {"error": FAILED},
                    }
                },
            ],
        },
    ]
    assert [one["name"] for one in body["tools"][0]["functionDeclarations"]] == ["roll", "flip"]
    assert result.usage is not None


async def test_anthropic_sees_its_thinking_again() -> None:
    body, _, stage = await second_body("anthropic-thinking", "anthropic-text")

    assert body["system"] == "Be kind."
    assert body["messages"] == [
        {"role": "user", "content": [{"type": "text", "text": "Ann: Play!"}]},
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "Let me think.", "signature": "c2ln"},
                {"type": "redacted_thinking", "data": "b3BhcXVl"},
                {"type": "text", "text": "I roll."},
                {"type": "tool_use", "id": "t1", "name": "roll", "input": {"sides": 6}},
                {"type": "tool_use", "id": "t2", "name": "flip", "input": {"coins": 2}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "t1", "content": "[6]"},
                {
                    "type": "tool_result",
                    "tool_use_id": "t2",
                    "content": FAILED,
                    "is_error": True,
                },
            ],
        },
    ]
    assert stage.shown[0] == "I roll."


@pytest.mark.parametrize("name", ["google-14-signature-empty-part", "anthropic-text"])
async def test_a_finished_turn_can_be_gone_on_with(name: str) -> None:
    """What is remembered is a conversation that the provider takes, signatures included."""

    async def answer(request: web.Request) -> web.StreamResponse:
        return await streamed(request, recording(name))

    async with serving(answer) as server, adapter(name, server.url) as llm:
        stage = Stage()
        first = await stage.turn(llm)
        await stage.turn(llm, messages=[*first.messages, user("And now?")])
    body = msgspec.json.decode(server.requests[-1]["body"])
    if name.startswith("google"):
        (reply,) = (one for one in body["contents"] if one["role"] == "model")
        assert "thoughtSignature" in reply["parts"][0]
    else:
        assert [one["role"] for one in body["messages"]] == ["user", "assistant", "user"]
