"""Code fences: read by CommonMark's rules, written in Discord's form.

CommonMark decides where a fence begins and ends (three or more backticks or tildes at the
start of a line, closed by a run at least as long).  Discord knows three backticks only.
"""

from __future__ import annotations

import re

from attrs import frozen

from minamo.core.fitting.draft import Block, MessageDraft, code_enclosure
from minamo.core.limits import INFO_MAX

# A line starts after any of CR, LF, CRLF; `^` with re.MULTILINE knows only LF.
LINE_START = r"(?<![^\r\n])"
# A little indent, or the mark of a list item, after which a fence may begin as well.
LEAD = r"(?:[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]{1,4}| {0,3})"
_OPENING = re.compile(
    LINE_START + LEAD + r"(?:(`{3,})([^`\r\n]*)|(~{3,})([^\r\n]*))(\r\n|\r|\n|\Z)"
)
_CLOSING = re.compile(LINE_START + r" {0,3}(`{3,}|~{3,})[ \t]*(?=[\r\n]|\Z)")
# A language as Discord accepts it, between the backticks and the line end.
_LANGUAGE = re.compile(r"[ \t]*([A-Za-z0-9_+\-.#]{1,32})(?![^ \t])[ \t]*")
# Between the backticks and a line end, Discord takes this for a language and hides it.
_HIDDEN = re.compile(r"[A-Za-z0-9_+\-.#]+")


@frozen(slots=True)
class Fence:
    """An open fence: its language, and the marker that will close it."""

    language: str
    marker: str


def next_fence(text: str, at: int, end: int) -> re.Match[str] | None:
    """Return the match of the first line from *at* on that opens a fence."""
    return _OPENING.search(text, at, end)


def opens_fence(text: str, at: int) -> bool:
    """Return whether the line that begins at *at* opens a fence."""
    return _OPENING.match(text, at) is not None


def language_in(info: str) -> re.Match[str] | None:
    """Return the match of the language that an info string begins with; None if it is text."""
    return _LANGUAGE.match(info) if len(info) <= INFO_MAX else None


def write_fence(
    draft: MessageDraft, opening: re.Match[str], end: int, *, last: bool
) -> tuple[int, Fence | None]:
    """Write the fence that *opening* begins; return its end, and the fence if still open."""
    marker, info = opening[1] or opening[3], opening[2] or opening[4] or ""
    language = language_in(info)
    fence = Fence(language[1] if language else "", marker)
    at, begin = opening.end(), _past_item(draft, opening)
    closing = _closing(draft.source, at, end, marker)
    if closing is None and not draft.source[at:end].strip():
        if last:
            stop = begin + len(draft.source[begin:end].rstrip())
            draft.copy(begin, stop)
            draft.drop(stop, end, "seam")
            return end, None
        if language or not info.strip():
            draft.drop(begin, end, "blank")
            return end, fence
    start = draft.length
    body = _write_opener(draft, opening, begin, language)
    return _write_body(draft, start, body, at, end, fence, closing)


def _past_item(draft: MessageDraft, opening: re.Match[str]) -> int:
    """Write a list item's mark in front of a fence, which is text; return where to continue."""
    lead = opening.start(1) if opening[1] else opening.start(3)
    if not draft.source[opening.start() : lead].strip():
        return opening.start()
    draft.copy(opening.start(), lead)
    return lead


def blank_until(text: str, fence: Fence) -> int:
    """Return where an open *fence* is closed if *text* adds nothing to it; else 0."""
    closing = _closing(text, 0, len(text), fence.marker)
    return closing.end() if closing and not text[: closing.start()].strip() else 0


def continue_fence(draft: MessageDraft, fence: Fence) -> tuple[int, Fence | None]:
    """Write the part of an already open *fence* that the source begins with."""
    end = len(draft.source)
    start = draft.length
    draft.add(code_enclosure(fence.language).opener, "reopened")
    closing = _closing(draft.source, 0, end, fence.marker)
    return _write_body(draft, start, draft.length, 0, end, fence, closing)


def _closing(text: str, at: int, end: int, marker: str) -> re.Match[str] | None:
    for closing in _CLOSING.finditer(text, at, end):
        run = closing[1]
        if run[0] == marker[0] and len(run) >= len(marker):
            return closing
    return None


def _write_opener(
    draft: MessageDraft, opening: re.Match[str], begin: int, language: re.Match[str] | None
) -> int:
    """Write the line that opens a fence; return where the code begins in the draft."""
    marker = 1 if opening[1] else 3
    draft.copy(begin, opening.start(marker))
    _write_marker(draft, *opening.span(marker))
    start, end = opening.span(marker + 1)
    if language is None and draft.source[start:end].strip():
        # No language: it stays visible, as the first line of the code.
        if _HIDDEN.fullmatch(draft.source, start, end):
            draft.add("\n", "fence")
        body = draft.length
        draft.copy_code(start, end)
        draft.copy(*opening.span(5))
        return body
    if language is not None:
        word = start + language.start(1)
        draft.drop(start, word, "clean.fence")
        draft.copy(word, word + len(language[1]))
        start = word + len(language[1])
    draft.drop(start, end, "clean.fence")
    draft.copy(*opening.span(5))
    return draft.length


def _write_body(
    draft: MessageDraft,
    start: int,
    body: int,
    at: int,
    end: int,
    fence: Fence,
    closing: re.Match[str] | None,
) -> tuple[int, Fence | None]:
    """Write the source from *at* on; opener and code begin in the draft at *start* and *body*."""
    until = closing.start(1) if closing else end
    draft.copy_code(at, until)
    if not closing and draft.pieces[-1].text[-1] not in "\r\n":
        draft.add("\n", "closer")
    tail = draft.length
    if closing:
        _write_marker(draft, *closing.span(1))
        until = closing.end(1)
    else:
        draft.add("```", "closer")
    draft.blocks.append(Block(start, body, tail, draft.length, code_enclosure(fence.language)))
    return until, None if closing else fence


def _write_marker(draft: MessageDraft, start: int, end: int) -> None:
    if draft.source[start] == "~":
        draft.drop(start, end, "clean.fence")
        draft.add("```", "fence")
    else:
        draft.copy(start, start + 3)
        draft.drop(start + 3, end, "clean.fence")
