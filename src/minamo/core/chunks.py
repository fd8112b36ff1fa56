"""What a provider says, normalised: text, function_call, error, done.

Adapters make chunks, the stream takes them.  A `repr` shows lengths, never a person's words.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from attrs import field, frozen

ErrorKind = Literal[
    "api_error", "rate_limit", "content_blocked", "timeout", "provider_overloaded", "model_error"
]


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
    """What a reply cost, as far as the provider says."""

    input_tokens: int | None = None
    """All that was read, from a cache or not."""
    output_tokens: int | None = None
    """All that was written, thoughts too."""
    reasoning_tokens: int | None = None
    """The part of the output that was thought."""
    cached_tokens: int | None = None
    """The part of the input that came from a cache."""


@frozen(slots=True)
class Text:
    """Some text; empty if the chunk only brings thoughts or keeps the stream alive."""

    content: str = field(default="", repr=as_length)
    thoughts: tuple[str, ...] = field(default=(), repr=as_count)
    type: Literal["text"] = field(default="text", init=False, repr=False)


@frozen(slots=True)
class FunctionCall:
    """The tools of a whole reply, all of them."""

    calls: tuple[Call, ...]
    thoughts: tuple[str, ...] = field(default=(), repr=as_count)
    usage: Usage | None = None
    """What the reply cost; the done chunk after it says so too, but comes late."""
    type: Literal["function_call"] = field(default="function_call", init=False, repr=False)


@frozen(slots=True)
class Error:
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
    type: Literal["error"] = field(default="error", init=False, repr=False)


@frozen(slots=True)
class Done:
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
    type: Literal["done"] = field(default="done", init=False, repr=False)


Chunk = Text | FunctionCall | Error | Done
