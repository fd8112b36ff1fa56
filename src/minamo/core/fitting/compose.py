"""Composition of drafts: a text and the formatting it starts inside of, with nothing left open.

Openers carried over are put in front, fences and tables get Discord's form, and closers for
formatting open at the end are added.  The draft is then a text like any other, and can be parsed
and cut without regard to the texts before and after it.

An opener in the text is open at its end only if the text that is known to follow closes it, or
if it hides text: any other may be an asterisk.  So one parse of both together finds what to close.
"""

from __future__ import annotations

import re

from attrs import evolve, frozen

from minamo.core.fitting.draft import BREAK, SPOILER, MessageDraft, mask
from minamo.core.fitting.fences import (
    LINE_START,
    Fence,
    blank_until,
    continue_fence,
    next_fence,
    opens_fence,
    write_fence,
)
from minamo.core.fitting.markdown import Scan, scan
from minamo.core.fitting.tables import continue_table, head_of, next_table, write_table
from minamo.core.limits import FREED_MAX, MARKER_SHARE_MAX, MARKERS_MIN

LINE_QUOTE = "> "
QUOTES = (LINE_QUOTE, ">>> ")

_QUOTE_PREFIX = re.compile(r"> ")
_INDENT = re.compile(LINE_START + r" {1,3}(?=\|[^|])")


@frozen(slots=True)
class OpenFormatting:
    """Formatting open at the end of a text, to be reopened at the start of the next."""

    formatting: tuple[str, ...] = ()  # openers, the outermost first
    fence: Fence | None = None
    table: str = ""  # header and separator row of a table that may continue
    line_ends: int = 0  # number of line ends after the last line: two end quote and table
    loose: bool = False  # an opener was left literal, so its closer may come without it


NOTHING = OpenFormatting()
LOOSE = OpenFormatting(loose=True)


def past_blank(carry: OpenFormatting, text: str) -> OpenFormatting:
    """Return the formatting that stays open over a *text* of only whitespace."""
    if carry.fence or not (carry.table or LINE_QUOTE in carry.formatting):
        return carry
    return evolve(carry, line_ends=carry.line_ends + line_ends_in(text))


def line_ends_in(spaces: str) -> int:
    """Return the number of line ends, of any kind."""
    return spaces.replace("\r\n", "\n").replace("\r", "\n").count("\n")


def _in_quote(formatting: tuple[str, ...], line_ends: int, *, marked: bool) -> tuple[str, ...]:
    """Return *formatting* without a quote that ended, unless the next line is *marked*, too."""
    if LINE_QUOTE in formatting and line_ends > marked:
        return formatting[: formatting.index(LINE_QUOTE)]
    return formatting


def write_front(
    draft: MessageDraft, carry: OpenFormatting
) -> tuple[int, tuple[str, ...], Fence | None]:
    """Write the openers carried over; return where to continue, and the open formatting."""
    at, formatting, fence = 0, carry.formatting, carry.fence
    if fence is not None and (until := blank_until(draft.source, fence)):
        draft.drop(0, until, "blank")
        at, fence = until, None
    if fence is None:
        at, formatting = _skip(draft, at, formatting, carry.line_ends)
    prefix = _QUOTE_PREFIX.match(draft.source, at)
    if at == len(draft.source):
        return at, formatting, fence
    for marker in formatting:
        if marker == LINE_QUOTE and prefix is not None and fence is None:
            draft.copy(at, prefix.end())
            at = prefix.end()
        else:
            draft.add(marker, "reopened")
    return at, formatting, fence


def _skip(
    draft: MessageDraft, at: int, formatting: tuple[str, ...], line_ends: int
) -> tuple[int, tuple[str, ...]]:
    """Drop leading whitespace and closers of nothing; return where to continue, and in what."""
    while True:
        end = _front(draft.source, at)
        draft.drop(at, end, "seam")
        line_ends += line_ends_in(draft.source[at:end])
        marked = _QUOTE_PREFIX.match(draft.source, end) is not None
        formatting = _in_quote(formatting, line_ends, marked=marked)
        count = _closed_by(draft.source, end, formatting)
        if not count:
            return end, formatting
        at = end + sum(map(len, formatting[-count:]))
        draft.drop(end, at, "blank")
        formatting = formatting[:-count]


def _front(text: str, at: int) -> int:
    """Return where the text after leading whitespace begins, or the indent of a fence or table."""
    end = len(text) - len(text[at:].lstrip())
    start = max(text.rfind("\n", at, end), text.rfind("\r", at, end), at - 1) + 1
    if opens_fence(text, start):
        return start
    line = max(at, end - 3)
    indent = _INDENT.search(text, line, end + 3)
    return indent.start() if indent and indent.end() == end else end


def _closed_by(text: str, at: int, formatting: tuple[str, ...]) -> int:
    """Return how many of the innermost openers the marker run at *at* closes exactly."""
    if not formatting or formatting[-1] in QUOTES:
        return 0
    char = formatting[-1][0]
    run = len(text) - at - len(text[at:].lstrip(char))
    used = 0
    for count, marker in enumerate(reversed(formatting), 1):
        used += len(marker)
        if marker[0] != char or used > run:
            return 0
        if used == run:
            return count
    return 0


_BARE_QUOTE = re.compile(
    r" *+(?:(>>>|>)[ \t])?\s*+"
)  # a quoted line with nothing on it, or a blank
_LINE_ENDS = re.compile(r"\r\n|\r|\n")
_MARKER = re.compile(r"[*_~|]")
_DENSE = re.compile(r"[*_~|`]")  # what makes a text slow to read
_HIDING = (SPOILER, *QUOTES)


@frozen(slots=True)
class _End:
    """Constructs that are open where the text ends."""

    fence: Fence | None = None
    mark: str = ""  # the mark of a quote with no text after it yet
    table: str = ""
    stop: int = 0  # end of the written part of the text


@frozen(slots=True)
class Follows:
    """The text that follows another, as far as it is known."""

    last: bool = True  # there is none
    cut_off: bool = False  # there is none, because the reply was cut off
    ahead: str = ""  # the known part of the next text

    @property
    def hides(self) -> bool:
        """Whether an open spoiler is closed."""
        return self.cut_off or not self.last


LAST = Follows()


def compose(
    text: str,
    tables: str,
    carry: OpenFormatting,
    follows: Follows = LAST,
    *,
    mid_line: bool = False,
) -> tuple[MessageDraft, Scan, OpenFormatting]:
    """Return a draft of *text*, the findings of a walk through it, and the new carry."""
    draft, found, rest, failed = _draft(text, tables, carry, follows, mid_line=mid_line)
    if failed:
        # The new text makes carried formatting, italics most likely, impossible.  Each attempt
        # reads the whole text, and formatting is not worth many.
        fewer = tuple(marker for marker in carry.formatting if marker in _HIDING)
        plain = evolve(follows, ahead="")
        draft, found, rest, _ = _draft(
            text, tables, evolve(carry, formatting=fewer, loose=True), plain, mid_line=mid_line
        )
    return draft, found, rest


def _draft(
    text: str, tables: str, carry: OpenFormatting, follows: Follows, *, mid_line: bool
) -> tuple[MessageDraft, Scan, OpenFormatting, bool]:
    """Return the same, and whether an opener carried over is not parsed as one."""
    draft = MessageDraft(text)
    at, formatting, fence = write_front(draft, carry)
    front = draft.length
    if fence is not None:
        at, fence = continue_fence(draft, fence)
    end = _End(fence)
    if fence is None:
        gap = carry.line_ends + line_ends_in(text[: len(text) - len(text.lstrip())])
        head = carry.table if gap < 2 else ""
        lines = max(at, _next_line(text)) if mid_line else at
        end = _write_blocks(draft, at, lines, tables, head, last=follows.last)
    line_ends = 0 if end.mark or end.fence else line_ends_in(text[len(text.rstrip()) :])
    if not draft.length:
        formatting = (*formatting, end.mark) if end.mark else formatting
        rest = OpenFormatting(formatting, end.fence, end.table, line_ends, carry.loose)
        return draft, scan(""), rest, False
    known = follows.ahead and not (end.fence or end.table)
    ahead = text[end.stop :] + follows.ahead if known else ""
    edge = _Edge(front, follows, ahead, mid_line=line_ends < 2, loose=carry.loose)
    found, formatting = edge.close(draft)
    failed = _unread(found, _spans(carry.formatting, draft.text[:front]))
    if end.mark and not set(QUOTES) & set(formatting):
        formatting = (*formatting, end.mark)
    if not end.table and LINE_QUOTE not in formatting:
        line_ends = 0
    loose = carry.loose or found.unpaired
    rest = OpenFormatting(formatting, end.fence, end.table, line_ends, loose)
    return draft, found, rest, bool(failed)


def _next_line(text: str) -> int:
    """Return where the second line begins, or the end."""
    line_end = _LINE_ENDS.search(text)
    return line_end.end() if line_end else len(text)


def _write_blocks(
    draft: MessageDraft, at: int, lines: int, tables: str, head: str, *, last: bool
) -> _End:
    """Write the text from *at* on; *head* is that of a table it may continue.

    Whole lines, which may open a fence or a table, begin at *lines*.
    """
    text = draft.source
    bare, mark = _bare_quote(text, at)
    end = at + len(text[at:bare].rstrip())
    if head:
        after = continue_table(draft, at, head, tables)
        head, at = (head if after == end > at else ""), after
    lines = max(at, lines)
    fence = next_fence(text, lines, len(text))
    table = next_table(text, min(lines, end), end) if tables != "raw" else None
    while fence is not None or table is not None:
        if fence is None or (table is not None and table.start < fence.start()):
            assert table is not None
            draft.copy(at, table.start)
            write_table(draft, table, tables)
            at = table.end
            head = head_of(text, table) if at == end else ""
        else:
            draft.copy(at, fence.start())
            at, still_open = write_fence(draft, fence, len(text), last=last)
            if still_open is not None:
                return _End(still_open)
        if fence is not None and fence.start() < at:
            fence = next_fence(text, at, len(text))
        if table is not None and table.start < at:
            table = next_table(text, at, end)
    draft.copy(at, end)
    draft.drop(max(at, end), bare, "seam")
    draft.drop(max(at, bare), len(text), "blank")
    return _End(mark=mark, table=head, stop=max(at, end))


def _bare_quote(text: str, at: int) -> tuple[int, str]:
    """Return where empty quoted lines at the end begin, and the mark of an unfinished one."""
    if not text.rstrip().endswith(">"):
        return len(text), ""
    bare, mark = len(text), ""
    for start in reversed([0, *(match.end() for match in _LINE_ENDS.finditer(text))]):
        line = _BARE_QUOTE.fullmatch(text, start, bare)
        if start < at or line is None:
            break
        if line[1] and bare == len(text) and text[-1] not in "\r\n":
            mark = line[1] + " "
        bare = start
    return bare, mark


@frozen(slots=True)
class _Edge:
    """The end of a draft, where closers may be needed."""

    front: int  # openers before this were carried over
    follows: Follows
    ahead: str  # known text that follows in the same prose
    mid_line: bool  # the line continues in the next text
    loose: bool  # an opener was left literal

    def close(self, draft: MessageDraft) -> tuple[Scan, tuple[str, ...]]:
        """Add closers at the end; return the scan and the markers open there, outermost first."""
        found = self._read(draft)
        if self.loose:
            found = self._freed(draft, found)
        wanted = self._open(draft, found)
        # Openers with no text after them: there is nothing to close here.
        trailing: list[str] = []
        end = draft.length
        while wanted and self.front <= wanted[-1][0] == end - len(wanted[-1][1]):
            end, marker = wanted.pop()
            trailing.insert(0, marker)
        if trailing and not self.follows.last:
            ahead = draft.retract(draft.length - end, "blank") + self.ahead
            found, formatting = evolve(self, ahead=ahead, loose=False).close(draft)
            return found, (*formatting, *trailing)
        closed = self._add_closers(draft, wanted)
        if closed is None:
            wanted = [opener for opener in wanted if opener[1] in _HIDING]
            closed = self._add_closers(draft, wanted)
        if closed is None:
            wanted = [opener for opener in wanted if opener[1] in QUOTES]
        return closed or found, tuple(marker for _, marker in wanted)

    def _freed(self, draft: MessageDraft, found: Scan) -> Scan:
        """Escape emphasis around one of two spoiler markers: what they hide would be seen.

        The opener of such emphasis is the closer of one that was left literal.
        """
        for _ in range(FREED_MAX):
            last = len(found.text) if SPOILER in self.ahead else found.text.rfind(SPOILER)
            around = {low for low, spoiler in found.swallowed if low and spoiler < last}
            openers = sorted((found.openers[low], low) for low in around)
            free = [at for start, low in openers if start >= self.front for at in range(start, low)]
            if not free or _is_dense(found.text):
                break
            draft.escape(free)
            found = self._read(draft)
        return found

    def _add_closers(self, draft: MessageDraft, wanted: list[tuple[int, str]]) -> Scan | None:
        """Close what is *wanted*; return the new scan, or None and add nothing if that fails."""
        closer = "".join(marker for _, marker in reversed(wanted) if marker not in QUOTES)
        if not closer:
            return None
        pieces = len(draft.pieces)
        if draft.pieces[-1].text[-1] == closer[0]:
            draft.add(BREAK, "break")
        draft.add(closer, "closer")
        closed = self._read(draft)
        if not _unread(closed, wanted):
            return closed
        draft.forget(len(draft.pieces) - pieces)
        return None

    def _open(self, draft: MessageDraft, found: Scan) -> list[tuple[int, str]]:
        """Return the openers to close at the end of the draft."""
        wanted = _across(draft, self.ahead)
        taken = {at for start, marker in wanted for at in range(start, start + len(marker))}
        for at, marker in found.open:
            meant = at < self.front or marker in QUOTES or self.follows.hides
            if meant and at not in taken:
                wanted.append((at, marker))
        return sorted(wanted)

    def _read(self, draft: MessageDraft) -> Scan:
        text = mask(_with_line_feeds(draft.text), draft.blocks)
        return scan(text, mid_line=self.mid_line, front=self.front)


def _across(draft: MessageDraft, ahead: str) -> list[tuple[int, str]]:
    """Return the openers in the draft that *ahead*, the text after it, closes."""
    fence = next_fence(ahead, 0, len(ahead))
    ahead = ahead[: fence.start()] if fence else ahead
    if _MARKER.search(ahead) is None:
        return []
    text = mask(_with_line_feeds(draft.text), draft.blocks)
    if _is_dense(text):
        return []
    return scan(text + _with_line_feeds(ahead), split=len(text)).across


def _is_dense(text: str) -> bool:
    """Return whether there are so many markers that they are no formatting and take long."""
    return len(_DENSE.findall(text)) > max(MARKERS_MIN, len(text) // MARKER_SHARE_MAX)


def _with_line_feeds(text: str) -> str:
    return text.replace("\r\n", " \n").replace("\r", "\n")


def _spans(formatting: tuple[str, ...], front: str) -> list[tuple[int, str]]:
    """Return the offset of each opener in the *front* of a draft, which is made of them."""
    found: list[tuple[int, str]] = []
    at = 0
    for marker in formatting:
        if front.startswith(marker, at):
            found.append((at, marker))
            at += len(marker)
    return found


def _unread(found: Scan, openers: list[tuple[int, str]]) -> list[tuple[int, str]]:
    """Return those of *openers* not parsed as openers; a run may be parsed in another order."""
    if not openers:
        return []
    read = {at for end, start in found.openers.items() for at in range(start, end)}
    return [
        (at, marker)
        for at, marker in openers
        if marker not in QUOTES and not read.issuperset(range(at, at + len(marker)))
    ]
