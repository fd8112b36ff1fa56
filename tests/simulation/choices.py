"""All possibilities of a model, one after the other: depth first, without a state to store."""

from __future__ import annotations

from attrs import define, field


@define
class Chooser:
    """All sequences of choices; the same choices must lead to the same questions."""

    _path: list[tuple[int, int]] = field(factory=list)
    _at: int = 0

    def choose(self, count: int) -> int:
        """One of *count* possibilities: the first of a new choice."""
        if self._at == len(self._path):
            self._path.append((0, count))
        chosen, of = self._path[self._at]
        assert of == count, "the same choices lead to the same question"
        self._at += 1
        return chosen

    def next(self) -> bool:
        """Go to the next sequence; return False if that was the last."""
        self._at = 0
        while self._path and self._path[-1][0] + 1 == self._path[-1][1]:
            self._path.pop()
        if not self._path:
            return False
        chosen, of = self._path.pop()
        self._path.append((chosen + 1, of))
        return True
