"""Request builder for OpenAI's Responses API, without state on the server.

Nothing is stored there: reasoning travels encrypted in the history, as the service returned it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from minamo.core.chunks import Call
from minamo.wire.conversation import (
    ChatMessage,
    MessageWithIds,
    Origin,
    match_tool_results,
    system_text,
    with_author_prefix,
)
from minamo.wire.files import PDF, WITHOUT_EYES, data_url
from minamo.wire.options import RequestOptions, as_json, name_in_history

_IDS = re.compile(".{1,64}", re.DOTALL)
# Models that do not reason refuse to be asked about it.
_PLAIN = re.compile(r"(ft:)?(gpt-[34]|chatgpt)")
# These look reasoning up under its id; everywhere else an id that is not stored is refused.
_BY_ID = ("azure.com", "githubcopilot.com")

# Other servers that speak this API read no PDFs.
_READ_PDF = ("openai.com", "azure.com", "openrouter.ai")


def media_types(host: str, model: str) -> frozenset[str]:
    """Return the media types of files that *model* takes on the server at *host*."""
    reads = host.endswith(_READ_PDF) and not WITHOUT_EYES.match(model)
    return frozenset((PDF,)) if reads else frozenset()


def build(
    origin: Origin,
    messages: Sequence[ChatMessage],
    options: RequestOptions,
    *,
    thoughts: bool = False,
) -> dict[str, Any]:
    """Return the body of the request for one streamed reply."""
    turns = match_tool_results(messages, _IDS, media_types(origin.host, origin.model))
    with_ids = origin.host.endswith(_BY_ID)
    body: dict[str, Any] = {
        "model": origin.model,
        "input": [item for turn in turns for item in _items(turn, origin, with_ids=with_ids)],
        "stream": True,
        "store": False,
    }
    if instructions := system_text(turns):
        body["instructions"] = instructions
    if not _PLAIN.match(origin.model):
        body["include"] = ["reasoning.encrypted_content"]
        if thoughts:
            body["reasoning"] = {"summary": "auto"}
    if options.effort:
        body["reasoning"] = {**body.get("reasoning", {}), "effort": options.effort}
    if options.response_format is not None:
        told_format = {"type": "json_schema", "name": "reply", "schema": options.response_format}
        body["text"] = {"format": told_format}
    if options.tools or options.web_search:
        body["tools"] = [{"type": "web_search"}] if options.web_search else []
        body["tools"] += [
            {
                "type": "function",
                "name": tool.name,
                "description": tool.description,
                "parameters": tool.parameters,
                # On by default here, and few schemas fulfil its conditions.
                "strict": False,
            }
            for tool in options.tools
        ]
    if options.tool_choice in ("auto", "none", "required"):
        body["tool_choice"] = options.tool_choice
    elif options.tool_choice:
        body["tool_choice"] = {"type": "function", "name": options.tool_choice}
    sampling = {
        "temperature": options.temperature,
        "top_p": options.top_p,
        "max_output_tokens": options.max_tokens,
    }
    body |= {name: value for name, value in sampling.items() if value is not None}
    return body


def _items(turn: MessageWithIds, origin: Origin, *, with_ids: bool) -> Iterable[dict[str, Any]]:
    message = turn.message
    if message.call is not None:
        kind = "custom_tool_call" if "custom" in message.call.replay else "function_call"
        yield {"type": f"{kind}_output", "call_id": turn.ids[0], "output": message.text}
    elif message.role == "user":
        yield {"role": "user", "content": _content(message)}
    elif message.role == "assistant":
        yield from _assistant(turn, origin.replay(message), with_ids=with_ids)


def _content(message: ChatMessage) -> str | list[dict[str, Any]]:
    text = with_author_prefix(message)
    if not message.images and not message.files:
        return text
    parts: list[dict[str, Any]] = []
    if message.text.strip():
        parts.append({"type": "input_text", "text": text})
    parts += [
        {"type": "input_file", "filename": file.name, "file_data": data_url(file.data, PDF)}
        for file in message.files
    ]
    for image in message.images:
        url = image.url()
        parts.append({"type": "input_image", "image_url": url, "detail": "auto"})
    return parts


def _assistant(
    turn: MessageWithIds, replay: Mapping[str, Any], *, with_ids: bool
) -> Iterable[dict[str, Any]]:
    message = turn.message
    calls = [_call(call, turn.ids[number]) for number, call in enumerate(message.calls)]
    kept = replay.get("output", ())
    in_order = [item["call"] for item in kept if "call" in item]
    if in_order != list(range(len(calls))):
        kept = ()  # the history has other calls than the reply: nothing fits together
    if not kept:
        if message.text.strip():
            yield {"role": "assistant", "content": message.text}
        yield from calls
        return
    for item in kept:
        if "call" in item:
            yield calls[item["call"]]
        elif item["type"] == "message":
            if item["text"].strip():
                phase = {"phase": item["phase"]} if item["phase"] else {}
                yield {"role": "assistant", "content": item["text"], **phase}
        else:
            named = item if with_ids else {**item, "id": None}
            yield {key: value for key, value in named.items() if value is not None}


def _call(call: Call, call_id: str) -> dict[str, Any]:
    name = name_in_history(call.name)
    if "custom" in call.replay:
        text = str(call.arguments.get("input", ""))
        return {"type": "custom_tool_call", "call_id": call_id, "name": name, "input": text}
    arguments = as_json(call.arguments).decode()
    return {"type": "function_call", "call_id": call_id, "name": name, "arguments": arguments}
