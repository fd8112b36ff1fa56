"""OpenAI-compatible chat completions: building the request."""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from attrs import frozen

from minamo.wire.conversation import Message, Turn, paired
from minamo.wire.images import Image
from minamo.wire.options import Options, encoded
from minamo.wire.request import Request

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


@frozen(slots=True, kw_only=True)
class Ways:
    """Where the compatible servers differ in what they take."""

    include_usage: bool = True
    """Ask for usage at the end of the stream; Mistral answers such a request with 422."""
    max_tokens_field: str = "max_tokens"
    """OpenAI's own newer models know `max_completion_tokens` only, others only the old name."""
    names: bool = False
    """Send names in their own field, where they fit; otherwise they stand before the text."""


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
    body["messages"] = [_message(turn, ways) for turn in paired(messages)]
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
        "seed": options.seed,
        ways.max_tokens_field: options.max_tokens,
    }
    body |= {name: value for name, value in sampling.items() if value is not None}
    return Request(url, headers, encoded(body, options.extra), model)


def _message(turn: Turn, ways: Ways) -> dict[str, Any]:
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
        out["tool_calls"] = [_call(message, turn.ids[i], i) for i in range(len(message.calls))]
        # Reasoning goes back with its calls only: DeepSeek refuses it anywhere else.
        for key in ("reasoning_content", "reasoning_details"):
            if key in message.calls[0].replay:
                out[key] = message.calls[0].replay[key]
    return out


def _call(message: Message, call_id: str, number: int) -> dict[str, Any]:
    call = message.calls[number]
    arguments = msgspec.json.encode(call.arguments).decode()
    out: dict[str, Any] = {
        "id": call_id,
        "type": "function",
        "function": {"name": call.name, "arguments": arguments},
    }
    if "extra_content" in call.replay:
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
