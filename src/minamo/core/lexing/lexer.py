"""The lexer: splits text into text and marker tokens, independent of the chunking.

The markers to look for are not decided here: the caller passes the marker events that have a row
in the machine's state, read from the chart.  Undecided text is held, up to a named limit, and
decided by the characters that follow or by the end of the text, never by where a chunk ends.
"""

from __future__ import annotations

import re

import msgspec

from minamo.core.lexing.tags import may_become_tag, tag_at
from minamo.core.limits import FENCE_INDENT_MAX, FENCE_RUN_MAX, LIST_LEAD_MAX, SPAN_HOLD, TOKEN_MAX

_BLANKS = frozenset(" \t")

MARKERS = (
    "think_opened",
    "think_closed",
    "details_opened",
    "details_closed",
    "fence_opened",
    "fence_closed",
)

# A fence may directly follow the mark of a list item.
_MARK = r"(?:[-*+]|\d{1,9}[.)])"
_ITEM = r"(?P<item>" + _MARK + r"[ \t]{1,4})?"
_INDENT = r"(?P<indent>[ \t]{0," + str(FENCE_INDENT_MAX) + r"}+)"
# The unfinished mark of an item.
_MARK_BEGUN = r"(?:[-*+]|\d{1,9}[.)]?)"
# A newline matters only if the next line may open a fence.
_PROSE_STOPS = re.compile(
    r"[<`]|\n(?=" + _INDENT + r"(?:" + _ITEM + r"(?:[`~]|\Z)|" + _MARK_BEGUN + r"\Z))"
)
_RUN = re.compile(r"`+")
_SPAN_STOPS = re.compile(r"`+|\n")
_RUN_MAX = str(FENCE_RUN_MAX)
_OPENS = re.compile(
    _INDENT + _ITEM
    + r"(?P<run>`{3," + _RUN_MAX + r"}(?=[^`\n]*\n)|~{3," + _RUN_MAX + r"}(?!~))[^\n]*\n"
)  # fmt: skip
_OPENS_AT_END = re.compile(_OPENS.pattern.replace(r"\n)|", r"\Z)|").removesuffix(r"\n") + r"\Z")
_MAY_OPEN = re.compile(
    _INDENT + r"(?:" + _MARK_BEGUN + r"|" + _ITEM
    + r"(?:`{0,2}|~{0,2}|`{3," + _RUN_MAX + r"}[^`\n]*|~{3," + _RUN_MAX + r"}(?!~)[^\n]*))\Z"
)  # fmt: skip
_CLOSES = re.compile(_INDENT + r"(?P<run>`{3,}|~{3,})[ \t\r]*(?=\n|\Z)")
_MAY_CLOSE = re.compile(_INDENT + r"(?:`*+|~*+)[ \t\r]*+\Z")


class Token(msgspec.Struct, frozen=True, gc=False):
    """A run of characters with one meaning."""

    event: str
    """``text``, or one of `MARKERS`."""
    text: str
    start: int
    """Its offset, in characters of the whole stream."""
    hidden: bool = False
    """Not shown and without meaning: an empty tag as ``<think/>``, the indent of a fence."""


class Lexer:
    """Fold over characters that holds undecided text."""

    __slots__ = ("_fence", "_held", "_indent", "_line_start", "_lists", "_looked", "_pos", "_room",
                 "_start")  # fmt: skip

    def __init__(self) -> None:
        self._held = ""
        self._pos = 0  # the text before it has been returned
        self._start = 0  # offset of `_held` in the stream
        self._line_start = True  # nothing of this line has been shown
        self._fence = ""  # the run that opened the current fence
        self._indent = 0  # its indent, which its lines share
        self._room = 0  # largest indent of the line that closes it
        self._lists = ListLines()
        self._looked = 0  # how far an open code span was searched for its end

    @property
    def held(self) -> str:
        """The undecided text."""
        return self._held[self._pos :]

    @property
    def at(self) -> int:
        """Stream offset of the next character."""
        return self._start + len(self._held)

    def drop(self) -> tuple[int, str]:
        """Forget the undecided text; return its offset and the text."""
        start, held = self._start + self._pos, self.held
        self._pos = len(self._held)
        return start, held

    def add(self, text: str) -> None:
        """Append text, for `next` to read."""
        if self._pos:
            # Only undecided text is copied, and that is bounded.
            self._start += self._pos
            self._looked = max(self._looked - self._pos, 0)
            self._held = self._held[self._pos :]
            self._pos = 0
        self._held += text

    def plain(self, live: frozenset[str], text: str) -> Token | None:
        """Return *text* as the token that `add` and `next` would make of it, if it is plain.

        That is prose with nothing held before it and nothing in it that could begin a marker, in
        the middle of a line or at the beginning of one that is neither indented nor an item.
        """
        held = self._held
        if self._pos < len(held) or "fence_opened" not in live:
            return None
        if self._line_start and not text[:1].isalpha():
            return None
        if "<" in text or "`" in text or "\n" in text or len(text) > TOKEN_MAX:
            return None
        start = self._start + len(held)
        self._start = start + len(text)
        self._held, self._pos, self._looked = "", 0, 0
        self._line_start = False
        self._lists.add(text)
        return Token("text", text, start)

    def begin_line(self) -> None:
        """Read the next character as the first of a line, because a file came before it."""
        self._line_start = True
        self._lists = ListLines()

    def again(self, text: str, start: int) -> None:
        """Read *text*, the last that came, once more; its offset is *start*."""
        self._held, self._pos, self._start, self._looked = text, 0, start, 0

    def next(self, live: frozenset[str], *, last: bool = False) -> Token | None:
        """Return the next token under the *live* markers, or None if more text must decide.

        With *last* no more text will come, and everything held is decided.
        """
        if self._pos == len(self._held):
            return None
        if "fence_closed" in live:
            return self._in_fence(last=last)
        if "fence_opened" in live:
            return self._in_prose(live, last=last)
        if live:
            return self._in_block(live, last=last)
        return self._give("text", len(self._held))

    def _in_prose(self, live: frozenset[str], *, last: bool) -> Token | None:
        held, begin = self._held, self._pos
        if self._line_start:
            # Bounded in one go as when fed bit by bit: the beginning of a longer line decides.
            short = len(held) - begin < SPAN_HOLD
            opens = _OPENS.match(held, begin, begin + SPAN_HOLD)
            if opens is None and (last or not short):
                opens = _OPENS_AT_END.match(held, begin, begin + SPAN_HOLD)
            if opens is not None and width(opens["indent"]) <= self._lists.room:
                return self._open(opens)
            if not last and short and self._waits(_MAY_OPEN, self._lists.room):
                return None
        at = begin
        while (stop := _PROSE_STOPS.search(held, at)) is not None:
            at = stop.start()
            if held[at] == "\n":
                return self._show(at + 1)
            if held[at] == "<":
                token, onward = self._tag(at, live, last=last)
            else:
                token, onward = None, self._span(at, last=last)
                if onward:
                    self._looked = 0  # it is decided; the next one has not been searched
            if onward:
                at = onward
            elif at > begin:
                return self._show(at)
            else:
                return token
        return self._show(len(held))

    def _tag(self, at: int, live: frozenset[str], *, last: bool) -> tuple[Token | None, int]:
        """Return the token of the tag at *at*, or else where to continue; neither: wait."""
        tag = tag_at(self._held, at)
        if tag is not None:
            event = f"{tag.family}_{tag.kind}"
            if event in live:
                return (self._give(event, tag.end) if at == self._pos else None), 0
            if tag.kind == "empty" and f"{tag.family}_opened" in live and "fence_opened" in live:
                hide = at == self._pos
                return (self._give("text", tag.end, hidden=True) if hide else None), 0
            return None, tag.end
        waits = not last and may_become_tag(self._held, at)
        return None, 0 if waits else at + 1

    def _span(self, at: int, *, last: bool) -> int:
        """Return the end of the code span at *at*, or of its backticks if it is none; 0: wait."""
        held = self._held
        run = _RUN.match(held, at, at + SPAN_HOLD)
        assert run is not None
        end, size = run.end(), run.end() - at
        if end == len(held) and not last:
            return 0  # the run may continue
        looked = max(end, self._looked) if at == self._pos else end
        limit = at + SPAN_HOLD
        for stop in _SPAN_STOPS.finditer(held, looked, max(limit, looked)):
            if stop.end() == len(held) and not last and stop[0] != "\n":
                self._looked = stop.start()
                return 0
            if stop[0] == "\n":
                return end
            if stop.end() - stop.start() == size:
                return stop.end()
        if last or len(held) >= limit:
            return end
        self._looked = len(held)
        return 0

    def _in_block(self, live: frozenset[str], *, last: bool) -> Token | None:
        held, begin = self._held, self._pos
        at = held.find("<", begin)
        while at >= 0:
            token, onward = self._tag(at, live, last=last)
            if not onward:
                return self._give("text", at) if at > begin else token
            at = held.find("<", onward)
        return self._give("text", len(held))

    def _in_fence(self, *, last: bool) -> Token | None:
        held, begin = self._held, self._pos
        if self._line_start:
            short = len(held) - begin < SPAN_HOLD
            closes = _CLOSES.match(held, begin, begin + SPAN_HOLD)
            if closes is not None and not closes["run"].startswith(self._fence):
                closes = None
            if closes is not None and width(closes["indent"]) <= self._room:
                ends_line = held[closes.end() : closes.end() + 1] == "\n"
                if ends_line or (last and short):
                    self._line_start = False
                    return self._give("fence_closed", closes.end())
            room = FENCE_INDENT_MAX if self._indent else self._room
            if not last and short and self._waits(_MAY_CLOSE, room):
                return None
            # A run indented too far to close the fence keeps its indent, or it would seem to.
            if closes is None and (indent := self._shared_indent()):
                self._line_start = False
                return self._give("text", begin + indent, hidden=True)
        newline = held.find("\n", begin)
        end = newline + 1 if newline >= 0 else len(held)
        self._line_start = newline >= 0
        return self._give("text", end)

    def _shared_indent(self) -> int:
        """Return how many blanks a line of code begins with only because its fence is indented."""
        size = 0
        while self._held[self._pos + size : self._pos + size + 1] in _BLANKS:
            if width(self._held[self._pos : self._pos + size + 1]) > self._indent:
                break
            size += 1
        return size

    def _open(self, opens: re.Match[str]) -> Token:
        """Begin a fence; the limit of its indent applies to the line that closes it, too."""
        self._fence = opens["run"]
        self._indent = width(opens["indent"] + (opens["item"] or ""))
        token = self._give("fence_opened", opens.end())
        self._line_start = token.text[-1] == "\n"
        if opens["item"]:
            self._lists.add(token.text)
        in_list = self._indent and self._lists.room > OUTSIDE
        self._room = self._indent + OUTSIDE if in_list else OUTSIDE
        return token

    def _waits(self, pattern: re.Pattern[str], room: int) -> bool:
        """Return whether the held line may still match *pattern*, indented by *room* at most."""
        found = pattern.match(self._held, self._pos)
        return found is not None and width(found["indent"]) <= room

    def _show(self, end: int) -> Token:
        """Return a token of text that is part of the visible line."""
        self._line_start = self._held[end - 1] == "\n"
        token = self._give("text", end)
        self._lists.add(token.text)
        return token

    def _give(self, event: str, end: int, *, hidden: bool = False) -> Token:
        token = Token(event, self._held[self._pos : end], self._start + self._pos, hidden)
        self._pos = end
        return token


_TAB = 4
OUTSIDE = 3
_LIST_ITEM = re.compile(r" *(?:[-*+]|\d{1,9}[.)])(?: {1,4}(?=\S)|\s*\Z)")


class ListLines:
    """Fold over the visible lines; keeps the beginning of the last until it is classified."""

    __slots__ = ("_lead", "room")

    def __init__(self) -> None:
        self._lead: str | None = ""
        self.room: int = OUTSIDE
        """The largest indent of a fence."""

    def add(self, text: str) -> None:
        """Process text as it is shown, in pieces of any size."""
        lead = self._lead
        if lead is None:
            end = text.find("\n") + 1
            if not end:
                return
            lead, text = "", text[end:]
        *lines, last = text.split("\n")
        for line in lines:
            self._judge(lead + line)
            lead = ""
        lead += last
        if lead[:1].isalpha():
            self.room, self._lead = OUTSIDE, None  # a paragraph of its own
        elif len(lead) > LIST_LEAD_MAX:
            self._judge(lead)
            self._lead = None
        else:
            self._lead = lead

    def _judge(self, line: str) -> None:
        line = line[:LIST_LEAD_MAX].expandtabs(_TAB)
        item = _LIST_ITEM.match(line)
        if item is not None:
            self.room = min(item.end() + OUTSIDE, FENCE_INDENT_MAX)
        elif line and not line[0].isspace():
            self.room = OUTSIDE  # a paragraph of its own


def width(indent: str) -> int:
    """Return the width of blanks and tabs in columns."""
    return len(indent.expandtabs(_TAB))
