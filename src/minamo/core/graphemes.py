"""What readers take for one character, and how wide it is."""

from __future__ import annotations

from wcwidth import iter_graphemes, wcswidth

# Twice what a table may be wide.
_PART = 128


def inner_positions(text: str) -> list[int]:
    """Every position of *text* that lies inside a grapheme cluster, in order."""
    if text.isascii():
        return []  # only CR LF is a cluster there, and that is whitespace anyway
    inner: list[int] = []
    at = 0
    for cluster in iter_graphemes(text):
        if len(cluster) > 1:
            inner.extend(range(at + 1, at + len(cluster)))
        at += len(cluster)
    return inner


def columns(text: str) -> int:
    """How many columns of a fixed-width font *text* takes; of a long one nearly."""
    # A run of flags takes time by the square of its length.
    return sum(_columns(text[at : at + _PART]) for at in range(0, len(text), _PART))


def _columns(text: str) -> int:
    width: int = wcswidth(text)
    # -1: there are control characters in it, which have no width; count characters then.
    return width if width >= 0 else len(text)
