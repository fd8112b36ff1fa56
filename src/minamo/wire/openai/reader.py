"""Reader for OpenAI-compatible chat completions, as a dozen servers actually send them.

It also collects reasoning blocks, which some servers require back in the next request.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import Enum, auto
from typing import Any, Literal

import msgspec

from minamo.core.chunks import Chunk, Usage
from minamo.wire.assembler import BoundedText, PartialToolCall, ReplyAssembler, is_link
from minamo.wire.errors import from_object
from minamo.wire.frames import Reader
from minamo.wire.json import (
    BROKEN,
    convert_optional,
    count_at,
    decode,
    loads_strict,
    size_of,
    total,
)
from minamo.wire.limits import REPLAY_CHARS_MAX
from minamo.wire.options import as_json
from minamo.wire.sse import SseEvent

# Fields of a reasoning block that hold readable text and arrive in pieces.
_GROWING = ("text", "summary")


class _Readable(msgspec.Struct, gc=False):
    text: str | None = None
    summary: str | None = None


class Details:
    """The reasoning blocks of a reply: all of them, or none if they exceed the limit."""

    __slots__ = ("_blocks", "_heavy", "_pieces")

    def __init__(self) -> None:
        self._blocks: list[dict[str, Any]] = []
        self._pieces: list[dict[str, list[str]]] = []  # joined once at the end: linear time
        self._heavy = 0

    def add(self, details: list[dict[str, Any]]) -> str:
        """Keep some pieces and return their readable text."""
        self._heavy += size_of(details)
        if self._heavy <= REPLAY_CHARS_MAX:
            for piece in details:
                self._take(piece)
        else:
            self._blocks, self._pieces = [], []
        found = convert_optional(list[_Readable], details) or []
        return "".join(part.text or part.summary or "" for part in found)

    def _take(self, piece: dict[str, Any]) -> None:
        if not self._blocks or not _continues(self._blocks[-1], piece):
            self._blocks.append({})
            self._pieces.append({})
        block, pieces = self._blocks[-1], self._pieces[-1]
        for key, value in piece.items():
            if key in _GROWING and isinstance(value, str):
                pieces.setdefault(key, []).append(value)
                block[key] = ""  # reserves its position among the keys
            elif value is not None or key not in block:
                block[key] = value

    def blocks(self) -> list[dict[str, Any]]:
        """Return the complete blocks."""
        both = zip(self._blocks, self._pieces, strict=True)
        return [
            block | {key: "".join(text) for key, text in pieces.items()} for block, pieces in both
        ]


def _continues(block: dict[str, Any], piece: dict[str, Any]) -> bool:
    """Return whether a piece continues the last block; a signed block is closed."""
    if block.get("signature") or not any(key in piece for key in (*_GROWING, "signature")):
        return False
    return all(block.get(key) == piece.get(key) for key in ("type", "index"))


class _Part(msgspec.Struct, gc=False):
    """A part of content or reasoning in Mistral's format."""

    type: str = ""
    text: str | None = None
    thinking: list[_Part] | str | None = None


class _Function(msgspec.Struct, gc=False):
    name: str | msgspec.UnsetType | None = msgspec.UNSET
    arguments: str | dict[str, Any] | msgspec.UnsetType | None = msgspec.UNSET


class _Piece(msgspec.Struct, gc=False):
    index: int | None = None
    id: str | None = None
    function: _Function | msgspec.UnsetType | None = msgspec.UNSET
    extra_content: Any = None


class _Step(msgspec.Struct, gc=False):
    """A thought or search of Perplexity, in its concise mode."""

    thought: str | None = None


class _Source(msgspec.Struct, gc=False):
    url: str | None = None
    title: str | None = None
    start_index: int | None = None
    end_index: int | None = None


class _Annotation(msgspec.Struct, gc=False):
    """A source, as OpenAI's search models and OpenRouter name it."""

    url_citation: _Source = msgspec.field(default_factory=_Source)


class _Delta(msgspec.Struct, gc=False):
    content: str | list[_Part] | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None
    reasoning_details: list[dict[str, Any]] | None = None
    refusal: str | None = None
    tool_calls: list[_Piece] | None = None
    reasoning_steps: list[_Step] | None = None
    annotations: Any = None
    images: Any = None
    audio: Any = None


class _Url(msgspec.Struct, gc=False):
    url: str | None = None


class _Image(msgspec.Struct, gc=False):
    """A picture, as OpenRouter sends it: in a data URL."""

    image_url: _Url = msgspec.field(default_factory=_Url)


class _Audio(msgspec.Struct, gc=False):
    """A piece of speech, and of what is said in it."""

    data: str | None = None
    transcript: str | None = None


class _Whole(msgspec.Struct, gc=False):
    """The complete reply, which some servers repeat in their last frame."""

    content: str | list[_Part] | None = None


class _Choice(msgspec.Struct, gc=False):
    delta: _Delta | msgspec.UnsetType | None = msgspec.UNSET
    message: Any = None
    finish_reason: str | None = None
    index: int | None = None
    error: Any = None


class _Frame(msgspec.Struct, gc=False):
    choices: list[_Choice] | msgspec.UnsetType | None = msgspec.UNSET
    usage: Any = None
    model: Any = None
    provider: Any = None
    error: Any = None
    object: Any = None
    citations: Any = None
    search_results: Any = None


class _TextDelta(msgspec.Struct, gc=False):
    content: str
    reasoning_content: None = None
    reasoning: None = None
    reasoning_details: None = None
    refusal: None = None
    tool_calls: None = None
    reasoning_steps: None = None
    annotations: None = None
    images: None = None
    audio: None = None


class _TextChoice(msgspec.Struct, gc=False):
    delta: _TextDelta
    finish_reason: None = None
    index: Literal[0] = 0
    error: None = None


class _TextFrame(msgspec.Struct, gc=False):
    """A piece of text, as nearly every frame is one: decoded into no more than is needed."""

    choices: tuple[_TextChoice]
    usage: Any = None
    model: str = ""
    provider: str = ""
    error: None = None
    object: Literal["chat.completion.chunk"] = "chat.completion.chunk"
    citations: None = None
    search_results: None = None


class _Spoken(Enum):
    """Whether text has arrived."""

    NOT_YET = auto()
    EARLIER = auto()
    """Yes, and then something else."""
    LAST = auto()
    """Yes, in the last frame; so the next one is probably text, too."""


_UNSET = msgspec.UNSET
_NOTHING = _Function()
_CHUNK = "chat.completion.chunk"
_FRAME = msgspec.json.Decoder(_Frame)
_decode_text = msgspec.json.Decoder(_TextFrame).decode
_ANY = msgspec.json.Decoder(Any)


class OpenAIReader(Reader):
    """The reader of one reply."""

    file_begins: re.Pattern[bytes] | None = re.compile(
        rb'"image_url"\s*:\s*\{\s*"url"\s*:\s*"data:[^"]*;base64,\Z'
    )
    __slots__ = ("_at", "_details", "_field", "_refusal", "_spoken", "_thought",
                 "_usage", "reply")  # fmt: skip

    def __init__(self, reply: ReplyAssembler) -> None:
        self.reply: ReplyAssembler = reply
        self._at: dict[int, PartialToolCall] = {}
        self._thought = BoundedText()
        self._details = Details()
        self._field = ""  # the reasoning's field name: servers refuse each other's
        self._usage: Any = None  # the last one counts, so only that one is converted
        self._refusal = BoundedText()
        self._spoken = _Spoken.NOT_YET

    def pieces(self, events: Sequence[SseEvent]) -> list[str]:
        """Take the first events as far as each is nothing but a piece of text; return the texts."""
        texts: list[str] = []
        if self._spoken is not _Spoken.LAST:
            return texts
        model, provider = self.reply.model, self.reply.provider
        try:
            for event in events:
                frame = _decode_text(event.data)
                text = frame.choices[0].delta.content
                is_new = frame.model != model or frame.provider != provider
                if is_new or not text or event.name == b"error":
                    break
                if frame.usage is not None:
                    self._usage = frame.usage
                texts.append(text)
        except BROKEN:
            self._spoken = _Spoken.EARLIER
        return texts

    def feed(self, event: SseEvent) -> list[Chunk]:
        """Return the chunks of one event."""
        if event.data[:6] == b"[DONE]":
            return self.end(marked=True)
        if event.name == b"error":
            return self.reply.refuse(from_object(decode(_ANY, event.data)))
        frame = decode(_FRAME, event.data)
        if frame is None:
            return self.reply.unread(event.data)
        reply = self.reply
        if frame.error is not None or frame.object == "error":
            return reply.refuse(from_object(decode(_ANY, event.data)))
        if (frame.model and frame.model != reply.model) or frame.provider:
            reply.note(frame.model, frame.provider)
        if frame.usage is not None:
            self._usage = frame.usage
        if frame.citations or frame.search_results:
            self._cite(frame)
        if frame.object == "chat.completion.done":
            return self._done(frame.choices[0] if frame.choices else _Choice())
        if not frame.choices:
            return self._without_choices(frame)
        choice = frame.choices[0]
        if choice.index:
            return []
        if choice.delta:
            out = self._delta(choice.delta)
        else:
            is_valid = choice.delta is None or choice.finish_reason or choice.error is not None
            out = [] if is_valid or frame.object not in (None, _CHUNK) else reply.lacks("its delta")
        if choice.error is not None:
            return out if reply.ended else out + reply.refuse(from_object({"error": choice.error}))
        if choice.finish_reason:
            reply.finish_reason = choice.finish_reason
            reply.complete = True
        return out

    def end(self, *, marked: bool = False) -> list[Chunk]:
        """Return the last chunks, at the end mark or at the end of the bytes."""
        reply = self.reply
        if not marked and not reply.complete:
            return reply.cut()
        refusal = self._refusal.text()
        if refusal or reply.finish_reason == "content_filter":
            return reply.fail("content_blocked", refusal or "stopped by a content filter")
        if reply.finish_reason == "insufficient_system_resource":
            return reply.fail("provider_overloaded", "out of resources", retryable=True)
        if reply.finish_reason == "error":
            return reply.fail("model_error", "the model failed", retryable=True)
        thought = self._thought.text()
        details = self._details.blocks()
        if details:
            reply.replay["reasoning_details"] = details
        elif thought:
            reply.replay[self._field] = thought
        reply.usage = None if self._usage is None else _usage(self._usage)
        return reply.close()

    def whole(self, found: Any) -> list[bytes]:
        """Return the events of a reply sent whole; its messages have the form of a delta."""
        choices = found.get("choices") if isinstance(found, dict) else None
        if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
            return []
        choice = {"finish_reason": "stop", **choices[0], "delta": choices[0].get("message")}
        frame = {**found, "choices": [choice], "object": "chat.completion.chunk"}
        return [as_json(frame), b"[DONE]"]

    def _done(self, choice: _Choice) -> list[Chunk]:
        """Return the chunks of Perplexity's last frame, which is also its end mark.

        It repeats the reply, in its message and sometimes in its delta; the repeat is used only
        if no text arrived before.
        """
        reply = self.reply
        reply.finish_reason = choice.finish_reason or reply.finish_reason
        out: list[Chunk] = []
        if self._spoken is _Spoken.NOT_YET:
            whole = convert_optional(_Whole, choice.message)
            content = whole.content if whole is not None else None
            out = self._delta(choice.delta or _Delta()) or self._delta(_Delta(content=content))
        return out if reply.ended else out + self.end(marked=True)

    def _without_choices(self, frame: _Frame) -> list[Chunk]:
        if frame.choices is not _UNSET or frame.usage is not None:
            return []
        if frame.object == _CHUNK:
            return self.reply.lacks("its choices")
        return [] if frame.citations or frame.search_results else self.reply.skip()

    def _cite(self, frame: _Frame) -> None:
        """Record Perplexity's sources: with titles where it gives them, else as bare links."""
        for source in convert_optional(list[_Source], frame.search_results) or ():
            self.reply.cite(source.url, source.title)
        for url in convert_optional(list[str], frame.citations) or ():
            self.reply.cite(url)

    def _delta(self, delta: _Delta) -> list[Chunk]:
        content = delta.content
        thought = delta.reasoning_content or delta.reasoning or ""
        if delta.reasoning_details:
            thought = self._details.add(delta.reasoning_details) or thought
        elif thought:
            self._field = "reasoning_content" if delta.reasoning_content else "reasoning"
            self._thought.add(thought)
        if delta.annotations:
            for note in convert_optional(list[_Annotation], delta.annotations) or ():
                link = note.url_citation
                self.reply.cite(link.url, link.title, link.start_index, link.end_index)
        if delta.reasoning_steps:
            thought += "".join(
                f"{step.thought}\n" for step in delta.reasoning_steps if step.thought
            )
        if isinstance(content, list):
            text, more, unknown = _parted(content)
            thought += more
            self.reply.skipped += unknown
        else:
            text = content or ""
        if delta.tool_calls:
            for piece in delta.tool_calls:
                self._piece(piece)
            if self.reply.calls.problem or not (text or thought):
                return self.reply.work()
        if delta.refusal:
            self._refusal.add(delta.refusal)
        out: list[Chunk] = []
        if delta.audio is not None:
            speech = convert_optional(_Audio, delta.audio) or _Audio()
            text = text or speech.transcript or ""
            out = self.reply.hear(speech.data)
        if text or thought:
            if text:
                self._spoken = _Spoken.EARLIER if thought else _Spoken.LAST
            out = self.reply.say(text, thought)
        return out if delta.images is None else out + self._pictures(delta.images)

    def _pictures(self, images: Any) -> list[Chunk]:
        out: list[Chunk] = []
        for image in convert_optional(list[_Image], images) or ():
            url = image.image_url.url or ""
            head, _, content = url.partition(";base64,")
            if head.startswith("data:"):
                out += self.reply.attach(content, head.removeprefix("data:"))
            elif is_link(url):
                out += self.reply.say(f"\n\n{url}\n\n")
        return out

    def _piece(self, piece: _Piece) -> None:
        function, calls = piece.function or _NOTHING, self.reply.calls
        has_function = function.name is not _UNSET or function.arguments is not _UNSET
        if piece.function is not None and not has_function:
            calls.problem = calls.problem or "a piece of a tool call without its function"
            return
        name, call_id = function.name or "", piece.id or ""
        drafts = calls.drafts
        if piece.index is not None:
            draft = self._at.get(piece.index)
        elif call_id:  # Mistral sends no index: a new id, or a name, begins a call
            draft = next((known for known in drafts if known.id == call_id), None)
        else:
            draft = drafts[-1] if drafts and not name else None
        if draft is None or (name and _is_another(draft, call_id)):
            draft = calls.open()
            if piece.index is not None:
                self._at[piece.index] = draft
        draft.name = draft.name or name
        draft.id = draft.id or call_id
        if isinstance(function.arguments, dict):
            calls.give(draft, function.arguments)
        elif function.arguments:
            calls.grow(draft, function.arguments)
        if piece.extra_content is not None and size_of(piece.extra_content) <= REPLAY_CHARS_MAX:
            draft.replay["extra_content"] = piece.extra_content


def _is_another(draft: PartialToolCall, call_id: str) -> bool:
    """Return whether a name at an index that already has a call begins another call.

    Gemini's compatible server and others give every call index 0.  Calls are distinguished by id;
    without an id, a call whose arguments arrived complete in one piece is finished.
    """
    if call_id and draft.id:
        return call_id != draft.id
    return bool(draft.arguments) or (len(draft.pieces) == 1 and _is_whole(draft.pieces[0]))


def _is_whole(arguments: str) -> bool:
    try:
        return isinstance(loads_strict(arguments), dict)
    except ValueError:
        return False


def _parted(parts: list[_Part]) -> tuple[str, str, int]:
    """Return the text and the thought of content in list form, and how many parts are neither."""
    text, thought, unknown = "", "", 0
    for part in parts:
        if isinstance(part.thinking, str):
            thought += part.thinking
        elif part.thinking is not None:
            thought += "".join(inner.text or "" for inner in part.thinking)
        elif part.text is not None and part.type in ("", "text"):
            text += part.text
        else:
            unknown += 1
    return text, thought, unknown


def _usage(found: Any) -> Usage | None:
    if not isinstance(found, dict):
        return None
    prompt, output = count_at(found, "prompt_tokens"), count_at(found, "completion_tokens")
    thought = count_at(found, "completion_tokens_details.reasoning_tokens")
    # xAI and Gemini's compatible server count reasoning separately; their total shows it.
    together = total(prompt, output, thought)
    if together is not None and count_at(found, "total_tokens") == together:
        output = total(output, thought)
    return Usage(prompt, output, thought, count_at(found, "prompt_tokens_details.cached_tokens"))
