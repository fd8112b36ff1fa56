"""The blocks of a reply, kept as Anthropic sent them, for the requests that must repeat them.

Thinking is signed and bound to what precedes it; a paused reply goes on only after all of its
blocks.  So they are kept unchanged and in their order: all of them, or none.
"""

from __future__ import annotations

from itertools import takewhile
from typing import Any

from minamo.wire.anthropic.request import OWN_BLOCKS, THINKING
from minamo.wire.json import loads_strict, size_of
from minamo.wire.limits import REPLAY_CHARS_MAX


class KeptBlocks:
    """The blocks of one reply, also across its pauses."""

    __slots__ = ("_chars", "_citations", "_earlier", "_found", "_pieces")

    def __init__(self) -> None:
        self._chars = 0
        self._earlier: list[dict[str, Any]] = []  # the blocks before the last pause
        self._found: dict[int, dict[str, Any]] = {}
        # The pieces of each field, joined once at the end: linear time.
        self._pieces: dict[tuple[int, str], list[str]] = {}
        self._citations: dict[int, list[Any]] = {}

    def open(self, index: int, block: dict[str, Any], calls: int) -> None:
        """Keep a block as it began; of a tool call only its number, as the history has the rest."""
        if block["type"] == "tool_use":
            block = {"type": "tool_use", "call": calls}
        elif self._count(size_of(block)):
            block = dict(block)
        self._found[index] = block

    def grow(self, index: int, field: str, pieces: list[str]) -> None:
        """Add some pieces to a field of a block."""
        if self._count(sum(map(len, pieces))):
            self._found.setdefault(index, {"type": field})
            self._pieces.setdefault((index, field), []).extend(pieces)

    def cite(self, index: int, citation: Any) -> None:
        """Add a source to a block of text."""
        if self._count(size_of(citation)):
            self._citations.setdefault(index, []).append(citation)

    def spoil(self) -> None:
        """Keep none: something arrived that cannot be repeated."""
        self._count(REPLAY_CHARS_MAX)

    def pause(self) -> None:
        """Begin the next part of a paused reply, whose blocks are numbered anew."""
        self._earlier = self.whole()
        self._found, self._pieces, self._citations = {}, {}, {}

    def whole(self) -> list[dict[str, Any]]:
        """Return all blocks; none if one is incomplete, or if they are too long to send back."""
        if self._chars >= REPLAY_CHARS_MAX:
            return []
        try:
            blocks = [self._join(index) for index in self._found]
        except ValueError:
            return []
        kept = [block for block in blocks if block["type"] != "text" or block["text"].strip()]
        return [*self._earlier, *kept]

    def replay(self) -> dict[str, Any]:
        """Return what the history must repeat with this reply.

        Thinking in front of everything else is kept by itself: the text is the history's own.
        The results of server tools are long, so they are repeated only up to the next answer of
        the model: together with calls.
        """
        blocks = self.whole()
        kinds = [block["type"] for block in blocks]
        front = len([*takewhile(THINKING.__contains__, kinds)])
        if any(kind not in OWN_BLOCKS for kind in kinds):
            return {"blocks": blocks} if "tool_use" in kinds else {}
        if any(kind in THINKING for kind in kinds[front:]):
            return {"blocks": blocks}
        return {"thinking": blocks[:front]} if front else {}

    def _count(self, chars: int) -> bool:
        self._chars += chars
        if self._chars < REPLAY_CHARS_MAX:
            return True
        self._found.clear()
        self._pieces.clear()
        self._citations.clear()
        return False

    def _join(self, index: int) -> dict[str, Any]:
        """Return a block with its pieces; raise ValueError if it lacks a part."""
        block = dict(self._found[index])
        for field in ("text", "thinking", "signature"):
            if pieces := self._pieces.get((index, field)):
                block[field] = (block.get(field) or "") + "".join(pieces)
        if given := "".join(self._pieces.get((index, "input"), ())):
            block["input"] = loads_strict(given)
        if block["type"] in THINKING and not (block.get("signature") or block.get("data")):
            raise ValueError("thinking without a signature")
        if block["type"] == "text":
            begun = block.get("citations")
            sources = [*(begun if isinstance(begun, list) else ()), *self._citations.get(index, ())]
            block = {"type": "text", "text": block.get("text") or ""}
            if sources:
                block["citations"] = sources
        return block
