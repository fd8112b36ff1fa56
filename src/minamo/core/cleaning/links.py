"""Masked links made visible: `[label](url)` becomes `label (<url>)`.

What counts as a link follows Discord's parser rather than CommonMark where the two
differ (an unbalanced parenthesis in the target, one missing angle bracket): a form that
only Discord accepts would otherwise hide its target.

A text is cleaned segment by segment, and segments are combined into messages later, in ways not
known here.  So constructs that an earlier segment left open count (`Links`), and a target that may
become complete is separated from its label, as in `[label] (https://x`.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable

from attrs import evolve, frozen

from minamo.core.accounting.spans import Edit
from minamo.core.cleaning.code_spans import (
    Spans,
    code_spans,
    ends_in_fence,
    fence_ranges,
    lone_runs,
)
from minamo.core.limits import LINK_TITLE_MAX

# A backslash protects no "]": Discord looks for the end of a label without regard to it.
_BRACKET = re.compile(r"\\[^\w\s\]]|[\[\]]")
_HEAD = re.compile(r"\(\s*(<?)(?=https?://[^\s<>)])", re.IGNORECASE)
# The same head, unfinished, at the end of a text.
_HEAD_BEGUN = re.compile(r"\(\s*<?(?:h(?:t(?:t(?:p(?:s?|s?:/{0,2}))?)?)?)?\Z", re.IGNORECASE)
_OPENING = re.compile(r"\[")
#: Everything that begins or ends part of a link, or code.
LINK_MARKS = re.compile(r"[\[\]`]|~~~")
_TITLE = re.compile(r"\s++(?:[\"'][\s\S]{0," + str(LINK_TITLE_MAX) + r"}?[\"']\s*+)?\)")
# An address followed by a blank and by no title.
_NO_TARGET = re.compile(r"[^\s()\\]*\s+[^\s\"')]")
_TITLE_END = re.compile(r"[\"']\s*\)")
_STOPS = re.compile(r"[()]|\s+")
_BLOCKED = -1  # marks a parenthesis that can hold no URL
# An exclamation mark after one of these (or first) opens an image; after a word it is prose.
_BEFORE_IMAGE = frozenset(" \t\n([{*_~|>\"'")


@frozen(slots=True)
class _Target:
    """A link's target: the URL, its angle brackets, and one past the closing parenthesis."""

    start: int
    end: int
    opened: bool
    closed: bool
    after: int
    titled: bool


@frozen(slots=True)
class Links:
    """Link constructs that the text before a segment may have begun."""

    bracket: bool = False
    """Whether there is a "[" outside of code."""
    label: bool = False
    """Whether the text ends with a "]" after that."""
    ticks: int = 0
    """Longest run of backticks that is not closed: Discord pairs it with any later one.

    At least `_OF_A_FENCE` if Discord may take the end of a block for the beginning of one.
    """
    more: bool = False
    """Whether more text may follow the segment."""
    in_block: bool = False
    """Whether the text, as it is after cleaning, ends in a block of code."""

    def after(self, text: str, fence: str, *, mid_line: bool = False) -> Links:
        """Return the state after *text*, which is cleaned."""
        if not text or not LINK_MARKS.search(text):
            return evolve(self, label=False) if text else self
        code = code_spans(text, fence=fence, mid_line=mid_line)
        bracket = self.bracket or any(
            not code.touches(found.start(), found.end()) for found in _OPENING.finditer(text)
        )
        lone = lone_runs(text, code)
        ticks = max([self.ticks, *(end - start for start, end in lone)])
        blocks = fence_ranges(text, fence, mid_line=mid_line)
        if self._first_doubtful(text, fence, lone, blocks) < len(text):
            ticks = max(ticks, _OF_A_FENCE)
        in_block = ends_in_fence(text, fence, mid_line=mid_line)
        return Links(bracket, bracket and text.endswith("]"), ticks, self.more, in_block)

    def code(self, text: str, fence: str, *, mid_line: bool = False) -> Spans:
        """Return the ranges of *text* that are code regardless of the text before it.

        After an unclosed run of backticks that is not known.
        """
        code = code_spans(text, fence=fence, mid_line=mid_line)
        lone = lone_runs(text, code)
        first = 0 if self.ticks else lone[0][0] if lone else len(text)
        blocks = dict(fence_ranges(text, fence, mid_line=mid_line))
        first_block = self._first_doubtful(text, fence, lone, blocks.items())
        known = [
            (start if fence and not start else _body(text, start, end), end)
            for start, end in blocks.items()
            if start < first_block
        ]
        for start, end in zip(code.starts, code.ends, strict=True):
            if start < first and start not in blocks:
                known.append((start, end))
        return Spans.of(known)

    def _first_doubtful(
        self,
        text: str,
        fence: str,
        lone: list[tuple[int, int]],
        blocks: Iterable[tuple[int, int]],
    ) -> int:
        """Return where blocks of code begin to be doubtful: the end of *text* if none is.

        An unclosed run that is long enough for a fence may close where a block begins, and a
        shorter one at backticks inside of a block: Discord takes what is between them for code.
        A block without content is none for Discord, which then looks for the next fence.  What was
        removed in front of a fence, such as an invisible character, may have made it one.
        """
        if self.ticks >= _OF_A_FENCE or (self.in_block and not fence):
            return 0
        first = next((start for start, end in lone if end - start >= _OF_A_FENCE), len(text))
        begun = 0 if self.ticks else lone[0][0] if lone else len(text)
        for start, end in blocks:
            opened = fence if not start else ""
            is_cut = not opened and "\n" not in text[start:end]  # in its first line
            inside = _inside(text, start, end, opened)
            if is_cut or not inside or (begun <= start and "`" in inside):
                return min(first, start)
        return first


_OF_A_FENCE = 3  # backticks
_FENCE_RUN = re.compile("`{3,}|~{3,}")
NO_LINKS = Links()


def _body(text: str, start: int, end: int) -> int:
    """Return where the content of a block begins: its first line may be shown as text."""
    return text.find("\n", start, end) + 1 or end


def _inside(text: str, start: int, end: int, fence: str) -> str:
    """Return what is between the runs that open and close a block; "" if it has no content.

    *fence* is the run that opened it, if *text* does not.  A block that is open, or began in an
    earlier text, counts as one with content.
    """
    run = None if fence else _FENCE_RUN.search(text, start, end)
    body, opening = (run.end(), run[0]) if run else (start, fence)
    last = text.rfind("\n", body, end)
    closing = text[last + 1 : end].strip() if last >= 0 else ""
    if closing.startswith(opening) and not closing.strip(opening[0]):
        is_empty = not fence and not text[_body(text, body, end) : last].strip()
        return "" if is_empty else text[body:last] + "\n"
    return text[body:end] + "\n"


class _Parentheses:
    """Index of closing parentheses, built in one pass so that no link has to search ahead."""

    __slots__ = ("_blanks", "_closing", "_partner", "_text", "_white")

    def __init__(self, text: str) -> None:
        self._text = text
        self._partner: dict[int, int] = {}
        self._blanks: dict[int, int] = {}  # the first blank in each pair, outside of inner ones
        self._closing: list[int] = []
        self._white: list[int] = []
        opened: list[int] = []
        for match in _STOPS.finditer(text):
            at = match.start()
            if match[0] == "(":
                opened.append(at)
            elif match[0] == ")":
                self._closing.append(at)
                if opened:
                    self._partner[opened.pop()] = at
            else:
                self._white.append(at)
                if opened and opened[-1] != at - 1:
                    # No URL continues past a blank, unless inside parentheses of its own.
                    self._blanks.setdefault(opened[-1], at)
                    opened[-1] = _BLOCKED

    def target(self, at: int) -> _Target | None:
        """Return the target whose "(" is at *at*, or None."""
        head = _HEAD.match(self._text, at)
        if head is None:
            return None
        start = head.end()
        end = self._partner.get(at, -1)
        white = self._blanks.get(at, -1)
        if white >= 0 and (title := _TITLE.match(self._text, white)) is not None:
            return self._made(head, white, title.end(), titled=True)
        white = self._next(self._white, start)
        titled = False
        if end < 0:
            end = self._next(self._closing, start)
            titled = white < end
        after = end + 1
        if titled:
            title = _TITLE.match(self._text, white)
            if title is None:
                return None
            end, after = white, title.end()
        elif end == len(self._text):
            return None
        return self._made(head, end, after, titled=titled)

    def _made(self, head: re.Match[str], end: int, after: int, *, titled: bool) -> _Target:
        closed = self._text[end - 1] == ">"
        return _Target(head.end(), end - closed, bool(head[1]), closed, after, titled)

    def _next(self, places: list[int], at: int) -> int:
        index = bisect_left(places, at)
        return places[index] if index < len(places) else len(self._text)


def masked_links(text: str, code: Spans, links: Links = NO_LINKS) -> list[Edit]:
    """Return the edits that reveal every masked link of *text* outside of *code*."""
    parentheses = _Parentheses(text)
    out: list[Edit] = []
    last_title = max((found.start() for found in _TITLE_END.finditer(text)), default=-1)

    def may_lead(at: int) -> bool:
        """Return whether a "(" at *at* may begin a target, given the text around *text*."""
        head = _HEAD.match(text, at)
        if head is None:
            return links.more and _HEAD_BEGUN.match(text, at) is not None
        if _NO_TARGET.match(text, head.end()):
            return False
        return links.more or links.bracket or last_title >= head.end()

    if links.label and may_lead(0) and not code.touches(0, 1):
        out.append(Edit(0, 0, " "))
    opened: list[int] = []
    # Each "[" that closed without being a link: Discord reads "[a]](https://x)" too.
    spare: list[int] = []
    here = 0
    for match in _BRACKET.finditer(text):
        at = match.start()
        if at < here or code.touches(at, at + 1):
            continue
        if match[0] == "[":
            opened.append(at)
        elif match[0] == "]":
            if opened:
                spare.append(opened.pop())
            target = parentheses.target(at + 1) if spare else None
            if target is not None and not code.touches(at, target.after):
                out += _laid_open(text, spare.pop(), at, target)
                here = target.after
            elif (spare or links.bracket) and not code.touches(at, at + 2):
                # Not a link by itself, but it may become one with the text around it.
                out += [Edit(at + 1, at + 1, " ")] if target or may_lead(at + 1) else []
    return out


def _laid_open(text: str, start: int, close: int, target: _Target) -> list[Edit]:
    label = text[start + 1 : close]
    first = start - _is_image(text, start)
    less = "" if target.opened else "<"
    more = "" if target.closed else ">"
    bare = not label.strip() or label == text[target.start : target.end]
    if bare and not target.titled and "[" not in label:
        end = target.end + target.closed
        return [
            Edit(first, target.start - target.opened, less),
            Edit(end, target.after, more),
        ]
    # Without the blank, "[a][(https://x) b](https://y)" would turn into a new masked link.
    apart = " " if first and text[first - 1] == "]" else ""
    out = [Edit(first, start + 1, apart), Edit(close, close + 1, " ")]
    if less:
        out.append(Edit(target.start, target.start, less))
    if more:
        out.append(Edit(target.end, target.end, more))
    return out


def _is_image(text: str, start: int) -> bool:
    if not text.endswith("!", 0, start):
        return False
    return start == 1 or text[start - 2] in _BEFORE_IMAGE
