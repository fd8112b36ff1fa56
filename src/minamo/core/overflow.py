"""Where to cut text that has no boundary in reach: the best place near the limit."""

from __future__ import annotations

import re
from collections.abc import Iterable

from minamo.core.graphemes import inner_positions
from minamo.core.limits import SENTENCE_CONTEXT, WINDOW_AFTER, WINDOW_BEFORE
from minamo.core.scan import scan
from minamo.core.sentences import find_ends

_MAY_HAVE_ATOMS = re.compile(r"[<\[]|https?:")


def cut_prose(text: str, limit: int) -> int:
    """The position to cut *text* at, or 0 if it is one token that must not be cut yet.

    *text* reaches `WINDOW_AFTER` past *limit*.  A line's or sentence's end is best, then a
    blank, then any place between two characters; never inside a link, a mention or the like.
    """
    low, high = max(1, limit - WINDOW_BEFORE), min(len(text) - 1, limit + WINDOW_AFTER)
    atoms = scan(text).atoms if _MAY_HAVE_ATOMS.search(text) else []
    shut = {at for start, end in atoms for at in range(max(low, start + 1), min(high + 1, end))}
    # Sentences before the window are of no interest; a little of what is before it is.
    begin = max(0, low - SENTENCE_CONTEXT)
    known = (begin + end for end in find_ends(text[begin:]))
    ends = [_past_blanks(text, end) for end in known if low <= end <= high]
    ends += [at + 1 for at in range(low - 1, high) if text[at] == "\n"]
    blanks = [at + 1 for at in range(low - 1, high) if text[at].isspace()]
    for places in (ends, blanks):
        best = _nearest((at for at in places if low <= at <= high and at not in shut), limit)
        if best:
            return best
    # A token that began before the window and goes on: cut in front of it, if anything is there.
    for start, end in atoms:
        if start < limit < end:
            return start
    inner = set(inner_positions(text))
    return _nearest((at for at in range(low, high + 1) if at not in shut | inner), limit) or limit


def cut_code(text: str, limit: int) -> int:
    """The position to cut code at: after the last line that ends before *limit*."""
    newline = text.rfind("\n", 1, limit)
    if newline > 0:
        return newline + 1
    inner = set(inner_positions(text[: limit + 1]))
    return next((at for at in range(limit, 0, -1) if at not in inner), limit)


def _past_blanks(text: str, at: int) -> int:
    while at < len(text) and text[at].isspace():
        at += 1
    return at


def _nearest(places: Iterable[int], limit: int) -> int:
    return min(places, key=lambda at: (abs(at - limit), at), default=0)
