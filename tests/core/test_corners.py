"""Corners of the text core that whole replies seldom reach, and its short ways beside the long ones."""

from __future__ import annotations

import random
import re

import pytest

from minamo.core import limits
from minamo.core.accounting.outbox import clean_segment
from minamo.core.accounting.spans import (
    ADDED,
    DroppedSpan,
    Ledger,
    SpanQueue,
    TextSpan,
    covers,
    map_spans,
    unchanged,
)
from minamo.core.captures import Captures
from minamo.core.chunks import Call, ErrorChunk, FunctionCall, TextChunk
from minamo.core.cleaning import clean as clean_rules
from minamo.core.cleaning.clean import RULES, Setting, clean
from minamo.core.config import StreamConfig
from minamo.core.fitting.fit import fit
from minamo.core.lexing.lexer import Lexer
from minamo.core.lexing.segmenter import Buffer, Cut, Run, Segment, cut_code, cut_prose
from minamo.core.lexing.sentences import TrieNode
from minamo.core.limits import SPANS_MAX
from minamo.core.result import StreamResult
from minamo.core.stream import Stream
from minamo.machine.machine import STEPS_MAX
from minamo.machine.syntax import build_guard, guard_names
from support.audit import audit, run
from support.seeds import FIRST


def test_reprs_show_sizes_and_not_words() -> None:
    secret = "a secret"
    shown = repr([
        TextChunk(secret, (secret,)), FunctionCall((Call("roll", {"key": secret}),)),
        StreamResult(status="completed", accumulated_text=secret, thought_log=(secret,)),
    ])  # fmt: skip
    assert secret not in shown
    assert "<8 characters>" in shown
    assert "roll" in shown


@pytest.mark.parametrize(
    ("pieces", "dropped"),
    [
        ([TextSpan("b", 1), TextSpan("a", 0)], []),  # reordered
        ([TextSpan("a", 0)], []),  # lost
        ([TextSpan("ab", 0)], [DroppedSpan(0, 1, "x")]),  # doubled
        ([TextSpan("ax", 0)], []),  # altered
    ],
)
def test_covers_notices(pieces: list[TextSpan], dropped: list[DroppedSpan]) -> None:
    assert covers("ab", [TextSpan("a", 0), TextSpan("+"), TextSpan("b", 1)], [])
    assert not covers("ab", pieces, dropped)


def test_a_guard_that_holds_is_discarded_with_the_rest() -> None:
    text = "Hello\nBo"
    done = run([text], speaker_names=["Bob"], ending="kill")
    audit(done, text)
    assert done.result.suppressed == {"killed": len(text)}


def test_a_prefill_that_was_never_needed_is_not_counted() -> None:
    done = run(["We"], prefill="Well", ending="kill")
    assert done.result.suppressed == {"killed": 2}
    assert done.result.additions == {}
    done = run(["No"], prefill="Well", ending="kill")
    assert done.result.suppressed == {"killed": 2}


def test_emphasis_after_a_forced_cut_is_closed_by_its_own_mark() -> None:
    text = "**" + "a word " * 180 + "** end.\n\n" + "Next **b\n\nc** d.\n\nLast."
    done = run([text])
    audit(done, text)
    assert done.messages[-2:] == ("Next **b\n\nc** d.", "Last.")


def test_spans_stop_at_a_limit_and_counts_go_on() -> None:
    ledger = Ledger()
    for at in range(SPANS_MAX + 5):
        ledger.suppress(at, 1, "seam")
    assert len(ledger.spans) == SPANS_MAX
    assert ledger.suppressed["seam"] == SPANS_MAX + 5


def test_a_thought_without_end_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("minamo.core.captures.CAPTURE_MAX", 10)
    text = "<think>" + "x" * 15 + "</think>a<details>yy</details>"
    done = run([text])
    audit(done, text)
    assert done.thoughts == ("x" * 10,)
    assert done.result.suppressed["limit"] == 7


def test_nothing_is_noted_of_thoughts_behind_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("minamo.core.captures.CAPTURE_MAX", 3)
    captures = Captures(Ledger())
    captures.provider(("ab", "cd"))
    captures.provider(("e",))
    assert [block.text for block in captures.blocks] == ["ab", "c"]


def test_a_thought_that_was_cut_off_gives_nothing_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("minamo.core.captures.CAPTURE_MAX", 18)
    text = "<think><think></think>" + "x" * 15
    done = run([text])
    audit(done, text)
    assert done.thoughts == ("<think></think>xxx",)
    assert done.messages == ()


def test_a_thought_that_mentions_a_tag_is_kept_whole_by_a_kill() -> None:
    done = run(["<think>a <think> b</think>c"], ending="kill")
    audit(done, "<think>a <think> b</think>c")
    assert done.thoughts == ("a <think> b</think>c",)


def test_nesting_stops_counting_at_a_limit() -> None:
    depth = limits.NESTING_MAX
    text = "<think>" * (depth + 3) + "x" + "</think>" * (depth + 1) + "shown"
    assert run([text]).messages == ("shown",)


def test_the_aggregate_has_a_limit() -> None:
    text = "some words. " * (limits.AGGREGATE_MAX // 12 + 200)
    done = run([text], degree=0)
    audit(done, text)
    stream = Stream(StreamConfig(degree=0))
    stream.chunk(TextChunk(text))
    assert stream.actions.handed == 1
    stream.end()
    assert stream.actions.handed == 2


def test_code_is_cut_at_a_line_or_else_between_characters() -> None:
    assert cut_code("ab\ncd\nef", 6) == 6
    assert cut_code("a\nbcdefgh", 6) == 2
    assert cut_code("abcdef", 4) == 4
    assert cut_code("abce\u0301f", 4) == 3
    assert cut_code("a" + "\u0301" * 9, 4) == 4


def test_prose_is_cut_at_the_best_place_near_the_limit() -> None:
    words, mention = "word " * 100, "<@12345678901234567>"
    for text, want in (
        ("x" * 380 + ". " + words, 382),
        ("x" * 380 + "\n" + words, 381),
        ("x" * 380 + " " + "y" * 300, 381),
        ("x" * 700, 400),
        ("x" * 599 + ".", 599),
        ("x" * 99 + "." + "x" * 500, 100),
        ("x" * 98 + "." + "x" * 500, 400),
        ("y " * 20 + "http://" + "x" * 700, 40),
        ("http://" + "x" * 700, 0),
        # A place far away is better than a torn word, but a blank message is none.
        ("  ab " + "x" * 700, 5),
        ("  " + "x" * 700, 400),
        (mention * 30, 400),
        (mention + "x" * 700, 400),
        ("word," * 140, 400),
        ("漢字" * 300, 400),
        # Code, closed or not; a run that nothing closes for so long is no code.
        ("y " * 20 + "`" + "x " * 300, 40),
        ("`" + "x " * 300, 0),
        ("y " * 20 + "[" + "x " * 270 + "](http://x", 40),
    ):
        assert cut_prose(text[:600], 400, 1_950) == Cut(want), text
    assert cut_prose("`" + "x " * 300 + "` z", 400, 1_950) == Cut(603)
    assert cut_prose("y " * 20 + "`" + "x " * 600, 400, 1_950) == Cut(1_041)
    assert cut_prose("y " * 5 + "</x" + " x" * 40, 60, 1_950) == Cut(10)
    assert cut_prose("y " * 5 + "</x" + " x" * 60, 60, 1_950) == Cut(60)
    assert cut_prose("e\u0301" * 250, 301, 1_950).at in (300, 302)


def test_a_sentence_may_end_at_the_end_of_the_window() -> None:
    assert cut_prose("word " * 119 + "End. M", 400, 1_950) == Cut(600)


def test_a_token_longer_than_a_message_is_cut_where_the_message_is_full() -> None:
    assert cut_prose("http://" + "x" * 593, 400, 500) == Cut(500)
    assert cut_prose("`" + "x" * 599, 400, 500) == Cut(400, 1)
    # What follows begins in the code span.
    rest = "x" * 300 + "`, so `a b` " + "y" * 288
    assert cut_prose(rest, 400, 500, 1) == Cut(312)
    assert cut_prose("x " * 300, 400, 500, 1) == Cut(400, 1)
    assert cut_prose("x x\n" + "y " * 298, 400, 500, 1) == Cut(400)


def test_a_buffer_says_how_much_it_holds() -> None:
    buffer = Buffer(1, 1_000, 15_000, 1_950)
    buffer.add("abc", 0)
    assert len(buffer) == 3
    (segment,) = buffer.rest()
    assert segment.trail == [(0, 3)]
    assert buffer.rest() == []


def test_a_buffer_records_where_each_text_was_in_the_stream() -> None:
    buffer = Buffer(1, 1_000, 15_000, 1_950)
    for text, start in (("ab", 0), ("cd", 10), ("ef", 16), ("gh", 18)):
        buffer.add(text, start)
    assert buffer.pending.runs == (Run(0, 0), Run(2, 10), Run(4, 16))


def test_guards_can_be_combined() -> None:
    yes, no = (lambda *_: True), (lambda *_: False)
    names = {"yes": yes, "no": no}
    for text, holds in (("not no", True), ("yes and no", False), ("no or yes", True),
                        ("not (yes and no) and (no or yes)", True)):  # fmt: skip
        assert build_guard(text, names)(None, None) is holds
    assert guard_names("b and not a or c") == ["b", "a", "c"]


def test_the_way_through_the_chart_has_a_limit() -> None:
    text = "a\n\n" * (limits.STATES_MAX + 10)
    states = run([text]).result.states
    assert len(states) == limits.STATES_MAX
    assert states[0] == "opening"
    assert states[-1] == "completed"


def test_what_waits_is_counted_and_can_be_withdrawn() -> None:
    stream = Stream(StreamConfig())
    assert stream.actions.outbox.take() == []
    stream.chunk(TextChunk("[a](http://b.example)\n\nTwo"))
    assert stream.actions.outbox.waiting == len("[a](http://b.example)\n\n")
    stream.kill()
    stream.flushed()
    hidden = stream.result().suppressed
    assert sum(hidden.values()) == stream.characters
    assert hidden["clean.masked_link"] == 2


def test_nothing_comes_from_nowhere() -> None:
    origins = SpanQueue()
    origins.put(3, 0)
    assert origins.take_all() == []


def test_an_error_chunk_may_bring_thoughts_and_a_call_none() -> None:
    stream = Stream()
    stream.chunk(FunctionCall(()))
    stream.chunk(ErrorChunk("timeout", thoughts=("late",)))
    stream.flushed()
    assert stream.result().data is None
    assert stream.result().thought_log == ("late",)


@pytest.mark.parametrize("look_alike", ["~~~~~~", "```", "| a | b |", "~~~py "])
def test_a_segment_that_begins_in_mid_line_begins_no_fence(look_alike: str) -> None:
    text = "a" * 100 + look_alike + "b" * 300 + "\n|---|---|\n" + "c" * 300
    done = run([text], degree=2, flush_buffer_size=50)
    audit(done, text)
    assert "blank" not in done.result.suppressed
    assert sum(message.count("b") for message in done.messages) >= 300
    assert sum(message.count("c") for message in done.messages) == 300


def test_what_begins_in_mid_line_is_read_from_its_second_line_on() -> None:
    fence = "~~~ x\n~~~\ny\n~~~\n"
    assert fit(fence).messages[0].text.startswith("```")
    assert fit(fence, mid_line=True).messages[0].text == "~~~ x\n```\ny\n```"
    assert fit("~~~ x", mid_line=True, last=False).messages[0].text.startswith("~~~ x")


def test_a_fence_after_a_prefill_is_a_fence() -> None:
    done = run(["```py\n" + "x = 1\n" * 500 + "```"], prefill="Code: ")
    assert all(message.count("```") == 2 for message in done.messages[1:])
    assert len(done.messages) > 2


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
