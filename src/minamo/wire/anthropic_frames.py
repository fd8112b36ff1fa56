"""Anthropic messages: reading the stream.

Blocks are told apart by their index.  Only text, thinking and `tool_use` are ours; server
tools, their results, compaction and whatever comes next are neither text nor calls.
"""

from __future__ import annotations

from typing import Any

import msgspec

from minamo.core.chunks import Chunk, Usage
from minamo.wire.calls import Draft
from minamo.wire.decode import BROKEN, loosely, patiently
from minamo.wire.errors import from_object
from minamo.wire.limits import REPLAY_CHARS_MAX
from minamo.wire.reply import Reply
from minamo.wire.sse import Event


class _Block(msgspec.Struct):
    type: str = ""
    text: str | None = None
    thinking: str | None = None
    signature: str | None = None
    data: Any = None
    id: str | None = None
    name: str | None = None
    input: Any = None


class _Delta(msgspec.Struct):
    type: str = ""
    text: str | None = None
    thinking: str | None = None
    signature: str | None = None
    partial_json: str | None = None
    stop_reason: str | None = None
    stop_details: Any = None


class _Message(msgspec.Struct):
    id: str | None = None
    model: Any = None
    content: list[_Block] | None = None
    stop_reason: str | None = None
    stop_details: Any = None
    usage: Any = None


class _Frame(msgspec.Struct):
    type: str = ""
    index: int | None = None
    message: Any = None
    content_block: _Block | None = None
    delta: _Delta | None = None
    usage: Any = None
    error: Any = None


class _Details(msgspec.Struct):
    thinking_tokens: int | None = None


class _Usage(msgspec.Struct):
    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    output_tokens_details: _Details | None = None


_FRAME = msgspec.json.Decoder(_Frame)
_decode = _FRAME.decode
# Citations and server tools make some dozens.
_BLOCKS_MAX = 4_096


class AnthropicReader:
    """One reply in this dialect."""

    __slots__ = ("_drafts", "_id", "_kept", "_kinds", "_started", "_thinking", "reply")

    def __init__(self, reply: Reply) -> None:
        self.reply = reply
        self._started = False
        self._id: str | None = None
        self._kinds: dict[int, str] = {}
        self._drafts: dict[int, Draft] = {}
        self._thinking: dict[int, tuple[list[str], list[str]]] = {}
        self._kept = 0

    def feed(self, event: Event) -> list[Chunk]:
        """The chunks of one event."""
        frame: _Frame | None
        try:
            frame = _decode(event.data)
        except BROKEN:
            frame = patiently(_FRAME, event.data)
        if frame is None:
            return [] if event.name == b"ping" else self.reply.unread(event.data)
        # The common ones first; what is none of these is skipped, pings included.
        if frame.type == "content_block_delta":
            return self._grow(frame.index or 0, frame.delta) if frame.delta is not None else []
        if frame.type == "content_block_start" and frame.content_block is not None:
            return self._open(frame.index or 0, frame.content_block)
        if frame.type == "message_start":
            return self._start(frame.message)
        if frame.type == "message_delta":
            self._usage(frame.usage)
            delta = frame.delta or _Delta()
            return self._stopped(delta.stop_reason, delta.stop_details)
        if frame.type == "message_stop":
            return self.end(marked=True)
        if frame.type == "error" or frame.error is not None:
            return self.reply.refuse(from_object({"error": frame.error}))
        return []

    def end(self, *, marked: bool = False) -> list[Chunk]:
        """The end mark, or the end of the bytes."""
        if not marked and not self.reply.complete:
            return self.reply.cut()
        blocks = self._replay()
        if blocks:
            self.reply.replay["thinking"] = blocks
        return self.reply.close()

    def _start(self, found: Any) -> list[Chunk]:
        message = loosely(_Message, found)
        if message is None:
            return self.reply.fail("model_error", "a message that is not what it should be")
        if self._started:
            # The same again is an echo; another message inside this one would mix two replies.
            if message.id == self._id:
                return []
            return self.reply.fail("api_error", "a second reply inside the first", retryable=True)
        self._started = True
        self._id = message.id
        self.reply.note(message.model)
        self._usage(message.usage)
        out: list[Chunk] = []
        for number, block in enumerate(message.content or ()):
            out += self._open(number, block)
        return out + self._stopped(message.stop_reason, message.stop_details)

    def _stopped(self, reason: str | None, details: Any) -> list[Chunk]:
        if not reason:
            return []
        self.reply.finish_reason = reason
        self.reply.complete = True
        if reason != "refusal":
            return []
        said = details.get("explanation") if isinstance(details, dict) else None
        return self.reply.fail("content_blocked", said if isinstance(said, str) else "refused")

    def _open(self, index: int, block: _Block) -> list[Chunk]:
        if len(self._kinds) == _BLOCKS_MAX:
            return self.reply.fail("model_error", "too many blocks in one reply")
        self._kinds[index] = block.type
        if block.type == "tool_use":
            draft = self.reply.calls.open(block.name or "", block.id or "")
            self._drafts[index] = draft
            if block.input is not None:
                self.reply.calls.give(draft, block.input)
        elif block.type == "thinking":
            self._think(index, block.thinking or "", block.signature or "")
            return self.reply.say("", block.thinking) if block.thinking else []
        elif block.type == "redacted_thinking" and isinstance(block.data, str):
            self._think(index, signature=block.data)
        elif block.type == "text" and block.text:
            return self.reply.say(block.text)
        return self.reply.work()

    def _grow(self, index: int, delta: _Delta) -> list[Chunk]:
        # A block nobody opened is taken for what its delta says.
        kind = self._kinds.get(index)
        if delta.type == "text_delta" and kind in ("text", None) and delta.text:
            return self.reply.say(delta.text)
        if delta.type == "thinking_delta" and kind in ("thinking", None) and delta.thinking:
            self._think(index, delta.thinking)
            return self.reply.say("", delta.thinking)
        if delta.type == "signature_delta" and kind == "thinking":
            self._think(index, signature=delta.signature or "")
        elif delta.type == "input_json_delta" and index in self._drafts:
            self.reply.calls.grow(self._drafts[index], delta.partial_json or "")
        return self.reply.work()

    def _think(self, index: int, thought: str = "", signature: str = "") -> None:
        """Keep thinking as it was: the next request must carry it unchanged."""
        self._kept += len(thought) + len(signature)
        if self._kept <= REPLAY_CHARS_MAX:
            thoughts, signatures = self._thinking.setdefault(index, ([], []))
            thoughts.append(thought)
            signatures.append(signature)

    def _replay(self) -> list[dict[str, str]]:
        """Every block of thinking, or none: a part of it, or one unsigned, would be refused."""
        blocks = []
        for index, (thoughts, signatures) in self._thinking.items():
            signature = "".join(signatures)
            if not signature or self._kept > REPLAY_CHARS_MAX:
                return []
            if self._kinds.get(index) == "redacted_thinking":
                blocks.append({"type": "redacted_thinking", "data": signature})
            else:
                thought = "".join(thoughts)
                blocks.append({"type": "thinking", "thinking": thought, "signature": signature})
        return blocks

    def _usage(self, found: Any) -> None:
        """Counts are cumulative; the last word on each counts."""
        usage = loosely(_Usage, found)
        if usage is None:
            return
        old = self.reply.usage or Usage()
        details = usage.output_tokens_details or _Details()

        def last(new: int | None, known: int | None) -> int | None:
            return known if new is None else new

        self.reply.usage = Usage(
            last(usage.input_tokens, old.input_tokens),
            last(usage.output_tokens, old.output_tokens),
            last(details.thinking_tokens, old.reasoning_tokens),
            last(usage.cache_read_input_tokens, old.cached_tokens),
        )
