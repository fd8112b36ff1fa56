"""Normalised provider output: text, file, function_call, error and done chunks.

Adapters produce chunks, the stream consumes them.  A `repr` shows lengths, never a user's words.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal

import msgspec
from attrs import astuple, field, frozen

ErrorKind = Literal[
    "api_error", "rate_limit", "content_blocked", "timeout", "provider_overloaded", "model_error"
]


# An error message is shown to users: a sentence or two.
MESSAGE_CHARS_MAX = 300
# The longest wait a provider may ask for; a longer one is as good as none.
RETRY_AFTER_MAX_S = 3_600.0
# More than all models together write in a day, and within a 64-bit counter.
TOKENS_MAX = 10**12
# More sources than a reply names; a router may send a whole page of results.
CITATIONS_MAX = 256
# More passages than one source backs; a long report repeats its main source on every line.
PLACES_MAX = 64

FinishReason = Literal[
    "", "stop", "length", "tool_calls", "content_filter", "refusal", "pause", "error", "other"
]
"""Why a reply ended, in one form for all providers; empty if the provider did not say."""

# The providers' own words, in lower case.
_FINISH_REASONS: dict[str, FinishReason] = {
    "": "",
    **dict.fromkeys(("stop", "end_turn", "stop_sequence", "completed", "eos", "eos_token"), "stop"),
    **dict.fromkeys(
        ("length", "max_tokens", "max_output_tokens", "model_length", "continuation", "incomplete",
         "model_context_window_exceeded"), "length"),
    **dict.fromkeys(("tool_calls", "tool_use", "tool_call", "function_call"), "tool_calls"),
    **dict.fromkeys(
        ("content_filter", "safety", "recitation", "language", "blocklist", "prohibited_content",
         "spii", "image_safety", "image_prohibited_content", "image_recitation", "model_armor",
         "jailbreak", "sensitive"), "content_filter"),
    **dict.fromkeys(("refusal", "refused"), "refusal"),
    **dict.fromkeys(("pause", "pause_turn"), "pause"),
    **dict.fromkeys(
        ("error", "failed", "insufficient_system_resource", "malformed_function_call",
         "malformed_response", "unexpected_tool_call", "too_many_tool_calls"), "error"),
}  # fmt: skip


CUT_SHORT: tuple[FinishReason, ...] = ("length", "pause")
"""The finish reasons of a reply that is not whole; a pause lasts if it comes too often."""


def normal_finish_reason(raw: str) -> FinishReason:
    """Return a finish reason of any provider in the one form; `other` if it is unknown."""
    return _FINISH_REASONS.get(raw.lower(), "other")


def _count(value: object) -> int | None:
    """Return a token count clamped to plausible values; None if *value* is no number."""
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value:
        return None
    return int(min(max(value, 0), TOKENS_MAX))


def as_length(text: object) -> str:
    """Return the `repr` of a user's words: only their length."""
    return f"<{len(str(text))} characters>"


def as_count(items: Any) -> str:
    """Return the `repr` of a collection of them: only its size."""
    return f"<{len(items)}>"


@frozen(slots=True)
class Call:
    """One tool call requested by the model."""

    name: str
    arguments: Mapping[str, Any] = field(factory=dict, repr=as_count)
    id: str = ""
    """The provider's id for this call, sent back with the answer; empty if it has none."""
    replay: Mapping[str, Any] = field(factory=dict, repr=as_count)
    """Data the provider expects back in the history, such as a thought signature."""


@frozen(slots=True)
class Usage:
    """Token counts of a reply as the provider reports them; implausible counts are corrected."""

    input_tokens: int | None = field(default=None, converter=_count)
    """All input, cached or not."""
    output_tokens: int | None = field(default=None, converter=_count)
    """All output, thoughts included."""
    reasoning_tokens: int | None = field(default=None, converter=_count)
    """The part of the output spent on thoughts."""
    cached_tokens: int | None = field(default=None, converter=_count)
    """The part of the input read from a cache."""

    def __add__(self, other: Usage) -> Usage:
        """Return the counts of both together; one that neither knows stays None."""
        mine, theirs = astuple(self), astuple(other)
        pairs = zip(mine, theirs, strict=True)
        return Usage(*(a if b is None else b if a is None else a + b for a, b in pairs))


@frozen(slots=True)
class Citation:
    """A source that the model names for its reply."""

    url: str
    title: str = ""
    places: tuple[tuple[int, int], ...] = ()
    """Start and end of each passage in the reply's text that it backs, if the provider says so."""


# More than these are a bibliography; a title longer than this does not fit a line.
SOURCES_SHOWN, _TITLE_SHOWN = 10, 80
_MARKS = str.maketrans("", "", "[]()<>*_~|`#@\\")


def sources_text(citations: Sequence[Citation]) -> str:
    """Return the sources as a numbered list in Discord's Markdown, without previews."""
    lines = []
    for number, source in enumerate(citations[:SOURCES_SHOWN], 1):
        title = source.title.translate(_MARKS).strip()[:_TITLE_SHOWN]
        lines.append(f"{number}. {title} <{source.url}>" if title else f"{number}. <{source.url}>")
    return "\n\n" + "\n".join(lines)


# A stream has thousands of these, and attrs takes six times as long to make one.
class TextChunk(msgspec.Struct, frozen=True, gc=False):
    """A piece of text; empty if the chunk only carries thoughts or keeps the stream alive."""

    content: str = ""
    thoughts: tuple[str, ...] = ()
    overlap: int | None = None
    """Characters removed in front as repeats of the previous chunk; None if not checked."""
    citations: tuple[Citation, ...] = ()
    """The sources of the passage that ends with this chunk; the done chunk has all of them."""
    type: ClassVar[Literal["text"]] = "text"

    def __repr__(self) -> str:
        counts = f"thoughts={as_count(self.thoughts)}, citations={as_count(self.citations)}"
        return f"TextChunk(content={as_length(self.content)}, {counts})"


@frozen(slots=True)
class FileChunk:
    """A picture, a sound or another file that the model made; a message of its own in the reply."""

    data: bytes = field(repr=lambda data: f"<{len(data)} bytes>")
    """Empty if the file was too large to be read: a line of the reply says so in its place."""
    media_type: str = ""
    """Such as `image/png`; empty if the provider does not say."""
    name: str = "file"
    """The name under which it is attached."""
    thoughts: tuple[str, ...] = field(default=(), repr=as_count)
    type: ClassVar[Literal["file"]] = "file"


@frozen(slots=True)
class FunctionCall:
    """All tool calls of a reply."""

    calls: tuple[Call, ...]
    thoughts: tuple[str, ...] = field(default=(), repr=as_count)
    usage: Usage | None = None
    """Token counts of the reply; the done chunk after it has them too, but comes late."""
    finish_reason: str = ""
    """Why the reply ended; the done chunk after it has it too."""
    raw_finish_reason: str = field(default="", kw_only=True)
    citations: tuple[Citation, ...] = field(default=(), repr=as_count, kw_only=True)
    skipped: int = field(default=0, kw_only=True)
    """Events of kinds that the reader does not know, and skipped."""
    type: ClassVar[Literal["function_call"]] = "function_call"


@frozen(slots=True)
class ErrorChunk:
    """A failure of the provider or of the connection to it."""

    kind: ErrorKind
    message: str = ""
    """For users; never holds a key or a URL with one."""
    retryable: bool = False
    retry_after: float | None = None
    """Seconds, if the provider gives them."""
    status: int | None = None
    """The HTTP status, if there was one."""
    thoughts: tuple[str, ...] = field(default=(), repr=as_count)
    code: str = field(default="", eq=False, kw_only=True)
    """What to look into, for logs: ``bad_key``, ``not_found``, ``unreachable``; else empty."""
    cause: BaseException | None = field(default=None, eq=False, repr=False, kw_only=True)
    """What the source of the reply raised, if it did; it may quote anything."""
    type: ClassVar[Literal["error"]] = "error"


@frozen(slots=True)
class DoneChunk:
    """The provider's report that it finished; more chunks may still follow."""

    finish_reason: str = ""
    """One of `FinishReason`; another word is read as the provider's own."""
    usage: Usage | None = None
    model: str = ""
    """The model that answered; it may differ from the requested one."""
    provider: str = ""
    """The serving provider, if a router names it."""
    thoughts: tuple[str, ...] = field(default=(), repr=as_count)
    replay: Mapping[str, Any] = field(factory=dict, repr=as_count)
    """Data the provider expects back with this reply in the history."""
    raw_finish_reason: str = field(default="", kw_only=True)
    """The provider's own word for the finish reason."""
    citations: tuple[Citation, ...] = field(default=(), repr=as_count, kw_only=True)
    skipped: int = field(default=0, kw_only=True)
    """Events of kinds that the reader does not know, and skipped."""
    type: ClassVar[Literal["done"]] = "done"


Chunk = TextChunk | FileChunk | FunctionCall | ErrorChunk | DoneChunk
