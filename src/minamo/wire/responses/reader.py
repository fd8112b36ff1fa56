"""Reader for OpenAI's Responses API, also as other servers speak it.

Events are typed and name their output item.  Text, refusals, reasoning and tool calls are read;
the items of hosted tools, such as a web search, only prove that the model is at work.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Literal

import msgspec

from minamo.core.chunks import Chunk, Usage
from minamo.wire.assembler import BoundedText, PartialToolCall, ReplyAssembler
from minamo.wire.errors import from_object
from minamo.wire.frames import Reader
from minamo.wire.json import BROKEN, convert_optional, count_at, decode, size_of
from minamo.wire.limits import REPLAY_CHARS_MAX
from minamo.wire.options import as_json
from minamo.wire.sse import SseEvent


class _Part(msgspec.Struct, gc=False):
    """A part of a message, or of a reasoning item."""

    type: str = ""
    text: str | None = None
    refusal: str | None = None
    annotations: Any = None


class _Item(msgspec.Struct, gc=False):
    """An output item."""

    type: str = ""
    id: str | None = None
    call_id: str | None = None
    name: str | None = None
    arguments: str | None = None
    input: str | None = None
    content: list[_Part] | None = None
    phase: str | None = None
    summary: Any = None
    encrypted_content: str | None = None
    action: Any = None
    result: Any = None
    output_format: str | None = None


class _Annotation(msgspec.Struct, gc=False):
    url: str | None = None
    title: str | None = None
    start_index: int | None = None
    end_index: int | None = None


class _Incomplete(msgspec.Struct, gc=False):
    reason: str | None = None


class _Response(msgspec.Struct, gc=False):
    model: Any = None
    status: Any = None
    output: list[_Item] | None = None
    incomplete_details: _Incomplete | None = None
    error: Any = None
    usage: Any = None


class _Frame(msgspec.Struct, gc=False):
    type: str = ""
    output_index: int | None = None
    content_index: int | None = None
    summary_index: int | None = None
    item: _Item | None = None
    delta: Any = None
    arguments: str | None = None
    input: str | None = None
    annotation: Any = None
    response: Any = None
    error: Any = None


class _TextFrame(msgspec.Struct, gc=False):
    """A piece of text, as nearly every frame is one: decoded into no more than is needed."""

    type: Literal["response.output_text.delta"]
    delta: str
    output_index: int
    content_index: int = 0


_FRAME = msgspec.json.Decoder(_Frame)
_decode_text = msgspec.json.Decoder(_TextFrame).decode
_ANY = msgspec.json.Decoder(Any)
# A reply with many searches has a few dozen.
_ITEMS_MAX = 4_096

_TEXT, _TEXT_NAME = "response.output_text.delta", b"response.output_text.delta"
_THOUGHTS = ("response.reasoning_summary_text.delta", "response.reasoning_text.delta")
_ARGUMENTS = ("response.function_call_arguments", "response.custom_tool_call_input")
_CALLS = ("function_call", "custom_tool_call")
_LAST = ("response.completed", "response.incomplete", "response.failed")
_READ = frozenset((
    _TEXT, *_THOUGHTS, *_LAST, *(f"{kind}.delta" for kind in _ARGUMENTS),
    *(f"{kind}.done" for kind in _ARGUMENTS),
    "response.output_item.added", "response.output_item.done", "response.refusal.delta",
    "response.reasoning_summary_part.added", "response.output_text.annotation.added", "error",
))  # fmt: skip
# Events without content of their own: each is a sign of life at most.
_QUIET = frozenset((
    "response.created", "response.in_progress", "response.queued", "response.content_part.added",
    "response.content_part.done", "response.output_text.done", "response.refusal.done",
    "response.reasoning_summary_part.done", "response.reasoning_summary_text.done",
    "response.reasoning_text.done", "keepalive",
))  # fmt: skip


class ResponsesReader(Reader):
    """The reader of one reply."""

    file_begins: re.Pattern[bytes] | None = re.compile(rb'"result"\s*:\s*"\Z')
    __slots__ = ("_drafts", "_kept", "_order", "_parts", "_refusal", "_replayable",
                 "_spoken", "reply")  # fmt: skip

    def __init__(self, reply: ReplyAssembler) -> None:
        self.reply: ReplyAssembler = reply
        self._drafts: dict[int, PartialToolCall] = {}
        self._spoken: set[int] = set()  # output items whose text arrived in pieces
        self._parts: dict[tuple[int, int], int] = {}  # where in the reply a part of text begins
        self._refusal = BoundedText()
        self._order: dict[int, dict[str, Any]] = {}  # what the next request repeats, by its index
        self._kept = 0
        self._replayable = True

    def pieces(self, events: Sequence[SseEvent]) -> list[str]:
        """Take the first events as far as each is nothing but a piece of text; return the texts."""
        texts: list[str] = []
        with suppress(*BROKEN):
            for event in events:
                if event.name != _TEXT_NAME:
                    break
                frame = _decode_text(event.data)
                if (frame.output_index, frame.content_index) not in self._parts:
                    break
                texts.append(frame.delta)
        return texts

    def feed(self, event: SseEvent) -> list[Chunk]:
        """Return the chunks of one event."""
        if event.data[:6] == b"[DONE]":
            return self.end()
        frame = decode(_FRAME, event.data)
        if frame is None:
            return self.reply.unread(event.data)
        # The common types first.
        kind = frame.type or event.name.decode("utf-8", "replace")
        if kind == _TEXT:
            return self._text(frame)
        if kind in _THOUGHTS:
            return self._thought(frame.delta)
        if kind.startswith(_ARGUMENTS):
            return self._arguments(frame, complete=kind.endswith(".done"))
        if kind in _LAST:
            return self._finish(kind, frame.response)
        if kind == "error" or frame.error is not None:
            found = decode(_ANY, event.data) if frame.error is None else frame.error
            return self.reply.refuse(from_object({"error": found}))
        return self._item_event(kind, frame)

    def end(self) -> list[Chunk]:
        """Return the last chunks at the end of the bytes: only a last event completes a reply."""
        return self.reply.cut()

    def whole(self, found: Any) -> list[bytes]:
        """Return the event of a reply sent whole: the last one of a stream holds all of it."""
        if not isinstance(found, dict) or found.get("object") != "response":
            return []
        status = found.get("status")
        kind = status if status in ("incomplete", "failed") else "completed"
        return [as_json({"type": f"response.{kind}", "response": found})]

    def skips(self, kind: str, head: bytes) -> bool:  # noqa: ARG002 - the form of the method
        """Return whether an event that is too long is not missed: pictures, and repeated text."""
        return kind != "" and kind not in _READ

    def _item_event(self, kind: str, frame: _Frame) -> list[Chunk]:
        if kind in ("response.output_item.added", "response.output_item.done"):
            if frame.item is None or frame.output_index is None:
                return self.reply.lacks("its item" if frame.item is None else "its index")
            if kind.endswith("added"):
                return self._open(frame.output_index, frame.item)
            return self._close(frame.output_index, frame.item)
        if kind == "response.refusal.delta":
            self._refusal.add(frame.delta if isinstance(frame.delta, str) else "")
            return self.reply.work()
        if kind == "response.reasoning_summary_part.added":
            return self.reply.say("", "\n\n") if frame.summary_index else self.reply.work()
        if kind == "response.output_text.annotation.added":
            start = self._parts.get((frame.output_index or 0, frame.content_index or 0))
            self._cite(frame.annotation, start)
            return self.reply.work()
        if kind in _QUIET:
            note = convert_optional(_Response, frame.response)
            if note is not None:
                self.reply.note(note.model)
            return self.reply.alive() if kind == "keepalive" else []
        # Hosted tools at work (searches, code, pictures): their progress is a sign of life.
        if kind.startswith("response.") and "_call" in kind:
            return self.reply.work()
        return self.reply.skip() if kind else self.reply.lacks("its type")

    def _text(self, frame: _Frame) -> list[Chunk]:
        index = frame.output_index
        if not isinstance(frame.delta, str) or index is None:
            return self.reply.lacks("its delta" if index is not None else "its index")
        part = (index, frame.content_index or 0)
        if part not in self._parts:
            self._spoken.add(index)
            self._parts[part] = self.reply.chars
        return self.reply.say(frame.delta)

    def _thought(self, delta: Any) -> list[Chunk]:
        if not isinstance(delta, str):
            return self.reply.lacks("its delta")
        return self.reply.say("", delta) if delta else []

    def _open(self, index: int, item: _Item) -> list[Chunk]:
        if len(self._order) == _ITEMS_MAX:
            return self.reply.fail("model_error", "too many items in one reply")
        if not item.type:
            return self.reply.lacks("the type of its item")
        self._order[index] = {}
        if item.type in _CALLS:
            self._call(index, item)
        return self.reply.work()

    def _call(self, index: int, item: _Item) -> PartialToolCall:
        draft = self._drafts.get(index)
        if draft is None:
            self._order[index] = {"call": len(self.reply.calls.drafts)}
            draft = self.reply.calls.open()
            self._drafts[index] = draft
        draft.name = draft.name or item.name or ""
        draft.id = draft.id or item.call_id or item.id or ""
        if item.type == "custom_tool_call":
            draft.replay["custom"] = True
        return draft

    def _arguments(self, frame: _Frame, *, complete: bool) -> list[Chunk]:
        draft = self._drafts.get(-1 if frame.output_index is None else frame.output_index)
        if draft is None:
            return self.reply.lacks("the tool call of its arguments")
        whole = frame.arguments if frame.arguments is not None else frame.input
        piece = whole if complete else frame.delta
        if not isinstance(piece, str):
            return self.reply.lacks("its arguments" if complete else "its delta")
        if not complete or not draft.pieces:
            self.reply.calls.grow(draft, piece)
        return self.reply.work()

    def _close(self, index: int, item: _Item) -> list[Chunk]:
        """Read a complete item: whatever of it did not arrive in pieces."""
        if not item.type:
            return self.reply.lacks("the type of its item")
        self._order.setdefault(index, {})
        if item.type in _CALLS:
            draft = self._call(index, item)
            if not draft.pieces:
                whole = item.arguments if item.type == "function_call" else item.input
                if whole is None:
                    return self.reply.lacks("the arguments of its tool call")
                self.reply.calls.grow(draft, whole)
            if item.type == "custom_tool_call":  # its input is text, not JSON
                draft.arguments = {"input": "".join(draft.pieces)}
                draft.pieces.clear()
        elif item.type == "message":
            return self._message(index, item)
        elif item.type in ("reasoning", "web_search_call"):
            self._keep(index, item)
        else:
            # The service wants reasoning back together with what it led to, which is not kept.
            self._replayable = False
            if item.type == "image_generation_call":
                return self.reply.attach(item.result, f"image/{item.output_format or 'png'}")
            if not item.type.endswith(("_call", "_output")):
                self.reply.skip()
        return self.reply.work()

    def _message(self, index: int, item: _Item) -> list[Chunk]:
        out: list[Chunk] = []
        parts = item.content or ()
        unheard = index not in self._spoken
        if unheard and (item.content is None or any(map(_lacks_text, parts))):
            return self.reply.lacks("the content of its message")
        for number, part in enumerate(parts):
            start = self._parts.get((index, number), self.reply.chars)
            if part.text and unheard:
                out += self.reply.say(part.text)
            for annotation in part.annotations if isinstance(part.annotations, list) else ():
                self._cite(annotation, start)
            if part.refusal and not self._refusal.text():
                self._refusal.add(part.refusal)
        text = "".join(part.text or "" for part in parts)
        self._kept += len(text)
        self._order[index] = {"type": "message", "text": text, "phase": item.phase}
        return out or self.reply.work()

    def _cite(self, found: Any, part_start: int | None) -> None:
        note = convert_optional(_Annotation, found)
        if note is None or note.start_index is None or note.end_index is None:
            self.reply.cite(note and note.url, note and note.title)
        else:
            offset = part_start or 0
            spot = (offset + note.start_index, offset + note.end_index)
            self.reply.cite(note.url, note.title, *spot)

    def _keep(self, index: int, item: _Item) -> None:
        if item.type == "reasoning":
            kept = {"summary": item.summary or [], "encrypted_content": item.encrypted_content}
            # Without its encrypted content the service would look the item up, and stores none.
            self._replayable = self._replayable and bool(item.encrypted_content)
        else:
            kept = {"action": item.action}
        self._kept += size_of(kept)
        self._order[index] = {"type": item.type, "id": item.id, **kept}

    def _finish(self, kind: str, found: Any) -> list[Chunk]:
        reply = self.reply
        response = convert_optional(_Response, found)
        if response is None:
            return reply.lacks("its response")
        reply.note(response.model)
        reply.usage = _usage(response.usage)
        if response.status in ("failed", "incomplete"):  # some servers end all replies alike
            kind = f"response.{response.status}"
        if kind == "response.failed":
            return reply.refuse(from_object({"error": response.error}))
        out: list[Chunk] = []
        if not self._order:  # nothing was streamed: the whole reply is here
            if response.output is None:
                return reply.lacks("its output")
            for index, item in enumerate(response.output):
                out += self._close(index, item)
                if reply.ended:
                    return out
        reply.finish_reason = "completed"
        if kind == "response.incomplete":
            why = response.incomplete_details
            reply.finish_reason = (why.reason if why else None) or "incomplete"
        refusal = self._refusal.text()
        if refusal or reply.finish_reason == "content_filter":
            return out + reply.fail("content_blocked", refusal or "stopped by a content filter")
        self._replay()
        return out + reply.close()

    def _replay(self) -> None:
        """Store what the next request must repeat: all of it in its order, or nothing."""
        items = [item for _, item in sorted(self._order.items()) if item]
        if not self._replayable or self._kept > REPLAY_CHARS_MAX:
            return
        if any(item.get("type") == "reasoning" or item.get("phase") for item in items):
            self.reply.replay["output"] = items


def _lacks_text(part: _Part) -> bool:
    return part.text is None and part.type in ("", "output_text")


def _usage(found: Any) -> Usage | None:
    if not isinstance(found, dict):
        return None
    return Usage(*(count_at(found, path) for path in _COUNTS))


_COUNTS = ("input_tokens", "output_tokens", "output_tokens_details.reasoning_tokens",
           "input_tokens_details.cached_tokens")  # fmt: skip
