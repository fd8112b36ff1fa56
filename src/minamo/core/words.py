"""Words: how strongly each place in a text resists a cut for their sake."""

from __future__ import annotations

import re

#: Between two characters with no blank between them; and between two letters or digits of a word.
EDGE, WORD = 2, 4

_LETTERS = re.compile(r"[^\W_\x00-\x7f]+")
_BLANKS = re.compile(r"[^\S\x00-\x7f]")
# Per character: one bit if it is seen, another if it is a letter or digit.
_KINDS = bytes((not chr(at).isspace()) + 2 * chr(at).isalnum() for at in range(128)) + bytes(128)
_HOLDS = bytes((0, EDGE, 0, WORD)) + bytes(252)
# Letters of scripts that put no blanks between words: Thai, Lao, Myanmar, Khmer, kana, Han.
_UNSPACED = re.compile(
    "[\u0e01-\u0e4e\u0e81-\u0ede\u1000-\u109f\u1780-\u17d3\u3041-\u30ff\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff]{2,}"
)
# What ends a clause there: the next word stands right behind it.
_CLAUSE_ENDS = re.compile("[、。，．！？：；｡､][」』）】》〉〕”’]*")


def hold_words(hold: bytearray, text: str) -> None:
    """Set the holds of *text*, one for each position, all 0 before."""
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
