"""Overflow of a reply with too many messages: its rest goes to a file or to a thread.

The number of messages is only known as text arrives.  So the first ones are sent as usual; the
text beyond them waits for the end of the stream and becomes one file, or continues in a thread
that is started when its first message is due.  Where that is not possible the reply is split into
messages as without an overflow, and the receipt of the first of those gives the reason.
"""

from __future__ import annotations

import logging
from enum import Enum
from typing import Any, Literal

from attrs import Attribute, define, field, frozen

from minamo.errors import BadSetting

_LOG = logging.getLogger("minamo.discord")

# Discord accepts 10 MiB without a paid upgrade; the multipart form needs some of it.
FILE_BYTES_MAX = 10_000_000

Way = Literal["split", "file", "thread"]
WAYS: tuple[Way, ...] = ("split", "file", "thread")


def _whole(_: object, attribute: Attribute[Any], value: object) -> None:
    if not isinstance(value, int) or isinstance(value, bool):
        raise BadSetting(f"overflow: {attribute.name} must be a whole number; it is {value!r}")


def _named(_: object, __: object, value: object) -> None:
    if not isinstance(value, str) or not value:
        raise BadSetting("overflow: file_name and thread_name must be text, and not empty")


@frozen(slots=True)
class Overflow:
    """Rules for the text beyond the first *after* messages of a reply."""

    after: int = field(validator=_whole)
    to: Way = "split"
    file_name: str = field(default="reply.md", validator=_named)
    thread_name: str = field(default="The rest of the reply", validator=_named)
    bytes_max: int = field(default=FILE_BYTES_MAX, validator=_whole)
    """Maximum size of the file; a larger rest is split."""

    def __attrs_post_init__(self) -> None:
        """Refuse invalid values."""
        if self.after < 1:
            raise BadSetting("overflow: after must be at least 1; a thread needs a message")
        if self.to not in WAYS:
            raise BadSetting(f"overflow: to must be one of {', '.join(WAYS)}")


class OverflowPhase(Enum):
    """What becomes of the text beyond the first messages."""

    SPLIT = "split"
    """It is sent as messages to the channel; nothing else was wanted, or is possible."""
    COLLECT = "file"
    """It waits for the end of the stream and becomes a file."""
    BRANCH = "thread"
    """It goes to a thread that is started when it is due."""
    BRANCHED = "threaded"
    """It goes to the thread that was started."""


@define(eq=False)
class OverflowState:
    """The overflow state of one reply."""

    rules: Overflow
    phase: OverflowPhase = field(init=False)
    note: str = field(default="", init=False)
    """Why the reply is split, for the next receipt."""
    thread_id: int | None = field(default=None, init=False)

    @phase.default
    def _make_phase(self) -> OverflowPhase:
        return OverflowPhase(self.rules.to)

    def room(self, count: int) -> int | None:
        """Return how many more ordinary messages are allowed after *count*; None if unlimited."""
        if self.phase in (OverflowPhase.SPLIT, OverflowPhase.BRANCHED):
            return None
        left = self.rules.after - count
        return left if left > 0 or self.phase is OverflowPhase.COLLECT else None

    def collects(self, count: int) -> bool:
        """Return whether text after *count* messages waits for the end of the stream."""
        return self.phase is OverflowPhase.COLLECT and count >= self.rules.after

    def needs_thread(self, count: int) -> bool:
        """Return whether the message after *count* others must go to a thread not started yet."""
        return self.phase is OverflowPhase.BRANCH and count >= self.rules.after

    def branch(self, thread_id: int) -> None:
        """Continue in the thread *thread_id*."""
        self.phase, self.thread_id = OverflowPhase.BRANCHED, thread_id

    def split(self, reason: str) -> None:
        """Continue with messages in the channel, and note the *reason*."""
        _LOG.info("a reply is split after all", extra={"way": self.rules.to, "reason": reason})
        self.note = f"no_{self.rules.to}:{reason}"
        self.phase = OverflowPhase.SPLIT

    def take_note(self) -> str:
        """Return the note for the next receipt, and clear it."""
        note, self.note = self.note, ""
        return note
