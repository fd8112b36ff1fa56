"""What the readers of all dialects share: one reply on its way to its end.

The laws live here: calls are gathered and come last, a call is whole or an error, nothing
follows an error, and a reply that just stops is an error.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from attrs import evolve

from minamo.core.chunks import (
    MESSAGE_CHARS_MAX,
    Call,
    Chunk,
    DoneChunk,
    ErrorChunk,
    ErrorKind,
    FunctionCall,
    TextChunk,
    Usage,
    is_cut_off,
)
from minamo.core.redact import shorten
from minamo.wire.json import loads_strict, measure
from minamo.wire.limits import ARGUMENT_DEPTH_MAX, REPLAY_CHARS_MAX, WireLimits
from minamo.wire.surrogates import Joiner, joined

# What the seeds' adapter remembers, and the least it takes for an overlap.
WINDOW = 4_096
MINIMUM = 8


class OverlapRemoval:
    """Remembers the end of the text so far."""

    __slots__ = ("_tail",)

    def __init__(self) -> None:
        self._tail = ""

    def add(self, text: str) -> str:
        """The piece without the longest head that repeats the end of what came before."""
        fresh = text[self._overlap(text) :]
        self._tail = (self._tail + fresh)[-WINDOW:]
        return fresh

    def _overlap(self, text: str) -> int:
        # The longest prefix of `text` that is a suffix of the tail, by the failure function
        # of Knuth, Morris and Pratt: linear, where trying every length is quadratic.
        head = text[: len(self._tail)]
        # A mark no text contains keeps a match from running across the border.
        chars = [*head, None, *self._tail[len(self._tail) - len(head) :]]
        fail = [0] * len(chars)
        for i in range(1, len(chars)):
            k = fail[i - 1]
            while k and chars[i] != chars[k]:
                k = fail[k - 1]
            fail[i] = k + (chars[i] == chars[k])
        return fail[-1] if fail[-1] >= MINIMUM else 0


class ChunkOverlap:
    """Removes the overlaps of one stream's chunks; in a live stream and in a replay alike."""

    __slots__ = ("_removal",)

    def __init__(self) -> None:
        self._removal = OverlapRemoval()

    def take(self, chunk: Chunk) -> Chunk:
        """Return the chunk without its overlap.  One that the adapter has looked at stays as it is.

        A second look could take a genuine repeat for an overlap.
        """
        if not isinstance(chunk, TextChunk) or chunk.overlap is not None:
            return chunk
        fresh = self._removal.add(chunk.content)
        return TextChunk(fresh, chunk.thoughts, overlap=len(chunk.content) - len(fresh))


class PartialToolCall:
    """One call, while its pieces arrive."""

    __slots__ = ("arguments", "id", "name", "pieces", "replay")

    def __init__(self, name: str = "", call_id: str = "") -> None:
        self.name = name
        self.id = call_id
        self.pieces: list[str] = []
        self.arguments: Mapping[str, Any] = {}
        """Arguments that came as an object; pieces of JSON, if any, take their place."""
        self.replay: dict[str, Any] = {}


class ToolCallAssembler:
    """Every call of one reply, in the order in which they began."""

    __slots__ = ("_chars", "_limits", "drafts", "problem")

    def __init__(self, limits: WireLimits) -> None:
        self._limits = limits
        self._chars = 0
        self.drafts: list[PartialToolCall] = []
        self.problem = ""
        """Why there can be no calls any more, in a few words."""

    def open(self, name: str = "", call_id: str = "") -> PartialToolCall:
        """Begin a call."""
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
        """Arguments that came whole, as a value."""
        if self.count(measure(arguments)[0]):
            draft.arguments = arguments

    def count(self, chars: int) -> bool:
        """Note that arguments grew; False if they grew too long."""
        self._chars += chars
        if self._chars > self._limits.argument_chars_max:
            self.problem = "tool arguments too long"
            for draft in self.drafts:
                draft.pieces.clear()
        return not self.problem

    def finish(self, *, cut_off: bool = False) -> tuple[Call, ...]:
        """All calls, whole; none, and `problem` set, if one of them is not.

        A reply that was cut off at its length may have lost the arguments of its last call:
        none at all then means too few, not `{}`.
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
            if arguments is None:  # a server's word for a call without any
                arguments = {}
        if not isinstance(arguments, Mapping):
            self.problem = self.problem or "tool arguments are not an object"
        elif measure(arguments)[1] > ARGUMENT_DEPTH_MAX:
            self.problem = self.problem or "tool arguments nest too deep"
        if not draft.name:
            self.problem = self.problem or "a tool call without a name"
        return Call(draft.name, arguments, draft.id, draft.replay)


# Says that the provider is at work although there is nothing to show; a timer may care.
_ALIVE = TextChunk()


class ReplyAssembler:
    """Collects what a dialect's reader finds and decides what the stream is told."""

    __slots__ = ("_joiner", "_overlap", "_secrets", "_thoughts", "calls", "complete", "ended",
                 "finish_reason", "model", "provider", "replay", "usage")  # fmt: skip

    def __init__(
        self,
        limits: WireLimits,
        *,
        secrets: Iterable[str] = (),
        overlap_removal: bool = False,
    ) -> None:
        self._secrets = tuple(secrets)
        self._joiner = Joiner()
        self._thoughts = Joiner()
        self._overlap = OverlapRemoval() if overlap_removal else None
        self.calls = ToolCallAssembler(limits)
        self.ended = False
        self.complete = False
        """The provider said why it stopped, so nothing is missing even if the end mark is."""
        self.finish_reason = ""
        self.usage: Usage | None = None
        self.model = ""
        self.provider = ""
        self.replay: dict[str, Any] = {}

    def say(self, text: str, thought: str = "") -> list[Chunk]:
        """Text, a piece of a thought, or both."""
        if text and (self._joiner.half or not text.isascii()):
            text = self._joiner.add(text)
        if text and self._overlap is not None:
            fresh = self._overlap.add(text)
            return [TextChunk(fresh, self._thought(thought), overlap=len(text) - len(fresh))]
        if not thought:
            return [TextChunk(text)]
        return [TextChunk(text, self._thought(thought))]

    def _thought(self, piece: str) -> tuple[str, ...]:
        thought = self._thoughts.add(piece) if piece else ""
        return (thought,) if thought else ()

    def work(self) -> list[Chunk]:
        """A call grows: nothing to show, but a sign of life, unless it grew too large."""
        if self.calls.problem:
            return self.fail("model_error", self.calls.problem, retryable=True)
        return [_ALIVE]

    def note(self, model: object, provider: object = "") -> None:
        """Remember who answers; other types than text are none of our business."""
        if isinstance(model, str) and model:
            self.model = model
        if isinstance(provider, str) and provider:
            self.provider = provider

    def close(self) -> list[Chunk]:
        """The provider's end mark."""
        calls = self.calls.finish(cut_off=is_cut_off(self.finish_reason))
        if self.calls.problem:
            return self.fail("model_error", self.calls.problem, retryable=True)
        out = self._rest()
        self.ended = True
        finish_reason = self._clean(self.finish_reason)
        if calls:
            out.append(
                FunctionCall(
                    self._with_replay(calls), usage=self.usage, finish_reason=finish_reason
                )
            )
        out.append(
            DoneChunk(
                finish_reason,
                self.usage,
                self._clean(self.model),
                self._clean(self.provider),
                replay=self.replay,
            )
        )
        return out

    def unread(self, data: bytes) -> list[Chunk]:
        """A frame that makes no sense; one with nothing in it does no harm."""
        if not data.strip():
            return []
        return self.fail("model_error", "a frame that is not what it should be")

    def lacks(self, what: str) -> list[Chunk]:
        """A frame without a field that its type promises: what it was to bring is lost."""
        return self.fail("model_error", f"a frame that lacks {what}", retryable=True)

    def cut(self) -> list[Chunk]:
        """The bytes ended, and the reply did not."""
        return self.fail("api_error", "the stream ended in the middle of the reply", retryable=True)

    def fail(self, kind: ErrorKind, message: str, *, retryable: bool = False) -> list[Chunk]:
        """Nothing more will come, and this is why."""
        return self.refuse(ErrorChunk(kind, message, retryable))

    def refuse(self, error: ErrorChunk) -> list[Chunk]:
        """End with an error; the text so far has been said, calls are dropped."""
        out = self._rest()
        self.ended = True
        message = self._clean(error.message) or "the provider reported an error"
        out.append(evolve(error, message=message))
        return out

    def _rest(self) -> list[Chunk]:
        text, thought = self._joiner.take(), self._thoughts.take()
        return [TextChunk(text, (thought,) if thought else ())] if text or thought else []

    def _with_replay(self, calls: tuple[Call, ...]) -> tuple[Call, ...]:
        """What belongs to the whole reply travels with its first call, as the history does."""
        if not self.replay:
            return calls
        return (evolve(calls[0], replay={**self.replay, **calls[0].replay}), *calls[1:])

    def _clean(self, words: str) -> str:
        return shorten(words, MESSAGE_CHARS_MAX, self._secrets)


class BoundedText:
    """Text kept for the next request: all of it, or none if it grows too long."""

    __slots__ = ("_chars", "_parts")

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._chars = 0

    def add(self, text: str) -> bool:
        """Keep a piece; False if there is no room for it, and so for none."""
        self._chars += len(text)
        if self._chars > REPLAY_CHARS_MAX:
            self._parts.clear()
            return False
        self._parts.append(text)
        return True

    def text(self) -> str:
        """Everything, or nothing."""
        return "".join(self._parts)
