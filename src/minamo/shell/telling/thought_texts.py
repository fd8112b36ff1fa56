"""Thoughts as messages: embeds for a log, spoilers, or plain text; a bounded number of each."""

from __future__ import annotations

import re
from collections.abc import Callable

from minamo.core.fit import fit
from minamo.core.graphemes import inner_positions
from minamo.core.limits import MESSAGE_LENGTH, UTF16_MAX
from minamo.shell.sending.sender import Embed
from minamo.shell.telling.wording import Wording

# A grey that is neither good nor bad.
GREY = 0x99AAB5
# Discord's limit for the text of an embed.  One embed goes with each message, so that the limits
# over all embeds of a message (10, and 6000 characters) are kept by themselves.
DESCRIPTION_MAX = 4_096
# Nobody reads more; a thought can have a million characters.
MESSAGES_MAX = 10
# Room for the line that says how much was left out.
_NOTE_MAX = 100

_BAR, _BREAK = "||", "\u200b"
# Both bars, and a break inside each.
_AROUND = 2 * (len(_BAR) + len(_BREAK))
# So few characters never have too many UTF-16 units, whatever they are.
_WIDE = (UTF16_MAX - _AROUND - _NOTE_MAX) // 2
_BARS = re.compile(r"\|(?=\|)")

_FENCE = re.compile(r"^ {0,3}```+([^\s`]{0,32})[^`\n]*$", re.MULTILINE)
_CLOSE = "\n```"
# No sign that people take for one character has more parts.
_GRAPHEME_MAX = 32


def log_embeds(text: str, wording: Wording) -> list[Embed]:
    """The embeds that hold *text*, in order, each for a message of its own."""
    parts, left = _cut(text, DESCRIPTION_MAX - _NOTE_MAX)
    title = wording.say("thoughts_title")
    return [
        Embed(title="" if number else title, description=part, colour=GREY)
        for number, part in enumerate(_noted(parts, left, wording))
    ]


def spoilers(text: str, wording: Wording) -> list[str]:
    """The messages that hide *text* until somebody wants to see it."""
    parts, left = _fitted(text, MESSAGE_LENGTH - _AROUND - _NOTE_MAX, _calm)
    if any(_units(part) > UTF16_MAX - _AROUND - _NOTE_MAX for part in parts):
        parts, left = _fitted(text, _WIDE, _calm)
    return [_hidden(part) for part in _noted(parts, left, wording)]


def plainly(text: str, wording: Wording) -> list[str]:
    """The messages that show *text* as it is."""
    return _noted(*_fitted(text, MESSAGE_LENGTH - _NOTE_MAX), wording)


def _calm(text: str) -> str:
    """No two bars side by side."""
    return _BARS.sub(f"|{_BREAK}", text)


def _hidden(part: str) -> str:
    # A bar at the edge would be read as one of ours, and a backslash would take ours away.
    before = _BREAK if part.startswith("|") else ""
    after = _BREAK if part.endswith(("|", "\\")) else ""
    return f"{_BAR}{before}{part}{after}{_BAR}"


def _noted(parts: list[str], left: int, wording: Wording) -> list[str]:
    if left and parts:
        parts[-1] += f"\n{wording.say('thoughts_left_out', characters=left)}"
    return parts


def _fitted(text: str, room: int, made: Callable[[str], str] = str) -> tuple[list[str], int]:
    """As many messages as may be, and how many characters are not in them."""
    kept = text[: MESSAGES_MAX * room]
    while True:
        parts = [message.text for message in fit(made(kept), limit=room).messages]
        if len(parts) <= MESSAGES_MAX:
            return parts, len(text) - len(kept)
        # Formatting that is closed and reopened takes room; a tenth less is soon little enough.
        kept = kept[: len(kept) * 9 // 10]


def _units(text: str) -> int:
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def _cut(text: str, room: int) -> tuple[list[str], int]:
    """Parts that are longer than any message, with code blocks closed and opened again."""
    parts: list[str] = []
    at, language = 0, None
    while at < len(text) and len(parts) < MESSAGES_MAX:
        opening = "" if language is None else f"```{language}\n"
        end = _end(text, at, at + room - len(opening) - len(_CLOSE))
        part = opening + text[at:end]
        language = _open_fence(part)
        if part.strip():
            parts.append(part if language is None else part.rstrip("\n") + _CLOSE)
        at = end
    return parts, len(text) - at


def _end(text: str, start: int, most: int) -> int:
    """The best place to cut before *most*: a paragraph, a line, a word, a grapheme."""
    if most >= len(text):
        return len(text)
    for mark in ("\n\n", "\n", " "):
        found = text.rfind(mark, (start + most) // 2, most - len(mark))
        if found >= 0:
            return found + len(mark)
    low = most - _GRAPHEME_MAX
    inner = set(inner_positions(text[low : most + _GRAPHEME_MAX]))
    while most - low in inner and most > start + 1:
        most -= 1
    return most


def _open_fence(part: str) -> str | None:
    """The language of the code block that *part* leaves open, if it does."""
    language: str | None = None
    for found in _FENCE.finditer(part):
        if language is None:
            language = found[1]
        elif not found[1]:
            language = None
    return language
