"""Overflow of a reply with too many messages: its rest goes to a file or to a thread.

The number of messages is only known as text arrives.  So the first ones are sent as usual; the
text beyond them waits for the end of the stream and becomes one file, or continues in a thread
that is started when its first message is due.  Where that is not possible the reply is split into
messages as without an overflow, and the receipt of the first of those gives the reason.
"""

from __future__ import annotations

import logging
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


@define(eq=False)
class OverflowState:
    """The overflow state of one reply; `way` becomes split where nothing else is possible."""

    rules: Overflow
    way: Way = field(init=False)
    note: str = field(default="", init=False)
    """Why the reply is split, for the next receipt."""
    thread_id: int | None = field(default=None, init=False)

    @way.default
    def _make_way(self) -> Way:
        return self.rules.to

    def room(self, count: int) -> int | None:
        """Return how many more ordinary messages are allowed after *count*; None if unlimited."""
        if self.way == "split" or self.thread_id is not None:
            return None
        left = self.rules.after - count
        return left if left > 0 or self.way == "file" else None

    def collects(self, count: int) -> bool:
        """Return whether text after *count* messages waits for the end of the stream."""
        return self.way == "file" and count >= self.rules.after

    def needs_thread(self, count: int) -> bool:
        """Return whether the message after *count* others must go to a thread not started yet."""
        return self.way == "thread" and self.thread_id is None and count >= self.rules.after

    def split(self, reason: str) -> None:
        """Continue with messages in the channel, and note the *reason*."""
        _LOG.info("a reply is split after all", extra={"way": self.way, "reason": reason})
        self.note = f"no_{self.way}:{reason}"
        self.way = "split"

    def take_note(self) -> str:
        """Return the note for the next receipt, and clear it."""
        note, self.note = self.note, ""
        return note
