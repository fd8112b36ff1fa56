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


def split_half(text: str) -> tuple[str, str]:
    """Return the complete characters of a non-empty piece, and the high half at its end, if any.

    The half belongs in front of the next piece, which may bring the low half.
    """
    if "\ud800" <= text[-1] <= "\udbff":
        return joined(text[:-1]), text[-1]
    return joined(text), ""
