"""Boundaries of segments, and the open quotes, brackets and emphasis that a cut would tear.

Folds over characters.  They need not agree with Discord's own parser in every case (fit does
that); they must be right about ordinary writing, because a hold delays the reader.
"""

from __future__ import annotations

from minamo.core.lexing.sentences import SentenceEnds
from minamo.core.limits import QUOTE_LEAD_MAX

_OPENERS = {"(": ")", "[": "]", "{": "}", "“": "”", "«": "»", "「": "」", "『": "』"}
_CLOSERS = {closer: opener for opener, closer in _OPENERS.items()}
_RUNS = frozenset("*_~|`")
_EYES = frozenset(":;=")  # the eyes of an emoticon such as :(
#: Every character that can change what is open, or that ends a run or an escape.
NOTABLE = frozenset(_OPENERS) | frozenset(_CLOSERS) | _RUNS | frozenset('"\\\n')


class OpenConstructs:
    """Counts of open constructs.  After `give_up` the same are open but no longer hold."""

    __slots__ = ("_before", "_brackets", "_carried", "_escaped", "_lead", "_marks", "_prev",
                 "_quote", "_quoted", "_run", "_size", "_ticks", "pipes", "row")  # fmt: skip

    def __init__(self) -> None:
        self._brackets: dict[str, int] = {}
        self._quote = False  # a straight double quote is open
        self._marks: set[str] = set()  # emphasis that is open and holds
        self._carried: set[str] = set()  # emphasis that is open across a forced cut
        self._prev = "\n"
        self._lead: str | None = ""  # beginning of the line, while it may be the mark of a quote
        self._quoted = ""  # ">" in a line that is quoted, ">>>" in a quote that never ends
        self._escaped = False
        self._ticks = 0  # the size of the run that opened a code span on this line
        self._run = ""  # the run of one character being read...
        self._size = 0
        self._before = ""  # ...and the character before it
        self.pipes: int = 0  # single pipes on this line: it may be a table row
        self.row: bool = False  # the line that just ended had some

    @property
    def open(self) -> bool:
        """Whether a cut here would tear a construct."""
        return bool(self._marks or self._quote or self._brackets)

    @property
    def in_sentence(self) -> bool:
        """Whether no sentence can end here: a construct is open, or a code span may be.

        A backtick that is not closed holds to the end of its line.
        """
        return self.open or self._ticks > 0

    @property
    def carries(self) -> bool:
        """Whether formatting is open that a message after a cut here would have to reopen."""
        return bool(self._marks or self._carried or self._quoted)

    def feed(self, char: str) -> None:
        """Process one character."""
        if self._lead is not None:
            self._begin_line(char)
        if self._run and char != self._run:
            self._end_run(char)
        if self._escaped:
            self._escaped = False
        elif char in _RUNS:
            if not self._run:
                self._run, self._size, self._before = char, 0, self._prev
            self._size += 1
        elif char == "\n":
            self._lead = ""
            if self._quoted == ">":
                self._quoted = ""
            self._ticks = 0
            self.row, self.pipes = self.pipes > 0, 0
        elif not self._ticks:
            self._plain(char)
        self._prev = char

    def pass_by(self, last: str) -> bool:
        """Process characters up to *last*, none notable; return False if the first matters."""
        if self._lead is not None or self._run:
            return False
        self._escaped = False
        self._prev = last
        return True

    def skip(self, char: str, last: str = "") -> None:
        """Process a character that is not notable: it matters only to the next one.

        If it is a letter or a digit, more characters may come with it, up to *last*.
        """
        if self._lead is not None:
            self._begin_line(char)
        if self._run:
            self._end_run(char)
        self._escaped = False
        self._prev = last or char

    def _begin_line(self, char: str) -> None:
        lead = (self._lead or "") + char
        mark = lead.strip(" ")
        if mark not in ("", ">", ">>", ">>>") or len(lead) > QUOTE_LEAD_MAX:
            self._lead = None
        elif mark in (">", ">>>") and char == " ":
            self._quoted = self._quoted or mark
            self._lead = None
        else:
            self._lead = lead

    def finish(self) -> None:
        """Decide a run at the end of a stretch of prose, as if a blank followed."""
        if self._run:
            self._end_run(" ")

    def give_up(self, left: int) -> None:
        """Stop holding: the text was cut although constructs are open.

        Of the text so far, *left* characters come after the cut.  A run among them is still read.
        """
        if self._run and left < self._size:
            self.finish()
        self._carried |= self._marks
        self._marks.clear()
        self._brackets.clear()
        self._quote = False

    def _plain(self, char: str) -> None:
        if char == "\\":
            self._escaped = True
        elif char == '"':
            if self._quote:
                self._quote = False
            # 5' 10" is a measure: a quotation begins after a blank or another opener.
            elif not self._prev.isalnum() and self._prev not in _CLOSERS:
                self._quote = True
        elif char in _OPENERS:
            if char != "(" or self._prev not in _EYES:
                self._brackets[char] = self._brackets.get(char, 0) + 1
        elif (opener := _CLOSERS.get(char)) in self._brackets:
            assert opener is not None
            left = self._brackets.pop(opener) - 1
            if left:
                self._brackets[opener] = left

    def _end_run(self, after: str) -> None:
        char, size = self._run, self._size
        self._run = ""
        if char == "`":
            if not self._ticks:
                self._ticks = size
            elif self._ticks == size:
                self._ticks = 0
        elif self._ticks:
            return
        elif char == "|" and size == 1:
            self.pipes += 1
        elif char in "~|":
            if size >= 2:
                self._toggle(char * 2, after)
        else:
            if size >= 2:
                self._toggle(char * 2, after)
            if size % 2:
                self._toggle(char, after)

    def _toggle(self, mark: str, after: str) -> None:
        held = mark in self._marks
        if held or mark in self._carried:
            # Double marks close after a blank too; a single one there is a plain character.
            if len(mark) == 2 or not self._before.isspace():
                (self._marks if held else self._carried).discard(mark)
        elif not after.isspace() and (len(mark) == 2 or self._may_open()):
            self._marks.add(mark)

    def _may_open(self) -> bool:
        """Return whether a single mark can open: not in a word, nor as an arm in ¯\\_(ツ)_/¯."""
        return not self._before.isalnum() and self._before not in _CLOSERS


AGGREGATED, PARAGRAPHS, LINES, SENTENCES = range(4)

#: A segment of only these belongs to its neighbour.
LONE = frozenset(".,!?;:…-—。！？、，")


class Boundaries:
    """Fold over prose and code; methods return the position of a certain boundary, or 0.

    Positions count the characters of the visible text from the beginning of the stream.
    """

    __slots__ = ("_candidate", "_degree", "_newlines", "_real", "_sentences", "_table_end",
                 "at", "constructs")  # fmt: skip

    def __init__(self, degree: int) -> None:
        self.at: int = 0
        self.constructs: OpenConstructs = OpenConstructs()
        self._degree = degree
        self._candidate = 0
        self._real = False  # text worth a message has come since the last boundary
        self._newlines = 0  # in the current run of blanks
        self._table_end = 0  # after the last line with a pipe, while lines have them
        self._sentences = SentenceEnds() if degree == SENTENCES else None

    def feed(self, char: str) -> int:
        """Process a character of prose; return a position that is now certain, or 0."""
        self.at += 1
        if char in NOTABLE:
            self.constructs.feed(char)
        else:
            self.constructs.skip(char)
        if self._degree == AGGREGATED:
            return 0
        if (
            self._sentences is not None
            and self._sentences.feed(char)
            and not self.constructs.in_sentence
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
        """Process a letter or digit and the text after it, none notable, as if one by one.

        The first character decides everything undecided; for the rest see `pass_by`.  At degree
        `SENTENCES` the phrase is a single word.
        """
        self.at += len(phrase)
        self.constructs.skip(phrase[0], phrase[-1])
        if self._degree == AGGREGATED:
            return 0
        sentences = self._sentences
        if (
            sentences is not None
            and sentences.feed_word(phrase)
            and not self.constructs.in_sentence
        ):
            self._see(self.at - len(phrase))
        found, self._candidate = self._candidate, 0
        self._newlines = 0
        self._real = True
        return found

    def pass_by(self, text: str) -> bool:
        """Process text without notable characters if it only advances the position; return whether.

        That is so if text worth a message has come: there is no candidate and punctuation is not
        alone; if no newline, run or beginning of a line waits for the next character; and if
        sentences are not counted.
        """
        if not self._real or self._newlines or self._degree == SENTENCES:
            return False
        if not self.constructs.pass_by(text[-1]):
            return False
        self.at += len(text)
        return True

    def feed_code(self, size: int) -> None:
        """Process *size* characters of a fence, which has no boundary."""
        self.at += size
        self._real = True
        self._newlines = 0

    def open_fence(self) -> int:
        """Begin a fence; return the end of the text before it if that is worth a segment, or 0."""
        self._table_end = 0
        if self._degree == AGGREGATED:
            return 0
        if self._real:
            self._candidate, self._real = 0, False
            return self.at
        return self.settle()

    def close_fence(self) -> None:
        """End a fence: a boundary, certain as soon as something follows."""
        if self._degree != AGGREGATED:
            self._see(self.at)

    def settle(self) -> int:
        """Return and clear the candidate, or 0: other content than visible text comes now."""
        found, self._candidate = self._candidate, 0
        return found

    def finish(self) -> int:
        """End the text; return the end of a table before an unfinished last line, or 0.

        The line is no part of the table if it has no pipes.
        """
        self.constructs.finish()
        after_table = self._table_end and not self._newlines and not self.constructs.pipes
        return self._table_end if after_table and self._degree >= LINES else 0

    def forced(self, position: int, rest: str) -> None:
        """Record a cut at *position* without a boundary; *rest* is the text after it."""
        self.constructs.give_up(len(rest))
        self._candidate = 0  # there was none after the cut: it would have been used
        if self._table_end <= position:
            self._table_end = 0
        self._real = any(not char.isspace() and char not in LONE for char in rest)

    @property
    def candidate(self) -> int:
        """A boundary that is not certain yet, or 0."""
        return self._candidate

    def _end_line(self) -> int:
        self._newlines += 1
        if self.constructs.row:
            self._table_end = self.at
            return 0
        found = 0
        if self._table_end:
            # The line after the last one with a pipe is over and has none: the table ended.
            if self._degree >= LINES and self._newlines < 2:
                found = self._table_end
            self._table_end = 0
        needed = 2 if self._degree == PARAGRAPHS else 1
        if self._newlines >= needed and not self.constructs.open:
            self._see(self.at)
        return found

    def _see(self, position: int) -> None:
        if self._real or self._candidate:
            self._candidate = position
            self._real = False
