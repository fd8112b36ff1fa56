"""Plain writing takes short ways through the core; here each is compared with the long one."""

from __future__ import annotations

import random
import re

import pytest

from minamo.core.accounting.outbox import clean_segment
from minamo.core.accounting.spans import ADDED, map_spans, unchanged
from minamo.core.chunks import TextChunk
from minamo.core.cleaning import clean as clean_rules
from minamo.core.cleaning.clean import RULES, Setting, clean
from minamo.core.config import StreamConfig
from minamo.core.lexing.lexer import Lexer
from minamo.core.lexing.segmenter import Buffer, Run, Segment
from minamo.core.lexing.sentences import TrieNode
from minamo.core.stream import Stream
from minamo.machine.machine import STEPS_MAX
from support.seeds import FIRST

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

DEBRIS = (
    "so the water", " ", ".", "\n", "\n \n", "\t\n", "\r\n", "\x1f", "é", "[", "]", "](", ")", "(http://a.b)",
    "[a](http://a.b)", "[system: be kind]", "[ System :", "<|im_end|>", "<|", "|>", "<s>", "</s>", "[INST]",
    "<｜User｜>", "<end_of_turn>", "@x", "@", "x", "\u200b", "\u200d", "\ufeff", "\U000e0041", "\u202e", "`", "```py", "~~~",
)  # fmt: skip


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
    names = () if isinstance(part, TrieNode) else getattr(type(part), "__slots__", ())
    return {name: state(getattr(part, name)) for name in names} or {"": part}


def compare_buffers(degree: int, seed: int, times: int) -> None:
    rng = random.Random(seed)
    for _ in range(times):
        short, long = (Buffer(degree, 100, 300, 150) for _ in range(2))
        at = 0
        for text in written(rng):
            short.add(text, at)
            add_by_character(long, text, at)
            at += len(text)
            assert list(short.ready) == list(long.ready)
            assert short.pending == long.pending
            assert state(short._boundaries) == state(long._boundaries)


@pytest.mark.parametrize("degree", range(4))
@pytest.mark.no_cover  # measuring would be most of its time
def test_the_buffer_cuts_phrases_as_it_would_character_by_character(degree: int) -> None:
    compare_buffers(degree, degree, 80)


@pytest.mark.slow
@pytest.mark.parametrize("degree", range(4))
def test_p02_the_buffer_cuts_many_phrases_as_it_would_character_by_character(degree: int) -> None:
    compare_buffers(degree, FIRST + degree, 2_000)


def test_what_was_added_is_not_taken_for_what_stood_just_there() -> None:
    buffer = Buffer(1, 100, 300, 150)
    buffer.add("ab", ADDED)
    buffer.add("c", 1)
    assert buffer.pending.trail == [(ADDED, 2), (1, 1)]


def read_slowly(stream: Stream, text: str) -> None:
    """The long way: the lexer holds it and decides."""
    stream.chunks += 1
    stream.characters += len(text)
    stream.actions.lexer.add(stream._intake.feed(text))
    stream._read()


def known(lexer: Lexer) -> dict[str, object]:
    """What a lexer remembers; what it has given out is no part of it."""
    found = state(lexer) | {"held": lexer.held, "at": lexer.at}
    ahead = max(lexer._looked - lexer._pos, 0)
    return found | {"_held": None, "_pos": None, "_start": None, "_looked": ahead}


def compare_lexers(seed: int, times: int) -> None:
    rng = random.Random(seed)
    for _ in range(times):
        short, long = Stream(), Stream()
        for text in written(rng):
            short.chunk(TextChunk(text))
            read_slowly(long, text)
            assert short.state == long.state
            assert known(short.actions.lexer) == known(long.actions.lexer)
            assert short.actions.model_parts == long.actions.model_parts
        for stream in (short, long):
            stream.end()
            stream.flushed()
        assert short.result() == long.result()


@pytest.mark.no_cover  # measuring would be most of its time
def test_the_lexer_reads_plain_text_as_it_would_bit_by_bit() -> None:
    compare_lexers(5, 150)


@pytest.mark.slow
def test_p02_the_lexer_reads_many_plain_texts_as_it_would_bit_by_bit() -> None:
    compare_lexers(FIRST, 5_000)


@pytest.mark.no_cover  # measuring would be most of its time
def test_plain_text_of_any_length_is_not_too_much_for_one_step() -> None:
    stream = Stream(StreamConfig(flush_buffer_size=100))
    stream.chunk(TextChunk("so "))
    stream.chunk(TextChunk("the water " * 15 * STEPS_MAX))
    stream.end()
    assert stream.actions.handed > STEPS_MAX


@pytest.mark.parametrize("name", [name for name in RULES if name != "line_end"])
@pytest.mark.no_cover  # measuring would be most of its time
def test_no_rule_finds_anything_in_what_is_clean_at_first_sight(name: str) -> None:
    """The debris that a rule looks for, whole and in parts, among harmless words."""
    rule = getattr(clean_rules, name)
    setting = Setting("", {"x": "1"}, first=True, fence="", keep_zero_width_space=False)
    rng = random.Random(name)
    found = 0
    for _ in range(3_000):
        text = "".join(rng.choices(DEBRIS, k=rng.randint(1, 6)))
        edits = rule(text, setting)
        found += bool(edits)
        if edits:  # the whole way must not take the text for clean, either
            alone = clean(text, off=frozenset(RULES) - {name}, mentions={"x": "1"})
            assert alone.dropped or alone.text != text, text
    assert found or name == "own_name"  # which is tried whenever there is a name to look for


def test_a_segment_of_its_own_text_keeps_its_trail() -> None:
    segment = Segment("so the water", (Run(0, ADDED), Run(3, 7), Run(3, 9)))
    one = clean_segment(segment, StreamConfig(prefill="so "), first=True)
    assert (
        one.trail
        == map_spans(segment.trail, unchanged(segment.text).pieces)
        == [(ADDED, 3), (9, 9)]
    )
    assert one.added == [(0, 3, "prefill")]
