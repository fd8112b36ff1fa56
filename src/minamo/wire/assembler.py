"""Assembly of one reply, shared by the readers of all dialects: text, tool calls, overlaps.

It enforces the rules: calls are collected and come last, a call is complete or an error, nothing
follows an error, and a reply that ends without an end mark or a finish reason is an error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import chain, repeat
from typing import Any

from attrs import evolve
from msgspec.structs import replace

from minamo.core.checks import is_whole
from minamo.core.chunks import (
    CITATIONS_MAX,
    MESSAGE_CHARS_MAX,
    PLACES_MAX,
    Call,
    Chunk,
    Citation,
    DoneChunk,
    ErrorChunk,
    ErrorKind,
    FunctionCall,
    TextChunk,
    Usage,
    normal_finish_reason,
)
from minamo.core.contract import TEXT_MAX, split_text
from minamo.core.redact import shorten
from minamo.wire.conversation import Origin
from minamo.wire.files import ReplyFiles
from minamo.wire.json import is_joined, joined, loads_strict, measure, split_half
from minamo.wire.limits import ARGUMENT_DEPTH_MAX, REPLAY_CHARS_MAX, WireLimits
from minamo.wire.sse import CUT_OUT

# Characters remembered, and the shortest match treated as an overlap; both as specified.
WINDOW = 4_096
MINIMUM = 8


class OverlapRemoval:
    """Remover of overlaps: text that repeats the end of the text so far."""

    __slots__ = ("_tail",)

    def __init__(self) -> None:
        self._tail = ""

    def add(self, text: str) -> str:
        """Return *text* without its longest prefix that repeats the end of the earlier text."""
        fresh = text[self._overlap(text) :]
        self._tail = (self._tail + fresh)[-WINDOW:]
        return fresh

    def _overlap(self, text: str) -> int:
        # The longest prefix of `text` that is a suffix of the tail, by the failure function
        # of Knuth, Morris and Pratt: linear, where trying every length is quadratic.
        head = text[: len(self._tail)]
        # A separator that no text contains keeps a match from crossing the border.
        chars = [*head, None, *self._tail[len(self._tail) - len(head) :]]
        fail = [0] * len(chars)
        for i in range(1, len(chars)):
            k = fail[i - 1]
            while k and chars[i] != chars[k]:
                k = fail[k - 1]
            fail[i] = k + (chars[i] == chars[k])
        return fail[-1] if fail[-1] >= MINIMUM else 0


class ChunkOverlap:
    """Overlap removal for the chunks of one stream, live or replayed."""

    __slots__ = ("_removal",)

    def __init__(self) -> None:
        self._removal = OverlapRemoval()

    def take(self, chunk: Chunk) -> Chunk:
        """Return the chunk without its overlap; unchanged if the adapter has removed it already.

        A second pass could mistake a genuine repeat for an overlap.
        """
        if not isinstance(chunk, TextChunk) or chunk.overlap is not None:
            return chunk
        fresh = self._removal.add(chunk.content)
        return replace(chunk, content=fresh, overlap=len(chunk.content) - len(fresh))


class PartialToolCall:
    """One tool call whose pieces are still arriving."""

    __slots__ = ("arguments", "id", "name", "pieces", "replay")

    def __init__(self, name: str = "", call_id: str = "") -> None:
        self.name: str = name
        self.id: str = call_id
        self.pieces: list[str] = []
        self.arguments: Mapping[str, Any] = {}
        """Arguments received as an object; pieces of JSON, if any, replace them."""
        self.replay: dict[str, Any] = {}


class ToolCallAssembler:
    """The tool calls of one reply, in the order in which they began."""

    __slots__ = ("_chars", "_limits", "drafts", "problem")

    def __init__(self, limits: WireLimits) -> None:
        self._limits = limits
        self._chars = 0
        self.drafts: list[PartialToolCall] = []
        self.problem: str = ""
        """A short reason why the calls cannot be used; empty if they can."""

    def open(self, name: str = "", call_id: str = "") -> PartialToolCall:
        """Start a call and return it; beyond the limit, set `problem`."""
        draft = PartialToolCall(name, call_id)
        if len(self.drafts) == self._limits.calls_max:
            self.problem = "too many tool calls"
        else:
            self.drafts.append(draft)
        return draft

    def grow(self, draft: PartialToolCall, piece: str) -> None:
        """Add a piece of JSON to a call."""
        if piece and self.count(len(piece)):
            draft.pieces.append(piece)

    def give(self, draft: PartialToolCall, arguments: Any) -> None:
        """Set the arguments of a call that arrived complete, as a value."""
        if self.count(measure(arguments)[0]):
            draft.arguments = arguments

    def count(self, chars: int) -> bool:
        """Count argument characters; return False once they exceed the limit."""
        self._chars += chars
        if self._chars > self._limits.argument_chars_max:
            self.problem = "tool arguments too long"
            for draft in self.drafts:
                draft.pieces.clear()
        return not self.problem

    def finish(self, *, cut_off: bool = False) -> tuple[Call, ...]:
        """Return all calls; if one is incomplete, return none and set `problem`.

        A reply that was cut off at its length limit may have lost the arguments of its last call:
        missing arguments then mean an incomplete call, not `{}`.
        """
        if cut_off and any(not draft.pieces and not draft.arguments for draft in self.drafts):
            self.problem = self.problem or "cut off inside a tool call"
        calls = [self._finish(draft) for draft in self.drafts]
        return () if self.problem else tuple(calls)

    def _finish(self, draft: PartialToolCall) -> Call:
        arguments: Any = draft.arguments
        text = joined("".join(draft.pieces))
        if text.strip():
            try:
                arguments = loads_strict(text)
            except ValueError:
                self.problem = self.problem or "tool arguments are not JSON"
            if arguments is None:  # some servers send null for a call without arguments
                arguments = {}
        if not isinstance(arguments, Mapping):
            self.problem = self.problem or "tool arguments are not an object"
        elif measure(arguments)[1] > ARGUMENT_DEPTH_MAX:
            self.problem = self.problem or "tool arguments nest too deep"
        if not draft.name:
            self.problem = self.problem or "a tool call without a name"
        return Call(draft.name, arguments, draft.id, draft.replay)


# Longer ones are not shown anywhere, and Discord's own limit for a link is shorter.
_URL_CHARS_MAX = 2_048


def is_link(url: str) -> bool:
    """Return whether *url* can be shown as a link: http, plain characters, of sane length."""
    if not url.startswith(("https://", "http://")) or len(url) > _URL_CHARS_MAX:
        return False
    return url.isprintable() and not any(mark in url for mark in " <>")


# Sign of life while there is no text to show; restarts the timeouts.
_ALIVE = TextChunk()


class ReplyAssembler:
    """Collector of what a dialect's reader finds; decides which chunks the stream receives."""

    __slots__ = (
        "_citations",
        "_files",
        "_half",
        "_keep_alive",
        "_origin",
        "_overlap",
        "_pauses_left",
        "_secrets",
        "_thought_half",
        "calls",
        "chars",
        "complete",
        "continuation",
        "ended",
        "finish_reason",
        "model",
        "provider",
        "replay",
        "skipped",
        "usage",
    )  # fmt: skip

    def __init__(
        self,
        limits: WireLimits,
        *,
        secrets: Iterable[str] = (),
        overlap_removal: bool = False,
        keep_alive: bool = False,
        origin: Origin | None = None,
        pauses_max: int = 0,
    ) -> None:
        self._origin = origin
        self._secrets = tuple(secrets)
        self._pauses_left = pauses_max
        self.continuation: Callable[[bytes], bytes] | None = None
        """Makes the body that continues a paused reply of the body it answers; None if none."""
        self.chars: int = 0
        """Characters of text so far."""
        self._keep_alive = keep_alive
        self._files: ReplyFiles | None = None  # few replies have any
        self._half = self._thought_half = ""  # of a surrogate pair, until the other half comes
        self._overlap = OverlapRemoval() if overlap_removal else None
        self.calls: ToolCallAssembler = ToolCallAssembler(limits)
        self.ended: bool = False
        self.complete: bool = False
        """Whether a finish reason arrived: the reply is complete even without an end mark."""
        self.finish_reason: str = ""
        """The provider's own word; the chunks have it in the one form too."""
        self.skipped: int = 0
        """Events of unknown kinds."""
        self._citations: dict[str, Citation] = {}
        self.usage: Usage | None = None
        self.model: str = ""
        self.provider: str = ""
        self.replay: dict[str, Any] = {}

    def say(self, text: str, thought: str = "") -> list[Chunk]:
        """Return the chunk for some text, a piece of a thought, or both."""
        if text and (self._half or not text.isascii()):
            text, self._half = split_half(self._half + text)
        if text and self._overlap is not None:
            fresh = self._overlap.add(text)
            removed = len(text) - len(fresh)
            self.chars += len(fresh)
            return list(split_text(TextChunk(fresh, self._thought(thought), overlap=removed)))
        self.chars += len(text)
        chunk = TextChunk(text, self._thought(thought)) if thought else TextChunk(text)
        return [chunk] if len(text) <= TEXT_MAX else list(split_text(chunk))

    def say_all(self, texts: list[str]) -> list[Chunk]:
        """Return the chunks of some texts: the same as of `say` with each of them."""
        whole = "".join(texts)
        is_short = len(whole) <= TEXT_MAX or max(map(len, texts)) <= TEXT_MAX
        is_plain = whole.isascii() or is_joined(whole)
        if is_short and is_plain and not self._half and self._overlap is None:
            self.chars += len(whole)
            return list(map(TextChunk, texts))
        return [chunk for text in texts for chunk in self.say(text)]

    def _thought(self, piece: str) -> tuple[str, ...]:
        thought = ""
        if piece:
            thought, self._thought_half = split_half(self._thought_half + piece)
        return (thought,) if thought else ()

    def attach(self, content: object, media_type: object) -> list[Chunk]:
        """Return the chunk of a file in base64, or an empty one for a repeat or what is no file."""
        self._files = self._files or ReplyFiles()
        file = self._files.take(content, media_type)
        return [_ALIVE if file is None else file]

    def hear(self, content: object, media_type: str = "") -> list[Chunk]:
        """Keep a piece of speech in base64, and return a sign of life."""
        if content == CUT_OUT:
            return self.attach(content, "audio/wav")
        self._files = self._files or ReplyFiles()
        self._files.hear(content, media_type)
        return [_ALIVE]

    def work(self) -> list[Chunk]:
        """Return an empty chunk as a sign of life while a call grows, or its error."""
        if self.calls.problem:
            return self.fail("model_error", self.calls.problem, retryable=True)
        return [_ALIVE]

    def alive(self) -> list[Chunk]:
        """Return an empty chunk for a keep-alive, if those restart the timeouts."""
        return [_ALIVE] if self._keep_alive else []

    def note(self, model: object, provider: object = "") -> None:
        """Record the names of the model and provider; values that are not text are ignored."""
        if isinstance(model, str) and model:
            self.model = model
        if isinstance(provider, str) and provider:
            self.provider = provider

    def close(self) -> list[Chunk]:
        """Return the last chunks of a reply that ended normally."""
        reason = normal_finish_reason(self.finish_reason)
        calls = self._with_replay(self.calls.finish(cut_off=reason == "length"))
        if self.calls.problem:
            return self.fail("model_error", self.calls.problem, retryable=True)
        out = self._rest()
        self.ended = True
        if self._files is not None and (speech := self._files.speech()) is not None:
            out.append(speech)
        # A word that is known holds nothing to remove.
        raw = self._clean(self.finish_reason) if reason == "other" else self.finish_reason
        citations = tuple(self._citations.values())
        if calls:
            # Some dialects finish a reply with calls as they finish any other.
            reason = "tool_calls" if reason == "stop" else reason
            out.append(
                FunctionCall(
                    calls,
                    usage=self.usage,
                    finish_reason=reason,
                    raw_finish_reason=raw,
                    citations=citations,
                    skipped=self.skipped,
                )
            )
        out.append(
            DoneChunk(
                reason,
                self.usage,
                self._clean(self.model),
                self._clean(self.provider),
                replay=self._stamped(self.replay),
                raw_finish_reason=raw,
                citations=citations,
                skipped=self.skipped,
            )
        )
        return out

    def cite(self, url: object, title: object = "", start: Any = None, end: Any = None) -> None:
        """Record a source, and where in the reply it is cited; what is no link is ignored."""
        if not isinstance(url, str) or not is_link(url):
            return
        if len(self._citations) == CITATIONS_MAX and url not in self._citations:
            return
        known = self._citations.get(url, Citation(url))
        name = " ".join(title.split()) if isinstance(title, str) else ""
        places = known.places
        if is_whole(start, 0) and is_whole(end, start) and (start, end) not in places:
            places = (*places, (start, end))[:PLACES_MAX]
        self._citations[url] = Citation(url, known.title or self._clean(name), places)

    def cite_passage(self, start: int, sources: Iterable[tuple[object, object]]) -> list[Chunk]:
        """Record the sources of the text since *start*, and return them as a chunk."""
        links = {url: title for url, title in sources if isinstance(url, str)}
        end = self.chars if self.chars > start else None
        for url, title in links.items():
            self.cite(url, title, start, end)
        found = tuple(self._citations[url] for url in links if url in self._citations)
        return [TextChunk(citations=found)] if found and end else []

    def pause(self, continuation: Callable[[bytes], bytes]) -> bool:
        """End a part of the reply if another may follow; *continuation* makes the next body."""
        if not self._pauses_left:
            return False
        self._pauses_left -= 1
        self.continuation = continuation
        self.ended = True
        return True

    def resume(self) -> None:
        """Expect the next part of a paused reply."""
        self.continuation = None
        self.ended = self.complete = False
        self.finish_reason = ""

    def skip(self) -> list[Chunk]:
        """Count an event of a kind that the reader does not know; return no chunks."""
        self.skipped += 1
        return []

    def unread(self, data: bytes) -> list[Chunk]:
        """Fail because of an undecodable frame; a blank one is ignored."""
        if not data.strip():
            return []
        # Before any text it is likely to be a passing fault, such as a proxy's page.
        first = not self.chars
        return self.fail("model_error", "a frame that is not what it should be", retryable=first)

    def lacks(self, field: str) -> list[Chunk]:
        """Fail because a frame lacks a required field, so that its content is lost."""
        return self.fail("model_error", f"a frame that lacks {field}", retryable=True)

    def cut(self) -> list[Chunk]:
        """Fail because the bytes ended before the reply did."""
        return self.fail("api_error", "the stream ended in the middle of the reply", retryable=True)

    def fail(self, kind: ErrorKind, message: str, *, retryable: bool = False) -> list[Chunk]:
        """End the reply with an error of this kind and message."""
        return self.refuse(ErrorChunk(kind, message, retryable))

    def refuse(self, error: ErrorChunk) -> list[Chunk]:
        """End the reply with *error*; text so far is kept, calls are dropped."""
        out = self._rest()
        self.ended = True
        message = self._clean(error.message) or "the provider reported an error"
        out.append(evolve(error, message=message))
        return out

    def _rest(self) -> list[Chunk]:
        text, thought = self._half, self._thought_half
        self._half = self._thought_half = ""
        return [TextChunk(text, (thought,) if thought else ())] if text or thought else []

    def _with_replay(self, calls: tuple[Call, ...]) -> tuple[Call, ...]:
        """Attach the reply's replay data to its first call, where the history expects it."""
        extras = chain([self.replay], repeat({}))
        return tuple(
            evolve(call, replay=self._stamped({**extra, **call.replay}))
            for call, extra in zip(calls, extras, strict=False)
        )

    def _stamped(self, replay: Mapping[str, Any]) -> Mapping[str, Any]:
        return replay if self._origin is None else self._origin.stamp(replay)

    def _clean(self, words: str) -> str:
        return shorten(words, MESSAGE_CHARS_MAX, self._secrets) if words else ""


class BoundedText:
    """Text kept for the next request: all of it, or none if it exceeds the limit."""

    __slots__ = ("_chars", "_parts")

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._chars = 0

    def add(self, text: str) -> bool:
        """Keep a piece; past the limit discard all pieces and return False."""
        self._chars += len(text)
        if self._chars > REPLAY_CHARS_MAX:
            self._parts.clear()
            return False
        self._parts.append(text)
        return True

    def text(self) -> str:
        """Return the whole text, or an empty string if it was discarded."""
        return "".join(self._parts)
