"""Masked links in a finished message, as Discord's client reads it.

Cleaning lays links open segment by segment, before it is known what a message combines, where it is
cut, and which backticks Discord then takes for code.  A message is final, so its links are known:
`[label](https://x)` becomes `[label (https://x)`, of the same length.

Discord reads from left to right, so a label that begins before some code may end in it.  In case of
doubt text is no code: a bracket too many that is taken out of code does no harm.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from minamo.core.accounting.spans import DroppedSpan, TextSpan, join_text, part_of
from minamo.core.cleaning.code_spans import Spans
from minamo.core.fitting.closers import Closers
from minamo.core.fitting.markdown import scan
from minamo.core.limits import MASKED_PASSES_MAX

REASON = "clean.masked_link"

_ESCAPE = re.compile(r"\\[^0-9A-Za-z\s]")
_TICKS = re.compile(rf"{_ESCAPE.pattern}|`+")
_BRACKET = re.compile(r"[\[\]]")
# An address that is followed by a blank and by no title is no target.
_TARGET = re.compile(
    r"\]\(\s*+<?+(?=https?://\S)(?![^\s()\\]*+\s++[^\s\"')])",
    re.IGNORECASE,
)


def masked_links(text: str) -> list[int]:
    """Return the offset of each "]" that ends the label of a masked link, in order."""
    targets = {target.start() for target in _TARGET.finditer(text)}
    if not targets:
        return []
    code = _code(text)
    escaped = {escape.end() - 1 for escape in _ESCAPE.finditer(text)}
    brackets = [bracket.start() for bracket in _BRACKET.finditer(text)]
    closing = _closing(text, brackets)
    seen: set[int] = set()
    found: set[int] = set()
    for number, at in enumerate(brackets):
        if text[at] == "]" or code.touches(at, at + 1) or at in escaped:
            continue
        index = number + 1
        # A label that began earlier has come by the rest already.
        while index < len(brackets) and index not in seen:
            seen.add(index)
            if text[brackets[index]] == "[":
                index = closing[index] + 1  # brackets inside of the label
                continue
            if brackets[index] in targets:
                found.add(brackets[index])
            index += 1
            # A "]" may be part of the label if another one follows.
            if index < len(brackets) and text[brackets[index]] == "[":
                break
    return sorted(found)


def _closing(text: str, brackets: list[int]) -> list[int]:
    """Return for each bracket the index of the next "]", itself included."""
    closing, index = [0] * len(brackets), len(brackets)
    for number in reversed(range(len(brackets))):
        index = number if text[brackets[number]] == "]" else index
        closing[number] = index
    return closing


def _code(text: str) -> Spans:
    """Return the ranges of *text* that are certainly code.

    Where a line ends, so may the list, heading or quote in which inline code began.  Backticks in
    an address or in formatting may count or not.
    """
    found = scan(text.replace("\r", "\n"))
    spans = [(start, end) for start, end in found.code if "\n" not in text[start:end]]
    known = Spans.of([*spans, *((block.start, block.end) for block in found.blocks)])
    return Spans.of(span for span in _plain_code(text) if known.holds(*span))


def _plain_code(text: str) -> Iterator[tuple[int, int]]:
    """Yield what is code in *text* if nothing else in it is formatted."""
    closers = Closers(text)
    at = 0
    while mark := _TICKS.search(text, at):
        start, at = mark.span()
        if mark[0][0] == "`":
            block = closers.block(start, len(text)) if mark[0].startswith("```") else None
            code = closers.code(start, len(text))
            if block is not None or code is not None:
                at = block + 3 if block is not None else sum(code or ())
                yield start, at


def laid_open(text: str) -> str:
    """Return the text of a message that is not fitted, with its masked links broken up."""
    return join_text(lay_open([TextSpan(text, 0)])[0])


def lay_open(pieces: list[TextSpan]) -> tuple[list[TextSpan], list[DroppedSpan]]:
    """Return the pieces of a message with its masked links broken up, and what that dropped."""
    dropped: list[DroppedSpan] = []
    text = join_text(pieces)
    for left in reversed(range(MASKED_PASSES_MAX)):
        # Without a link that began before it, code may end elsewhere, and show another link.
        ends = masked_links(text) if left else [end.start() for end in _TARGET.finditer(text)]
        if not ends:
            break
        pieces = _without(pieces, ends, dropped)
        text = join_text(pieces)
    return pieces, dropped


def _without(pieces: list[TextSpan], ends: list[int], dropped: list[DroppedSpan]) -> list[TextSpan]:
    """Return *pieces* with a blank for each bracket at *ends*; add the brackets to *dropped*."""
    out: list[TextSpan] = []
    offset = index = 0
    for piece in pieces:
        start, size = 0, len(piece.text)
        while index < len(ends) and ends[index] < offset + size:
            at = ends[index] - offset
            out.append(part_of(piece, start, at))
            if piece.start is not None:
                dropped.append(DroppedSpan(piece.start + at, piece.start + at + 1, REASON))
            out.append(TextSpan(" ", None, REASON))
            start, index = at + 1, index + 1
        out.append(part_of(piece, start, size))
        offset += size
    return [piece for piece in out if piece.text]
