"""Request builder for OpenAI-compatible chat completions, and the quirks of known servers."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from attrs import frozen

from minamo.core.chunks import Call
from minamo.errors import BadRequest
from minamo.wire.conversation import (
    FILLER,
    ChatMessage,
    Image,
    MessageWithIds,
    Origin,
    match_tool_results,
)
from minamo.wire.files import PDF, SOUNDS, WITHOUT_EYES, Base64, File, data_url
from minamo.wire.options import RequestOptions, as_json, name_in_history

REASONING = ("reasoning_content", "reasoning", "reasoning_details")
# Servers that refuse unknown fields, with the reasoning fields that they accept.
_STRICT: dict[str, tuple[str, ...]] = {
    "groq.com": ("reasoning",),
    "cerebras.ai": ("reasoning",),
    "mistral.ai": (),
    "openai.com": (),
}
_ANY = re.compile(".+", re.DOTALL)
_SHORT = re.compile(".{1,40}", re.DOTALL)
_NINE = re.compile("[A-Za-z0-9]{9}")
# Mistral, Ministral, Devstral, Codestral, Magistral, Mixtral, Pixtral …, on any server: the rules
# for their conversations are part of the models' chat templates.
_MISTRAL = re.compile("[sx]tral")


@frozen(slots=True, kw_only=True)
class ServerQuirks:
    """The requirements of one server or one model."""

    include_usage: bool = True
    """Request usage at the end of the stream; Mistral answers such a request with 422."""
    max_tokens_field: str = "max_tokens"
    """OpenAI's newer models accept only `max_completion_tokens`, others only `max_tokens`."""
    seed_field: str = "seed"
    """Mistral's name is `random_seed`; it answers `seed` with 422."""
    names: bool = False
    """Send names in their own field if they are valid there; otherwise as a prefix of the text."""
    call_ids: re.Pattern[str] = _ANY
    """Pattern of accepted call ids; others, from another provider, are replaced."""
    reasoning: tuple[str, ...] = REASONING
    """The reasoning fields that may be sent back."""
    extra_content: bool = True
    """Send back the `extra_content` that Gemini's compatible server adds to a call."""
    search_plugin: bool = False
    """The server searches the web by a plugin of its own; OpenRouter does."""
    searches: bool = False
    """The server searches the web unasked; Perplexity does."""
    strict_order: bool = False
    """System messages come first, then user and assistant alternate; tools count as the user."""
    media_types: frozenset[str] = frozenset()
    """The media types of files that the model takes."""


def ways_for(
    host: str,
    model: str,
    *,
    include_usage: bool | None = None,
    max_tokens_field: str | None = None,
    names: bool = False,
    media_types: Collection[str] | None = None,
) -> ServerQuirks:
    """Return the quirks of a server, derived from its host and the model's name."""
    known = next((fields for at, fields in _STRICT.items() if _within(host, at)), None)
    openai = _within(host, "openai.com") or _within(host, "openai.azure.com")
    mistral = _within(host, "mistral.ai")
    strict = mistral or _MISTRAL.search(model.lower()) is not None
    perplexity = _within(host, "perplexity.ai")
    return ServerQuirks(
        include_usage=not mistral if include_usage is None else include_usage,
        max_tokens_field=max_tokens_field or ("max_completion_tokens" if openai else "max_tokens"),
        seed_field="random_seed" if mistral else "seed",
        names=names,
        call_ids=_NINE if strict else _SHORT if openai else _ANY,
        reasoning=REASONING if known is None else known,
        extra_content=known is None,
        searches=perplexity,
        search_plugin=_within(host, "openrouter.ai"),
        strict_order=strict or perplexity,
        media_types=_known(host, model) if media_types is None else _checked(media_types),
    )


def _checked(media_types: Collection[str]) -> frozenset[str]:
    """Return the media types of files that the user says a server takes; refuse others."""
    if isinstance(media_types, str) or not all(name in (PDF, *SOUNDS) for name in media_types):
        raise BadRequest(f"media_types is a list of these: {', '.join((PDF, *SOUNDS))}")
    return frozenset(media_types)


def _known(host: str, model: str) -> frozenset[str]:
    """Return the media types of files that *model* takes: on two services this is known."""
    if _within(host, "openrouter.ai"):  # it reads PDFs for every model
        return frozenset((PDF, *SOUNDS)) if "/gemini" in model else frozenset((PDF,))
    if not _within(host, "openai.com") or WITHOUT_EYES.match(model):
        return frozenset()
    return frozenset(("audio/wav", "audio/mpeg") if "audio" in model else (PDF,))


def _within(host: str, domain: str) -> bool:
    return host == domain or host.endswith(f".{domain}")


_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


def build(
    origin: Origin,
    messages: Sequence[ChatMessage],
    options: RequestOptions,
    *,
    ways: ServerQuirks,
) -> dict[str, Any]:
    """Return the body of the request for one streamed reply."""
    body: dict[str, Any] = {"model": origin.model}
    turns = match_tool_results(messages, ways.call_ids, ways.media_types)
    body["messages"] = _messages(turns, origin, ways)
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
    sampling: dict[str, Any] = {
        "stop": list(options.stop) or None,
        "temperature": options.temperature,
        "top_p": options.top_p,
        ways.seed_field: options.seed,
        ways.max_tokens_field: options.max_tokens,
        "reasoning_effort": options.effort,
        "plugins": [{"id": "web"}] if options.web_search and ways.search_plugin else None,
    }
    if options.response_format is not None:
        schema = {"name": "reply", "schema": options.response_format}
        sampling["response_format"] = {"type": "json_schema", "json_schema": schema}
    body |= {name: value for name, value in sampling.items() if value is not None}
    return body


def _messages(
    turns: list[MessageWithIds], origin: Origin, ways: ServerQuirks
) -> list[dict[str, Any]]:
    if ways.strict_order:
        turns = sorted(turns, key=lambda turn: turn.message.role != "system")
    out: list[dict[str, Any]] = []
    after_tools = False
    for turn in turns:
        if ways.strict_order and turn.message.role == "user" and out and out[-1]["role"] == "tool":
            out.append({"role": "assistant", "content": FILLER})
        message = _message(turn, origin, ways, after_tools=after_tools)
        if not ways.strict_order or not out or not _joined(out[-1], message):
            out.append(message)
        if turn.message.role in ("user", "tool"):
            after_tools = turn.message.role == "tool"
    return out


def _joined(last: dict[str, Any], message: dict[str, Any]) -> bool:
    """Merge a message into the previous one of the same role if that loses nothing.

    Returns whether it did.
    """
    if last["role"] != message["role"] or last["role"] not in ("user", "assistant"):
        return False
    if "name" in last or "name" in message:
        return False
    before, after = last["content"], message["content"]
    both: str | list[dict[str, Any]]
    if isinstance(before, list) or isinstance(after, list):
        both = [part for content in (before, after) for part in _listed(content)]
    else:
        both = "\n\n".join(text for text in (before, after) if text)
    last.update(message, content=both)
    return True


def _listed(content: Any) -> list[dict[str, Any]]:
    return content if isinstance(content, list) else _parts(content)


def _message(
    turn: MessageWithIds, origin: Origin, ways: ServerQuirks, *, after_tools: bool
) -> dict[str, Any]:
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
        more = message.images or message.files
        out["content"] = _parts(text, message.images, message.files) if more else text
        return out
    out["content"] = text or None
    if message.calls:
        out["tool_calls"] = [
            _call(call, call_id, origin.own(call.replay) if ways.extra_content else {})
            for call, call_id in zip(message.calls, turn.ids, strict=True)
        ]
    # Reasoning is sent back under the name it arrived with, and only where tools were used: there
    # DeepSeek requires it, elsewhere servers ignore it at best.
    # Details hold signatures, for their own model only; plain text may come from any.
    replay = message.calls[0].replay if message.calls else message.replay if after_tools else {}
    signed = () if origin.own(replay) else ("reasoning_details",)
    out.update((key, replay[key]) for key in ways.reasoning if key in replay and key not in signed)
    return out


def _call(call: Call, call_id: str, replay: Mapping[str, Any]) -> dict[str, Any]:
    arguments = as_json(call.arguments).decode()
    out: dict[str, Any] = {
        "id": call_id,
        "type": "function",
        "function": {"name": name_in_history(call.name), "arguments": arguments},
    }
    if "extra_content" in replay:
        out["extra_content"] = replay["extra_content"]
    return out


def _parts(
    text: str, images: Sequence[Image] = (), files: Sequence[File] = ()
) -> list[dict[str, Any]]:
    parts: list[dict[str, Any]] = [{"type": "text", "text": text}] if text.strip() else []
    for file in files:
        if file.media_type == PDF:
            document = {"filename": file.name, "file_data": data_url(file.data, PDF)}
            parts.append({"type": "file", "file": document})
        else:
            sound = {"data": Base64(file.data), "format": SOUNDS[file.media_type]}
            parts.append({"type": "input_audio", "input_audio": sound})
    return parts + [{"type": "image_url", "image_url": {"url": i.url()}} for i in images]
