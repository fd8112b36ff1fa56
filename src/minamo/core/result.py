"""The outcome of a stream: the one value it returns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from attrs import field, frozen

from minamo.core.chunks import (
    Call,
    Citation,
    FileChunk,
    FinishReason,
    Usage,
    as_count,
    as_length,
)
from minamo.core.messages import Receipt

Status = Literal[
    "completed",
    "function_call",
    "error",
    "timeout",
    "stopped_by_user",
    "empty_response",
    "follow_up_interrupt",
]

StopReason = Literal[
    "user_request",
    "system_request",
    "killed",
    "follow_up",
    "send_message_limit",
    "speaker_guard",
    "inactivity",
    "deadline",
    "sdk_call_timeout",
    "delivery_lost",
]


@frozen(kw_only=True)
class StreamResult:
    """The outcome of one stream.  The `repr` shows sizes, not words."""

    status: Status
    data: Any = field(default=None, repr=False)
    """The first call of a function_call; the error of an error."""
    accumulated_text: str = field(default="", repr=as_length)
    """The delivered text, cleaned, with the whitespace between segments as written."""
    details_content: str = field(default="", repr=as_length)
    stop_reason: StopReason | None = None
    thought_log: tuple[str, ...] = field(default=(), repr=as_count)
    continuation_prefill: str = field(default="", repr=as_length)
    """The unfinished last clause of a reply that was cut short, from which to continue it."""
    function_calls: tuple[Call, ...] = field(default=(), repr=as_count)
    finish_reason: FinishReason = ""
    """Why the provider ended the reply, in one form for all providers."""
    raw_finish_reason: str = ""
    """The provider's own word for it."""
    citations: tuple[Citation, ...] = field(default=(), repr=as_count)
    """The sources that the model names."""
    files: tuple[FileChunk, ...] = field(default=(), repr=as_count)
    """The files that the model made and that were delivered, in order."""
    usage: Usage | None = None
    receipts: tuple[Receipt, ...] = field(default=(), repr=as_count)
    suppressed: Mapping[str, int] = field(factory=dict)
    """Number of characters not shown, by reason."""
    additions: Mapping[str, int] = field(factory=dict)
    """Number of characters shown that the model did not write, by reason."""
    states: tuple[str, ...] = ()
    """The path through the chart, without repeats."""
    metrics: Mapping[str, float] = field(factory=dict)
