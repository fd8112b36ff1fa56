"""Code in a whole segment: fences by CommonMark's rule, and inline spans.

For text that is already cut; the streaming side has its own recogniser.  An inline span
must close on its own line, as everywhere in this library.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable
from functools import lru_cache

from attrs import frozen

from minamo.core.fitting.fences import LEAD, language_in
from minamo.core.limits import SPAN_HOLD

# Up to three blanks or the mark of a list item, three or more fence characters, anything.
_FENCE = re.compile(r"^(" + LEAD + r")(`{3,}|~{3,})([^\n]*)", re.MULTILINE)
_TICKS = re.compile(r"`+|\n")
_BLANKS = " \t\r"


@frozen(slots=True)
class Spans:
    """Ranges of a text, sorted and disjoint."""

    starts: tuple[int, ...] = ()
    ends: tuple[int, ...] = ()

    @classmethod
    def of(cls, ranges: Iterable[tuple[int, int]]) -> Spans:
        """Sort *ranges* and merge those that overlap."""
        starts: list[int] = []
        ends: list[int] = []
        for start, end in sorted(ranges):
            if ends and start < ends[-1]:
                ends[-1] = max(ends[-1], end)
            else:
                starts.append(start)
                ends.append(end)
        return cls(tuple(starts), tuple(ends))

    def touches(self, start: int, end: int) -> bool:
        """Return whether a change of ``start:end`` (a point, if equal) reaches into a range."""
        index = bisect_right(self.ends, start)
        return index < len(self.starts) and self.starts[index] < end

    def holds(self, start: int, end: int) -> bool:
        """Return whether ``start:end`` is inside of one range."""
        index = bisect_right(self.starts, start) - 1
        return index >= 0 and end <= self.ends[index]

    def plus(self, ranges: Iterable[tuple[int, int]]) -> Spans:
        """Return these ranges and *ranges* together."""
        return Spans.of([*zip(self.starts, self.ends, strict=True), *ranges])


_NO_SPANS = Spans()


def code_spans(text: str, *, fence: str = "", mid_line: bool = False) -> Spans:
    """Return the code ranges of *text*; *fence* is the run that opened the one it begins in.

    *mid_line*: the text continues a line, so its beginning opens and closes no fence.
    """
    if not fence and "`" not in text and "~~~" not in text:
        return _NO_SPANS
    return _code_spans(text, fence, mid_line)


# Most rules of cleaning change nothing, and each asks for the code of the same text.
@lru_cache(maxsize=4)
def _code_spans(text: str, fence: str, mid_line: bool) -> Spans:
    ranges = fence_ranges(text, fence, mid_line=mid_line)
    here = 0
    inline: list[tuple[int, int]] = []
    for start, end in ranges:
        inline += _inline(text, here, start)
        here = end
    inline += _inline(text, here, len(text))
    return Spans.of(ranges + inline)


def fence_ranges(text: str, opened: str = "", *, mid_line: bool = False) -> list[tuple[int, int]]:
    """Return the ranges of *text* in fences; *opened* is the run of the one it begins in."""
    out: list[tuple[int, int]] = []
    start = 0 if opened else -1
    lines = (text.find("\n") + 1 or len(text)) if mid_line else 0
    for match in _FENCE.finditer(text, lines):
        lead, run, rest = match.groups()
        if start < 0:
            # A backtick in the info string makes the line an inline span instead.
            if run[0] == "~" or "`" not in rest:
                start, opened = match.start(), run
        elif run.startswith(opened) and not (lead + rest).strip(_BLANKS):
            out.append((start, match.end()))
            start, opened = -1, ""
    if 0 <= start < len(text):
        out.append((start, len(text)))
    return out


def empty_fence(text: str, *, fence: str = "", mid_line: bool = False) -> int:
    """Return the start of a fence that *text* opens, leaves empty and does not close; or -1.

    A first line that is no language is content.
    The mark of a list item in front of it is included: the item holds nothing else.
    """
    if "```" not in text and "~~~" not in text:
        return -1
    ranges = fence_ranges(text, fence, mid_line=mid_line)
    if not ranges or ranges[-1][1] < len(text):
        return -1
    opening = _FENCE.match(text, ranges[-1][0])
    if opening is None or text[opening.end() :].strip():
        return -1
    info = opening[3]
    return -1 if info.strip() and language_in(info) is None else opening.start()


@frozen(slots=True)
class LineSpan:
    """An inline code span, its number of backticks, and whether *text* closes it."""

    start: int
    end: int
    ticks: int
    closed: bool = True


def line_spans(text: str, ticks: int = 0) -> list[LineSpan]:
    """Return the inline spans of *text*, which has no fence, and the one it may end in.

    With *ticks* the text begins in a span that this many backticks close.
    """
    if "`" not in text and not ticks:
        return []
    spans: list[LineSpan] = []
    here = 0
    if ticks:
        stops = (stop for stop in _TICKS.finditer(text) if stop[0] in ("\n", "`" * ticks))
        stop = next(stops, None)
        if stop is None:
            return [LineSpan(0, len(text), ticks, closed=False)]
        here = stop.end()
        spans.append(LineSpan(0, here, ticks))
    for start, end in _inline(text, here, len(text)):
        spans.append(LineSpan(start, end, _size(text, start)))
        here = end
    # A run that is not closed in its line, or within `SPAN_HOLD`, opens no span.
    line = max(here, text.rfind("\n") + 1, len(text) - SPAN_HOLD)
    opening = text.find("`", line)
    if opening >= 0:
        spans.append(LineSpan(opening, len(text), _size(text, opening), closed=False))
    return spans


def _size(text: str, start: int) -> int:
    """Return the number of backticks at *start*."""
    run = _TICKS.match(text, start)
    assert run is not None
    return run.end() - start


def _inline(text: str, low: int, high: int) -> list[tuple[int, int]]:
    out: list[tuple[int, int]] = []
    line: list[tuple[int, int]] = []
    for match in _TICKS.finditer(text, low, high):
        if match[0] == "\n":
            out += _paired(text, line)
            line = []
        else:
            line.append(match.span())
    return out + _paired(text, line)


def _paired(text: str, runs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Pair each backtick run of a line with the next one of exactly its length."""
    # Looked up by length: scanning ahead from every run would be quadratic.
    by_length: dict[int, list[int]] = {}
    for start, end in runs:
        by_length.setdefault(end - start, []).append(start)
    out: list[tuple[int, int]] = []
    here = 0
    for start, end in runs:
        opening = start + _escaped(text, start)
        if opening < here or opening == end:
            continue
        length = end - opening
        closers = by_length.get(length, [])
        index = bisect_right(closers, opening)
        if index < len(closers):
            here = closers[index] + length
            out.append((opening, here))
    return out


def _escaped(text: str, at: int) -> bool:
    """Return whether an odd number of backslashes precedes *at*."""
    first = at
    while first and text[first - 1] == "\\":
        first -= 1
    return (at - first) % 2 == 1
