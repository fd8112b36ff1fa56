"""What a reply has said so far, and what of it never arrived."""

from __future__ import annotations

from attrs import define, field


@define
class Said:
    """Text as it was given out, cleaned, with the whitespace between segments as written."""

    size: int = 0
    """How many characters were said."""
    _texts: list[str] = field(factory=list)
    _lost: list[tuple[int, int]] = field(factory=list)
    """The stretches that did not arrive."""

    @property
    def count(self) -> int:
        """How many segments were said."""
        return len(self._texts)

    @property
    def text(self) -> str:
        """What arrived, or still may."""
        text, at, kept = "".join(self._texts), 0, []
        for low, high in sorted(self._lost):
            kept.append(text[at:low])
            at = high
        return "".join([*kept, text[at:]]).strip()

    def add(self, text: str) -> tuple[int, int]:
        """Say one more segment; where it stands, and its size."""
        start = self.size
        self._texts.append(text)
        self.size += len(text)
        return start, len(text)

    def lose(self, since: int, until: int) -> None:
        """That stretch did not arrive."""
        self._lost.append((since, until))
