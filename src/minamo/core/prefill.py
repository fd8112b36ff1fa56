"""Put the prefill in front of a reply once, whether or not the model repeats it.

A fold: the beginning of the model's text is held while it may still be an echo of the
prefill, or while it is blank and so does not count as said.
"""

from __future__ import annotations

from attrs import frozen

from minamo.core.limits import LEADING_BLANKS_MAX

_ECHO, _BLANK, _SPOKEN = range(3)


@frozen(slots=True)
class Filled:
    """What to show: `before` (added), then `text`; `dropped` is how much echo went.

    The dropped characters and `text` together are the beginning of (held + fed text).
    """

    before: str = ""
    dropped: int = 0
    text: str = ""


class Prefill:
    """Shows *prefill* in front of the first text and strips an echo of it."""

    __slots__ = ("_echoed", "_held", "_matched", "_phase", "_prefill")

    def __init__(self, prefill: str) -> None:
        self._prefill = prefill
        self._matched = 0  # how much of an echo is held; a count, for it reads like the prefill
        self._held = ""  # what came after the echo, or instead of it
        self._echoed = False
        self._phase = _ECHO if prefill else _SPOKEN

    def feed(self, text: str) -> Filled:
        """Take *text*; return what can be shown now."""
        if self._phase == _SPOKEN:
            return Filled(text=text)
        dropped = 0
        if self._phase == _BLANK:
            self._held += text
        else:
            dropped = self._compare(text)
        if self._phase == _ECHO or not self._said():
            return Filled(dropped=dropped)
        self._phase = _SPOKEN
        return Filled(self._prefill, dropped, self._held)

    def release(self, *, shown: bool = False) -> Filled:
        """Give up the held text: no more will come, or something else is *shown* now.

        A part of an echo is text like any other.  A whole echo is words the model did
        say, so the prefill is shown even if nothing follows.
        """
        if self._phase == _SPOKEN:
            return Filled()
        if self._phase == _ECHO:
            self._held = self._prefill[: self._matched]
        self._phase = _SPOKEN
        said = shown or self._echoed or bool(self._held.strip())
        return Filled(self._prefill if said else "", 0, self._held)

    def _compare(self, text: str) -> int:
        """Go on comparing with the prefill; return how many characters were an echo."""
        here, length = self._matched, len(self._prefill)
        echo = text[: length - here]
        if self._prefill[here : here + len(echo)] != echo:
            self._held = self._prefill[:here] + text
            self._phase = _BLANK
            return 0
        self._matched += len(echo)
        if self._matched < length:
            return 0
        self._held = text[len(echo) :]
        self._echoed = True
        self._phase = _BLANK
        return length

    def _said(self) -> bool:
        return len(self._held) > LEADING_BLANKS_MAX or bool(self._held.strip())
