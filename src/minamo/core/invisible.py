"""Know which characters cannot be seen, and which of those do real work.

Zero-width joiners shape Persian and Indic words and glue emoji; tag characters spell the
flags of England, Scotland and Wales.  The rest only hides things: from the reader, from a
reviewer (bidi overrides in code), or from a filter.
"""

from __future__ import annotations

import re
import unicodedata

from minamo.core.edits import Edit
from minamo.core.limits import FLAG_TAGS_MAX

# A range, not a look-up: Python's Unicode tables are older than the newest emoji.
_PICTURES = ("\U0001f000", "\U0001faff")
# Arrows to miscellaneous symbols: hearts, gender signs and the like.  Symbols elsewhere are
# arithmetic, accents or East Asian punctuation.
_SYMBOLS = ("\u2190", "\u2bff")
# Joiner, selectors, keycap: what continues an emoji.
_EMOJI_PARTS = frozenset("\u200d\ufe0e\ufe0f\u20e3")
_SELECTORS = frozenset(map(chr, range(0xFE00, 0xFE10)))
_VIRAMA = 9  # canonical combining class; a joiner after it may end an Indic word

_TAGS = ("\U000e0000", "\U000e007f")
_ZERO_WIDTH_SPACE = "\u200b"
_JOINERS = "\u200c\u200d"
_HIDDEN = "\u00ad\u2060\ufeff\u202a-\u202e\u2066-\u2069\U000e0000-\U000e007f" + _JOINERS
_FLAG = (
    "\U0001f3f4[\U000e0030-\U000e0039\U000e0061-\U000e007a]{1," + str(FLAG_TAGS_MAX) + "}\U000e007f"
)
_ALL = re.compile(f"({_FLAG})|[{_HIDDEN}{_ZERO_WIDTH_SPACE}]+")
_NO_SPACE = re.compile(f"({_FLAG})|[{_HIDDEN}]+")


def emoji_like(char: str) -> bool:
    """Tell whether *char* is an emoji or continues one."""
    if _SYMBOLS[0] <= char <= _SYMBOLS[1]:
        return unicodedata.category(char) in ("So", "Sm")
    return (
        _PICTURES[0] <= char <= _PICTURES[1] or char in _EMOJI_PARTS or _TAGS[0] <= char <= _TAGS[1]
    )


def all_visible(text: str) -> bool:
    """Tell whether there is nothing in *text* that could have to be removed."""
    return text.isascii() or _ALL.search(text) is None


def remove_invisible(text: str, *, keep_zero_width_space: bool = False) -> list[Edit]:
    """Return the edits that take out what cannot be seen and does nothing."""
    if text.isascii():
        return []
    out: list[Edit] = []
    for match in (_NO_SPACE if keep_zero_width_space else _ALL).finditer(text):
        if match[1]:
            continue
        start, end = match.span()
        kept = _first_joiner(match[0])
        if kept >= 0 and _joins(text[start - 1 : start], text[end : end + 1]):
            # One joiner does all that a run of them can do.
            around = ((start, start + kept), (start + kept + 1, end))
            out += [Edit(a, b) for a, b in around if a < b]
        else:
            out.append(Edit(start, end))
    return out


def _first_joiner(run: str) -> int:
    return min((at for at in map(run.find, _JOINERS) if at >= 0), default=-1)


def _joins(before: str, after: str) -> bool:
    """Tell whether a joiner between these two characters (or edges, "") has work to do."""
    if not before:
        return False
    if unicodedata.combining(before) == _VIRAMA:
        return True
    if not after:
        return False
    return (emoji_like(before) and emoji_like(after)) or (_wordy(before) and _wordy(after))


def _wordy(char: str) -> bool:
    return unicodedata.category(char)[0] in "LMN" and char not in _SELECTORS
