"""nanobot: its think filter as its progress hook calls it, and its splitter."""

from __future__ import annotations

from nanobot.utils.helpers import split_message, strip_think
from streaming import different


def _filtered(chunks: list[str]) -> str:
    text, shown = "", []
    for chunk in chunks:
        before = strip_think(text)
        text += chunk
        after = strip_think(text)
        shown.append(after[len(before) :])
    return "".join(shown)


def pipeline(chunks: list[str], peer: str = "") -> list[str]:
    """Filter thoughts chunk by chunk, then split the text."""
    del peer
    return list(split_message(_filtered(chunks), 2_000))


def split(texts: list[str]) -> list[list[str]]:
    """Cut texts into messages."""
    return [list(split_message(text, 2_000)) for text in texts]


def visible(text: str, cuts: list[list[int]], peer: str) -> list[str]:
    """Return what different ways to cut a text leave of it."""
    del peer
    return different(text, cuts, _filtered)
