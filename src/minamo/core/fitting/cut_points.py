"""Cut points of a text: where it may be cut, and how good each place is.

Each position has a hold (how strongly it resists a cut) and a rank (how good a cut it makes).
Holds are released, weakest first, only where a stretch without a cut is longer than a message.
"""

from __future__ import annotations

import re
from array import array
from itertools import accumulate

from attrs import Factory, define

from minamo.core.cleaning.characters import EDGE, WORD, hold_words, inner_positions
from minamo.core.fitting.draft import Block, Enclosure, affordable, mask
from minamo.core.fitting.markdown import Scan
from minamo.core.limits import SENTENCE_TAIL_MAX, UTF16_MAX

# How good a cut is.  Ends of code lines come after prose: a fence that fits is kept whole.
ANYWHERE, SPACE, CODE_LINE, SENTENCE, LINE_END, PARAGRAPH = range(1, 7)

# Next to these a marker would be read as a longer one, or as escaped.
TOUCHY = frozenset("*_~|`\\")

_SPACES = re.compile(r"\s+")


@define(slots=True)
class DraftLayout:
    """A text with its cut points; positions are offsets in it."""

    text: str
    found: Scan
    limit: int
    kept: list[tuple[Enclosure, ...]]  # per stack, the enclosures that are reopened
    open_costs: list[int]  # per stack, the characters it takes to reopen it
    close_costs: list[int]
    verbatims: list[bool]  # per stack, whether it is code
    marks: list[bool]  # per stack, whether a quote in it marks its lines one by one
    hold: bytearray
    rank: bytearray = Factory(bytearray)
    starters: set[int] = Factory(set)
    units: array[int] | None = None  # UTF-16 units before each position, if that differs

    def enclosures(self, at: int) -> tuple[Enclosure, ...]:
        """Return the enclosures to close and reopen around a cut at *at*."""
        return self.kept[self.found.inside[at]]

    def verbatim(self, at: int) -> bool:
        """Return whether whitespace is significant at *at*."""
        return self.verbatims[self.found.inside[at]]

    def marked(self, at: int) -> bool:
        """Return whether *at* is in a quote whose lines are marked one by one."""
        return self.marks[self.found.inside[at]]

    def after(self, at: int) -> int:
        """Return where the next message begins after a cut at *at*."""
        if at < len(self.text) and not self.verbatim(at):
            spaces = _SPACES.match(self.text, at)
            return spaces.end() if spaces else at
        return at

    def opening(self, at: int) -> int:
        """Return how many characters a message that begins at *at* may have to add in front."""
        added = self.open_costs[self.found.inside[at]]
        # A zero-width break may be needed between the addition and the text.
        added += (at in self.starters) or (added > 0 and self.text[at : at + 1] in TOUCHY)
        if added and self.marked(at):
            # Code in a quote: the opener gets a quoted line of its own.  Otherwise the mark of
            # the line, if the text has one here, is the opener.
            given = at in self.found.prefixes
            if self.verbatim(at):
                return added if given else added + 2
            return added - 2 if given else added
        return added

    def closing(self, at: int) -> int:
        """Return how many characters a message that ends at *at* may have to add at its end."""
        added = self.close_costs[self.found.inside[at]]
        if not added:
            return 0
        if self.verbatim(at):
            line_end = self.text[at - 1] in "\r\n"
            return added - (line_end and self.enclosures(at)[-1].closer.startswith("\n"))
        return added + (self.text[at - 1] in TOUCHY)

    def unit(self, at: int) -> int:
        """Return the number of UTF-16 units before *at*."""
        return self.units[at] if self.units else at

    def fits(self, start: int, end: int) -> bool:
        """Return whether the text between two cuts fits one message."""
        added = self.opening(start) + self.closing(end)
        return (
            end - start + added <= self.limit
            and self.unit(end) - self.unit(start) + added <= UTF16_MAX
        )


# How strongly a position resists a cut.
AVOID, SPAN, ATOM, LINE, CLUSTER, FIRM, MARKER, GAP = 1, 3, 5, 6, 7, 8, 9, 10
assert AVOID < EDGE < SPAN < WORD < ATOM

_MARKERS = re.compile(r"[*_~|`\\]+")
_LINE_ENDS = re.compile(r"\r\n|\r|\n")
_SENTENCE_ENDS = re.compile(r"[.!?…。！？][\"')\]}”’»*_~|]*\Z")
_SENTENCE_LAST = frozenset(".!?…。！？\"')]}”’»*_~|")
_CJK_ENDS = re.compile(r"[。！？][」』）”’]*")
# Read by Discord as a quote, a heading or a list item at the start of a message.
_STARTERS = re.compile(r"(?:>>>|>|#{1,3}|-#|[-*]|\d{1,9}\.)[ \t]")
_HELD = re.compile(rb"[^\0]+")
_EASE = [bytes(0 if level <= ease else level for level in range(256)) for ease in range(GAP)]
_GAP = bytes([GAP])
_FREE = bytes([ANYWHERE]) + bytes(255)


def lay_out(text: str, found: Scan, blocks: list[Block], limit: int) -> DraftLayout:
    """Return *text* with its cut points; *blocks* are its fences."""
    blocks = _apart([*blocks, *found.blocks])
    for block in blocks:
        stack = found.stacks.push(found.inside[block.start], block.enclosure)
        found.fill(block.body, block.tail + 1, stack)
        found.openers[block.body] = block.start
        found.enders[block.tail] = block.end
    kept = [affordable(found.stacks[at], limit) for at in range(len(found.stacks))]
    layout = DraftLayout(
        text,
        found,
        limit,
        kept,
        [sum(len(enclosure.reopening) for enclosure in enclosures) for enclosures in kept],
        [sum(len(enclosure.closer) for enclosure in enclosures) for enclosures in kept],
        [bool(enclosures) and enclosures[-1].verbatim for enclosures in kept],
        [any(enclosure.lines for enclosure in enclosures) for enclosures in kept],
        bytearray(len(text) + 1),
    )
    if not text.isascii() and max(text) > "\uffff":
        wide = accumulate((1 + (char > "\uffff") for char in text), initial=0)
        layout.units = array("i", wide)
    prose = mask(found.text, blocks)
    starters = _find_starters(prose)
    layout.starters = set(starters)
    if not layout.fits(layout.after(0), len(text)):
        _find_cuts(layout, prose, starters, blocks)
    return layout


def _find_cuts(
    layout: DraftLayout, prose: str, starters: dict[int, int], blocks: list[Block]
) -> None:
    """Hold and rate the positions; most texts fit one message and need none of it."""
    found = layout.found
    _hold_prose(layout, prose, starters)
    _hold_code(layout, blocks)
    for start, end in found.firm:
        _raise(layout.hold, start, end, FIRM)
    for end, start in found.openers.items():
        _raise(layout.hold, start, end, MARKER)
    for start, end in found.enders.items():
        _raise(layout.hold, start, end, MARKER)
    gaps = [match.span() for match in _SPACES.finditer(prose)]
    for start, end in gaps:
        layout.hold[start + 1 : end + 1] = _GAP if end - start == 1 else _GAP * (end - start)
    layout.hold[0] = layout.hold[-1] = 0
    _give_way(layout)
    _rate(layout, prose, gaps, blocks)


def _find_starters(prose: str) -> dict[int, int]:
    """Return the marks in mid-line that would be read as such at the start of a message.

    With each, the start of the blanks before it.
    """
    found = {}
    for match in _STARTERS.finditer(prose):
        gap = match.start()
        while gap and prose[gap - 1] in " \t":
            gap -= 1
        if gap and prose[gap - 1] not in "\r\n":
            found[match.start()] = gap
    return found


def _apart(blocks: list[Block]) -> list[Block]:
    """Return *blocks* in order, without those that begin inside another."""
    apart: list[Block] = []
    for block in sorted(blocks, key=lambda block: block.start):
        if not apart or block.start >= apart[-1].end:
            apart.append(block)
    return apart


def _raise(hold: bytearray, start: int, end: int, level: int) -> None:
    """Set the hold of the positions strictly between *start* and *end*."""
    if end - start > 1:
        hold[start + 1 : end] = bytes([level]) * (end - start - 1)


def _hold_prose(layout: DraftLayout, prose: str, starters: dict[int, int]) -> None:
    hold, found = layout.hold, layout.found
    hold_words(hold, prose)
    for gap in starters.values():
        hold[gap] = AVOID
    for start, end in found.code:
        _raise(hold, start, end, WORD)
        for match in _SPACES.finditer(prose, start, end):
            hold[match.start()] = SPAN
    ends = {end for _, end in found.atoms}
    for start, end in found.atoms:
        _raise(hold, start, end, ATOM)
        if start in ends:
            hold[start] = 0  # between two of them
    for match in _MARKERS.finditer(prose):
        _raise(hold, *match.span(), LINE)


def _hold_code(layout: DraftLayout, blocks: list[Block]) -> None:
    hold = layout.hold
    for block in blocks:
        _raise(hold, block.start, block.end, LINE)
    for at in inner_positions(layout.text):
        hold[at] = CLUSTER
    for block in blocks:
        code = layout.text[block.body : block.tail]
        first = block.body + len(code) - len(code.lstrip())
        last = block.body + len(code.rstrip())
        _raise(hold, block.start, first + 1, FIRM)
        _raise(hold, last - 1, block.end, FIRM)
        header = block.body + len(block.enclosure.header)
        for match in _LINE_ENDS.finditer(layout.text, first, last):
            # A table's header stays with its first row.
            hold[match.end()] = AVOID if match.end() <= header else 0
    for start, end in layout.found.prefixes.items():
        _raise(hold, start, end + 1, FIRM)


def _give_way(layout: DraftLayout) -> None:
    """Release holds where otherwise no message could end."""
    hold = layout.hold
    short = layout.limit // 4  # always fits: at most half of a message is added
    runs = [match.span() for match in _HELD.finditer(hold)]
    runs = [(start, end) for start, end in runs if end - start >= short]
    for ease in range(AVOID, GAP):
        tight: list[tuple[int, int]] = []
        for start, end in runs:
            if end - start < short or layout.fits(layout.after(start - 1), end):
                continue
            hold[start:end] = hold[start:end].translate(_EASE[ease])
            tight += [match.span() for match in _HELD.finditer(hold, start, end)]
        runs = tight


def _rate(
    layout: DraftLayout, prose: str, gaps: list[tuple[int, int]], blocks: list[Block]
) -> None:
    rank = layout.rank = layout.hold.translate(_FREE)
    for match in _CJK_ENDS.finditer(prose):
        _upgrade(rank, match.end(), SENTENCE)
    for start, end in gaps:
        if rank[start]:
            rank[start] = _gap_rank(prose, start, end)
    for block in blocks:
        for match in _LINE_ENDS.finditer(layout.text, block.body, block.tail):
            _upgrade(rank, match.end(), CODE_LINE)


def _gap_rank(prose: str, start: int, end: int) -> int:
    """Return the rank of a cut at the whitespace from *start* to *end*."""
    lines = prose.count("\n", start, end)
    if lines > 1:
        return PARAGRAPH
    if lines:
        # An indented line would lose its indent at the start of a message.
        return LINE_END if prose[end - 1] == "\n" else SENTENCE
    if prose[start - 1] in _SENTENCE_LAST:
        ended = _SENTENCE_ENDS.search(prose, max(0, start - SENTENCE_TAIL_MAX), start)
        return SENTENCE if ended else SPACE
    return SPACE


def _upgrade(rank: bytearray, at: int, value: int) -> None:
    rank[at] = value if rank[at] else 0
