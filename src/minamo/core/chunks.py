"""What a provider says, normalised: text, function_call, error, done.

Adapters make chunks, the stream takes them.  A `repr` shows lengths, never a person's words.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from attrs import field, frozen

ErrorKind = Literal[
    "api_error", "rate_limit", "content_blocked", "timeout", "provider_overloaded", "model_error"
]


# An error is shown to people: a sentence or two.
MESSAGE_CHARS_MAX = 300
# The longest a provider may ask us to wait; beyond, it might as well have said nothing.
RETRY_AFTER_MAX_S = 3_600.0
# More than all models together write in a day, and it fits the 64 bits of those who count.
TOKENS_MAX = 10**12
# What the dialects call it when a reply reached its length, in lower case.
_CUT_OFF = frozenset(
    ("length", "max_tokens", "max_output_tokens", "model_context_window_exceeded", "continuation")
)


def is_cut_off(finish_reason: str) -> bool:
    """Whether a finish reason, of any dialect, says that the reply reached its length."""
    return finish_reason.lower() in _CUT_OFF


def _count(value: object) -> int | None:
    """Return a number of tokens within reason; None if *value* is no number."""
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value:
        return None
    return int(min(max(value, 0), TOKENS_MAX))


def as_length(text: object) -> str:
    """How a `repr` shows a person's words: not at all."""
    return f"<{len(str(text))} characters>"


def as_count(items: Any) -> str:
    """How a `repr` shows a list of them."""
    return f"<{len(items)}>"


@frozen(slots=True)
class Call:
    """One tool the model wants to be run."""

    name: str
    arguments: Mapping[str, Any] = field(factory=dict, repr=as_count)
    id: str = ""
    """The provider's name for this call, sent back with the answer; empty if it has none."""
    replay: Mapping[str, Any] = field(factory=dict, repr=as_count)
    """What the provider wants to see again in the history, such as a thought signature."""


@frozen(slots=True)
class Usage:
    """What a reply cost, as far as the provider says; counts that make no sense are mended."""

    input_tokens: int | None = field(default=None, converter=_count)
    """All that was read, from a cache or not."""
    output_tokens: int | None = field(default=None, converter=_count)
    """All that was written, thoughts too."""
    reasoning_tokens: int | None = field(default=None, converter=_count)
    """The part of the output that was thought."""
    cached_tokens: int | None = field(default=None, converter=_count)
    """The part of the input that came from a cache."""


@frozen(slots=True)
class TextChunk:
    """Some text; empty if the chunk only brings thoughts or keeps the stream alive."""

    content: str = field(default="", repr=as_length)
    thoughts: tuple[str, ...] = field(default=(), repr=as_count)
    overlap: int | None = field(default=None, eq=False, repr=False, kw_only=True)
    """Characters removed in front because they repeated the chunk before; None if none looked."""
    type: ClassVar[Literal["text"]] = "text"


@frozen(slots=True)
class FunctionCall:
    """The tools of a whole reply, all of them."""

    calls: tuple[Call, ...]
    thoughts: tuple[str, ...] = field(default=(), repr=as_count)
    usage: Usage | None = None
    """What the reply cost; the done chunk after it says so too, but comes late."""
    finish_reason: str = ""
    """Why the reply ended, likewise."""
    type: ClassVar[Literal["function_call"]] = "function_call"


@frozen(slots=True)
class ErrorChunk:
    """Something went wrong on the provider's side or on the way to it."""

    kind: ErrorKind
    message: str = ""
    """For people; never holds a key or a URL with one."""
    retryable: bool = False
    retry_after: float | None = None
    """Seconds, where the provider names them."""
    status: int | None = None
    """The HTTP status, if there was one."""
    thoughts: tuple[str, ...] = field(default=(), repr=as_count)
    type: ClassVar[Literal["error"]] = "error"


@frozen(slots=True)
class DoneChunk:
    """The provider says it finished; more may follow all the same."""

    finish_reason: str = ""
    usage: Usage | None = None
    model: str = ""
    """The model that answered, which may be another than was asked for."""
    provider: str = ""
    """Who served it, where a router says so."""
    thoughts: tuple[str, ...] = field(default=(), repr=as_count)
    replay: Mapping[str, Any] = field(factory=dict, repr=as_count)
    """What the provider wants to see again with this reply in the history."""
    type: ClassVar[Literal["done"]] = "done"


Chunk = TextChunk | FunctionCall | ErrorChunk | DoneChunk
