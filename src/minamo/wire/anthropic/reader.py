"""Reader for Anthropic's Messages API.

Blocks are identified by their index.  Only text, thinking and `tool_use` are read; server tools,
their results, compaction and unknown blocks are neither text nor calls.  They are kept, because
a paused reply is continued by sending all of its blocks back.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from typing import Any, Literal

import msgspec

from minamo.core.chunks import CITATIONS_MAX, Chunk, Usage
from minamo.wire.anthropic.blocks import KeptBlocks
from minamo.wire.anthropic.request import OWN_BLOCKS, continued
from minamo.wire.assembler import PartialToolCall, ReplyAssembler
from minamo.wire.errors import from_object
from minamo.wire.frames import Reader
from minamo.wire.json import BROKEN, convert_optional, count_at, decode, total
from minamo.wire.options import as_json
from minamo.wire.sse import SseEvent


class _Block(msgspec.Struct, gc=False):
    type: str = ""
    text: str | None = None
    thinking: str | None = None
    id: str | None = None
    name: str | None = None
    input: Any = None
    citations: Any = None


class _Citation(msgspec.Struct, gc=False):
    url: str | None = None
    source: str | None = None
    """The address of a search result that the caller provided."""
    title: str | None = None


class _Delta(msgspec.Struct, gc=False):
    type: str = ""
    text: str | None = None
    thinking: str | None = None
    signature: str | None = None
    partial_json: str | None = None
    citation: Any = None
    stop_reason: str | None = None
    stop_details: Any = None
    container: Any = None


class _Container(msgspec.Struct, gc=False):
    """The sandbox of a reply that ran code on the provider's side."""

    id: str


class _Message(msgspec.Struct, gc=False):
    id: str | None = None
    model: Any = None
    content: list[Any] | None = None
    container: Any = None
    stop_reason: str | None = None
    stop_details: Any = None
    usage: Any = None


class _Frame(msgspec.Struct, gc=False):
    type: str = ""
    index: int | None = None
    message: Any = None
    content_block: Any = None
    delta: _Delta | None = None
    usage: Any = None
    error: Any = None


class _TextDelta(msgspec.Struct, gc=False):
    type: Literal["text_delta"]
    text: str


class _TextFrame(msgspec.Struct, gc=False):
    """A piece of text, as nearly every frame is one: decoded into no more than is needed."""

    type: Literal["content_block_delta"]
    index: int
    delta: _TextDelta


_FRAME = msgspec.json.Decoder(_Frame)
_decode_text = msgspec.json.Decoder(_TextFrame).decode
_READ = ("content_block_start", "content_block_delta", "message_start", "message_delta",
         "message_stop", "error")  # fmt: skip
_BLOCK_TYPE = re.compile(rb'"content_block"\s*:\s*\{\s*"type"\s*:\s*"([^"\\]+)"')
_QUIET = ("ping", "content_block_stop")
# Replies with citations and server tools have a few dozen.
_BLOCKS_MAX = 4_096
# Blocks without anything to show: compaction is a summary of the history, an upload is a file.
_UNSHOWN = ("redacted_thinking", "compaction", "container_upload")


class AnthropicReader(Reader):
    """The reader of one reply."""

    __slots__ = ("_before", "_blocks", "_container", "_counts", "_drafts", "_id", "_in_text",
                 "_kinds", "_passages", "_started", "reply")  # fmt: skip

    def __init__(self, reply: ReplyAssembler) -> None:
        self.reply: ReplyAssembler = reply
        self._started = False
        self._id: str | None = None
        self._kinds: dict[int, str] = {}
        self._in_text: int | None = None  # the last block, if it is text
        self._drafts: dict[int, PartialToolCall] = {}
        self._blocks = KeptBlocks()
        self._passages: dict[int, tuple[int, list[Any]]] = {}  # start and sources of open blocks
        self._counts: dict[str, int | None] = {}
        self._before = Usage()  # what the parts of a reply before its last pause took
        self._container = ""

    def pieces(self, events: Sequence[SseEvent]) -> list[str]:
        """Take the first events as far as each is nothing but a piece of text; return the texts."""
        texts: list[str] = []
        if self._in_text is None:
            return texts
        with suppress(*BROKEN):
            for event in events:
                frame = _decode_text(event.data)
                if frame.index != self._in_text or not frame.delta.text:
                    break
                texts.append(frame.delta.text)
        if texts:
            self._blocks.grow(self._in_text, "text", texts)
        return texts

    def feed(self, event: SseEvent) -> list[Chunk]:
        """Return the chunks of one event."""
        frame = decode(_FRAME, event.data)
        if frame is None:
            return self.reply.alive() if event.name == b"ping" else self.reply.unread(event.data)
        # The common types first; any other type, such as a ping, is skipped.
        kind = frame.type or event.name.decode("utf-8", "replace")
        if kind == "content_block_delta":
            if frame.delta is None or frame.index is None:
                return self.reply.lacks("its delta" if frame.delta is None else "its index")
            return self._grow(frame.index, frame.delta)
        if kind == "content_block_start":
            if frame.content_block is None or frame.index is None:
                return self.reply.lacks("its block" if frame.content_block is None else "its index")
            return self._open(frame.index, frame.content_block)
        if kind == "message_start":
            return self._start(frame.message)
        if kind == "message_delta":
            self._usage(frame.usage)
            delta = frame.delta or _Delta()
            self._note_container(delta.container)
            return self._stopped(delta.stop_reason, delta.stop_details)
        if kind == "message_stop":
            return self.end(marked=True)
        if kind == "error" or frame.error is not None:
            return self.reply.refuse(from_object({"error": frame.error}))
        if kind in _QUIET:
            return self.reply.alive() if kind == "ping" else self._close_passages()
        return self.reply.skip() if kind else self.reply.lacks("its type")

    def end(self, *, marked: bool = False) -> list[Chunk]:
        """Return the last chunks, at the end mark or at the end of the bytes."""
        if not marked and not self.reply.complete:
            return self.reply.cut()
        out = self._close_passages()
        self._sum_usage()
        if self.reply.finish_reason == "pause_turn" and self._pause():
            return out
        self.reply.replay.update(self._blocks.replay())
        return out + self.reply.close()

    def _pause(self) -> bool:
        """Prepare for the next part of the reply; return False if there cannot be one."""
        blocks = self._blocks.whole()
        again = partial(continued, blocks=blocks, container=self._container)
        if not blocks or self._drafts or not self.reply.pause(again):
            return False
        self._started = False
        self._kinds.clear()
        self._in_text = None
        self._blocks.pause()
        self._before, self._counts = self.reply.usage or Usage(), {}
        return True

    def whole(self, found: Any) -> list[bytes]:
        """Return the events of a reply sent whole."""
        if not isinstance(found, dict) or found.get("type") != "message":
            return []
        event = {"type": "message_start", "message": found}
        return [as_json(event), b'{"type":"message_stop"}']

    def skips(self, kind: str, head: bytes) -> bool:
        """Return whether an event that begins with *head* and is too long is not missed."""
        block = _BLOCK_TYPE.search(head)
        if kind == "content_block_start" and block is not None:
            self._blocks.spoil()
            return block[1].decode("utf-8", "replace") not in OWN_BLOCKS
        return kind != "" and kind not in _READ

    def _start(self, found: Any) -> list[Chunk]:
        message = convert_optional(_Message, found)
        if message is None:
            return self.reply.fail("model_error", "a message that is not what it should be")
        if self._started:
            # The same message again is a repeat; another one would mix two replies.
            if message.id == self._id:
                return []
            return self.reply.fail("api_error", "a second reply inside the first", retryable=True)
        self._started = True
        self._id = message.id
        self.reply.note(message.model)
        self._note_container(message.container)
        self._usage(message.usage)
        out: list[Chunk] = []
        for number, block in enumerate(message.content or ()):
            out += self._open(number, block)
            if self.reply.ended:
                return out
        return out + self._stopped(message.stop_reason, message.stop_details)

    def _note_container(self, found: Any) -> None:
        container = convert_optional(_Container, found)
        if container is not None:
            self._container = container.id

    def _stopped(self, reason: str | None, details: Any) -> list[Chunk]:
        if not reason:
            return []
        self.reply.finish_reason = reason
        self.reply.complete = True
        if reason != "refusal":
            return []
        words = details.get("explanation") if isinstance(details, dict) else None
        return self.reply.fail("content_blocked", words if isinstance(words, str) else "refused")

    def _open(self, index: int, found: Any) -> list[Chunk]:
        if len(self._kinds) == _BLOCKS_MAX:
            return self.reply.fail("model_error", "too many blocks in one reply")
        block = convert_optional(_Block, found)
        if block is None:
            return self.reply.fail("model_error", "a block that is not what it should be")
        if not block.type:
            return self.reply.lacks("the type of its block")
        out = self._close_passages()
        self._kinds[index] = block.type
        self._in_text = index if block.type == "text" else None
        self._blocks.open(index, found, len(self.reply.calls.drafts))
        if block.type == "tool_use":
            draft = self.reply.calls.open(block.name or "", block.id or "")
            self._drafts[index] = draft
            if block.input is not None:
                self.reply.calls.give(draft, block.input)
        elif block.type == "thinking":
            return out + (self.reply.say("", block.thinking) if block.thinking else [])
        elif block.type == "text":
            sources = block.citations if isinstance(block.citations, list) else []
            self._passages[index] = self.reply.chars, sources[:CITATIONS_MAX]
            return out + (self.reply.say(block.text) if block.text else self.reply.work())
        elif block.type not in _UNSHOWN and not block.type.endswith(("_tool_use", "_result")):
            self.reply.skip()
        return out + self.reply.work()

    def _grow(self, index: int, delta: _Delta) -> list[Chunk]:
        # A block that was not opened gets the type of its delta.
        kind = self._kinds.get(index)
        if delta.type == "text_delta" and kind in ("text", None) and delta.text:
            self._blocks.grow(index, "text", [delta.text])
            return self.reply.say(delta.text)
        if delta.type == "thinking_delta" and kind in ("thinking", None) and delta.thinking:
            self._blocks.grow(index, "thinking", [delta.thinking])
            return self.reply.say("", delta.thinking)
        missing = _missing(delta, kind)
        if missing:
            return self.reply.lacks(missing)
        if delta.type == "signature_delta":
            self._blocks.grow(index, "signature", [delta.signature or ""])
        elif delta.type == "citations_delta":
            self._blocks.cite(index, delta.citation)
            sources = self._passages.setdefault(index, (self.reply.chars, []))[1]
            if len(sources) < CITATIONS_MAX:
                sources.append(delta.citation)
        elif delta.type == "input_json_delta":
            if index in self._drafts:
                self.reply.calls.grow(self._drafts[index], delta.partial_json or "")
            else:
                self._blocks.grow(index, "input", [delta.partial_json or ""])
        elif delta.type not in _DELTAS:
            self._blocks.spoil()
            self.reply.skip()
        return self.reply.work()

    def _close_passages(self) -> list[Chunk]:
        """Return the sources of the blocks that end here: each block's belong to its text."""
        passages, self._passages = self._passages, {}
        out: list[Chunk] = []
        for start, found in passages.values():
            sources = [convert_optional(_Citation, source) or _Citation() for source in found]
            pairs = [(source.url or source.source, source.title) for source in sources]
            out += self.reply.cite_passage(start, pairs)
        return out

    def _usage(self, found: Any) -> None:
        """Update the token counts; they are cumulative, so the last value of each is used."""
        if not isinstance(found, dict):
            return
        counts = ((name, count_at(found, name)) for name in _COUNTS)
        self._counts.update((name, count) for name, count in counts if count is not None)

    def _sum_usage(self) -> None:
        if known := self._counts:
            self.reply.usage = self._before + Usage(
                total(*(known.get(name) for name in _INPUT)),
                known.get("output_tokens"),
                known.get("output_tokens_details.thinking_tokens"),
                known.get("cache_read_input_tokens"),
            )


# All input: what was new, and what was read from the cache or written to it.
_INPUT = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
_COUNTS = (*_INPUT, "output_tokens", "output_tokens_details.thinking_tokens")


# Block type that each delta belongs to, and the field with its content; empty if it is not read.
_DELTAS = {
    "text_delta": ("text", "text"),
    "thinking_delta": ("thinking", "thinking"),
    "input_json_delta": ("tool_use", "partial_json"),
    "signature_delta": ("", ""),
    "citations_delta": ("", ""),
}


def _missing(delta: _Delta, kind: str | None) -> str:
    """Return what a delta lacks in a block of *kind*; "" if nothing, or if the block is not read.

    A delta in a block of another type that is read would be lost, so it lacks its block.
    """
    if not delta.type:
        return "the type of its delta"
    home, field = _DELTAS.get(delta.type, ("", ""))
    if not home or kind not in (home, None, "text", "thinking", "tool_use"):
        return ""
    if kind != home and (kind is not None or home == "tool_use"):
        return "a block for its delta"
    return "" if getattr(delta, field) is not None else f"the {field} of its delta"
