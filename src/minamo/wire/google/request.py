"""Request builder for Google Gemini's `streamGenerateContent`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from minamo.wire.conversation import (
    ChatMessage,
    Image,
    MessageWithIds,
    Origin,
    match_tool_results,
    merge_roles,
    system_text,
    with_author_prefix,
)
from minamo.wire.files import PDF, SOUNDS, Base64
from minamo.wire.options import RequestOptions, name_in_history

# Models before Gemini 3 require no signatures.
_UNSIGNED = re.compile(r"gemini-[12]\b|gemma")
# The signature that Google accepts on a call made by another model.
_NOT_OURS = "skip_thought_signature_validator"
# Before Gemini 3 thinking has a budget of tokens; -1 leaves it to the model.
_BUDGETS = {"none": 0, "minimal": 512, "low": 1_024, "medium": 8_192, "high": -1, "xhigh": -1,
            "max": -1}  # fmt: skip
# The nearest levels to those that Gemini does not have.
_LEVELS = {"none": "MINIMAL", "max": "XHIGH"}
_MODES = {"auto": "AUTO", "none": "NONE", "required": "ANY"}


def build(
    origin: Origin,
    messages: Sequence[ChatMessage],
    options: RequestOptions,
    *,
    thoughts: bool = False,
) -> dict[str, Any]:
    """Return the body of the request for one streamed reply."""
    turns = match_tool_results(messages, takes=media_types(origin.model))
    contents = merge_roles(turns, "model", "parts", partial(_parts, origin=origin))
    if not _UNSIGNED.match(origin.model):
        _sign(contents)
    body: dict[str, Any] = {"contents": contents}
    if instructions := system_text(turns):
        body["systemInstruction"] = {"parts": [{"text": instructions}]}
    tools: list[dict[str, Any]] = [{"googleSearch": {}}] if options.web_search else []
    if options.tools:
        declarations = [
            {
                "name": tool.name,
                "description": tool.description,
                # `parameters` supports only a subset of OpenAPI; this field takes JSON Schema.
                "parametersJsonSchema": tool.parameters,
            }
            for tool in options.tools
        ]
        tools.append({"functionDeclarations": declarations})
    if tools:
        body["tools"] = tools
    if options.tool_choice:
        mode: dict[str, Any] = {"mode": _MODES.get(options.tool_choice, "ANY")}
        if options.tool_choice not in _MODES:
            mode["allowedFunctionNames"] = [options.tool_choice]
        body["toolConfig"] = {"functionCallingConfig": mode}
    sampling: dict[str, Any] = {
        "temperature": options.temperature,
        "topP": options.top_p,
        "maxOutputTokens": options.max_tokens,
        "stopSequences": list(options.stop) or None,
        "seed": options.seed,
        "thinkingConfig": _thinking(origin.model, options, thoughts=thoughts) or None,
    }
    if options.response_format is not None:
        sampling["responseMimeType"] = "application/json"
        sampling["responseJsonSchema"] = options.response_format
    sampling = {name: value for name, value in sampling.items() if value is not None}
    if sampling:
        body["generationConfig"] = sampling
    return body


def media_types(model: str) -> frozenset[str]:
    """Return the media types of files that *model* takes; the open models read no files."""
    return frozenset() if model.startswith("gemma") else frozenset((PDF, *SOUNDS))


def _thinking(model: str, options: RequestOptions, *, thoughts: bool) -> dict[str, Any]:
    config: dict[str, Any] = {"includeThoughts": True} if thoughts else {}
    if options.effort and _UNSIGNED.match(model):
        config["thinkingBudget"] = _BUDGETS[options.effort]
    elif options.effort:
        config["thinkingLevel"] = _LEVELS.get(options.effort, options.effort.upper())
    return config


def _parts(turn: MessageWithIds, *, origin: Origin) -> list[dict[str, Any]]:
    return _model(turn, origin) if turn.message.role == "assistant" else _user(turn)


def _user(turn: MessageWithIds) -> list[dict[str, Any]]:
    message = turn.message
    if message.call is not None:
        answer: dict[str, Any] = {"name": name_in_history(message.call.name)}
        answer["response"] = {"error" if message.failed else "output": message.text}
        if message.call.id:
            answer["id"] = turn.ids[0]
        return [{"functionResponse": answer}]
    parts = [
        {"inlineData": {"mimeType": file.media_type, "data": Base64(file.data)}}
        for file in message.files
    ]
    parts += [_image(image) for image in message.images]
    return [*parts, {"text": with_author_prefix(message)}] if message.text.strip() else parts


def _model(turn: MessageWithIds, origin: Origin) -> list[dict[str, Any]]:
    message = turn.message
    parts: list[dict[str, Any]] = []
    if message.text.strip():
        parts.append(_signed({"text": message.text}, origin.own(message.replay)))
    for call, call_id in zip(message.calls, turn.ids, strict=True):
        record: dict[str, Any] = {"name": name_in_history(call.name), "args": dict(call.arguments)}
        if call.id:
            record["id"] = call_id
        parts.append(_signed({"functionCall": record}, origin.own(call.replay)))
    return parts


def _sign(contents: list[dict[str, Any]]) -> None:
    """Sign the first call of each reply: Google refuses a history with an unsigned one."""
    for content in contents:
        for part in content["parts"]:
            if "functionCall" in part:
                part.setdefault("thoughtSignature", _NOT_OURS)
                break


def _signed(part: dict[str, Any], replay: Mapping[str, Any]) -> dict[str, Any]:
    if "thought_signature" in replay:
        part["thoughtSignature"] = replay["thought_signature"]
    return part


def _image(image: Image) -> dict[str, Any]:
    if isinstance(image.source, bytes):
        return {"inlineData": {"mimeType": image.media_type, "data": Base64(image.source)}}
    file = {"fileUri": image.source}
    if image.media_type:
        file["mimeType"] = image.media_type
    return {"fileData": file}
