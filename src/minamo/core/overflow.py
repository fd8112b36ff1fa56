"""Where to cut text that has no boundary in reach: the best place near the limit.

Between the last boundary and the limit a cut falls inside a code span, a token such as a mention
or a link, or a word only where there is no other place.  A line's or sentence's end is best, then
a blank, then a place between two tokens or two characters of a script without blanks: first those
near the limit, then those far from it, for a shorter message beats a torn word.  Where a token is
still being written and there is no place before it, the buffer waits for its end.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from attrs import frozen

from minamo.core.code_spans import line_spans
from minamo.core.graphemes import inner_positions
from minamo.core.limits import SENTENCE_CONTEXT, WINDOW_AFTER, WINDOW_BEFORE
from minamo.core.sentences import find_ends
from minamo.core.tokens import find_tokens, unfinished_tokens
from minamo.core.words import EDGE, WORD, hold_words

# How strongly a position resists a cut, next to the levels of words.
_TOKEN, _CLUSTER = WORD + 1, WORD + 2
_BLANKS = re.compile(r"\s+")
_LINE_ENDS = re.compile(r"\n")

_Span = tuple[int, int]


@frozen(slots=True)
class Cut:
    """Where to cut, 0 if the buffer is to wait; and the code span that is cut in two, if one is."""

    at: int
    ticks: int = 0
    """How many backticks close the span."""


def cut_prose(text: str, limit: int, most: int, ticks: int = 0) -> Cut:
    """Choose the cut for *text*, which reaches `WINDOW_AFTER` past *limit* at least.

    Args:
        text: What the buffer holds.
        limit: Where a cut is wanted.
        most: The length from which on waiting for the end of a token is no use.
        ticks: How many backticks close the code span that *text* begins in; 0 if it begins in none.
    """
    size = len(text)
    limit = max(limit, size - WINDOW_AFTER)  # it has waited for longer
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
    # What is longer than a message is cut where the message is full.
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
    """The position to cut code at: after the last line that ends before *limit*."""
    newline = text.rfind("\n", 1, limit)
    if newline > 0:
        return newline + 1
    inner = set(inner_positions(text[: limit + 1]))
    return next((at for at in range(limit, 0, -1) if at not in inner), limit)


def _hold(text: str, whole: list[_Span], begun: list[_Span]) -> bytearray:
    """How strongly each position of *text* resists a cut."""
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
    """The best place that tears nothing, or 0 if there is none."""
    first = len(text) - len(text.lstrip()) + 1  # no message is blank
    low, high = max(first, limit - WINDOW_BEFORE), min(len(text) - 1, limit + WINDOW_AFTER)
    blanks = [found.end() for found in _BLANKS.finditer(text)]
    # Sentences before the window are of no interest; a little of what is before it is.
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
