"""Reasoning of OpenAI-compatible servers: kept whole, and sent back where it is wanted."""

from __future__ import annotations

import json
from typing import Any

from minamo.core.chunks import Call, DoneChunk
from minamo.wire.conversation import assistant, tool_result, user
from support.recordings import adapter, read

END = b'data: {"choices":[{"delta":{},"finish_reason":"tool_calls"}]}\n\ndata: [DONE]\n\n'
CALL = {"index": 0, "id": "a", "function": {"name": "roll", "arguments": "{}"}}


def frame(delta: dict[str, Any]) -> bytes:
    return b"data: " + json.dumps({"choices": [{"index": 0, "delta": delta}]}).encode() + b"\n\n"


def kept(*details: dict[str, Any]) -> Any:
    data = b"".join(frame({"reasoning_details": [one]}) for one in details)
    said = read("openai", data + frame({"tool_calls": [CALL]}) + END)
    return said.raw_calls[0].replay["reasoning_details"]


def test_a_signed_block_is_one_block_again() -> None:
    """OpenRouter in front of Anthropic: the signature comes last and vouches for all pieces."""
    form = {"type": "reasoning.text", "format": "anthropic-claude-v1", "index": 0}
    blocks = kept(
        form | {"text": "Let", "signature": None},
        form | {"text": " me think. \ud83d"},
        form | {"text": "\ude00"},
        form | {"signature": "Et8BCmUI"},
        form | {"text": "More.", "index": 1},
        form | {"text": "", "signature": "Zm9v", "index": 1},
    )

    assert blocks == [
        form | {"text": "Let me think. \ud83d\ude00", "signature": "Et8BCmUI"},
        form | {"text": "More.", "signature": "Zm9v", "index": 1},
    ]


def test_blocks_that_are_not_pieces_of_one_stay_apart() -> None:
    signed = {"type": "reasoning.text", "text": "A", "signature": "c2ln"}
    secret = {"type": "reasoning.encrypted", "data": "AAAA", "index": 0, "id": "r1"}
    other = secret | {"data": "BBBB", "id": None}
    summary = {"type": "reasoning.summary", "summary": "So.", "index": 0}

    assert kept(signed, signed) == [signed, signed]
    assert kept(secret, other, summary) == [secret, other, summary]
    assert kept(summary, summary | {"summary": None}, summary) == [summary | {"summary": "So.So."}]


def test_reasoning_goes_back_in_a_round_of_tools_to_its_end() -> None:
    """DeepSeek: what was thought between two user messages, if a tool was called there."""
    replay = {"reasoning_content": "Dice."}
    call = Call("roll", {}, "a", replay)
    history = [
        user("Hi"), assistant("Hello.", replay=replay), user("Roll!"), assistant(calls=[call]),
        tool_result(call, "4"), assistant("A four.", replay=replay), user("Thanks."),
        assistant("Welcome.", replay=replay), user("Bye"),
    ]  # fmt: skip
    told = json.loads(adapter("openai").chat(history).request.body)["messages"]

    assert [n for n, one in enumerate(told) if "reasoning_content" in one] == [3, 5]


def test_reasoning_goes_back_by_the_name_it_came_with() -> None:
    for field in ("reasoning", "reasoning_content"):
        said = read("openai", frame({field: "Dice."}) + frame({"tool_calls": [CALL]}) + END)
        call = said.raw_calls[0]
        history = [user("Roll!"), assistant(calls=[call]), tool_result(call, "4")]
        called = json.loads(adapter("openai").chat(history).request.body)["messages"][1]

        assert {key: called[key] for key in called if "reasoning" in key} == {field: "Dice."}
        assert isinstance(said.last, DoneChunk)


def test_an_error_inside_a_choice_is_told() -> None:
    """OpenRouter, where the serving provider broke down."""
    error = {"code": 429, "message": "slow down"}
    broken = {"index": 0, "delta": {"content": "So"}, "finish_reason": "error", "error": error}
    data = b"data: " + json.dumps({"choices": [broken]}).encode() + b"\n\n"
    said = read("openai", data)

    assert said.text == "So"
    assert (said.last.kind, said.last.message, said.last.retryable) == (  # type: ignore[union-attr]
        "rate_limit", "slow down", True,
    )  # fmt: skip


def test_an_error_inside_a_choice_with_a_broken_call_is_told_once() -> None:
    calls = [CALL | {"index": n} for n in range(65)]
    broken = {"delta": {"tool_calls": calls}, "error": {"message": "no"}}
    said = read("openai", b"data: " + json.dumps({"choices": [broken]}).encode() + b"\n\n")

    assert said.last.message == "too many tool calls"  # type: ignore[union-attr]
