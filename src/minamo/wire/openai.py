"""OpenAI-compatible chat completions: building the request."""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping, Sequence
from typing import Any

from minamo.core.chunks import Call
from minamo.wire.conversation import FILLER, Message, Turn, paired
from minamo.wire.images import Image
from minamo.wire.openai_ways import Ways
from minamo.wire.options import Options, as_json, encoded
from minamo.wire.request import Request
from minamo.wire.tools import name_in_history

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


def build(
    url: str,
    headers: Mapping[str, str],
    model: str,
    messages: Sequence[Message],
    options: Options,
    ways: Ways,
) -> Request:
    """The request for one streamed reply."""
    body: dict[str, Any] = {"model": model}
    body["messages"] = _messages(paired(messages, ways.call_ids), ways)
    body["stream"] = True
    if ways.include_usage:
        body["stream_options"] = {"include_usage": True}
    if options.tools:
        body["tools"] = [
            {
                "type": "function",
                "function": {
                    "name": tool.name,
                    "description": tool.description,
                    "parameters": tool.parameters,
                },
            }
            for tool in options.tools
        ]
    if options.tool_choice in ("auto", "none", "required"):
        body["tool_choice"] = options.tool_choice
    elif options.tool_choice:
        body["tool_choice"] = {"type": "function", "function": {"name": options.tool_choice}}
    sampling = {
        "stop": list(options.stop) or None,
        "temperature": options.temperature,
        "top_p": options.top_p,
        ways.seed_field: options.seed,
        ways.max_tokens_field: options.max_tokens,
    }
    body |= {name: value for name, value in sampling.items() if value is not None}
    return Request(url, headers, encoded(body, options.extra), model)


def _messages(turns: list[Turn], ways: Ways) -> list[dict[str, Any]]:
    if ways.strict_order:
        turns = sorted(turns, key=lambda turn: turn.message.role != "system")
    out: list[dict[str, Any]] = []
    after_tools = False
    for turn in turns:
        if ways.strict_order and turn.message.role == "user" and out and out[-1]["role"] == "tool":
            out.append({"role": "assistant", "content": FILLER})
        message = _message(turn, ways, after_tools=after_tools)
        if not ways.strict_order or not out or not _joined(out[-1], message):
            out.append(message)
        if turn.message.role in ("user", "tool"):
            after_tools = turn.message.role == "tool"
    return out


def _joined(last: dict[str, Any], message: dict[str, Any]) -> bool:
    """Add a message to the one before it, if one side spoke twice and nothing is lost by it."""
    if last["role"] != message["role"] or last["role"] not in ("user", "assistant"):
        return False
    if "name" in last or "name" in message:
        return False
    before, after = last["content"], message["content"]
    both: str | list[dict[str, Any]]
    if isinstance(before, list) or isinstance(after, list):
        both = [part for said in (before, after) for part in _listed(said)]
    else:
        both = "\n\n".join(said for said in (before, after) if said)
    last.update(message, content=both)
    return True


def _listed(content: Any) -> list[dict[str, Any]]:
    return content if isinstance(content, list) else _parts(content, ())


def _message(turn: Turn, ways: Ways, *, after_tools: bool) -> dict[str, Any]:
    message = turn.message
    if message.role == "tool":
        return {"role": "tool", "tool_call_id": turn.ids[0], "content": message.text}
    if message.role == "system":
        return {"role": "system", "content": message.text}
    out: dict[str, Any] = {"role": message.role}
    text = message.text
    if message.name and ways.names and _NAME.fullmatch(message.name):
        out["name"] = message.name
    elif message.name and message.role == "user":
        text = f"{message.name}: {text}"
    if message.role == "user":
        out["content"] = _parts(text, message.images) if message.images else text
        return out
    out["content"] = text or None
    if message.calls:
        out["tool_calls"] = [
            _call(call, call_id, ways)
            for call, call_id in zip(message.calls, turn.ids, strict=True)
        ]
    # Reasoning goes back by the name it came with, and only where tools were used: there it must
    # (DeepSeek), elsewhere it is ignored at best.
    replay = message.calls[0].replay if message.calls else message.replay if after_tools else {}
    out.update((key, replay[key]) for key in ways.reasoning if key in replay)
    return out


def _call(call: Call, call_id: str, ways: Ways) -> dict[str, Any]:
    arguments = as_json(call.arguments).decode()
    out: dict[str, Any] = {
        "id": call_id,
        "type": "function",
        "function": {"name": name_in_history(call.name), "arguments": arguments},
    }
    if "extra_content" in call.replay and ways.extra_content:
        out["extra_content"] = call.replay["extra_content"]
    return out


def _parts(text: str, images: Sequence[Image]) -> list[dict[str, Any]]:
    parts: list[dict[str, Any]] = [{"type": "text", "text": text}] if text.strip() else []
    for image in images:
        url = image.source
        if isinstance(url, bytes):
            url = f"data:{image.media_type};base64,{base64.b64encode(url).decode()}"
        parts.append({"type": "image_url", "image_url": {"url": url}})
    return parts
