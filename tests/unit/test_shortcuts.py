"""Plain writing takes short ways through the core; here each is compared with the long one."""

from __future__ import annotations

import random
import re

import pytest

from minamo.core.buffer import Buffer
from minamo.core.sentence_words import Node

# Everything that a short way could stumble over, in the midst of ordinary words.
ATOMS = (
    "so the water ", " is", "is ", "still, ", "a", "I", "e", " ", "  ", ".", ". ", "...", "!", "? ", "e.g. ",
    "p.m. ", "2. ", ".\U0001f100a ", "\n", "\n\n", "\r\n", "\t", "(", ")", "[", "]", '"', "'", "“", "”", "«", "*", "**",
    "_", "__", "~~", "|", "||", "`", "``", "\\", ">", "\n>", "> ", ">>> ", "# ", "- ", "| a | b |\n", ":", ":(",
    "é", "日本語。", "「", "」", "。", "…", "\U0001f600", "\U0001f100", "5", "\u200b", "\u2028", "<t", "@x",
)  # fmt: skip


PLAIN = ATOMS[:7]


def written(rng: random.Random) -> list[str]:
    """A text in chunks; some are tiny, and some longer than a segment may be."""
    return [
        "".join(rng.choices(rng.choice((ATOMS, PLAIN)), k=size))
        for size in rng.choices((1, 2, 9, 100), (9, 9, 9, 1), k=rng.randint(1, 20))
    ]


def add_by_character(buffer: Buffer, text: str, start: int) -> None:
    """The long way: every character by itself."""
    buffer._pieces = re.compile(".", re.DOTALL)
    buffer._note(start)
    buffer._add_in_pieces(text)


def state(part: object) -> dict[str, object]:
    """All that a part of the core remembers."""
    names = () if isinstance(part, Node) else getattr(type(part), "__slots__", ())
    return {name: state(getattr(part, name)) for name in names} or {"": part}


@pytest.mark.parametrize("degree", range(4))
def test_the_buffer_cuts_phrases_as_it_would_character_by_character(degree: int) -> None:
    rng = random.Random(degree)
    for _ in range(200):
        short, long = (Buffer(degree, 100, 300, 150) for _ in range(2))
        at = 0
        for text in written(rng):
            short.add(text, at)
            add_by_character(long, text, at)
            at += len(text)
            assert list(short.ready) == list(long.ready)
            assert short.pending == long.pending
            assert state(short._boundaries) == state(long._boundaries)
