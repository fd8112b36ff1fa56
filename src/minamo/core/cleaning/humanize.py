"""Humanising: a few small slips that make a tidy reply look typed, the same every time.

A pure function of text and seed.  It changes only what cannot be mistaken for meaning: the
capital of a common word that opens a sentence, the last full stop of a short message, three
dots.  Code, addresses, mentions, custom emoji, numbers and names stay as they are.
"""

from __future__ import annotations

import re
import zlib

from minamo.core.accounting.spans import Edit, Rewritten, edit, unchanged
from minamo.core.cleaning.clean import URL
from minamo.core.cleaning.code_spans import Spans, code_spans
from minamo.core.lexing.sentences import find_ends
from minamo.core.limits import DOTS_CHANCE, LOWER_CHANCE, SHORT_MESSAGE_MAX, STOP_CHANCE

# Only words that are never names, so that no name loses its capital.  "I" keeps it too.
_OPENING_WORDS = (
    "a an and anyway are as at because but by can could did do does for from great had has have "
    "he her here his how if in is it its just let like maybe my nice no not now of oh ok okay on "
    "or our please right she should since so some sorry sure thanks that the their then there "
    "these they this those to was we well were what when where which while who why with would "
    "yeah yep yes you your"
)
_OPENERS = frozenset(_OPENING_WORDS.split())
_OPENER = re.compile(r"\s*([A-Z][a-z]*)(?=[\s,.!?…'’]|$)")
_LAST_STOP = re.compile(r"[^\W\d_]{2}([.。])\s*$")
# Between digits the dots are a range, not a pause.
_DOTS = re.compile(r"(?<![.\d])\.{3}(?![.\d])")
# Everything in Discord's angle brackets, shortcodes, and plain handles.
_TOKEN = re.compile(r"<[^<>\s][^<>\n]{0,200}>|:\w{1,32}:|@[^\s@]{1,64}")

_LOWER, _STOP, _DOT = 1, 2, 3
_SPREAD = 0x9E3779B97F4A7C15  # 2**64 over the golden ratio: neighbours land far apart
_MIX = 0xBF58476D1CE4E5B9  # splitmix64's first multiplier
_WORD_MASK = (1 << 64) - 1


def humanize(text: str, seed: int, *, fence: str = "") -> Rewritten:
    """Return *text* with light slips in its prose, chosen by *seed*.

    *fence* is the run that opened the fence in which the text begins, if it does.
    """
    shaped = unchanged(text)
    base = seed ^ zlib.crc32(text.encode("utf-8", "surrogatepass"))
    edits = _lowered(text, base) + _unstopped(text, base) + _dotted(text, base)
    if not edits:
        return shaped
    kept = _untouchable(text, fence)
    return edit(shaped, [e for e in edits if not kept.touches(e.start, e.end)], "humanize")


def _untouchable(text: str, fence: str) -> Spans:
    code = code_spans(text, fence=fence)
    return code.plus(match.span() for match in (*URL.finditer(text), *_TOKEN.finditer(text)))


def _lowered(text: str, base: int) -> list[Edit]:
    """Return edits that begin some sentences with a small letter."""
    out: list[Edit] = []
    for start in (0, *find_ends(text)):
        match = _OPENER.match(text, start)
        if match and match[1].lower() in _OPENERS and _chance(base, _LOWER, start, LOWER_CHANCE):
            at = match.start(1)
            out.append(Edit(at, at + 1, text[at].lower()))
    return out


def _unstopped(text: str, base: int) -> list[Edit]:
    """Return the edit that removes the last full stop of a short message, if one is chosen."""
    match = _LAST_STOP.search(text) if len(text) <= SHORT_MESSAGE_MAX else None
    if match is None or not _chance(base, _STOP, 0, STOP_CHANCE):
        return []
    return [Edit(*match.span(1))]


def _dotted(text: str, base: int) -> list[Edit]:
    """Return edits that write some ellipses as one character."""
    return [
        Edit(match.start(), match.end(), "…")
        for match in _DOTS.finditer(text)
        if _chance(base, _DOT, match.start(), DOTS_CHANCE)
    ]


def _chance(base: int, rule: int, place: int, percent: int) -> bool:
    """Return whether a rule applies at a place, with *percent* chance; deterministic."""
    mixed = (base + (place * 4 + rule) * _SPREAD) & _WORD_MASK
    mixed = ((mixed ^ (mixed >> 30)) * _MIX) & _WORD_MASK
    return (mixed ^ (mixed >> 31)) % 100 < percent
