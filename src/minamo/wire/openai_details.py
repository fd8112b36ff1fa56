"""Reasoning in OpenRouter's form, a list of typed blocks, kept for the next request.

A block comes in pieces of one index, its signature last.  The signature vouches for the whole
text, so the pieces must be one block again when they go back.
"""

from __future__ import annotations

from typing import Any

import msgspec

from minamo.wire.decode import loosely, weight
from minamo.wire.limits import REPLAY_CHARS_MAX

# What is readable in a block, and arrives in pieces.
_GROWING = ("text", "summary")


class _Readable(msgspec.Struct):
    text: str | None = None
    summary: str | None = None


class Details:
    """All blocks, or none if they grow too long."""

    __slots__ = ("_blocks", "_heavy", "_pieces")

    def __init__(self) -> None:
        self._blocks: list[dict[str, Any]] = []
        self._pieces: list[dict[str, list[str]]] = []  # joined at the end: a long text is linear
        self._heavy = 0

    def add(self, details: list[dict[str, Any]]) -> str:
        """Keep some pieces; return what can be read of them."""
        self._heavy += weight(details)
        if self._heavy <= REPLAY_CHARS_MAX:
            for piece in details:
                self._take(piece)
        else:
            self._blocks, self._pieces = [], []
        found = loosely(list[_Readable], details) or []
        return "".join(part.text or part.summary or "" for part in found)

    def _take(self, piece: dict[str, Any]) -> None:
        if not self._blocks or not _continues(self._blocks[-1], piece):
            self._blocks.append({})
            self._pieces.append({})
        block, pieces = self._blocks[-1], self._pieces[-1]
        for key, value in piece.items():
            if key in _GROWING and isinstance(value, str):
                pieces.setdefault(key, []).append(value)
                block[key] = ""  # its place among the others
            elif value is not None or key not in block:
                block[key] = value

    def blocks(self) -> list[dict[str, Any]]:
        """The blocks, each whole."""
        both = zip(self._blocks, self._pieces, strict=True)
        return [
            block | {key: "".join(text) for key, text in pieces.items()} for block, pieces in both
        ]


def _continues(block: dict[str, Any], piece: dict[str, Any]) -> bool:
    """Whether a piece belongs to the block before it, which is closed once it is signed."""
    if block.get("signature") or not any(key in piece for key in (*_GROWING, "signature")):
        return False
    return all(block.get(key) == piece.get(key) for key in ("type", "index"))
