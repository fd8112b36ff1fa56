"""Masked links in a finished message, as Discord's client reads it.

Cleaning lays links open segment by segment, before it is known what a message combines or where
it is cut, and which backticks Discord then takes for code.  A message is final, so its links are
known: `[label](https://x)` becomes `[label (https://x)`, of the same length.
"""

from __future__ import annotations

import re

from minamo.core.accounting.spans import DroppedSpan, TextSpan, join_text, part_of
from minamo.core.fitting.closers import Closers

REASON = "clean.masked_link"

# A backslash protects no "]": Discord looks for the end of a label without regard to it.  An
# address that is followed by a blank and by no title is no target.
_MARK = re.compile(
    r"\\[^0-9A-Za-z\s\]]|`+|\["
    r"|\](?=\(\s*+<?https?://\S)(?!\(\s*+<?+[^\s()\\]*+\s++[^\s\"')])",
    re.IGNORECASE,
)
_LANGUAGE = re.compile(r"[a-z0-9_+\-.#]+\n", re.IGNORECASE)
_LINE_ENDS = re.compile(r"\n*")


def masked_links(text: str) -> list[int]:
    """Return the offset of each "]" that ends the label of a masked link, outside of code."""
    if "](" not in text or "[" not in text:
        return []
    closers = Closers(text)
    last_fence = text.rfind("```")
    found: list[int] = []
    opened = False
    at = 0
    while mark := _MARK.search(text, at):
        at = mark.end()
        if mark[0][0] == "`":
            at = _code_end(text, mark.start(), last_fence, closers) or mark.end()
        elif mark[0] == "[":
            opened = True
        elif mark[0] == "]" and opened:
            found.append(mark.start())
    return found


def _code_end(text: str, at: int, last_fence: int, closers: Closers) -> int:
    """Return the end of the code that begins at the backtick at *at*; 0 if none does."""
    if text.startswith("```", at):
        language = _LANGUAGE.match(text, at + 3)
        for body in (language.end() if language else at + 3, at + 3):
            ink = _LINE_ENDS.match(text, body)
            # The first character of the content may be anything but a line end, so not its fence.
            if ink is not None and ink.end() + 1 <= last_fence:
                return text.index("```", ink.end() + 1) + 3
    code = closers.code(at, len(text))
    return sum(code) if code else 0


def laid_open(text: str) -> str:
    """Return the text of a message that is not fitted, with its masked links broken up."""
    return join_text(lay_open([TextSpan(text, 0)])[0])


def lay_open(pieces: list[TextSpan]) -> tuple[list[TextSpan], list[DroppedSpan]]:
    """Return the pieces of a message with its masked links broken up, and what that dropped."""
    ends = masked_links(join_text(pieces))
    if not ends:
        return pieces, []
    out: list[TextSpan] = []
    dropped: list[DroppedSpan] = []
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
    return [piece for piece in out if piece.text], dropped
