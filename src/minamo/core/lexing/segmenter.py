"""The segmenter: holds visible text until it makes a segment, and cuts it there.

Goals: the same text gives the same segments however it was chunked; every character is read once;
the held text never exceeds a named limit.  Plan: `Boundaries` reads the characters and returns
positions; this file keeps the text, records the stream offset of each run of it, and forces a cut
when a limit is reached.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

import msgspec
from attrs import frozen
from msgspec.structs import replace

from minamo.core.accounting.spans import ADDED, Trail
from minamo.core.cleaning.characters import EDGE, WORD, hold_words, inner_positions
from minamo.core.cleaning.code_spans import fence_ranges, line_spans
from minamo.core.fitting.markdown import find_tokens, unfinished_tokens
from minamo.core.lexing.boundaries import AGGREGATED, NOTABLE, SENTENCES, Boundaries
from minamo.core.lexing.sentences import find_ends
from minamo.core.limits import (
    AGGREGATE_MAX,
    PARTS_MAX,
    SENTENCE_CONTEXT,
    WINDOW_AFTER,
    WINDOW_BEFORE,
)

# How strongly a position resists a cut, next to the levels of words.
_TOKEN, _CLUSTER = WORD + 1, WORD + 2
_BLANKS = re.compile(r"\s+")
_LINE_ENDS = re.compile(r"\n")

_Span = tuple[int, int]


@frozen(slots=True)
class Cut:
    """A cut position, 0 if the buffer is to wait; and the code span it cuts in two, if any."""

    at: int
    ticks: int = 0
    """Number of backticks that close the span."""


def cut_prose(text: str, limit: int, most: int, ticks: int = 0) -> Cut:
    """Return the cut for *text*, which reaches at least `WINDOW_AFTER` past *limit*.

    Args:
        text: The text that the buffer holds.
        limit: Where a cut is wanted.
        most: The length from which on waiting for the end of a token is useless.
        ticks: How many backticks close the code span that *text* begins in; 0 if it begins in none.
    """
    size = len(text)
    limit = max(limit, size - WINDOW_AFTER)  # the buffer waited for longer
    code = line_spans(text, ticks)
    whole = [(span.start, span.end) for span in code if span.closed] + find_tokens(text)
    begun = [(span.start, span.end) for span in code if not span.closed]
    begun += [(start, size) for start in unfinished_tokens(text)]
    hold = _hold(text, whole, begun)
    at = _best(text, hold, limit)
    if at:
        return Cut(at)
    if size < most and any(end == size for _, end in (*whole, *begun)):
        return Cut(0)
    if begun:
        hold = _hold(text, whole, [])
        at = _best(text, hold, limit)
    near = range(max(1, limit - WINDOW_BEFORE), min(size, limit + WINDOW_AFTER + 1))
    # A token longer than a message is cut where the message is full.
    full = min(max(limit, most), size - 1)
    for level, reach, wanted in (
        (EDGE, near, limit),
        (WORD, near, limit),
        (WORD, range(1, size), limit),
        (_TOKEN, range(1, size), full),
        (_CLUSTER, range(1, size), full),
    ):
        at = at or _nearest((at for at in reach if hold[at] <= level), wanted)
    return Cut(at, next((span.ticks for span in code if span.start < at < span.end), 0))


def cut_code(text: str, limit: int) -> int:
    """Return the position to cut code at: after the last line that ends before *limit*."""
    newline = text.rfind("\n", 1, limit)
    if newline > 0:
        return newline + 1
    inner = set(inner_positions(text[: limit + 1]))
    return next((at for at in range(limit, 0, -1) if at not in inner), limit)


def cut_aggregate(text: str, limit: int) -> int:
    """Return the position after the last paragraph before *limit*, or 0; never inside a fence.

    A paragraph that ends in the first quarter of *text* does not count: little would be released.
    """
    fences = fence_ranges(text)
    at = limit
    while (at := text.rfind("\n\n", limit // 4, at)) > 0:
        while fences and fences[-1][0] > at:
            fences.pop()
        if not fences or fences[-1][1] <= at:
            return _past_blanks(text, at)
        at = fences[-1][0]
    return 0


def _hold(text: str, whole: list[_Span], begun: list[_Span]) -> bytearray:
    """Return how strongly each position of *text* resists a cut."""
    hold = bytearray(len(text) + 1)
    hold_words(hold, text)
    for start, end in (*whole, *begun):
        hold[start + 1 : end] = bytes([_TOKEN]) * (end - start - 1)
    ends = {end for _, end in whole}
    for start, _ in whole:
        if start in ends:
            hold[start] = 0  # between two tokens
    for at in inner_positions(text):
        hold[at] = _CLUSTER
    return hold


def _best(text: str, hold: bytearray, limit: int) -> int:
    """Return the best cut that tears nothing, or 0 if there is none."""
    first = len(text) - len(text.lstrip()) + 1  # no message is blank
    low, high = max(first, limit - WINDOW_BEFORE), min(len(text) - 1, limit + WINDOW_AFTER)
    blanks = [found.end() for found in _BLANKS.finditer(text)]
    # Sentences before the window do not matter; a little context before it does.
    begin = max(0, low - SENTENCE_CONTEXT)
    ends = [_past_blanks(text, begin + end) for end in find_ends(text[begin:])]
    ends += [found.end() for found in _LINE_ENDS.finditer(text)]
    near = range(low, high + 1)
    for places, reach in (
        (ends, near),
        (blanks, near),
        (near, near),
        (blanks, range(first, len(text))),
        (range(first, len(text)), range(first, len(text))),
    ):
        at = _nearest((at for at in places if at in reach and not hold[at]), limit)
        if at:
            return at
    return 0


def _past_blanks(text: str, at: int) -> int:
    blanks = _BLANKS.match(text, at)
    return blanks.end() if blanks else at


def _nearest(places: Iterable[int], limit: int) -> int:
    return min(places, key=lambda at: (abs(at - limit), at), default=0)


# Plain text from a letter or digit on, or any other single character.  Characters that are not
# notable change nothing in the middle of a line, except for the ends of sentences.
_QUIET = "[^" + re.escape("".join(sorted(NOTABLE))) + "]"
_PHRASES = re.compile(r"[^\W_]" + _QUIET + r"*|.", re.DOTALL)
# Some emoji are digits to Unicode, but after a full stop they belong to the sentence.
_WORDS = re.compile(r"[^\W_\U0001f000-\U0001faff]+|.", re.DOTALL)
_FENCE = re.compile(r"`{3,}|~{3,}")


class Run(msgspec.Struct, frozen=True, gc=False):
    """Characters of a segment, from `offset` on, that are contiguous in the stream too."""

    offset: int
    start: int


class Segment(msgspec.Struct, frozen=True, gc=False):
    """Text cut at a boundary, with its source runs."""

    text: str
    runs: tuple[Run, ...]
    fence: str = ""
    """The run that opened the fence it begins in, if an earlier segment opened one."""
    torn: bool = False
    """Whether it ends with open formatting that the next segment continues."""
    mid_line: bool = False
    """Whether it begins in a line that an earlier segment began, so no fence begins there."""
    ahead: str = ""
    """The known text after it when it was torn."""
    cut_off: bool = False
    """Whether the reply ends here and is not complete."""

    @property
    def trail(self) -> Trail:
        """Stream offset of each character, as runs."""
        trail: Trail = []
        end = len(self.text)
        for run in reversed(self.runs):
            if run.offset < end:
                trail.append((run.start, end - run.offset))
            end = run.offset
        trail.reverse()
        return trail


class Buffer:
    """The text between the lexer and delivery.

    Args:
        degree: Where segments end; see `Boundaries`.
        prose_max: Cut prose about here if no boundary comes.
        code_max: Cut a fence here.
        token_max: The longest link or similar that is worth waiting for: a message's length.
    """

    __slots__ = ("_base", "_boundaries", "_code_max", "_degree", "_fence_at", "_full",
                 "_mid_line", "_opened_in", "_parts", "_pieces", "_prose_max", "_runs", "_shift",
                 "_ticks", "_token_max", "fence", "ready")  # fmt: skip

    def __init__(self, degree: int, prose_max: int, code_max: int, token_max: int) -> None:
        self.ready: list[Segment] = []  # a deque would be 700 bytes of every stream
        self._degree = degree
        self._pieces = _WORDS if degree == SENTENCES else _PHRASES
        self._prose_max = AGGREGATE_MAX if degree == AGGREGATED else prose_max
        self._code_max = AGGREGATE_MAX if degree == AGGREGATED else code_max
        self._token_max = token_max
        self._boundaries = Boundaries(degree)
        self._parts: list[str] = []
        self._runs: list[Run] = []  # offsets count from the stream's first visible character
        self._shift: int | None = None  # offset minus position in the last run, if it has one
        self._base = 0  # position of the first character held
        self.fence: str = ""
        """The run that opened the open fence; empty if none is open."""
        self._fence_at = 0  # position where the last fence begins
        self._opened_in = ""  # ...and the one that was open when the held text began
        self._ticks = 0  # backticks that close the code span the held text begins in
        self._mid_line = False  # the held text begins in the middle of a line
        self._full = 0  # position at which a cut is forced
        self._set_full()

    def __len__(self) -> int:
        return self._boundaries.at - self._base

    @property
    def pending(self) -> Segment:
        """The held text, as if it were a segment."""
        runs = self._shifted(self._runs) or (Run(0, 0),)  # before the first character
        return Segment(self._join(), runs, self._opened_in, mid_line=self._mid_line)

    def add(self, text: str, start: int) -> None:
        """Hold non-empty prose whose stream offset is *start*."""
        boundaries = self._boundaries
        if start - boundaries.at != self._shift:
            self._note(start)
        # In the middle of a line, short of the limit, plain text can cause no cut.
        short = boundaries.at + len(text) < self._full
        if short and NOTABLE.isdisjoint(text) and boundaries.pass_by(text):
            self._parts.append(text)
        else:
            self._add_in_pieces(text)
        if len(self._parts) > PARTS_MAX:
            self._join()

    def _add_in_pieces(self, text: str) -> None:
        boundaries, pieces = self._boundaries, self._pieces
        at = done = 0  # how much of `text` was read, and how much is in `_parts`
        while at < len(text):
            # No piece extends past a limit: a cut must not depend on where pieces end.
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
        # A caller that opens a fence here has seen a line begin.
        self._mid_line = self._mid_line and len(self) > 0
        self.fence, self._fence_at = _opening_run(text), self._boundaries.at
        self._set_full()
        self.add_code(text, start)

    def close_code(self, text: str, start: int) -> None:
        """End the fence with its closing line."""
        self.add_code(text, start)
        self.fence = ""
        self._boundaries.close_fence()
        self._set_full()

    def settle(self) -> None:
        """Release complete segments: no visible text follows for a while."""
        self._cut(self._boundaries.settle())

    def flush(self) -> None:
        """Release everything held: other content than text follows; an open fence goes on after."""
        self._cut(self._boundaries.finish())
        self._release(self._boundaries.at, torn=bool(self.fence))
        self._boundaries.forced(self._base, "")
        self._ticks = 0
        self._mid_line = self._mid_line and bool(self.fence)

    def rest(self, *, cut_off: bool = False) -> list[Segment]:
        """Return all segments, complete or not; *cut_off*: the reply should have continued."""
        self._cut(self._boundaries.finish())
        self._release(self._boundaries.at, torn=False)
        segments = list(self.ready)
        self.ready.clear()
        if cut_off and segments:
            segments[-1] = replace(segments[-1], cut_off=True)
        return segments

    def _note(self, start: int) -> None:
        """Record the stream offset of the next held character."""
        at = self._boundaries.at
        if not self._runs or _goes_on(self._runs[-1], at) != start:
            self._runs.append(Run(at, start))
            self._shift = None if start == ADDED else start - at

    def _cut(self, position: int) -> None:
        if position > self._base:
            self._ticks = 0  # no boundary is in a code span
            self._release(position, torn=self._boundaries.constructs.carries)
        if self._boundaries.at >= self._full:
            self._force()

    def _force(self) -> None:
        """Cut at the least harmful place: the limit is reached; wait if nothing can be cut."""
        while self._boundaries.at >= self._full:
            offset = self._forced()
            if not offset:
                # Check again now and then: the awaited construct may have ended.
                size = min(len(self) + WINDOW_AFTER, self._token_max)
                self._full = self._base + size
                return
            ahead = "" if self.fence else self._join()[offset:]
            self._release(self._base + offset, torn=True, ahead=ahead)
            self._boundaries.forced(self._base, self._join())

    def _forced(self) -> int:
        """Return how many held characters to release, or 0 to wait."""
        text = self._join()
        candidate = self._boundaries.candidate
        if self._degree == AGGREGATED:
            # Paragraphs and fences stay whole; a fence that is open waits with its opening line.
            before = self._fence_at - self._base if self.fence else self._prose_max
            if self.fence and before >= self._prose_max // 4:
                return before
            if not self.fence and (at := cut_aggregate(text, before)):
                return at
        if self.fence:
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
            # The run that the cut falls into continues after it.
            inside: list[Run] = []
            after: list[Run] = []
            for run in self._runs:
                (inside if run.offset < position else after).append(run)
            runs = self._shifted(inside)
            part, mid_line = text[:offset], self._mid_line
            self.ready.append(Segment(part, runs, self._opened_in, torn, mid_line, ahead))
            self._mid_line = text[offset - 1] not in "\r\n"
            self._runs = [inside[-1], *after]
        self._parts = [text[offset:]]
        self._base = position
        self._opened_in = self.fence if position > self._fence_at else ""
        self._set_full()

    def _shifted(self, runs: list[Run]) -> tuple[Run, ...]:
        """Return the same runs, with offsets into the held text."""
        shifted = []
        for run in runs:
            offset = max(run.offset, self._base)
            shifted.append(Run(offset - self._base, _goes_on(run, offset)))
        return tuple(shifted)

    def _join(self) -> str:
        text = "".join(self._parts)
        self._parts = [text]
        return text

    def _set_full(self) -> None:
        size = self._code_max if self.fence else self._prose_max + WINDOW_AFTER
        self._full = self._base + size


def _opening_run(line: str) -> str:
    """Return the backticks or tildes of a fence's first line."""
    found = _FENCE.search(line)
    assert found is not None
    return found[0]


def _goes_on(run: Run, at: int) -> int:
    """Return the stream offset of position *at* if it belongs to *run*."""
    return ADDED if run.start == ADDED else run.start + at - run.offset
