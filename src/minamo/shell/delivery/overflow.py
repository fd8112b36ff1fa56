"""A reply of too many messages: its rest as a file, or in a thread.

How many messages a reply needs is only known as they come.  So the first ones go out as ever; what
is beyond them waits for the end of the stream and becomes one file, or goes on in a thread that
is started when there is something to say in it.  Where that is not possible the reply is split
into messages as if nobody had asked, and the first of those says why in its receipt.
"""

from __future__ import annotations

import logging
from typing import Any, Literal

from attrs import Attribute, define, field, frozen

from minamo.errors import BadSetting

_LOG = logging.getLogger("minamo.discord")

# Discord takes 10 MiB where nobody pays for more; the form around the file needs a little.
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
    """What to do with what is beyond the first *after* messages of a reply."""

    after: int = field(validator=_whole)
    to: Way = "split"
    file_name: str = field(default="reply.md", validator=_named)
    thread_name: str = field(default="The rest of the reply", validator=_named)
    bytes_max: int = field(default=FILE_BYTES_MAX, validator=_whole)
    """A longer rest is split: no file is so large."""

    def __attrs_post_init__(self) -> None:
        """Refuse what cannot be meant."""
        if self.after < 1:
            raise BadSetting("overflow: after must be at least 1; a thread needs a message")
        if self.to not in WAYS:
            raise BadSetting(f"overflow: to must be one of {', '.join(WAYS)}")


@define(eq=False)
class OverflowState:
    """One reply on its way to its overflow; `way` turns to split where nothing else is possible."""

    rules: Overflow
    way: Way = field(init=False)
    note: str = field(default="", init=False)
    """Why it is split, for one receipt to tell."""
    thread_id: int | None = field(default=None, init=False)

    @way.default
    def _make_way(self) -> Way:
        return self.rules.to

    def room(self, count: int) -> int | None:
        """How many messages may be made as ever, after *count*; None if all."""
        if self.way == "split" or self.thread_id is not None:
            return None
        left = self.rules.after - count
        return left if left > 0 or self.way == "file" else None

    def collects(self, count: int) -> bool:
        """Whether what comes waits for the end of the stream."""
        return self.way == "file" and count >= self.rules.after

    def needs_thread(self, count: int) -> bool:
        """Whether the message after *count* others is the first that belongs into a thread."""
        return self.way == "thread" and self.thread_id is None and count >= self.rules.after

    def split(self, reason: str) -> None:
        """Go on with messages in the channel."""
        _LOG.info("a reply is split after all", extra={"way": self.way, "reason": reason})
        self.note = f"no_{self.way}:{reason}"
        self.way = "split"

    def take_note(self) -> str:
        """What the next receipt tells."""
        note, self.note = self.note, ""
        return note
