"""Join emoji that arrive in two halves.

JSON may escape the halves of a surrogate pair in two frames; Python does not join them by
itself.  What stays alone is passed on as it is: the core counts it as `surrogate`.
"""

from __future__ import annotations


def joined(text: str) -> str:
    """The text with every neighbouring pair made one character."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
    return text


def whole(text: str) -> str:
    """The text as it can be sent: every pair joined, a half that is alone replaced."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


class Joiner:
    """Holds a high half at the end of a piece until the next piece shows its other half."""

    __slots__ = ("half",)

    def __init__(self) -> None:
        self.half = ""
        """What waits for its other half."""

    def add(self, text: str) -> str:
        """Take a piece; return what is certain, which may be nothing."""
        text, self.half = self.half + text, ""
        if "\ud800" <= text[-1] <= "\udbff":
            text, self.half = text[:-1], text[-1]
        return joined(text)

    def take(self) -> str:
        """Give up the half that stayed alone, if there is one."""
        half, self.half = self.half, ""
        return half
