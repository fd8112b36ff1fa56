"""What goes into the stream's machine with its end, and what comes out of it for the shell."""

from __future__ import annotations

from enum import Enum
from typing import Any

from attrs import frozen

from minamo.core.chunks import Call, Usage
from minamo.core.result import StopReason


class Effect(Enum):
    """What the shell is asked to do."""

    DELIVER = "deliver"
    """One more segment waits in the outbox."""
    WITHDRAW = "withdraw"
    """What waited there is gone; a send that has not begun must not begin."""
    CLOSE = "close"
    """Let go of the provider, end the typing indicator, and say when delivery has answered."""


@frozen(slots=True)
class Ending:
    """What comes with an event that ends a stream."""

    stop_reason: StopReason | None = None
    data: Any = None
    calls: tuple[Call, ...] = ()
    usage: Usage | None = None
    finish_reason: str = ""
    suppress: str = ""
    """The reason under which discarded text is booked."""
