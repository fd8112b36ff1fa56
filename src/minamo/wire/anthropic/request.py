"""Request builder for Anthropic's Messages API."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import msgspec

from minamo.errors import BadRequest
from minamo.wire.conversation import (
    FILLER,
    ChatMessage,
    Image,
    MessageWithIds,
    Origin,
    Parts,
    match_tool_results,
    merge_roles,
    system_text,
    with_author_prefix,
)
from minamo.wire.files import PDF, Base64, File
from minamo.wire.options import RequestOptions, as_json, name_in_history

# The API requires a number, in which thoughts count: the most that models of each age accept.
# Other companies' models behind this API are named otherwise.
_MAX_TOKENS = ((re.compile(r"claude-3-(opus|sonnet|haiku)"), 4_096),
               (re.compile(r"claude-(3-5|2|instant)|(?!.*claude)"), 8_192))  # fmt: skip
_MAX_TOKENS_TODAY = 32_000
# Models before 4.6 think by a budget of tokens, later ones as much as they see fit.
_BUDGETED = re.compile(r"claude-(3-7|(opus|sonnet|haiku)-4(-[0-5])?(-\d{8})?(@|$))")
# They, and other companies' models, continue a reply that the request begins.
_CONTINUES = re.compile(rf"(?!.*claude)|claude-(2|instant|3)|{_BUDGETED.pattern}")
# Since 5.5 models think before every reply, so that they refuse to be forced to call a tool.
_FORCED = re.compile(r"(?!.*claude)|claude-(2|instant|3|[a-z]+-(4(-\d)?|5)(-\d{8})?(@|$))")
_BUDGETS = {"minimal": 1_024, "low": 2_048, "medium": 8_192, "high": 16_384}

# Ids from other providers may contain dots and colons, which Anthropic refuses.
_IDS = re.compile("[A-Za-z0-9_-]+")
# The oldest models read no PDFs, nor do other companies' models behind this API.
_NO_PDF = re.compile(r"(?!.*claude)|claude-(2|instant|3-(opus|sonnet|haiku))")
_CHOICES = {"auto": "auto", "none": "none", "required": "any"}
THINKING = ("thinking", "redacted_thinking")
# The other blocks of a reply are those of tools on the server's side.
OWN_BLOCKS = ("text", "tool_use", *THINKING)


def build(
    origin: Origin,
    messages: Sequence[ChatMessage],
    options: RequestOptions,
    *,
    thoughts: bool = False,
) -> dict[str, Any]:
    """Return the body of the request for one streamed reply."""
    turns = match_tool_results(messages, _IDS, media_types(origin.model))
    body: dict[str, Any] = {
        "model": origin.model,
        "max_tokens": options.max_tokens or max_tokens_of(origin.model),
        "messages": _messages(turns, partial(_blocks, origin=origin, search=_searches(options))),
        "stream": True,
    }
    if instructions := system_text(turns):
        body["system"] = instructions
    if not _CONTINUES.match(origin.model) and body["messages"][-1]["role"] == "assistant":
        body["messages"].append({"role": "user", "content": [{"type": "text", "text": FILLER}]})
    body |= _thinking(origin.model, options, thoughts=thoughts)
    if _is_budgeted(body) and _lacks_thinking(body["messages"]):
        body["thinking"] = {"type": "disabled"}
    if options.cache:
        body["cache_control"] = {"type": "ephemeral"}
    if options.tools or options.web_search:
        search = {"type": "web_search_20250305", "name": "web_search"}
        body["tools"] = [search] if options.web_search else []
        body["tools"] += [
            {"name": t.name, "description": t.description, "input_schema": t.parameters}
            for t in options.tools
        ]
    elif used := _used(turns):
        body |= {"tools": used, "tool_choice": {"type": "none"}}
    if _is_forced(options) and not _FORCED.match(origin.model):
        raise BadRequest(f"{origin.model} cannot be forced to call a tool: use auto or none")
    if options.tool_choice in _CHOICES:
        body["tool_choice"] = {"type": _CHOICES[options.tool_choice]}
    elif options.tool_choice:
        body["tool_choice"] = {"type": "tool", "name": options.tool_choice}
    if options.stop:
        body["stop_sequences"] = list(options.stop)
    # Newer models refuse these two, so they are sent only if the caller set them.
    if options.temperature is not None:
        body["temperature"] = options.temperature
    if options.top_p is not None:
        body["top_p"] = options.top_p
    return body


def continued(body: bytes, blocks: Sequence[Mapping[str, Any]], container: str) -> bytes:
    """Return the body of the request that continues a paused reply, whose *blocks* it repeats."""
    request = msgspec.json.decode(body, type=dict[str, msgspec.Raw])
    message = as_json(_trimmed({"role": "assistant", "content": [dict(b) for b in blocks]}))
    request["messages"] = msgspec.Raw(bytes(request["messages"])[:-1] + b"," + message + b"]")
    if container:
        request["container"] = msgspec.Raw(as_json(container))
    return msgspec.json.encode(request)


def _thinking(model: str, options: RequestOptions, *, thoughts: bool) -> dict[str, Any]:
    """Return the fields about thinking and the form of the output."""
    body: dict[str, Any] = {}
    output: dict[str, Any] = {}
    if options.effort == "none" and not _FORCED.match(model):
        # The least that these models do.
        output["effort"] = "low"
        body |= {"thinking": {"type": "between_tools"}} if "sonnet" in model else {}
    elif options.effort == "none" or (_is_forced(options) and "claude" in model):
        body["thinking"] = {"type": "disabled"}
    elif _BUDGETED.match(model):
        if thoughts or options.effort:
            size = _BUDGETS.get(options.effort or "medium", _BUDGETS["high"])
            most = options.max_tokens or max_tokens_of(model)
            body["thinking"] = {"type": "enabled", "budget_tokens": min(size, most - 1)}
    else:
        if options.effort:
            output["effort"] = "low" if options.effort == "minimal" else options.effort
        if thoughts or options.effort:
            # Their text is left out unless it is asked for.
            shown = {"display": "summarized"} if thoughts else {}
            body["thinking"] = {"type": "adaptive", **shown}
    if options.response_format is not None:
        output["format"] = {"type": "json_schema", "schema": options.response_format}
    return body | ({"output_config": output} if output else {})


def _is_forced(options: RequestOptions) -> bool:
    return options.tool_choice not in (None, "auto", "none")


def _is_budgeted(body: dict[str, Any]) -> bool:
    return bool(body.get("thinking", {}).get("type") == "enabled")


def _lacks_thinking(messages: list[dict[str, Any]]) -> bool:
    """Return whether the last calls were made without thinking, as by another model.

    Models that think by a budget then refuse to begin in the middle of a round of tools.
    """
    answers = messages[-1]["content"][0]["type"] == "tool_result"
    return answers and messages[-2]["content"][0]["type"] not in THINKING


def media_types(model: str) -> frozenset[str]:
    """Return the media types of files that *model* takes."""
    return frozenset() if _NO_PDF.match(model) else frozenset((PDF,))


def max_tokens_of(model: str) -> int:
    """Return the length of a reply to ask for, if the caller names none."""
    return next((size for names, size in _MAX_TOKENS if names.match(model)), _MAX_TOKENS_TODAY)


def _used(turns: list[MessageWithIds]) -> list[dict[str, Any]]:
    """Return the tools of the history: they must be declared even if none may be called."""
    names = {name_in_history(call.name): None for turn in turns for call in turn.message.calls}
    return [{"name": name, "input_schema": {"type": "object"}} for name in names]


def _messages(
    turns: list[MessageWithIds], parts_of: Callable[[MessageWithIds], Parts]
) -> list[dict[str, Any]]:
    """Return the messages; tool results are the user's and must all be in one message."""
    out = merge_roles(turns, "assistant", "content", parts_of)
    _trimmed(out[-1])
    return out


def _trimmed(message: dict[str, Any]) -> dict[str, Any]:
    """Return a last message without whitespace at its end, with which no reply may go on."""
    if message["role"] == "assistant" and "text" in (last := message["content"][-1]):
        last["text"] = last["text"].rstrip()
    return message


def _searches(options: RequestOptions) -> bool:
    """Return whether server tools are on offer: only then may the history have their blocks."""
    return options.web_search or "tools" in options.extra


def _blocks(turn: MessageWithIds, *, origin: Origin, search: bool) -> Parts:
    if turn.message.role != "assistant":
        return _user(turn)
    return _assistant(turn, origin.replay(turn.message), search=search)


def _user(turn: MessageWithIds) -> Parts:
    message = turn.message
    if message.role == "tool":
        block: dict[str, Any] = {"type": "tool_result", "tool_use_id": turn.ids[0]}
        if message.text.strip():
            block["content"] = message.text
        if message.failed:
            # A failed result must not be empty.
            block |= {"content": block.get("content", "failed"), "is_error": True}
        return [block]
    blocks = [_document(file) for file in message.files]
    blocks += [_image(image) for image in message.images]
    if message.text.strip():
        blocks.append({"type": "text", "text": with_author_prefix(message)})
    return blocks


def _assistant(turn: MessageWithIds, replay: Mapping[str, Any], *, search: bool) -> Parts:
    message = turn.message
    calls: Parts = [
        {
            "type": "tool_use",
            "id": call_id,
            "name": name_in_history(call.name),
            "input": dict(call.arguments),
        }
        for call, call_id in zip(message.calls, turn.ids, strict=True)
    ]
    kept = replay.get("blocks", ())
    in_order = [block["call"] for block in kept if "call" in block]
    served = any(block["type"] not in OWN_BLOCKS for block in kept)
    if kept and in_order == list(range(len(calls))) and (search or not served):
        return [calls[block["call"]] if "call" in block else dict(block) for block in kept]
    # Thinking precedes the text and calls it led to, unchanged.
    blocks = [dict(block) for block in replay.get("thinking", ())]
    if message.text.strip():
        blocks.append({"type": "text", "text": message.text})
    return blocks + calls


def _image(image: Image) -> dict[str, Any]:
    source: dict[str, Any] = {"type": "url", "url": image.source}
    if isinstance(image.source, bytes):
        data = Base64(image.source)
        source = {"type": "base64", "media_type": image.media_type, "data": data}
    return {"type": "image", "source": source}


def _document(file: File) -> dict[str, Any]:
    source = {"type": "base64", "media_type": file.media_type, "data": Base64(file.data)}
    return {"type": "document", "source": source, "title": file.name}
