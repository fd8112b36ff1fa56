"""First stage of a stream, before any chunk is read: whole characters, one kind of line end.

Positions in the stream count the characters of this stage's output.  Changes made here are
therefore recorded by count alone.
"""

from __future__ import annotations

import re

from minamo.core.accounting.spans import Ledger

REPLACEMENT = "\ufffd"

_HALVES = re.compile("[\ud800-\udbff][\udc00-\udfff]|[\ud800-\udfff]")


RULE = "line_end"
_REASON = f"clean.{RULE}"


class Intake:
    """Fold that joins surrogate halves and turns CRLF and CR into a line feed.

    It holds at most a half and a CR: the character that follows decides both.
    """

    __slots__ = ("_carriage_return", "_changes", "_half", "_ledger", "_released")

    def __init__(self, ledger: Ledger, *, line_ends: bool = True) -> None:
        self._ledger = ledger
        self._changes = line_ends
        self._half = ""  # a first half that waits for the other
        self._carriage_return = ""
        self._released = ""  # the last character that was released before the next decided it

    @property
    def pending(self) -> str:
        """The text that `release` would return."""
        return "\n" * len(self._carriage_return) + REPLACEMENT * len(self._half)

    def feed(self, text: str) -> str:
        """Process *text*; return the part that is decided."""
        if self._released:
            text = self._without_rest(text)
        held = self._half or self._carriage_return
        if not held and text.isascii() and "\r" not in text:
            return text
        text, self._half = self._half + text, ""
        if text and "\ud800" <= text[-1] <= "\udbff":
            text, self._half = text[:-1], text[-1]
        return self._line_ends(_HALVES.sub(self._join, text))

    def release(self) -> str:
        """Return the held text: no more will come."""
        if not self._half and not self._carriage_return:
            return ""
        half, self._half = self._half, ""
        self._released = half or self._carriage_return
        text = self._line_ends(_HALVES.sub(self._join, half))
        if self._carriage_return:
            self._carriage_return = ""
            self._book(line_feeds=1)
            text += "\n"
        return text

    def _without_rest(self, text: str) -> str:
        """Return *text* without the second half of what was released: both are one character."""
        released, self._released = self._released, ""
        if released == "\r":
            if not text.startswith("\n"):
                return text
            self._ledger.additions[_REASON] -= 1
        elif "\udc00" <= text[:1] <= "\udfff":
            self._ledger.suppressed["surrogate"] -= 1
            self._ledger.additions["surrogate"] -= 1
        else:
            return text
        return text[1:]

    def _join(self, found: re.Match[str]) -> str:
        halves = found[0]
        if len(halves) == 2:
            return halves.encode("utf-16", "surrogatepass").decode("utf-16")
        # The half was in the stream and is not shown; its replacement was never in the stream.
        self._ledger.suppressed["surrogate"] += 1
        self._ledger.additions["surrogate"] += 1
        return REPLACEMENT

    def _line_ends(self, text: str) -> str:
        if not self._changes or (not self._carriage_return and "\r" not in text):
            return text
        text, self._carriage_return = self._carriage_return + text, ""
        if text.endswith("\r"):
            text, self._carriage_return = text[:-1], "\r"
        pairs = text.count("\r\n")
        self._book(pairs=pairs, line_feeds=text.count("\r") - pairs)
        return text.replace("\r\n", "\n").replace("\r", "\n")

    def _book(self, *, pairs: int = 0, line_feeds: int) -> None:
        """Record the CR of so many pairs, and so many CR that became a line feed."""
        for counts, size in (
            (self._ledger.suppressed, pairs + line_feeds),
            (self._ledger.additions, line_feeds),
        ):
            if size:
                counts[_REASON] += size


def as_read(text: str, *, line_ends: bool = True) -> str:
    """Return *text* as a stream counts its characters."""
    intake = Intake(Ledger(), line_ends=line_ends)
    return intake.feed(text) + intake.release()
