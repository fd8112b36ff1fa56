"""Properties of characters: grapheme clusters, width, word boundaries and visibility.

Unicode lists the characters that a renderer leaves out (Default_Ignorable_Code_Point); some others
look like a blank.  They can hide a message from the reader, a reviewer or a filter: a byte in each
variation selector, a bit in each invisible operator.  So one is kept only where a script or an
emoji needs it: of a run at most a selector for the character before it, and one joiner or mark
after that.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

from wcwidth import iter_graphemes, wcswidth

from minamo.core.accounting.spans import Edit
from minamo.core.limits import FLAG_TAGS_MAX

# Twice the width of the widest table.
_PART = 128


def inner_positions(text: str) -> list[int]:
    """Return every position of *text* inside a grapheme cluster, in order."""
    if text.isascii():
        return []  # only CR LF is a cluster there, and that is whitespace anyway
    inner: list[int] = []
    at = 0
    for cluster in iter_graphemes(text):
        if len(cluster) > 1:
            inner.extend(range(at + 1, at + len(cluster)))
        at += len(cluster)
    return inner


def columns(text: str) -> int:
    """Return the width of *text* in columns of a fixed-width font; approximate for a long one."""
    if text.isascii() and text.isprintable():
        return len(text)
    # In parts: a run of flags takes time quadratic in its length.
    return sum(_columns(text[at : at + _PART]) for at in range(0, len(text), _PART))


@lru_cache(maxsize=1_024)  # measured for the widths, and again when written
def _columns(text: str) -> int:
    width: int = wcswidth(text)
    # -1: the text has control characters, which have no width; count characters then.
    return width if width >= 0 else len(text)


#: Holds between two characters without a blank in between, and between two letters or digits.
EDGE, WORD = 2, 4

_LETTERS = re.compile(r"[^\W_\x00-\x7f]+")
_BLANKS = re.compile(r"[^\S\x00-\x7f]")
# Per character: one bit if it is visible, another if it is a letter or digit.
_KINDS = bytes((not chr(at).isspace()) + 2 * chr(at).isalnum() for at in range(128)) + bytes(128)
_HOLDS = bytes((0, EDGE, 0, WORD)) + bytes(252)
# Letters of scripts that put no blanks between words: Thai, Lao, Myanmar, Khmer, kana, Han.
_UNSPACED = re.compile(
    "[\u0e01-\u0e4e\u0e81-\u0ede\u1000-\u109f\u1780-\u17d3\u3041-\u30ff\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff]{2,}"
)
# Ends of clauses in those scripts: the next word follows without a blank.
_CLAUSE_ENDS = re.compile("[、。，．！？：；｡､][」』）】》〉〕”’]*")


def hold_words(hold: bytearray, text: str) -> None:
    """Set the hold of each position of *text* in *hold*, which must be all 0."""
    plain = text
    if not text.isascii():
        plain = _BLANKS.sub(" ", _LETTERS.sub(lambda word: "a" * len(word[0]), text))
    kinds = plain.encode("ascii", "replace").translate(_KINDS)
    # Each with the one before it, all at once: a loop over words took longer than all the rest.
    number = int.from_bytes(kinds)
    hold[: len(text)] = (number & (number >> 8)).to_bytes(len(text)).translate(_HOLDS)
    if not text.isascii():
        for run in _UNSPACED.finditer(text):
            hold[run.start() + 1 : run.end()] = bytes(run.end() - run.start() - 1)
        for clause in _CLAUSE_ENDS.finditer(text):
            hold[clause.end()] = 0


# A range, not a look-up: Python's Unicode tables are older than the newest emoji.
_PICTURES = ("\U0001f000", "\U0001faff")
# Arrows to miscellaneous symbols: hearts, gender signs and the like.  Symbols elsewhere are
# arithmetic, accents or East Asian punctuation.
_SYMBOLS = ("\u2190", "\u2bff")
# Joiner, selectors, keycap: characters that continue an emoji.
_EMOJI_PARTS = frozenset("\u200d\ufe0e\ufe0f\u20e3")
_VIRAMA = 9  # canonical combining class; a joiner after it may end an Indic word

_TAGS = ("\U000e0000", "\U000e007f")
_ZERO_WIDTH_SPACE = "\u200b"
_JOINERS = frozenset("\u200c\u200d")
_DIRECTIONS = frozenset("\u061c\u200e\u200f")
# Default_Ignorable_Code_Point, without U+200B; then interlinear annotation and blank look-alikes.
_HIDDEN = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200c-\u200f\u202a-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3"
    "\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
    "\ufff9-\ufffb\u2800\U0001d159"
)
_FLAG = (
    "\U0001f3f4[\U000e0030-\U000e0039\U000e0061-\U000e007a]{1," + str(FLAG_TAGS_MAX) + "}\U000e007f"
)
_ALL = re.compile(f"({_FLAG})|[{_HIDDEN}{_ZERO_WIDTH_SPACE}]+")
_NO_SPACE = re.compile(f"({_FLAG})|[{_HIDDEN}]+")

# Characters with a picture and a text form, chosen by a selector, or with only a picture.
_EMOJI = re.compile(
    "[#*0-9\u00a9\u00ae\u203c\u2049\u2122\u2139\u2194-\u2199\u21a9\u21aa\u231a\u231b\u2328\u23cf"
    "\u23e9-\u23f3\u23f8-\u23fa\u24c2\u25aa\u25ab\u25b6\u25c0\u25fb-\u25fe\u2600-\u2604\u260e\u2611"
    "\u2614\u2615\u2618\u261d\u2620\u2622\u2623\u2626\u262a\u262e\u262f\u2638-\u263a\u2640\u2642"
    "\u2648-\u2653\u265f\u2660\u2663\u2665\u2666\u2668\u267b\u267e\u267f\u2692-\u2697\u2699\u269b"
    "\u269c\u26a0\u26a1\u26a7\u26aa\u26ab\u26b0\u26b1\u26bd\u26be\u26c4\u26c5\u26c8\u26ce\u26cf"
    "\u26d1\u26d3\u26d4\u26e9\u26ea\u26f0-\u26f5\u26f7-\u26fa\u26fd\u2702\u2705\u2708-\u270d\u270f"
    "\u2712\u2714\u2716\u271d\u2721\u2728\u2733\u2734\u2744\u2747\u274c\u274e\u2753-\u2755\u2757"
    "\u2763\u2764\u2795-\u2797\u27a1\u27b0\u27bf\u2934\u2935\u2b05-\u2b07\u2b1b\u2b1c\u2b50\u2b55"
    "\u3030\u303d\u3297\u3299\U0001f004\U0001f0cf\U0001f170\U0001f171\U0001f17e\U0001f17f"
    "\U0001f18e\U0001f191-\U0001f19a\U0001f1e6-\U0001f1ff\U0001f201\U0001f202\U0001f21a\U0001f22f"
    "\U0001f232-\U0001f23a\U0001f250\U0001f251\U0001f300-\U0001f64f\U0001f680-\U0001f6ff"
    "\U0001f7e0-\U0001f7eb\U0001f7f0\U0001f90c-\U0001f9ff\U0001fa70-\U0001faff]"
)
_HAN = re.compile("[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")
_MONGOLIAN = re.compile("[\u1820-\u18aa]")
# Scripts whose letters change shape with a joiner: Arabic to Mandaic, those of India, South-East
# Asia, Tibet and Mongolia, and their extensions.
_JOINED = re.compile(
    "[\u0600-\u08ff\u0900-\u109f\u1780-\u18af\u1900-\u1cff\ua800-\ua8ff\ua900-\ua92f"
    "\ua980-\uabff\ufb50-\ufdff\ufe70-\ufefc\U00010a00-\U00011fff\U0001e900-\U0001e95f]"
)
_RIGHT_TO_LEFT = re.compile(
    "[\u0590-\u061b\u061d-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\U00010800-\U00010fff"
    "\U0001e800-\U0001efff]"
)
_LEADING_JAMO = re.compile("[\u1100-\u115e\ua960-\ua97c]")
_VOWEL_JAMO = re.compile("[\u1161-\u11a7\ud7b0-\ud7c6]")
_BRAILLE = re.compile("[\u2801-\u28ff]")


def emoji_like(char: str) -> bool:
    """Return whether *char* is an emoji or continues one."""
    if _SYMBOLS[0] <= char <= _SYMBOLS[1]:
        return unicodedata.category(char) in ("So", "Sm")
    return (
        _PICTURES[0] <= char <= _PICTURES[1] or char in _EMOJI_PARTS or _TAGS[0] <= char <= _TAGS[1]
    )


def all_visible(text: str) -> bool:
    """Return whether *text* has no character that might have to be removed."""
    return text.isascii() or _ALL.search(text) is None


def remove_invisible(text: str, *, keep_zero_width_space: bool = False) -> list[Edit]:
    """Return the edits that remove invisible characters which have no function."""
    if text.isascii():
        return []
    bidi = _RIGHT_TO_LEFT.search(text) is not None
    out: list[Edit] = []
    for match in (_NO_SPACE if keep_zero_width_space else _ALL).finditer(text):
        if match[1]:
            continue
        start, end = match.span()
        before, after = text[start - 1 : start], text[end : end + 1]
        here = start
        for at in _needed(match[0], before, after, bidi=bidi):
            if here < start + at:
                out.append(Edit(here, start + at))
            here = start + at + 1
        if here < end:
            out.append(Edit(here, end))
    return out


def _needed(run: str, before: str, after: str, *, bidi: bool) -> list[int]:
    """Return the offsets in *run* of the characters needed between these two (or edges, "")."""
    kept: list[int] = []
    for at, char in enumerate(run):
        if not kept and _selects(char, before):
            kept.append(at)
        elif _joins(char, before, after) or (bidi and char in _DIRECTIONS):
            return [*kept, at]
    return kept


def _selects(char: str, before: str) -> bool:
    """Return whether *char* selects among the forms of the character before it."""
    if char in "\ufe0e\ufe0f":
        return _EMOJI.match(before) is not None
    if "\ufe00" <= char <= "\ufe0d" or "\U000e0100" <= char <= "\U000e01ef":
        return _HAN.match(before) is not None
    return char in "\u180b\u180c\u180d\u180f" and _MONGOLIAN.match(before) is not None


def _joins(char: str, before: str, after: str) -> bool:
    """Return whether *char* has a function between these two."""
    if char in _JOINERS:
        return _shapes(before, after) or (
            char == "\u200d"
            # Digits are emoji in a keycap only, and that has no joiner.
            and not (before.isascii() or after.isascii())
            and bool(_EMOJI.match(before) and _EMOJI.match(after))
        )
    if char == "\u180e":
        return bool(_MONGOLIAN.match(before) and after in ("\u1820", "\u1821"))
    if char == "\u034f":
        is_letter = unicodedata.category(before or " ")[0] in "LMN"
        return is_letter and unicodedata.category(after or " ") == "Mn"
    if char == "\u1160":
        return _LEADING_JAMO.match(before) is not None
    if char == "\u115f":
        return _VOWEL_JAMO.match(after) is not None
    return char == "\u2800" and _BRAILLE.match(before) is not None


def _shapes(before: str, after: str) -> bool:
    """Return whether a joiner between these two shapes a word."""
    if not _JOINED.match(before):
        return False
    if unicodedata.combining(before) == _VIRAMA:
        return True
    return all(_JOINED.match(char) and unicodedata.category(char)[0] in "LMN"
               for char in (before, after))  # fmt: skip
