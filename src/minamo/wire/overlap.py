"""Remove tails that a provider repeats at the head of its next piece.

Off by default, because an overlap cannot be told from a genuine repeat.  The sole place where
the borders of pieces matter.
"""

from __future__ import annotations

from minamo.core.chunks import Chunk, Text

# What the seeds' adapter remembers, and the least it takes for an overlap.
WINDOW = 4_096
MINIMUM = 8


class OverlapRemoval:
    """Remembers the end of the text so far."""

    __slots__ = ("_tail",)

    def __init__(self) -> None:
        self._tail = ""

    def add(self, text: str) -> str:
        """The piece without the longest head that repeats the end of what came before."""
        fresh = text[self._overlap(text) :]
        self._tail = (self._tail + fresh)[-WINDOW:]
        return fresh

    def _overlap(self, text: str) -> int:
        # The longest prefix of `text` that is a suffix of the tail, by the failure function
        # of Knuth, Morris and Pratt: linear, where trying every length is quadratic.
        head = text[: len(self._tail)]
        # A mark no text contains keeps a match from running across the border.
        chars = [*head, None, *self._tail[len(self._tail) - len(head) :]]
        fail = [0] * len(chars)
        for i in range(1, len(chars)):
            k = fail[i - 1]
            while k and chars[i] != chars[k]:
                k = fail[k - 1]
            fail[i] = k + (chars[i] == chars[k])
        return fail[-1] if fail[-1] >= MINIMUM else 0


class ChunkOverlap:
    """Removes the overlaps of one stream's chunks; in a live stream and in a replay alike."""

    __slots__ = ("_removal",)

    def __init__(self) -> None:
        self._removal = OverlapRemoval()

    def take(self, chunk: Chunk) -> Chunk:
        """Return the chunk without its overlap.  One that the adapter has looked at stays as it is.

        A second look could take a genuine repeat for an overlap.
        """
        if not isinstance(chunk, Text) or chunk.overlap is not None:
            return chunk
        fresh = self._removal.add(chunk.content)
        return Text(fresh, chunk.thoughts, overlap=len(chunk.content) - len(fresh))
