"""Follow characters through the stages, back to where they stood in the stream."""

from __future__ import annotations

from collections.abc import Iterable

from minamo.core.origins import ADDED
from minamo.core.pieces import Piece

Trail = list[tuple[int, int]]
"""Where each character of a text stood, as (start, size) runs; `ADDED` if nowhere."""

Added = list[tuple[int, int, str]]
"""Which characters of a text were added to it, as (start, size, reason) runs."""


def cut(trail: Trail, offset: int, size: int) -> Trail:
    """The part of *trail* for *size* characters from *offset* on."""
    out: Trail = []
    for start, length in trail:
        if size <= 0:
            break
        if offset >= length:
            offset -= length
            continue
        used = min(size, length - offset)
        out.append((start if start == ADDED else start + offset, used))
        size -= used
        offset = 0
    return out


def through(trail: Trail, pieces: Iterable[Piece]) -> Trail:
    """The trail of a stage's output, from the trail of its input and its pieces."""
    out: Trail = []
    for piece in pieces:
        if piece.start is None:
            out.append((ADDED, len(piece.text)))
        else:
            out += cut(trail, piece.start, len(piece.text))
    return out


def marked(added: Added, pieces: Iterable[Piece]) -> Added:
    """What is added in a stage's output, from what was in its input and its pieces."""
    out: Added = []
    at = 0
    for piece in pieces:
        size = len(piece.text)
        if piece.start is None:
            out.append((at, size, piece.reason))
        else:
            for start, length, reason in added:
                low, high = max(start, piece.start), min(start + length, piece.start + size)
                if low < high:
                    out.append((at + low - piece.start, high - low, reason))
        at += size
    return out
