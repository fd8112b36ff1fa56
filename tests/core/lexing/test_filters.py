"""What comes in before the lexer: filters, the echo of a prefill, silence, and text that is kept whole."""

from __future__ import annotations

import random
import time
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minamo.core.accounting.spans import Ledger
from minamo.core.chunks import TextChunk
from minamo.core.config import StreamConfig
from minamo.core.lexing.filters import Prefill, PrefillOutput, Silence
from minamo.core.lexing.intake import Intake, as_read
from minamo.core.lexing.segmenter import Segment, cut_aggregate
from minamo.core.limits import AGGREGATE_MAX, LEADING_BLANKS_MAX
from minamo.core.stream import Stream
from minamo.shell.driver import NullSink


def run(prefill: str, *chunks: str) -> tuple[str, int, str]:
    """Feed all chunks; return what was put before, how much was dropped, what was shown."""
    fold = Prefill(prefill)
    before, dropped, text = "", 0, ""
    for got in [*(fold.feed(chunk) for chunk in chunks), fold.release()]:
        # In front means in front: nothing may have been shown earlier.
        assert not (got.before and (before or text))
        before += got.before
        dropped += got.dropped
        text += got.text
    assert fold.release() == PrefillOutput()
    return before, dropped, text


@pytest.mark.parametrize(
    ("chunks", "want"),
    [
        ([], ("", 0, "")),
        (["", ""], ("", 0, "")),
        ([" \n"], ("", 0, " \n")),
        (["Hello"], ("Sure, ", 0, "Hello")),
        (["Sure, hello"], ("Sure, ", 6, "hello")),
        (["Su", "re,", " hel", "lo"], ("Sure, ", 6, "hello")),
        (["Sure, ", "\n", "hello"], ("Sure, ", 6, "\nhello")),
        (["Sure, Sure, x"], ("Sure, ", 6, "Sure, x")),
        (["Sure", "ly"], ("Sure, ", 0, "Surely")),
        (["Sure"], ("Sure, ", 0, "Sure")),
        (["Sure, "], ("Sure, ", 6, "")),
        (["sure, x"], ("Sure, ", 0, "sure, x")),
        ([" Sure, x"], ("Sure, ", 0, " Sure, x")),
        (["\n", "\n", "x", "y"], ("Sure, ", 0, "\n\nxy")),
        ([" " * 100], ("Sure, ", 0, " " * 100)),
    ],
)
def test_prefill(chunks, want):
    assert run("Sure, ", *chunks) == want


def test_no_prefill():
    assert run("", "a", "b") == ("", 0, "ab")
    assert run("", "") == ("", 0, "")


def test_a_blank_prefill():
    assert run("\n\n", "\n\nx") == ("\n\n", 2, "x")
    assert run("\n\n", "\n") == ("", 0, "\n")
    assert run("\n\n", "\n", "x") == ("\n\n", 0, "\nx")


def test_what_is_held():
    fold = Prefill("abc")
    assert fold.feed("ab") == PrefillOutput()
    assert fold.feed("c") == PrefillOutput(dropped=3)
    assert fold.feed(" " * LEADING_BLANKS_MAX) == PrefillOutput()
    assert fold.feed(" ") == PrefillOutput(before="abc", text=" " * (LEADING_BLANKS_MAX + 1))
    assert fold.feed("abc") == PrefillOutput(text="abc")


ATOMS = ["a", "ab", "abc", " ", "\n", "b", "é"]
RUNS = [1, 1, 1, 2, 3, 63, 64, 65, 130]
texts = st.lists(st.tuples(st.sampled_from(ATOMS), st.sampled_from(RUNS)), max_size=6).map(
    lambda pairs: "".join(atom * count for atom, count in pairs)
)


@given(texts, texts, st.booleans(), st.randoms(use_true_random=False))
def test_chunking_does_not_matter(prefill, text, echo, dice: random.Random):
    text = prefill + text if echo else text
    whole = run(prefill, text)
    assert run(prefill, *text) == whole
    cuts = sorted(dice.randint(0, len(text)) for _ in range(5))
    chunks = [text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    assert run(prefill, *chunks) == whole
    before, dropped, shown = whole
    assert dropped in (0, len(prefill))
    assert text == prefill[:dropped] + shown
    said = bool(text.strip()) or dropped or len(text) > LEADING_BLANKS_MAX
    assert before == (prefill if said else "")


@pytest.mark.no_cover  # measuring would be most of its time
def test_a_long_echo_takes_linear_time():
    started = time.process_time()
    assert run("a" * 100_000, *("a" * 99_999), "b")[1:] == (0, "a" * 99_999 + "b")
    assert time.process_time() - started < 10


@pytest.mark.parametrize(
    ("text", "want", "dropped", "added"),
    [
        ("a\r\nb", "a\nb", 1, 0),
        ("a\rb\r", "a\nb\n", 2, 2),
        ("\r\r\n\n\r", "\n\n\n\n", 3, 2),
        ("a\nb", "a\nb", 0, 0),
    ],
)
def test_line_ends_are_made_one_however_they_are_cut(
    text: str, want: str, dropped: int, added: int
) -> None:
    assert as_read(text) == want
    assert as_read(text, line_ends=False) == text
    for cut in range(len(text) + 1):
        ledger = Ledger()
        intake = Intake(ledger)
        parts = [intake.feed(text[a:b]) for a, b in pairwise([0, cut, len(text)])]
        assert "".join(parts) + intake.pending == want
        assert "".join([*parts, intake.release()]) == want
        assert ledger.suppressed["clean.line_end"] == dropped
        assert ledger.additions["clean.line_end"] == added
        assert intake.pending == ""


def test_a_half_and_a_line_end_wait_together() -> None:
    intake = Intake(Ledger())
    assert intake.feed("a\r\ud83d") == "a"
    assert intake.pending == "\n\ufffd"
    assert intake.feed("\ude00") == "\n\U0001f600"
    assert intake.feed("\r\ud83d") == ""
    assert intake.release() == "\n\ufffd"


@pytest.mark.parametrize(
    ("first", "second", "want", "dropped", "added"),
    [
        ("a\r", "\nb", "a\nb", {"clean.line_end": 1}, {}),
        ("a\r", "b", "a\nb", {"clean.line_end": 1}, {"clean.line_end": 1}),
        ("a\ud83d", "\ude00b", "a\ufffdb", {}, {}),
        ("a\ud83d", "b", "a\ufffdb", {"surrogate": 1}, {"surrogate": 1}),
        ("a\r", "\ude00", "a\n\ufffd", {"clean.line_end": 1, "surrogate": 1},
         {"clean.line_end": 1, "surrogate": 1}),
    ],
)  # fmt: skip
def test_what_was_released_too_early_is_one_character_with_what_follows(
    first: str, second: str, want: str, dropped: dict[str, int], added: dict[str, int]
) -> None:
    ledger = Ledger()
    intake = Intake(ledger)
    parts = [intake.feed(first), intake.release(), intake.feed(second), intake.feed("\nc")]
    assert "".join(parts) == want + "\nc"
    assert (dict(+ledger.suppressed), dict(+ledger.additions)) == (dropped, added)


MARK = "<silence/>"


def streamed(text: str, *, ending: str = "end", **settings: object) -> tuple[Stream, Silence]:
    stream = Stream(StreamConfig(**settings))  # type: ignore[arg-type]
    stream.actions.silence = Silence(MARK)
    NullSink(stream)
    for char in text:
        stream.chunk(TextChunk(char))
    getattr(stream, ending)()
    stream.flushed()
    return stream, stream.actions.silence


@pytest.mark.parametrize(
    ("text", "shown", "silent"),
    [
        (f" \n{MARK}\n", "", True),
        (f"<think>a <think> b</think>{MARK}", "", True),
        (f"plan</think>{MARK}", "", True),
        (f"{MARK}</think>{MARK}", "", True),
        (f"{MARK} so", f"{MARK} so", False),
        (f"Hi {MARK}", f"Hi {MARK}", False),
        ("<sil", "<sil", False),
        (f"{MARK}\n```\nx\n```", f"{MARK}\n```\nx\n```", False),
        (MARK + "\n" * 70, MARK, False),
        ("", "", False),
    ],
)
def test_only_the_marker_alone_is_silence(text: str, shown: str, silent: bool) -> None:
    stream, silence = streamed(text, clean_off=["blank_lines"])
    result = stream.result()
    assert (result.accumulated_text.strip(), silence.silent) == (shown, silent)
    assert result.status == ("completed" if shown else "empty_response")
    if silent:
        assert result.suppressed["marker"] >= len(MARK)


@pytest.mark.parametrize("text", ["<sile", MARK])
def test_a_kill_takes_back_what_is_held(text: str) -> None:
    stream, silence = streamed(text, ending="kill")
    assert (stream.result().suppressed, silence.silent) == ({"killed": len(text)}, False)


def test_a_prefill_is_not_shown_for_silence() -> None:
    stream, silence = streamed(MARK, prefill="Well, ")
    assert (stream.result().accumulated_text, silence.silent) == ("", True)


CODE = "```py\n" + "".join(f"print({number:03})  # a line\n" for number in range(40)) + "```\n"


def parts(text: str, size: int = 97) -> list[str]:
    """The segments of *text* at degree 0."""
    stream = Stream(StreamConfig(degree=0))
    segments: list[Segment] = []
    put = stream.actions.outbox.put

    def listen(segment: Segment) -> None:
        segments.append(segment)
        put(segment)

    stream.actions.outbox = _Listening(stream.actions.outbox, listen)  # type: ignore[assignment]
    for at in range(0, len(text), size):
        stream.chunk(TextChunk(text[at : at + size]))
        stream.take_effects()
    stream.end()
    assert "".join(segment.text for segment in segments) == text
    return [segment.text for segment in segments]


class _Listening:
    """An outbox that reports the segments it is given."""

    def __init__(self, outbox: object, put: object) -> None:
        self._outbox, self.put = outbox, put

    def __getattr__(self, name: str) -> object:
        return getattr(self._outbox, name)


def test_a_reply_that_can_be_kept_is_one_part() -> None:
    text = "A paragraph of words.\n\n" * (AGGREGATE_MAX // 24)
    assert len(parts(text)) == 1


def test_a_longer_one_is_cut_between_paragraphs() -> None:
    text = ("A paragraph of words, " * 20 + "the end.\n\n") * 60
    found = parts(text)
    assert len(found) > 2
    assert all(part.endswith("the end.\n\n") for part in found)
    assert all(len(part) > AGGREGATE_MAX / 2 for part in found[:-1])


@pytest.mark.parametrize("before", range(AGGREGATE_MAX - 1_500, AGGREGATE_MAX + 300, 150))
def test_a_fence_is_not_cut_where_a_part_ends(before: int) -> None:
    words = ("word " * 50 + "\n\n") * (before // 252)
    text = words + CODE + "\n" + "And words behind it. " * 200
    found = parts(text)
    assert sum(CODE in part for part in found) == 1


def test_a_fence_longer_than_a_part_is_cut_between_lines() -> None:
    found = parts("Look:\n```\n" + "a line of code\n" * 1_500 + "```\n")
    assert len(found) == 3
    assert all(part.endswith("\n") for part in found)


def test_blank_lines_in_a_fence_end_no_paragraph() -> None:
    text = "a " * 1_500 + "\n\n```\n" + "b\n\n" * 1_000 + "```\n" + "c " * 1_000
    at = cut_aggregate(text, AGGREGATE_MAX)
    assert text[at:].startswith("```\n")
    assert cut_aggregate(text.replace("a \n\n", "a\n"), AGGREGATE_MAX) == 0
    late = "a " * 1_500 + "\n\n" + "b " * 1_000 + CODE + "c\n" * 1_500
    assert late[cut_aggregate(late, AGGREGATE_MAX) :].startswith("b ")


@pytest.mark.parametrize("size", [1, 7, 5_000])
def test_chunks_do_not_change_the_parts(size: int) -> None:
    text = ("Some words here.\n\n" * 100 + CODE + "\n") * 6
    assert parts(text, size) == parts(text)
