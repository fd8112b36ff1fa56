"""Reader for Google Gemini's `streamGenerateContent`, on the Gemini API and Vertex.

It also assembles tool arguments that arrive as single values with a JSON path each.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Literal

import msgspec

from minamo.core.chunks import Chunk, Usage
from minamo.wire.assembler import PartialToolCall, ReplyAssembler
from minamo.wire.errors import from_object
from minamo.wire.files import PCM, fenced
from minamo.wire.frames import Reader
from minamo.wire.google.grounding import cite
from minamo.wire.json import BROKEN, count_at, decode, total
from minamo.wire.limits import ARGUMENT_DEPTH_MAX, REPLAY_CHARS_MAX
from minamo.wire.options import as_json
from minamo.wire.sse import SseEvent

# $.name, $['na me'], $["name"], $[0]: the steps of a singular path (RFC 9535).
_STEP = re.compile(
    r"""\.([^\W\d][\w-]*) | \[(\d{1,6})\] | \['((?:[^'\\]|\\.)*)'\] | \["((?:[^"\\]|\\.)*)"\]""",
    re.VERBOSE,
)
_ESCAPED = re.compile(r"\\(.)")


class PartialArg(msgspec.Struct, rename="camel", gc=False):
    """One argument value, or a further piece of a string."""

    json_path: str = ""
    string_value: str | None = None
    number_value: int | float | None = None
    bool_value: bool | None = None
    null_value: Any = msgspec.UNSET
    """JSON's null, or its name as a string."""


class _Leaf:
    """A value; strings are kept as pieces and joined once, so that a long one takes linear time."""

    __slots__ = ("value",)

    def __init__(self) -> None:
        self.value: Any = None

    def set(self, value: Any) -> None:
        if not isinstance(value, str):
            self.value = value
        elif isinstance(self.value, list):
            self.value.append(value)
        else:
            self.value = [value]


def steps(path: str) -> list[str | int]:
    """Return the keys and indices of a path; empty if its form is unknown."""
    found: list[str | int] = []
    at = 1 if path.startswith("$") else len(path) + 1
    while at < len(path):
        match = _STEP.match(path, at)
        if match is None or len(found) == ARGUMENT_DEPTH_MAX:
            return []
        at = match.end()
        name, index, single, double = match.groups()
        if index is not None:
            found.append(int(index))
        elif name is not None:
            found.append(name)
        else:
            found.append(_ESCAPED.sub(r"\1", single if single is not None else double))
    return found


def place(root: dict[str | int, Any], arg: PartialArg) -> bool:
    """Store a value at its path; return False if the path conflicts with earlier values."""
    path = steps(arg.json_path)
    if not path:
        return False
    spot: Any = root
    for step in path[:-1]:
        spot = spot.setdefault(step, {})
        if isinstance(spot, _Leaf):
            return False
    leaf = spot.setdefault(path[-1], _Leaf())
    if not isinstance(leaf, _Leaf):
        return False
    values = (arg.string_value, arg.number_value, arg.bool_value)
    found = next((value for value in values if value is not None), None)
    leaf.set(found)
    return found is not None or arg.null_value is not msgspec.UNSET


def settled(node: Any) -> Any:
    """Return the arguments; raise ValueError if a list has gaps or a node is list and object."""
    if isinstance(node, _Leaf):
        return "".join(node.value) if isinstance(node.value, list) else node.value
    indices = [step for step in node if isinstance(step, int)]
    if not indices:
        return {step: settled(inner) for step, inner in node.items()}
    if len(indices) < len(node) or max(indices) >= len(indices):
        raise ValueError("a list with holes")
    return [settled(node[index]) for index in sorted(indices)]


_BLOCKED = frozenset((
    "SAFETY", "RECITATION", "LANGUAGE", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "IMAGE_SAFETY",
    "IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION", "MODEL_ARMOR", "JAILBREAK",
))  # fmt: skip
_FAILED = frozenset((
    "MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS", "MALFORMED_RESPONSE",
    "OTHER", "NO_IMAGE", "IMAGE_OTHER", "MISSING_THOUGHT_SIGNATURE",
))  # fmt: skip


class _FunctionCall(msgspec.Struct, rename="camel", gc=False):
    name: str | None = None
    args: dict[str, Any] | None = None
    id: str | None = None
    partial_args: list[PartialArg] | None = None
    will_continue: bool | None = None


class _Blob(msgspec.Struct, rename="camel", gc=False):
    mime_type: str | None = None
    data: Any = None


class _Code(msgspec.Struct, gc=False):
    """A program that the model ran, or its output."""

    language: str | None = None
    code: str | None = None
    output: str | None = None


class _Part(msgspec.Struct, rename="camel", gc=False):
    text: str | None = None
    thought: bool | None = None
    thought_signature: str | None = None
    function_call: _FunctionCall | None = None
    inline_data: _Blob | None = None
    executable_code: _Code | None = None
    code_execution_result: _Code | None = None


class _Content(msgspec.Struct, gc=False):
    parts: list[_Part] | None = None


class _Candidate(msgspec.Struct, rename="camel", gc=False):
    content: _Content | None = None
    finish_reason: str | None = None
    finish_message: Any = None
    grounding_metadata: Any = None
    citation_metadata: Any = None
    index: int | None = None


class _Feedback(msgspec.Struct, rename="camel", gc=False):
    block_reason: str | None = None
    block_reason_message: Any = None


class _Frame(msgspec.Struct, rename="camel", gc=False):
    candidates: list[_Candidate] | None = None
    prompt_feedback: _Feedback | None = None
    usage_metadata: Any = None
    model_version: Any = None
    error: Any = None


class _TextPart(msgspec.Struct, rename="camel", gc=False):
    text: str
    thought: None = None
    thought_signature: None = None
    function_call: None = None
    inline_data: None = None
    executable_code: None = None
    code_execution_result: None = None


class _TextContent(msgspec.Struct, gc=False):
    parts: tuple[_TextPart]


class _TextCandidate(msgspec.Struct, rename="camel", gc=False):
    content: _TextContent
    finish_reason: None = None
    grounding_metadata: None = None
    citation_metadata: None = None
    index: Literal[0] = 0


class _TextFrame(msgspec.Struct, rename="camel", gc=False):
    """A piece of text, as nearly every frame is one: decoded into no more than is needed."""

    candidates: tuple[_TextCandidate]
    prompt_feedback: None = None
    model_version: str = ""
    error: None = None


_BLANK, _NO_PART = _FunctionCall(), _Part()
_FRAME = msgspec.json.Decoder(_Frame)
_decode_text = msgspec.json.Decoder(_TextFrame).decode
# Each frame has it, and only the last one counts.  Within a string the quotes would be escaped.
_USAGE = re.compile(rb'"usageMetadata"\s*:\s*\{')


class GoogleReader(Reader):
    """The reader of one reply."""

    file_begins: re.Pattern[bytes] | None = re.compile(
        rb'"inlineData"\s*:\s*\{\s*(?:"mimeType"\s*:\s*"[^"]{,99}"\s*,\s*)?"data"\s*:\s*"\Z'
    )
    __slots__ = ("_grounding", "_in_text", "_open", "_text", "_tree", "_usage", "_why", "reply")

    def __init__(self, reply: ReplyAssembler) -> None:
        self.reply: ReplyAssembler = reply
        self._open: PartialToolCall | None = None  # a call whose arguments are still arriving
        self._tree: dict[str | int, Any] = {}
        self._why = ""
        self._text: list[str] = []  # for the positions of sources, which come last
        self._grounding: list[Any] = []
        self._usage: Any = None  # the last one, or the frame that has it
        self._in_text = False  # the last frame was text, so the next one probably is

    def pieces(self, events: Sequence[SseEvent]) -> list[str]:
        """Take the first events as far as each is nothing but a piece of text; return the texts."""
        texts: list[str] = []
        if not self._in_text:
            return texts
        model = self.reply.model
        try:
            for event in events:
                frame = _decode_text(event.data)
                text = frame.candidates[0].content.parts[0].text
                if not text or frame.model_version != model:
                    break
                texts.append(text)
        except BROKEN:
            self._in_text = False
        taken = (event.data for event in reversed(events[: len(texts)]))
        self._usage = next(filter(_USAGE.search, taken), self._usage)
        self._text += texts
        return texts

    def feed(self, event: SseEvent) -> list[Chunk]:
        """Return the chunks of one event."""
        frame = decode(_FRAME, event.data)
        if frame is None:
            return self.reply.unread(event.data)
        reply = self.reply
        if frame.error is not None:
            return reply.refuse(from_object({"error": frame.error}))
        if frame.model_version != reply.model:
            reply.note(frame.model_version)
        usage = frame.usage_metadata
        if usage:
            self._usage = usage
        if frame.prompt_feedback is not None and frame.prompt_feedback.block_reason:
            words = frame.prompt_feedback.block_reason_message
            blocked = words if isinstance(words, str) else frame.prompt_feedback.block_reason
            return reply.fail("content_blocked", blocked)
        if not frame.candidates or frame.candidates[0].index:
            return reply.skip() if frame == type(frame)() else []
        candidate = frame.candidates[0]
        out: list[Chunk] = []
        if candidate.content is not None and candidate.content.parts:
            for part in candidate.content.parts:
                out += self._part(part)
                if reply.ended:
                    return out
        if candidate.grounding_metadata is not None:
            self._grounding.append(candidate.grounding_metadata)
        if candidate.citation_metadata is not None:
            self._grounding.append(candidate.citation_metadata)
        if candidate.finish_reason:
            reply.finish_reason = candidate.finish_reason
            reply.complete = True
            words = candidate.finish_message
            self._why = words if isinstance(words, str) and words else candidate.finish_reason
        return out

    def end(self) -> list[Chunk]:
        """Return the last chunks at the end of the bytes: the dialect has no other end mark."""
        reply = self.reply
        if not reply.complete:
            return reply.cut()
        if reply.finish_reason in _BLOCKED:
            return reply.fail("content_blocked", self._why)
        if reply.finish_reason in _FAILED:
            return reply.fail("model_error", self._why, retryable=True)
        # The closing frame of a call may be missing, but only if the model stopped by itself.
        if self._open is not None and reply.finish_reason != "STOP":
            reply.calls.problem = "cut off inside a tool call"
        self._settle()
        if self._grounding:
            cite(reply, self._text, self._grounding)
        reply.usage = _usage(self._usage)
        return reply.close()

    def whole(self, found: Any) -> list[bytes]:
        """Return the events of a reply sent whole, or as one list of its frames."""
        frames = found if isinstance(found, list) else [found]
        if not frames or not all(isinstance(f, dict) and "candidates" in f for f in frames):
            return []
        return [as_json(frame) for frame in frames]

    def _part(self, part: _Part) -> list[Chunk]:
        if part.function_call is not None:
            return self._call(part.function_call, part.thought_signature)
        signature = part.thought_signature
        # The signature of a picture is of no use without the picture.
        kept = signature and not part.thought and part.inline_data is None
        if kept and signature and len(signature) <= REPLAY_CHARS_MAX:
            self.reply.replay["thought_signature"] = signature
        if not part.text:
            return self.reply.skip() if part == _NO_PART else self._made(part)
        if part.thought:
            return self.reply.say("", part.text)
        self._text.append(part.text)
        self._in_text = True
        return self.reply.say(part.text)

    def _made(self, part: _Part) -> list[Chunk]:
        """Return the chunks of a file, or of a program and its output."""
        if part.inline_data is not None and not part.thought:
            media_type = part.inline_data.mime_type or ""
            put = self.reply.hear if PCM.match(media_type) else self.reply.attach
            return put(part.inline_data.data, media_type)
        code = part.executable_code
        if code is not None and code.code:
            known = (code.language or "").lower()
            return self.reply.say(fenced(code.code, "python" if known == "python" else ""))
        result = part.code_execution_result
        return self.reply.say(fenced(result.output)) if result and result.output else []

    def _call(self, piece: _FunctionCall, signature: str | None) -> list[Chunk]:
        calls = self.reply.calls
        if piece.name:
            self._settle()
            self._open = calls.open(piece.name, piece.id or "")
        if self._open is None:
            # A blank call is the closing frame of one that was complete already.
            if piece != _BLANK or not calls.drafts:
                return self.reply.lacks("the name of its tool call")
            return self.reply.work()
        if signature and len(signature) <= REPLAY_CHARS_MAX:
            self._open.replay["thought_signature"] = signature
        if piece.args is not None:
            calls.give(self._open, piece.args)
        for arg in piece.partial_args or ():
            if calls.count(len(arg.json_path) + len(arg.string_value or "") + 1) and not place(
                self._tree, arg
            ):
                calls.problem = "tool arguments that do not fit together"
        if not piece.will_continue:
            self._settle()
        return self.reply.work()

    def _settle(self) -> None:
        if self._open is not None and self._tree:
            try:
                self._open.arguments = settled(self._tree)
            except ValueError:
                self.reply.calls.problem = "tool arguments that do not fit together"
        self._open, self._tree = None, {}


def _usage(found: Any) -> Usage | None:
    if isinstance(found, bytes):
        frame = decode(_FRAME, found)
        found = frame and frame.usage_metadata
    if not isinstance(found, dict):
        return None
    thoughts = count_at(found, "thoughtsTokenCount")
    prompt = ("promptTokenCount", "toolUsePromptTokenCount")
    return Usage(
        total(*(count_at(found, name) for name in prompt)),
        total(count_at(found, "candidatesTokenCount"), thoughts),
        thoughts,
        count_at(found, "cachedContentTokenCount"),
    )
