"""Choose the cuts: as few messages as can be, and then the best places.

A start is worth its *reach*: its position less what must be put in front of a message there.
What is put in front was itself in the text before, so a later start never reaches less far, and
always cutting as late as can be gives the fewest messages.  Going back from the end then tells
how early each cut may be without costing a message; between those bounds the best rank wins.
"""

from __future__ import annotations

import re
from bisect import bisect_right

from minamo.core.layout import PARAGRAPH, Layout
from minamo.core.limits import UTF16_MAX

_CUT = re.compile(rb"[^\0]")


def cuts(layout: Layout) -> list[int]:
    """The positions where one message ends and the next begins, in order."""
    far = _farthest(layout)
    if not far:
        return []
    floors = _floors(layout, len(far))
    return _nicest(layout, far, floors)


def _farthest(layout: Layout) -> list[int]:
    """Cuts for the fewest messages, each as late as can be."""
    chosen: list[int] = []
    start, end = layout.after(0), len(layout.text)
    while not layout.fits(start, end):
        chosen.append(_last_cut(layout, start))
        start = layout.after(chosen[-1])
    return chosen


def _room(layout: Layout, start: int) -> int:
    """The last position a message from *start* could end at, were there nothing to close."""
    opening = layout.opening(start)
    end = min(len(layout.text), start + layout.limit - opening)
    if layout.units:
        units = layout.unit(start) + UTF16_MAX - opening
        end = min(end, bisect_right(layout.units, units) - 1)
    return end


def _last_cut(layout: Layout, start: int) -> int:
    cut = _cut_before(layout, _room(layout, start) + 1, start)
    while cut and not layout.fits(start, cut):
        cut = _cut_before(layout, cut, start)
    # Holds give way, so there always is a cut; if not, size wins over everything.
    return cut or start + 1


def _cut_before(layout: Layout, at: int, start: int) -> int:
    """The last allowed cut before *at* that leaves something after *start*; 0 if none."""
    window = layout.rank[start + 1 : at].rstrip(b"\0")
    return start + len(window) if window else 0


def _floors(layout: Layout, count: int) -> list[tuple[int, int]]:
    """For each cut, the least reach (in code points, in UTF-16 units) it must keep."""
    end = len(layout.text)
    floors = [(end - layout.limit, layout.unit(end) - UTF16_MAX)]
    for _ in range(count - 1):
        cut = _first_cut(layout, floors[-1])
        closing = layout.closing(cut)
        floors.append((cut + closing - layout.limit, layout.unit(cut) + closing - UTF16_MAX))
    floors.reverse()
    return floors


def _first_cut(layout: Layout, floor: tuple[int, int]) -> int:
    """The cut above *floor* that asks least of the message before it."""
    at = max(floor[0], 1)
    # A cut before whitespace starts its message after it, so one just below may do, too.
    at = _cut_before(layout, at, max(0, at - layout.limit)) or at
    best, least = len(layout.text), len(layout.text) + layout.limit
    while (match := _CUT.search(layout.rank, at)) and match.start() < least:
        cut = match.start()
        if _above(layout, cut, floor) and cut + layout.closing(cut) < least:
            best, least = cut, cut + layout.closing(cut)
        at = cut + 1
    return best


def _above(layout: Layout, cut: int, floor: tuple[int, int]) -> bool:
    start = layout.after(cut)
    opening = layout.opening(start)
    return start - opening >= floor[0] and layout.unit(start) - opening >= floor[1]


def _nicest(layout: Layout, far: list[int], floors: list[tuple[int, int]]) -> list[int]:
    chosen: list[int] = []
    start = layout.after(0)
    for floor in floors:
        cut = _best(layout, start, floor)
        if not cut:
            return far  # whitespace longer than a message can hide the earliest cut
        chosen.append(cut)
        start = layout.after(cut)
    return chosen


def _best(layout: Layout, start: int, floor: tuple[int, int]) -> int:
    """The latest of the best-ranked cuts that keep to *floor*; 0 if none does."""
    high = _room(layout, start) + 1
    for rank in range(PARAGRAPH, 0, -1):
        at = high
        while (at := layout.rank.rfind(rank, start + 1, at)) >= 0:
            if layout.fits(start, at) and _above(layout, at, floor):
                return at
            if layout.after(at) < floor[0]:
                break
    return 0
