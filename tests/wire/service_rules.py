"""What the services take, written down from their documentation and their refusals.

Each function is one service's door: it lets a request's body pass or says why not.  Nothing of
minamo is used here.
"""

from __future__ import annotations

import json
import re
from itertools import pairwise
from typing import Any

Body = dict[str, Any]

_MESSAGE_KEYS = {
    "system": {"role", "content"},
    "user": {"role", "content", "name"},
    "assistant": {"role", "content", "name", "tool_calls"},
    "tool": {"role", "content", "tool_call_id"},
}


def openai(body: Body, *, ids: str = ".{1,40}", more: frozenset[str] = frozenset()) -> None:
    """Chat completions; *more* are fields of a reply that a compatible server knows besides."""
    waiting: list[str] = []
    assert body["messages"]
    for message in body["messages"]:
        role = message["role"]
        assert set(message) - more <= _MESSAGE_KEYS[role], f"unknown field in {message}"
        if role == "tool":
            # "messages with role 'tool' must be a response to a preceding message"
            waiting.remove(message["tool_call_id"])
            assert isinstance(message["content"], str)
            continue
        assert not waiting, "an assistant message with tool_calls must be followed by tool messages"
        assert re.fullmatch(r"[^\s<|\\/>]{1,64}", message.get("name", "x"))
        if role == "assistant":
            waiting = _openai_calls(message.get("tool_calls"), ids, more)
            assert message["content"] or waiting, "neither content nor calls"
            assert message["content"] is None or isinstance(message["content"], str)
        elif isinstance(message["content"], list):
            assert message["content"]
            for part in message["content"]:
                _openai_part(part)
        else:
            assert message["content"]
    assert not waiting
    assert "tool_choice" not in body or body["tools"], "tool_choice is only allowed with tools"


def _openai_calls(calls: Any, ids: str, more: frozenset[str]) -> list[str]:
    assert calls is None or calls
    found = []
    for call in calls or ():
        assert set(call) - more == {"id", "type", "function"}
        assert re.fullmatch("[a-zA-Z0-9_-]{1,64}", call["function"]["name"])
        assert isinstance(json.loads(call["function"]["arguments"]), dict)
        assert re.fullmatch(ids, call["id"], re.DOTALL), f"id {call['id']!r}"
        found.append(call["id"])
    assert len(set(found)) == len(found)
    return found


def _openai_part(part: Any) -> None:
    if part["type"] == "text":
        assert part["text"]
    else:
        assert part["image_url"]["url"].startswith(("https://", "data:image/"))


def groq(body: Body) -> None:
    """Strict about fields it does not know."""
    openai(body, ids=".+", more=frozenset(("reasoning",)))


def lenient(body: Body) -> None:
    """Servers that pass over what they do not know."""
    fields = ("reasoning", "reasoning_content", "reasoning_details", "extra_content")
    openai(body, ids=".+", more=frozenset(fields))


# Which role may follow which.
_MISTRAL_ORDER = {
    "system": ("system", "user", "assistant"),
    "user": ("system", "user", "assistant"),
    "assistant": ("assistant", "user", "tool"),
    "tool": ("tool", "assistant"),
}


def mistral(body: Body) -> None:
    """Chat completions with an order of their own."""
    openai(body, ids="[a-zA-Z0-9]{9}")
    assert not {"stream_options", "seed", "max_completion_tokens"} & set(body)
    roles = [message["role"] for message in body["messages"]]
    for before, after in pairwise(roles):
        assert after in _MISTRAL_ORDER[before], f"unexpected role {after} after role {before}"
    assert roles[-1] in ("user", "tool")
    alternating(body)


def alternating(body: Body) -> None:
    """The templates of Mistral's models, and Perplexity: two sides that take turns."""
    lenient(body)
    roles = [message["role"] for message in body["messages"]]
    while roles[0] == "system":
        roles.pop(0)
    for before, after in pairwise(roles):
        answers = before == after == "tool"
        assert answers or (before == "assistant") != (after == "assistant"), "should alternate"


def anthropic(body: Body) -> None:
    """Messages."""
    seen: set[str] = set()
    waiting: list[str] = []
    assert body.get("system", "x").strip()
    for number, message in enumerate(body["messages"]):
        assert message["role"] == ("assistant" if number % 2 else "user"), "roles must alternate"
        blocks = message["content"]
        assert blocks, "all messages must have non-empty content"
        kinds = [block["type"] for block in blocks]
        results = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
        # All results at once, and before anything else.
        assert sorted(results) == sorted(waiting), "tool_use without tool_result, or the reverse"
        assert kinds[: len(results)] == ["tool_result"] * len(results)
        for block in blocks:
            _anthropic_block(block)
        waiting = [block["id"] for block in blocks if block["type"] == "tool_use"]
        assert not seen & set(waiting), "tool_use ids must be unique"
        assert len(set(waiting)) == len(waiting), "tool_use ids must be unique"
        seen |= set(waiting)
        assert message["role"] == "assistant" or not {"tool_use", "thinking"} & set(kinds)
    assert not waiting
    last = body["messages"][-1]
    if last["role"] == "assistant" and "text" in last["content"][-1]:
        text = last["content"][-1]["text"]
        assert text == text.rstrip(), "final assistant content cannot end with trailing whitespace"
    assert not seen or body["tools"], "requests with tool_use blocks must define tools"
    assert "tool_choice" not in body or body["tools"]


def _anthropic_block(block: Any) -> None:
    kind = block["type"]
    if kind == "text":
        assert block["text"].strip(), "text content blocks must contain non-whitespace text"
    elif kind == "tool_use":
        assert re.fullmatch("[a-zA-Z0-9_-]+", block["id"]), f"id {block['id']!r}"
        assert re.fullmatch("[a-zA-Z0-9_-]{1,128}", block["name"])
        assert isinstance(block["input"], dict)
    elif kind == "tool_result":
        assert block.get("content", "x").strip()
        assert "content" in block or not block.get("is_error"), "empty content of an error"
    elif kind == "thinking":
        assert set(block) == {"type", "thinking", "signature"}
        assert block["signature"]
    elif kind == "redacted_thinking":
        assert block["data"]
    else:
        assert block["source"]["type"] in ("url", "base64")


def gemini(body: Body) -> None:
    """`generateContent` of Gemini 3."""
    waiting: list[tuple[str, Any]] = []
    for number, content in enumerate(body["contents"]):
        assert content["role"] == ("model" if number % 2 else "user")
        parts = content["parts"]
        assert parts
        for part in parts:
            assert len(set(part) - {"thoughtSignature"}) == 1
            assert part.get("text", "x"), "empty text parameter"
        answers = [part["functionResponse"] for part in parts if "functionResponse" in part]
        # "the number of function response parts is equal to the number of function call parts"
        assert [(one["name"], one.get("id")) for one in answers] == waiting
        assert all(isinstance(one["response"], dict) for one in answers)
        calls = [part for part in parts if "functionCall" in part]
        assert not calls or calls[0].get("thoughtSignature"), "missing a thought_signature"
        waiting = [(one["functionCall"]["name"], one["functionCall"].get("id")) for one in calls]
        for name, _ in waiting:
            assert re.fullmatch("[a-zA-Z_][a-zA-Z0-9_-]{0,63}", name)
        known = [call_id for _, call_id in waiting if call_id]
        assert len(set(known)) == len(known)
    assert not waiting
    assert "toolConfig" not in body or body["tools"]


def responses(body: Body) -> None:
    """The Responses API with nothing stored: items by value, none looked up by an id."""
    waiting: list[str] = []
    assert body["input"]
    assert body["store"] is False
    for item, after in zip(body["input"], [*body["input"][1:], None], strict=True):
        kind = item.get("type", "message")
        assert "id" not in item, "Item with id … not found. Items are not persisted"
        if kind.endswith("_output"):
            waiting.remove(item["call_id"])  # "No tool call found for function call output"
            assert isinstance(item["output"], str)
        elif kind in ("function_call", "custom_tool_call"):
            given = item.get("input")
            assert given is not None or isinstance(json.loads(item["arguments"]), dict)
            assert re.fullmatch("[a-zA-Z0-9_-]{1,128}", item["name"])
            assert re.fullmatch(".{1,64}", item["call_id"], re.DOTALL)
            waiting.append(item["call_id"])
        elif kind == "reasoning":
            assert isinstance(item["summary"], list)
            assert item["encrypted_content"]
            # "was provided without its required following item"
            assert after is not None
            assert after.get("role") != "user"
        else:
            assert kind == "message"
            assert item["role"] in ("user", "assistant")
            assert item["content"], "neither text nor parts"
            assert item["role"] == "user" or isinstance(item["content"], str)
            assert not waiting, "No tool output found for function call"
    assert not waiting
    assert "tool_choice" not in body or body["tools"]
