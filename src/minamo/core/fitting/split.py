"""Messages cut from a draft: chooses the cuts, closes open enclosures and reopens them after."""

from __future__ import annotations

import re
from bisect import bisect_right
from itertools import accumulate, pairwise
from typing import ClassVar

import msgspec

from minamo.core.accounting.spans import DroppedSpan, TextSpan, join_text, part_of
from minamo.core.fitting.cut_points import PARAGRAPH, TOUCHY, DraftLayout
from minamo.core.fitting.draft import BREAK, Enclosure, MessageDraft
from minamo.core.fitting.masked import lay_open
from minamo.core.limits import UTF16_MAX
from minamo.core.messages import Kind, OutgoingFile

_CUT = re.compile(rb"[^\0]")


def cuts(layout: DraftLayout) -> list[int]:
    """Return the positions where one message ends and the next begins, in order."""
    far = _farthest(layout)
    if not far:
        return []
    floors = _floors(layout, len(far))
    return _nicest(layout, far, floors)


def _farthest(layout: DraftLayout) -> list[int]:
    """Return cuts for the fewest messages, each as late as possible."""
    chosen: list[int] = []
    start, end = layout.after(0), len(layout.text)
    while not layout.fits(start, end):
        chosen.append(_last_cut(layout, start))
        start = layout.after(chosen[-1])
    return chosen


def _room(layout: DraftLayout, start: int) -> int:
    """Return the last position at which a message from *start* could end without closers."""
    opening = layout.opening(start)
    end = min(len(layout.text), start + layout.limit - opening)
    if layout.units:
        units = layout.unit(start) + UTF16_MAX - opening
        end = min(end, bisect_right(layout.units, units) - 1)
    return end


def _last_cut(layout: DraftLayout, start: int) -> int:
    cut = _cut_before(layout, _room(layout, start) + 1, start)
    while cut and not layout.fits(start, cut):
        cut = _cut_before(layout, cut, start)
    # Holds give way, so there always is a cut; if not, size takes priority over everything.
    return cut or start + 1


def _cut_before(layout: DraftLayout, at: int, start: int) -> int:
    """Return the last allowed cut before *at* that leaves text after *start*; 0 if none."""
    window = layout.rank[start + 1 : at].rstrip(b"\0")
    return start + len(window) if window else 0


def _floors(layout: DraftLayout, count: int) -> list[tuple[int, int]]:
    """Return for each cut the least reach (in code points, in UTF-16 units) it must keep."""
    end = len(layout.text)
    floors = [(end - layout.limit, layout.unit(end) - UTF16_MAX)]
    for _ in range(count - 1):
        cut = _first_cut(layout, floors[-1])
        closing = layout.closing(cut)
        floors.append((cut + closing - layout.limit, layout.unit(cut) + closing - UTF16_MAX))
    floors.reverse()
    return floors


def _first_cut(layout: DraftLayout, floor: tuple[int, int]) -> int:
    """Return the cut above *floor* that requires least of the message before it."""
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


def _above(layout: DraftLayout, cut: int, floor: tuple[int, int]) -> bool:
    start = layout.after(cut)
    opening = layout.opening(start)
    return start - opening >= floor[0] and layout.unit(start) - opening >= floor[1]


def _nicest(layout: DraftLayout, far: list[int], floors: list[tuple[int, int]]) -> list[int]:
    chosen: list[int] = []
    start = layout.after(0)
    for floor in floors:
        cut = _best(layout, start, floor)
        if not cut:
            return far  # whitespace longer than a message can hide the earliest cut
        chosen.append(cut)
        start = layout.after(cut)
    return chosen


def _best(layout: DraftLayout, start: int, floor: tuple[int, int]) -> int:
    """Return the latest of the best-ranked cuts that keep to *floor*; 0 if none does."""
    high = _room(layout, start) + 1
    for rank in range(PARAGRAPH, 0, -1):
        at = high
        while (at := layout.rank.rfind(rank, start + 1, at)) >= 0:
            if layout.fits(start, at) and _above(layout, at, floor):
                return at
            if layout.after(at) < floor[0]:
                break
    return 0


# Everything but whitespace, controls, zero-width and filler characters.
_VISIBLE = re.compile(
    "[^\\s\\x00-\\x1f\\x7f-\\x9f\\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    "\u200b-\u200f\u2028-\u202f\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0"
    "\U000e0000-\U000e0fff]"
)


class FittedMessage(msgspec.Struct, frozen=True, gc=False):
    """One message for Discord, with the provenance of its text."""

    kind: ClassVar[Kind] = "create"
    target: ClassVar[int] = 0
    text: str
    pieces: tuple[TextSpan, ...]
    file: OutgoingFile | None = None
    """The file that the message consists of, if it is one."""


def as_line(message: FittedMessage) -> str:
    """Return the text of a message, or the name of the file that it consists of, in brackets."""
    return message.text if message.file is None else f"[{message.file.name}]"


def assemble(
    draft: MessageDraft, layout: DraftLayout, *, masked_links: bool = False
) -> tuple[tuple[FittedMessage, ...], tuple[DroppedSpan, ...]]:
    """Cut *draft* into messages; return them, and the spans in none of them.

    Masked links are laid open, unless *masked_links* lets them stay.
    """
    return _Assembler(draft, layout, masked_links).run()


class _Assembler:
    """Cutter of one draft into messages; records the spans left out."""

    __slots__ = (
        "_draft", "_dropped", "_layout", "_masked_links", "_messages", "_offsets", "_shown",
    )  # fmt: skip

    def __init__(self, draft: MessageDraft, layout: DraftLayout, masked_links: bool) -> None:
        self._draft = draft
        self._layout = layout
        self._masked_links = masked_links
        sizes = (len(piece.text) for piece in draft.pieces)
        self._offsets = list(accumulate(sizes, initial=0))
        self._shown = _without_markers(layout)
        self._dropped: list[DroppedSpan] = list(draft.dropped)
        self._messages: list[FittedMessage] = []

    def run(self) -> tuple[tuple[FittedMessage, ...], tuple[DroppedSpan, ...]]:
        """Return all messages, and all spans in none of them."""
        bounds = [0, *cuts(self._layout), len(self._layout.text)]
        for cut, end in pairwise(bounds):
            start = self._layout.after(cut)
            self._drop(cut, min(start, end), "seam")
            if start < end:
                self._message(start, end)
        return tuple(self._messages), tuple(_joined(self._dropped))

    def _message(self, start: int, end: int) -> None:
        if not _VISIBLE.search(self._shown, start, end):
            self._drop(start, end, "blank")
            return
        # In a quote of marked lines a closer after a line end would be outside of it.
        if not self._layout.verbatim(end) or self._layout.marked(end):
            ink = start + len(self._layout.text[start:end].rstrip())
            self._drop(ink, end, "seam")
            end = ink
        low, outer = self._without_enders(start, end)
        high, inner = self._without_openers(low, end)
        pieces = [*self._reopened(low, high, outer), *self._closed(high, inner)]
        # Of what was added alone no message is made: closers of nothing, a header above empty rows.
        if any(piece.start is not None and _VISIBLE.search(piece.text) for piece in pieces):
            merged = _merged(pieces)
            if not self._masked_links:
                merged, dropped = lay_open(merged)
                self._dropped += dropped
            self._messages.append(FittedMessage(join_text(merged), tuple(merged)))
        else:
            self._drop(low, high, "blank")

    def _without_enders(self, start: int, end: int) -> tuple[int, list[Enclosure]]:
        """Skip closers of enclosures left empty; return the new start and what to reopen."""
        layout = self._layout
        enclosures = list(layout.enclosures(start))
        full = len(layout.found.stacks[layout.found.inside[start]]) == len(enclosures)
        while full and enclosures and layout.found.enders.get(start, end) < end:
            ender = layout.found.enders[start]
            enclosures.pop()
            self._drop(start, ender, "blank")
            start = layout.after(ender)
            self._drop(ender, start, "seam")
        return start, enclosures

    def _without_openers(self, start: int, end: int) -> tuple[int, list[Enclosure]]:
        """Leave out openers right before a cut; return the new end and what to close there."""
        layout = self._layout
        enclosures = list(layout.enclosures(end))
        full = len(layout.found.stacks[layout.found.inside[end]]) == len(enclosures)
        while full and enclosures and layout.found.openers.get(end, start) > start:
            opener = layout.found.openers[end]
            enclosures.pop()
            self._drop(opener, end, "blank")
            end = start + len(layout.text[start:opener].rstrip())
            self._drop(end, opener, "seam")
        return end, enclosures

    def _reopened(self, start: int, end: int, enclosures: list[Enclosure]) -> list[TextSpan]:
        """Return a message without closers: reopened openers go around a quoted line's mark."""
        prefix = self._layout.found.prefixes.get(start, start)
        at = next((at for at, enclosure in enumerate(enclosures) if enclosure.lines), None)
        outer, inner = enclosures, list[Enclosure]()
        front: list[TextSpan] = []
        if at is not None and enclosures[-1].verbatim:
            mark = [] if prefix > start else [enclosures[at]]
            outer = [*enclosures, *mark]
        elif at is not None and prefix > start:
            outer, inner = enclosures[:at], enclosures[at + 1 :]
        else:
            prefix = start
        front += _additions(outer)
        if inner:
            front += [*self._slice(start, prefix), *_additions(inner)]
            start = prefix
        text = self._layout.text
        touching = front and front[-1].text[-1] == text[start] and text[start] in TOUCHY
        if touching or start in self._layout.starters:
            front.append(TextSpan(BREAK, None, "break"))
        return [*front, *self._slice(start, end)]

    def _closed(self, end: int, enclosures: list[Enclosure]) -> list[TextSpan]:
        """Return the closers of the enclosures that are open at the end of a message."""
        last = self._layout.text[end - 1]
        closer = "".join(enclosure.closer for enclosure in reversed(enclosures))
        if closer.startswith("\n") and last in "\r\n":
            closer = closer[1:]
        back: list[TextSpan] = []
        if closer and closer[0] in TOUCHY and last in (closer[0], "\\"):
            back.append(TextSpan(BREAK, None, "break"))
        return [*back, TextSpan(closer, None, "closer")] if closer else back

    def _slice(self, start: int, end: int) -> list[TextSpan]:
        """Return the pieces of the draft between two of its positions."""
        found: list[TextSpan] = []
        at = bisect_right(self._offsets, start) - 1
        while start < end:
            piece, offset = self._draft.pieces[at], self._offsets[at]
            stop = min(end, offset + len(piece.text))
            found.append(part_of(piece, start - offset, stop - offset))
            start, at = stop, at + 1
        return found

    def _drop(self, start: int, end: int, reason: str) -> None:
        for piece in self._slice(start, end):
            if piece.start is not None:
                stop = piece.start + len(piece.text)
                self._dropped.append(DroppedSpan(piece.start, stop, reason))


def _without_markers(layout: DraftLayout) -> str:
    """Return the text with markers blanked, to check whether anything is visible."""
    spans = [(start, end) for end, start in layout.found.openers.items()]
    spans += layout.found.enders.items()
    parts: list[str] = []
    at = 0
    for start, end in sorted(spans):
        parts += [layout.text[at:start], " " * (end - start)]
        at = end
    return "".join([*parts, layout.text[at:]])


def _additions(enclosures: list[Enclosure]) -> list[TextSpan]:
    added: list[TextSpan] = []
    for enclosure in enclosures:
        added.append(TextSpan(enclosure.opener, None, "reopened"))
        if enclosure.header:
            added.append(TextSpan(enclosure.header, None, "header"))
    return added


def _merged(pieces: list[TextSpan]) -> list[TextSpan]:
    """Return *pieces* with adjacent ones of one origin merged."""
    merged: list[TextSpan] = []
    for piece in pieces:
        before = merged[-1] if merged else None
        if (
            before is not None
            and before.reason == piece.reason
            and (
                before.start + len(before.text) == piece.start
                if before.start is not None
                else piece.start is None
            )
        ):
            merged[-1] = TextSpan(before.text + piece.text, before.start, piece.reason)
        else:
            merged.append(piece)
    return merged


def _joined(dropped: list[DroppedSpan]) -> list[DroppedSpan]:
    joined: list[DroppedSpan] = []
    for drop in sorted(dropped, key=lambda drop: drop.start):
        if joined and joined[-1].end == drop.start and joined[-1].reason == drop.reason:
            joined[-1] = DroppedSpan(joined[-1].start, drop.end, drop.reason)
        else:
            joined.append(drop)
    return joined
