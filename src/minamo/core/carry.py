"""What goes on from one text to the next, and the front of the next text."""

from __future__ import annotations

import re

from attrs import evolve, frozen

from minamo.core.draft import Draft
from minamo.core.fences import LINE_START, Fence, blank_until, opens_fence

LINE_QUOTE = "> "
QUOTES = (LINE_QUOTE, ">>> ")

_QUOTE_PREFIX = re.compile(r"> ")
_INDENT = re.compile(LINE_START + r" {1,3}(?=\|[^|])")


@frozen(slots=True)
class Carry:
    """What is open at the end of a text and is opened again at the start of the next."""

    formatting: tuple[str, ...] = ()  # openers, the outermost first
    fence: Fence | None = None
    table: str = ""  # header and separator row of a table that may go on
    line_ends: int = 0  # how many line ends came after the last line: two end quote and table


NOTHING = Carry()


def past_blank(carry: Carry, text: str) -> Carry:
    """What stays open over a *text* of nothing but whitespace."""
    if carry.fence or not (carry.table or LINE_QUOTE in carry.formatting):
        return carry
    return evolve(carry, line_ends=carry.line_ends + line_ends_in(text))


def line_ends_in(spaces: str) -> int:
    """How many line ends there are, of any kind."""
    return spaces.replace("\r\n", "\n").replace("\r", "\n").count("\n")


def _in_quote(formatting: tuple[str, ...], line_ends: int, *, marked: bool) -> tuple[str, ...]:
    """*formatting* without a quote whose line is over, unless the next line is *marked*, too."""
    if LINE_QUOTE in formatting and line_ends > marked:
        return formatting[: formatting.index(LINE_QUOTE)]
    return formatting


def write_front(draft: Draft, carry: Carry) -> tuple[int, tuple[str, ...], Fence | None]:
    """Write the openers carried over; tell where in the source to go on, and inside of what."""
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
    draft: Draft, at: int, formatting: tuple[str, ...], line_ends: int
) -> tuple[int, tuple[str, ...]]:
    """Leave out whitespace in front, and closers that would close nothing."""
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
    """Where the text after leading whitespace begins: at the indent of a fence or a table."""
    end = len(text) - len(text[at:].lstrip())
    start = max(text.rfind("\n", at, end), text.rfind("\r", at, end), at - 1) + 1
    if opens_fence(text, start):
        return start
    line = max(at, end - 3)
    indent = _INDENT.search(text, line, end + 3)
    return indent.start() if indent and indent.end() == end else end


def _closed_by(text: str, at: int, formatting: tuple[str, ...]) -> int:
    """How many of the innermost openers the marker run at *at* closes, used up exactly."""
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
