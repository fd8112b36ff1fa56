"""Where a segment may end: paragraphs, lines or sentences, as the degree says.

A fold over characters.  A boundary is a candidate when it is seen and certain when the next
segment shows its first real character: until then lone punctuation may still have to be glued
to the text before it.
"""

from __future__ import annotations

from minamo.core.holds import NOTABLE, Holds
from minamo.core.sentences import SentenceEnds

AGGREGATED, PARAGRAPHS, LINES, SENTENCES = range(4)

#: A segment of nothing but these belongs to its neighbour.
LONE = frozenset(".,!?;:…-—。！？、，")


class Boundaries:
    """Reads prose and code in order; `cut` is the position of a certain boundary, or 0.

    Positions count the characters of the visible text from the beginning of the stream.
    """

    __slots__ = ("_candidate", "_degree", "_newlines", "_real", "_sentences", "_table_end",
                 "at", "holds")  # fmt: skip

    def __init__(self, degree: int) -> None:
        self.at = 0
        self.holds = Holds()
        self._degree = degree
        self._candidate = 0
        self._real = False  # something worth a message has come since the last boundary
        self._newlines = 0  # in the run of blanks we are in
        self._table_end = 0  # after the last line with a pipe, while lines have them
        self._sentences = SentenceEnds() if degree == SENTENCES else None

    def feed(self, char: str) -> int:
        """Take a character of prose; return a position that is now certain, or 0."""
        self.at += 1
        if char in NOTABLE:
            self.holds.feed(char)
        else:
            self.holds.skip(char)
        if self._degree == AGGREGATED:
            return 0
        if (
            self._sentences is not None
            and self._sentences.feed(char)
            and not self.holds.in_sentence
        ):
            self._see(self.at if char.isspace() else self.at - 1)
        if char == "\n":
            return self._end_line()
        if char.isspace():
            return 0
        self._newlines = 0
        if char in LONE:
            return 0
        found, self._candidate = self._candidate, 0
        self._real = True
        return found

    def feed_phrase(self, phrase: str) -> int:
        """Take a letter or digit and what is not notable behind it: as one by one, in one go.

        The first decides all that was undecided; for the rest see `pass_by`.  Where sentences end
        it is a single word.
        """
        self.at += len(phrase)
        self.holds.skip(phrase[0], phrase[-1])
        if self._degree == AGGREGATED:
            return 0
        sentences = self._sentences
        if sentences is not None and sentences.feed_word(phrase) and not self.holds.in_sentence:
            self._see(self.at - len(phrase))
        found, self._candidate = self._candidate, 0
        self._newlines = 0
        self._real = True
        return found

    def pass_by(self, text: str) -> bool:
        """Take text without anything notable in it, if all it changes is where the text stands.

        That is so if something real has come: there is no candidate and punctuation is not alone;
        if no newline, run or beginning of a line waits for what follows it; and nobody counts
        sentences.
        """
        if not self._real or self._newlines or self._degree == SENTENCES:
            return False
        if not self.holds.pass_by(text[-1]):
            return False
        self.at += len(text)
        return True

    def feed_code(self, size: int) -> None:
        """Take *size* characters of a fence: no boundary is in there."""
        self.at += size
        self._real = True
        self._newlines = 0

    def open_fence(self) -> int:
        """A fence begins here: what came before is a segment, if it is worth one."""
        self.holds.finish()
        self._table_end = 0
        if self._degree == AGGREGATED:
            return 0
        if self._real:
            self._candidate, self._real = 0, False
            return self.at
        return self.settle()

    def close_fence(self) -> None:
        """The fence ended: a boundary, certain as soon as something follows."""
        if self._degree != AGGREGATED:
            self._see(self.at)

    def settle(self) -> int:
        """Something else than visible text comes now: a candidate is as certain as it gets."""
        found, self._candidate = self._candidate, 0
        return found

    def finish(self) -> int:
        """No more text comes: a line after a table that has not ended has none of its pipes."""
        self.holds.finish()
        after_table = self._table_end and not self._newlines and not self.holds.pipes
        return self._table_end if after_table and self._degree >= LINES else 0

    def forced(self, position: int, rest: str) -> None:
        """The text was cut at *position* without a boundary; *rest* is what follows there."""
        self.holds.give_up()
        self._candidate = 0  # there was none behind the cut: it would have been taken
        if self._table_end <= position:
            self._table_end = 0
        self._real = any(not char.isspace() and char not in LONE for char in rest)

    @property
    def candidate(self) -> int:
        """A boundary that is not certain yet, or 0."""
        return self._candidate

    def _end_line(self) -> int:
        self._newlines += 1
        if self.holds.row:
            self._table_end = self.at
            return 0
        found = 0
        if self._table_end:
            # The line after the last one with a pipe is over and has none: the table ended.
            if self._degree >= LINES and self._newlines < 2:
                found = self._table_end
            self._table_end = 0
        needed = 2 if self._degree == PARAGRAPHS else 1
        if self._newlines >= needed and not self.holds.open:
            self._see(self.at)
        return found

    def _see(self, position: int) -> None:
        if self._real or self._candidate:
            self._candidate = position
            self._real = False
