"""Hold visible text until it makes a segment, and cut it there.

Goals: the same text gives the same segments however it was chunked; every character is looked
at once; what is held never exceeds a named limit.  Plan: `Boundaries` reads the characters and
names positions; this file keeps the text, remembers where in the stream each run of it came
from, and cuts by force when a limit is reached.
"""

from __future__ import annotations

import re
from collections import deque

from attrs import evolve, frozen

from minamo.core.boundaries import AGGREGATED, SENTENCES, Boundaries
from minamo.core.holds import NOTABLE
from minamo.core.limits import AGGREGATE_MAX, PARTS_MAX, WINDOW_AFTER
from minamo.core.origins import ADDED
from minamo.core.overflow import cut_code, cut_prose
from minamo.core.provenance import Trail

# Plain writing from a letter or digit on, or any other single character.  What is not notable
# changes nothing in the middle of a line, but for the ends of sentences.
_QUIET = "[^" + re.escape("".join(sorted(NOTABLE))) + "]"
_PHRASES = re.compile(r"[^\W_]" + _QUIET + r"*|.", re.DOTALL)
# Some pictures are digits to Unicode, but behind a full stop they belong to the sentence.
_WORDS = re.compile(r"[^\W_\U0001f000-\U0001faff]+|.", re.DOTALL)
_FENCE = re.compile(r"`{3,}|~{3,}")


@frozen(slots=True)
class Run:
    """Characters of a segment, from `offset` on, that follow each other in the stream too."""

    offset: int
    start: int


@frozen(slots=True)
class Segment:
    """Text cut at a boundary, with where it came from."""

    text: str
    runs: tuple[Run, ...]
    fence: str = ""
    """The run that opened the fence in which it begins, if an earlier segment did."""
    torn: bool = False
    """Ends with formatting open that the next segment goes on with."""
    mid_line: bool = False
    """Begins in a line that an earlier segment began, so what stands there begins no fence."""
    ahead: str = ""
    """What was known of the text behind it when it was torn."""
    cut_off: bool = False
    """The reply ends here and is not complete."""

    @property
    def trail(self) -> Trail:
        """Where each character stood in the stream."""
        ends = [run.offset for run in self.runs[1:]] + [len(self.text)]
        runs = zip(self.runs, ends, strict=True)
        return [(run.start, end - run.offset) for run, end in runs if run.offset < end]


class Buffer:
    """The text between the lexer and delivery.

    Args:
        degree: Where segments end; see `Boundaries`.
        prose_max: Cut prose about here when no boundary comes.
        code_max: Cut a fence here.
        token_max: The longest link or the like that is worth waiting for: a message's length.
    """

    __slots__ = ("_base", "_boundaries", "_code_max", "_degree", "_fence", "_full", "_mid_line",
                 "_opened_in", "_parts", "_pieces", "_prose_max", "_runs", "_shift", "_ticks",
                 "_token_max", "ready")  # fmt: skip

    def __init__(self, degree: int, prose_max: int, code_max: int, token_max: int) -> None:
        self.ready: deque[Segment] = deque()
        self._degree = degree
        self._pieces = _WORDS if degree == SENTENCES else _PHRASES
        self._prose_max = AGGREGATE_MAX if degree == AGGREGATED else prose_max
        self._code_max = AGGREGATE_MAX if degree == AGGREGATED else code_max
        self._token_max = token_max
        self._boundaries = Boundaries(degree)
        self._parts: list[str] = []
        self._runs: list[Run] = []  # offsets count from the stream's first visible character
        self._shift: int | None = None  # what the last run adds to positions, if it stood somewhere
        self._base = 0  # position of the first character held
        self._fence = ""  # the run that opened a fence which is open
        self._opened_in = ""  # ...and that which was open when the text held began
        self._ticks = 0  # what closes the code span in which the text held begins
        self._mid_line = False  # the text held begins in the middle of a line
        self._full = 0  # position at which a cut is forced
        self._set_full()

    def __len__(self) -> int:
        return self._boundaries.at - self._base

    @property
    def pending(self) -> Segment:
        """The text that is held, as if it were a segment."""
        runs = self._shifted(self._runs) or (Run(0, 0),)  # before the first character
        return Segment(self._join(), runs, self._opened_in, mid_line=self._mid_line)

    @property
    def in_code(self) -> bool:
        """Whether a fence is open."""
        return self._fence != ""

    def add(self, text: str, start: int) -> None:
        """Hold prose, some at least, that stood at *start* in the stream."""
        boundaries = self._boundaries
        if start - boundaries.at != self._shift:
            self._note(start)
        # In the middle of a line, short of the limit, plain writing can cut nothing.
        short = boundaries.at + len(text) < self._full
        if short and NOTABLE.isdisjoint(text) and boundaries.pass_by(text):
            self._parts.append(text)
        else:
            self._add_in_pieces(text)
        if len(self._parts) > PARTS_MAX:
            self._join()

    def _add_in_pieces(self, text: str) -> None:
        boundaries, pieces = self._boundaries, self._pieces
        at = done = 0  # what was read of `text`, and what of it is in `_parts`
        while at < len(text):
            # No piece goes past a limit: a cut must not depend on where pieces end.
            room = self._full - boundaries.at
            found = pieces.match(text, at, at + max(room, 1))
            assert found is not None
            piece, at = found[0], found.end()
            cut = boundaries.feed(piece) if len(piece) == 1 else boundaries.feed_phrase(piece)
            if cut or boundaries.at >= self._full:
                self._parts.append(text[done:at])
                done = at
                self._cut(cut)
        self._parts.append(text[done:])

    def add_code(self, text: str, start: int) -> None:
        """Hold characters of an open fence."""
        self._note(start)
        while text:
            room = self._full - self._boundaries.at
            part, text = text[:room], text[room:]
            self._parts.append(part)
            self._boundaries.feed_code(len(part))
            if self._boundaries.at >= self._full:
                self._force()
        if len(self._parts) > PARTS_MAX:
            self._join()

    def open_code(self, text: str, start: int) -> None:
        """Begin a fence with its opening line."""
        self._cut(self._boundaries.open_fence())
        # Whoever says that a fence begins here has seen a line begin.
        self._mid_line = self._mid_line and len(self) > 0
        self._fence = _opening_run(text)
        self._set_full()
        self.add_code(text, start)

    def close_code(self, text: str, start: int) -> None:
        """End the fence with its closing line."""
        self.add_code(text, start)
        self._fence = ""
        self._boundaries.close_fence()
        self._set_full()

    def settle(self) -> None:
        """No visible text follows for a while: let go of what is complete."""
        self._cut(self._boundaries.settle())

    def rest(self, *, cut_off: bool = False) -> list[Segment]:
        """Give up everything, complete or not; *cut_off*: the reply should have gone on."""
        self._cut(self._boundaries.finish())
        self._release(self._boundaries.at, torn=False)
        segments = list(self.ready)
        self.ready.clear()
        if cut_off and segments:
            segments[-1] = evolve(segments[-1], cut_off=True)
        return segments

    def _note(self, start: int) -> None:
        """Remember where in the stream the next character held stood."""
        at = self._boundaries.at
        if not self._runs or _goes_on(self._runs[-1], at) != start:
            self._runs.append(Run(at, start))
            self._shift = None if start == ADDED else start - at

    def _cut(self, position: int) -> None:
        if position > self._base:
            self._ticks = 0  # no boundary is in a code span
            self._release(position, torn=self._boundaries.holds.carries)
        if self._boundaries.at >= self._full:
            self._force()

    def _force(self) -> None:
        """The limit is reached: cut where it hurts least, or wait if nothing can be cut."""
        while self._boundaries.at >= self._full:
            offset = self._forced()
            if not offset:
                # Look again now and then: what is waited for may have come to its end.
                size = min(len(self) + WINDOW_AFTER, self._token_max)
                self._full = self._base + size
                return
            ahead = "" if self._fence else self._join()[offset:]
            self._release(self._base + offset, torn=True, ahead=ahead)
            self._boundaries.forced(self._base, self._join())

    def _forced(self) -> int:
        """How much of what is held to release, or 0 to wait."""
        text = self._join()
        candidate = self._boundaries.candidate
        if self._fence:
            return cut_code(text, self._code_max)
        if candidate > self._base:
            return candidate - self._base
        cut = cut_prose(text, self._prose_max, self._token_max, self._ticks)
        self._ticks = cut.ticks if cut.at else self._ticks
        return cut.at

    def _release(self, position: int, *, torn: bool, ahead: str = "") -> None:
        text = self._join()
        offset = position - self._base
        if offset:
            # The run that the cut falls into goes on behind it.
            inside = [run for run in self._runs if run.offset < position]
            runs = self._shifted(inside)
            part, mid_line = text[:offset], self._mid_line
            self.ready.append(Segment(part, runs, self._opened_in, torn, mid_line, ahead))
            self._mid_line = text[offset - 1] not in "\r\n"
            self._runs = [inside[-1], *(run for run in self._runs if run.offset >= position)]
        self._parts = [text[offset:]]
        self._base = position
        self._opened_in = self._fence
        self._set_full()

    def _shifted(self, runs: list[Run]) -> tuple[Run, ...]:
        """The same runs, with offsets into what is held."""
        return tuple(
            Run(max(run.offset - self._base, 0), _goes_on(run, max(run.offset, self._base)))
            for run in runs
        )

    def _join(self) -> str:
        text = "".join(self._parts)
        self._parts = [text]
        return text

    def _set_full(self) -> None:
        size = self._code_max if self._fence else self._prose_max + WINDOW_AFTER
        self._full = self._base + size


def _opening_run(line: str) -> str:
    """The backticks or tildes of a fence's first line."""
    found = _FENCE.search(line)
    assert found is not None
    return found[0]


def _goes_on(run: Run, at: int) -> int:
    """Where in the stream the character at position *at* stands if it belongs to *run*."""
    return ADDED if run.start == ADDED else run.start + at - run.offset
