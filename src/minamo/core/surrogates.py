"""Join halves of characters that a provider tore apart, and replace the ones left alone.

JSON may spell an emoji as two escapes, and a provider may send them in two frames.  Python keeps
each half as a character of its own, which no encoder accepts.
"""

from __future__ import annotations

import re

from minamo.core.ledger import Ledger

REPLACEMENT = "\ufffd"

_HALVES = re.compile("[\ud800-\udbff][\udc00-\udfff]|[\ud800-\udfff]")


class Surrogates:
    """A fold that holds at most one half."""

    __slots__ = ("_held", "_ledger")

    def __init__(self, ledger: Ledger) -> None:
        self._held = ""
        self._ledger = ledger

    @property
    def holds(self) -> bool:
        """Whether a half waits for the other."""
        return self._held != ""

    def feed(self, text: str) -> str:
        """Take *text*; return it whole, but for a first half at its very end."""
        if not self._held and text.isascii():
            return text
        if self._held:
            text, self._held = self._held + text, ""
        if text and "\ud800" <= text[-1] <= "\udbff":
            text, self._held = text[:-1], text[-1]
        return _HALVES.sub(self._join, text)

    def release(self) -> str:
        """No more text comes: a half that is held stays alone."""
        held, self._held = self._held, ""
        return _HALVES.sub(self._join, held)

    def _join(self, found: re.Match[str]) -> str:
        halves = found[0]
        if len(halves) == 2:
            return halves.encode("utf-16", "surrogatepass").decode("utf-16")
        # It stood in the stream and is not shown; what is shown was never in the stream.
        self._ledger.suppressed["surrogate"] += 1
        self._ledger.additions["surrogate"] += 1
        return REPLACEMENT
