"""Plain writing takes short ways through the core; here each is compared with the long one."""

from __future__ import annotations

import random
import re

import pytest

from minamo.core.buffer import Buffer
from minamo.core.chunks import Text
from minamo.core.config import StreamConfig
from minamo.core.markers import Markers
from minamo.core.origins import ADDED
from minamo.core.sentence_words import Node
from minamo.core.stream import Stream
from minamo.machine.machine import STEPS_MAX

# Everything that a short way could stumble over, in the midst of ordinary words.
ATOMS = (
    "so the water ", " is", "is ", "still, ", "a", "I", "e", " ", "  ", ".", ". ", "...", "!", "? ", "e.g. ",
    "p.m. ", "2. ", ".\U0001f100a ", "\n", "\n\n", "\r\n", "\t", "(", ")", "[", "]", '"', "'", "“", "”", "«", "*", "**",
    "_", "__", "~~", "|", "||", "`", "``", "\\", ">", "\n>", "> ", ">>> ", "# ", "- ", "| a | b |\n", ":", ":(",
    "é", "日本語。", "「", "」", "。", "…", "\U0001f600", "\U0001f100", "5", "\u200b", "\u2028", "<t", "@x",
    "<think>", "</think>", "<details>", "</details>", "<think/>", "\n```py\n", "\n```\n", "\n~~~\n", "1. ",
    "\n    ",
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


def test_what_was_added_is_not_taken_for_what_stood_just_there() -> None:
    buffer = Buffer(1, 100, 300, 150)
    buffer.add("ab", ADDED)
    buffer.add("c", 1)
    assert buffer.pending.trail == [(ADDED, 2), (1, 1)]


def read_slowly(stream: Stream, text: str) -> None:
    """The long way: the lexer holds it and decides."""
    stream.chunks += 1
    stream.characters += len(text)
    stream.actions.lexer.add(text)
    stream._read()


def known(lexer: Markers) -> dict[str, object]:
    """What a lexer remembers; what it has given out is no part of it."""
    found = state(lexer) | {"held": lexer.held, "at": lexer.at}
    ahead = max(lexer._looked - lexer._pos, 0)
    return found | {"_held": None, "_pos": None, "_start": None, "_looked": ahead}


def test_the_lexer_reads_plain_text_as_it_would_bit_by_bit() -> None:
    rng = random.Random(5)
    for _ in range(300):
        short, long = Stream(), Stream()
        for text in written(rng):
            short.chunk(Text(text))
            read_slowly(long, text)
            assert short.state == long.state
            assert known(short.actions.lexer) == known(long.actions.lexer)
            assert short.actions.model_parts == long.actions.model_parts
        for stream in (short, long):
            stream.end()
            stream.flushed()
        assert short.result() == long.result()


def test_plain_text_of_any_length_is_not_too_much_for_one_step() -> None:
    stream = Stream(StreamConfig(flush_buffer_size=100))
    stream.chunk(Text("so "))
    stream.chunk(Text("the water " * 30_000))
    stream.end()
    assert stream.actions.handed > STEPS_MAX
