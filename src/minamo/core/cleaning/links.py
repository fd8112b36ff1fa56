"""Masked links made visible: `[label](url)` becomes `label (<url>)`.

What counts as a link follows Discord's parser rather than CommonMark where the two
differ (an unbalanced parenthesis in the target, one missing angle bracket): a form that
only Discord accepts would otherwise hide its target.

A text is cleaned segment by segment, and segments are combined into messages later, in ways not
known here.  A link that comes about then, or stands in code that is none for Discord, is broken up
when its message is final, by `minamo.core.fitting.masked`.
"""

from __future__ import annotations

import re
from bisect import bisect_left

from attrs import frozen

from minamo.core.accounting.spans import Edit
from minamo.core.cleaning.code_spans import Spans
from minamo.core.limits import LINK_TITLE_MAX

# A backslash protects no "]": Discord looks for the end of a label without regard to it.
_BRACKET = re.compile(r"\\[^\w\s\]]|[\[\]]")
_HEAD = re.compile(r"\(\s*(<?)(?=https?://[^\s<>)])", re.IGNORECASE)
_TITLE = re.compile(r"\s++(?:[\"'][\s\S]{0," + str(LINK_TITLE_MAX) + r"}?[\"']\s*+)?\)")
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


def masked_links(text: str, code: Spans) -> list[Edit]:
    """Return the edits that reveal every masked link of *text* outside of *code*."""
    parentheses = _Parentheses(text)
    out: list[Edit] = []
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
