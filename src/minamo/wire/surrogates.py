"""Joining of surrogate pairs, such as emoji, that arrive in two halves.

JSON may escape the halves of a surrogate pair in two frames; Python does not join them by
itself.  A lone half is passed on unchanged: the core counts it as `surrogate`.
"""

from __future__ import annotations


def joined(text: str) -> str:
    """Return *text* with every surrogate pair joined into one character."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
    return text


def whole(text: str) -> str:
    """Return *text* in an encodable form: pairs joined, lone halves replaced."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


class Joiner:
    """A buffer for a high half at the end of a piece, until the next piece brings the low half."""

    __slots__ = ("half",)

    def __init__(self) -> None:
        self.half: str = ""
        """The pending high half, or an empty string."""

    def add(self, text: str) -> str:
        """Take a non-empty piece and return its complete characters, possibly none."""
        text, self.half = self.half + text, ""
        if "\ud800" <= text[-1] <= "\udbff":
            text, self.half = text[:-1], text[-1]
        return joined(text)

    def take(self) -> str:
        """Return and clear the pending half, if there is one."""
        half, self.half = self.half, ""
        return half
