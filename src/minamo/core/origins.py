"""Remember where characters came from while somebody else holds them.

The prefill and the speaker guard give text out later than they take it, but in order and
unaltered.  So a queue of runs is enough to tell where what comes out once stood.
"""

from __future__ import annotations

from collections import deque

#: The start of characters that never stood in the stream.
ADDED = -1


class Origins:
    """A queue of (start, size) runs."""

    __slots__ = ("_runs",)

    def __init__(self) -> None:
        self._runs: deque[tuple[int, int]] = deque()

    def put(self, start: int, size: int) -> None:
        """Note that *size* characters from *start* on were taken."""
        if size:
            self._runs.append((start, size))

    def take(self, size: int) -> list[tuple[int, int]]:
        """The runs of the next *size* characters given out."""
        out: list[tuple[int, int]] = []
        while size:
            start, length = self._runs.popleft()
            used = min(size, length)
            out.append((start, used))
            size -= used
            if used < length:
                rest = start if start == ADDED else start + used
                self._runs.appendleft((rest, length - used))
        return out

    def take_all(self) -> list[tuple[int, int]]:
        """The runs of everything still held."""
        runs = list(self._runs)
        self._runs.clear()
        return runs
