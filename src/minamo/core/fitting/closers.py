"""Discord's inline markdown: which marker closes which.

Discord's clients match each construct from its opener to the nearest fitting closer, the outer
one first, and only then look inside.  The same results are computed here from an index of marker
runs, so that a failed look-ahead costs a binary search and not a scan to the end of the text.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right

_RUNS = re.compile(r"\\+|\*+|_+|`+")
_LANGUAGE = re.compile(r"[A-Za-z0-9_+\-.#]+\n")
_LINE_ENDS = re.compile(r"\n*")
_STRIKE_END = re.compile(r"~~(?!_)")
_WORD = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_")


class _Runs:
    """The runs of one marker character, in order."""

    __slots__ = ("ends", "odd_ends", "odd_starts", "starts")

    def __init__(self) -> None:
        self.starts: list[int] = []
        self.ends: list[int] = []
        self.odd_starts: list[int] = []
        self.odd_ends: list[int] = []

    def add(self, start: int, end: int) -> None:
        self.starts.append(start)
        self.ends.append(end)
        if (end - start) % 2:
            self.odd_starts.append(start)
            self.odd_ends.append(end)

    def end_at(self, at: int) -> int:
        """Return the end of the run that contains *at*."""
        return self.ends[bisect_right(self.starts, at) - 1]

    def across(self, high: int) -> int | None:
        """Return the start of a run that begins before *high* and ends after it, or None."""
        index = bisect_left(self.starts, high) - 1
        return self.starts[index] if index >= 0 and self.ends[index] > high else None


class Closers:
    """Finder of closers in one text.  `high` bounds a search: text beyond it does not exist."""

    __slots__ = ("_by_length", "_lengths", "_runs", "_text", "_unstruck")

    def __init__(self, text: str) -> None:
        self._text = text
        self._runs = {"*": _Runs(), "_": _Runs(), "`": _Runs()}
        self._by_length: dict[int, list[int]] = {}
        self._unstruck: dict[int, int] = {}
        escaped = -1
        for match in _RUNS.finditer(text):
            start, end = match.span()
            char = text[start]
            if char == "\\":
                escaped = end if (end - start) % 2 else -1
                continue
            if char == "`":
                self._by_length.setdefault(end - start, []).append(start)
            elif start == escaped:
                start += 1  # an escaped marker does not count
            if start < end:
                self._runs[char].add(start, end)
        self._lengths = sorted(self._by_length, reverse=True)

    def pair(self, char: str, at: int, high: int) -> int | None:
        """Return the offset of the closer of the `**` or `__` at *at*: the last two of a run."""
        runs = self._runs[char]
        low = at + 3
        index = bisect_left(runs.ends, low + 2)
        while index < len(runs.ends) and runs.ends[index] <= high:
            if runs.ends[index] - runs.starts[index] >= 2:
                return runs.ends[index] - 2
            index += 1
        start = runs.across(high)
        return high - 2 if start is not None and max(start, low) <= high - 2 else None

    def single(self, char: str, at: int, high: int) -> int | None:
        """Return the offset of the closer of the `*` or `_` at *at*: the end of an odd run."""
        runs = self._runs[char]
        own = min(runs.end_at(at), high)
        rest = own - at - 1
        if rest % 2:
            return own - 1 if rest > 1 and self._may_close(char, own, high) else None
        if char == "*" and not rest and (own >= high or self._text[own].isspace()):
            return None
        index = bisect_left(runs.odd_starts, own)
        if index < len(runs.odd_ends) and runs.odd_ends[index] <= high:
            start, end = runs.odd_starts[index], runs.odd_ends[index]
        else:
            crossing = runs.across(high)
            if crossing is None or crossing < own or not (high - crossing) % 2:
                return None
            start, end = crossing, high
        if char == "*" and end - start == 1 and self._blank(start - 1):
            return None  # " *" may begin a list, so it ends no italics
        return end - 1 if self._may_close(char, end, high) else None

    def _blank(self, at: int) -> bool:
        """Return whether *at* is whitespace that no backslash escapes."""
        before = at
        while before and self._text[before - 1] == "\\":
            before -= 1
        return self._text[at].isspace() and (at - before) % 2 == 0

    def _may_close(self, char: str, end: int, high: int) -> bool:
        return char == "*" or end >= high or self._text[end] not in _WORD

    def spoiler(self, at: int, high: int) -> int | None:
        """Return the offset of the closer of the `||` at *at*."""
        end = self._text.find("||", at + 3, high)
        return end if end >= 0 else None

    def strike(self, at: int, high: int) -> int | None:
        """Return the offset of the closer of the `~~` at *at*."""
        if at >= self._unstruck.get(high, high):
            return None  # the search from further left found nothing
        end = _STRIKE_END.search(self._text, at + 3, high)
        if end is None:
            self._unstruck[high] = at
            return None
        return end.start()

    def block(self, at: int, high: int) -> int | None:
        """Return the offset of the closer of the three backticks at *at*.

        Whatever follows the line ends after them, or after a language, is content: of an empty
        block, the backticks that seem to close it.
        """
        language = _LANGUAGE.match(self._text, at + 3, high)
        for body in (language.end() if language else at + 3, at + 3):
            ink = _LINE_ENDS.match(self._text, body, high)
            assert ink is not None
            end = self._text.find("```", ink.end() + 1, high)
            if end >= 0:
                return end
        return None

    def code(self, at: int, high: int) -> tuple[int, int] | None:
        """Return the length of the inline code marker at *at*, and the offset of its closer."""
        runs = self._runs["`"]
        own = min(runs.end_at(at), high)
        crossing = runs.across(high)
        clipped = high - crossing if crossing is not None and crossing >= own else 0
        clipped = clipped if clipped <= own - at else 0
        for length in self._lengths:
            if length > own - at:
                continue
            if clipped > length:
                break
            starts = self._by_length[length]
            index = bisect_left(starts, own)
            if index < len(starts) and starts[index] + length <= high:
                return length, starts[index]
        return (clipped, high - clipped) if clipped else None
