"""The speaker guard: ends a reply where the model begins to speak for another speaker.

A fold over visible prose.  The held text is always the newest, so `feed` returns a prefix of
(held + text): nothing is altered or reordered.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from minamo.core.limits import GENERIC_LABEL_MAX, GUARD_HOLD_MIN, LABEL_EDGES, LABEL_EMPHASIS

_BLANKS = " \t"
_DRESS = " \t*_"  # allowed around a name
_COLONS = ":："
_LIST_ITEM = re.compile(r"(?:[-+*•]|\d{1,9}[.)])[ \t]")
# "https:" begins an address, not a speech.
_SCHEMES = frozenset({"http", "https", "mailto"})


class SpeakerGuard:
    """Filter that holds the beginning of each line until it cannot be a speaker's label.

    Args:
        names: The speakers to guard against, in any case; blank ones are ignored.
        generic: Take any short label for a speaker's.
        first_line: Check the reply's first line as well, for the *names* only: a reply that begins
            with any other label begins with a heading.
    """

    __slots__ = ("_first", "_generic", "_head", "_held", "_key", "_limit", "_names", "_prefixes",
                 "_swallowed", "_tripped")  # fmt: skip

    def __init__(
        self, names: Sequence[str], *, generic: bool = False, first_line: bool = False
    ) -> None:
        keys = {name.casefold().strip(_DRESS) for name in names}
        self._names = frozenset(key for key in keys if key and "\n" not in key)
        self._prefixes = frozenset(
            key[:end] for key in self._names for end in range(1, len(key) + 1)
        )
        longest = max(map(len, self._names), default=0) + LABEL_EMPHASIS
        if generic:
            longest = max(longest, GENERIC_LABEL_MAX)
        self._limit = max(GUARD_HOLD_MIN, longest + LABEL_EDGES)
        self._generic = generic
        self._first = first_line  # whether the line so far is the first one, and is checked
        self._held = ""
        # The line so far, which is the end of `_held`; None when the line is cleared.
        self._head: str | None = "" if first_line else None
        self._key: str | None = ""  # the folded name so far; None when it cannot be a name
        self._tripped = False
        self._swallowed = 0

    @property
    def tripped(self) -> bool:
        """Whether a label was seen; from then on all text is swallowed."""
        return self._tripped

    @property
    def swallowed(self) -> int:
        """Number of characters swallowed, from the newline before the label on."""
        return self._swallowed

    def feed(self, text: str) -> str:
        """Process *text*; return the text that is now certain to be safe."""
        out: list[str] = []
        at = 0
        while at < len(text):
            if self._tripped:
                self._swallowed += len(text) - at
                break
            if self._head is None:
                newline = text.find("\n", at)
                if newline < 0:
                    out.append(text[at:])
                    break
                out.append(text[at:newline])
                at = newline
            out.append(self._step(text[at]))
            at += 1
        return "".join(out)

    def release(self) -> str:
        """Return the held text: no more will come, or something other than prose does."""
        held, self._held, self._head, self._first = self._held, "", None, False
        return held

    def begin_line(self) -> None:
        """Check the next text as a new line, though its newline was not fed (a fence's)."""
        if self._head is None and not self._tripped:
            self._head, self._key = "", ""

    def _step(self, char: str) -> str:
        """Process one character while holding, or the newline that begins a hold."""
        if char == "\n":
            # A line of blanks stays with the newlines before the label.
            out = self._held if (self._head or "").strip() else ""
            self._held = self._held[len(out) :] + char
            self._head, self._key, self._first = "", "", False
            return out + self._shrink()
        head = self._head or ""
        self._held += char
        self._head = head + char
        if char in _COLONS and self._is_label(head, char):
            self._tripped = True
            self._swallowed = len(self._held)
            self._held, self._head = "", None
            return ""
        self._extend(head, char)
        is_open = self._generic and not self._first and _may_be_label(head + char)
        if self._key is None and not is_open:
            return self.release()
        return self._shrink()

    def _shrink(self) -> str:
        """Keep the hold in bounds: release older newlines first, then the line itself."""
        over = len(self._held) - self._limit
        if over <= 0:
            return ""
        if len(self._held) - len(self._head or "") < over:
            return self.release()
        out, self._held = self._held[:over], self._held[over:]
        return out

    def _extend(self, head: str, char: str) -> None:
        """Follow the name being spelt; forget it when it cannot be a name."""
        if self._key is None:
            return
        if not self._key and char in _DRESS:
            # "* Bob: 5 points" is a list item: emphasis has no blank after it.
            if char in _BLANKS and head.strip(_BLANKS):
                self._key = None
            return
        # Case folding goes character by character, so a name is compared as it arrives.
        key = self._key + char.casefold()
        dressed = char in _DRESS and key.rstrip(_DRESS) in self._names
        self._key = key if dressed or key in self._prefixes else None

    def _is_label(self, head: str, colon: str) -> bool:
        if self._key is not None and self._key.rstrip(_DRESS) in self._names:
            return True
        if not self._generic or self._first or colon != ":" or not _may_be_label(head):
            return False
        label = head.strip(_BLANKS)
        worded = any(char.isalnum() or char == "_" for char in label)
        return worded and label.lower() not in _SCHEMES


def _may_be_label(head: str) -> bool:
    """Return whether a line that begins like this may turn out to be any short label."""
    label = head.lstrip(_BLANKS)
    return (
        ":" not in label
        and len(label) <= GENERIC_LABEL_MAX
        and not label.startswith(("[", "<"))
        and _LIST_ITEM.match(label) is None
    )
