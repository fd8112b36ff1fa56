"""`fit` on any text: nothing lost, every message fits and shows something, always the same."""

from __future__ import annotations

import gc
import random
import re
import time
from collections.abc import Callable

import pytest
import regex
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from minamo.core.accounting.spans import covers
from minamo.core.chunks import TextChunk
from minamo.core.config import HumanizerDegree, StreamConfig
from minamo.core.fitting.closers import Closers
from minamo.core.fitting.compose import compose
from minamo.core.fitting.cut_points import DraftLayout, lay_out
from minamo.core.fitting.fit import NOTHING, Fitted, OpenFormatting, fit
from minamo.core.fitting.split import cuts
from minamo.core.stream import Stream
from minamo.testing.strategies import ATOMS, markdown_texts, texts
from support.audit import audit, fits, run, same
from support.seeds import dice, examples, seeds

LIMITS = st.sampled_from([100, 101, 137, 500, 1950, 2000])
STYLES = st.sampled_from(["code", "bullets", "raw"])
REASONS = {"closer", "reopened", "header", "break", "escape", "table", "fence", "clean.masked_link"}
DROPS = {"seam", "blank", "clean.fence", "clean.table", "clean.masked_link"}
UNSEEN = {"\u200b", "\u202e", "\x00"}
# Whitespace, what cannot be seen, and the markers of formatting.
WORDLESS = regex.compile(r"[\s\p{Default_Ignorable_Code_Point}\p{Cc}*_~|`>]+")
ANY = st.one_of(texts(), markdown_texts())
COMMON = settings(
    deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)


def assert_sound(text: str, fitted: Fitted, limit: int) -> None:
    pieces = [piece for message in fitted.messages for piece in message.pieces]
    assert covers(text, pieces, fitted.dropped)
    assert {piece.reason for piece in pieces if piece.start is None} <= REASONS
    assert {piece.reason for piece in pieces if piece.start is not None} <= {""}
    assert {drop.reason for drop in fitted.dropped} <= DROPS
    assert not any(
        drop.reason == "seam" and text[drop.start : drop.end].strip() for drop in fitted.dropped
    )
    for drop in fitted.dropped:
        if drop.reason in ("blank", "clean.fence"):
            line = text.rfind("\n", 0, drop.start) + 1
            fence = text[line : drop.end].lstrip(" \t-+*0123456789.)").startswith(("```", "~~~"))
            words = WORDLESS.sub("", text[drop.start : drop.end])
            # A language and its attributes go with an empty block, or where Discord has no room for them.
            assert len(words) <= (100 if fence else 0), words
    for message in fitted.messages:
        assert 1 <= len(message.text) <= limit
        assert len(message.text.encode("utf-16-le", "surrogatepass")) <= 4000
        assert message.text == message.text.strip()
        # Something from the text itself can be seen, not only what was added.
        assert any(
            char not in UNSEEN and not char.isspace()
            for piece in message.pieces
            if piece.start is not None
            for char in piece.text
        )


@settings(COMMON, max_examples=examples(60, 600))
@given(text=ANY, limit=LIMITS, tables=STYLES, last=st.booleans())
@example("| long cell text |\n|---|\n| a | a | a | a |\n| | | | |\n| | |\n", 100, "code", False)
def test_p03_p04_any_text_is_kept_whole_and_fits(
    text: str, limit: int, tables: str, last: bool
) -> None:
    fitted = fit(text, limit=limit, tables=tables, last=last)
    assert_sound(text, fitted, limit)
    assert fitted == fit(text, limit=limit, tables=tables, last=last)


@settings(COMMON, max_examples=examples(50, 400))
@given(parts=st.lists(st.one_of(texts(4), markdown_texts(4)), max_size=5), limit=LIMITS)
def test_p03_p04_texts_with_a_carry_are_kept_whole(parts: list[str], limit: int) -> None:
    carry = NOTHING
    for part in parts:
        fitted = fit(part, limit=limit, carry=carry, last=False)
        assert_sound(part, fitted, limit)
        carry = fitted.carry
    last = fit("end", limit=limit, carry=carry)
    assert_sound("end", last, limit)
    assert last.carry == NOTHING


@settings(COMMON, max_examples=60)
@given(text=markdown_texts(), data=st.data())
def test_a_text_split_at_a_line_end_is_kept_whole(text: str, data: st.DataObject) -> None:
    lines = text.splitlines(keepends=True)
    count = data.draw(st.integers(0, len(lines)))
    first, second = "".join(lines[:count]), "".join(lines[count:])
    start = fit(first, last=False)
    assert_sound(first, start, 1950)
    assert_sound(second, fit(second, carry=start.carry), 1950)


@settings(COMMON, max_examples=60)
@given(words=st.lists(st.sampled_from(["alpha", "beta.", "漢字", "x < y", "a-b", "\n", "\n\n"])))
def test_plain_text_that_fits_comes_back_as_it_was(words: list[str]) -> None:
    text = " ".join(words)[:1900]
    fitted = fit(text)
    assert [message.text for message in fitted.messages] == ([text.strip()] if text.strip() else [])


def fewest(layout: DraftLayout) -> int:
    """Fewest messages by trying everything: the slow and obvious way."""
    end = len(layout.text)
    if layout.fits(layout.after(0), end):
        return 1
    places = [at for at in range(1, end) if layout.rank[at]]
    counts = {0: 0}
    for at in [*places, end]:
        before = [
            count
            for cut, count in counts.items()
            if cut < at and layout.fits(layout.after(cut), at)
        ]
        if before:
            counts[at] = min(before) + 1
    return counts[end]


@settings(COMMON, max_examples=40)
@given(text=markdown_texts(5))
def test_there_is_no_way_with_fewer_messages(text: str) -> None:
    text = text[:700].strip() or "x"
    draft, found, _ = compose(text, "code", OpenFormatting())
    layout = lay_out(draft.text, found, draft.blocks, 100)
    assert len(cuts(layout)) + 1 == fewest(layout)


def cost(atom: str, size: int, *, last: bool) -> float:
    """Processor seconds per character, the best of a few runs."""
    text = (atom * (size // len(atom) + 1))[:size]
    best = float("inf")
    gc.disable()  # as `timeit` does: it would look at all objects of a large text again and again
    try:
        for _ in range(7 if size < 100_000 else 2):
            start = time.process_time()
            fit(text, last=last)
            best = min(best, time.process_time() - start)
    finally:
        gc.enable()
    return best / size


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("last", [True, False])
@pytest.mark.parametrize(
    "atom", [*ATOMS, "word ", "Some prose. ", "**a** ", "~~_", "<a:/", "[a](", "*a ", "> _Mr. \n"]
)
def test_p07_the_cost_of_a_character_does_not_grow_with_the_text(atom: str, last: bool) -> None:
    small, large = cost(atom, 10_000, last=last), cost(atom, 1_000_000, last=last)
    # Whitespace is dropped in microseconds, where a clock tells nothing.
    assert large <= max(2 * small, 1e-7)


@pytest.mark.slow
@pytest.mark.timeout(60)
@pytest.mark.parametrize("text", ["a" * 1_000_000, "Some **bold** prose, `code`. " * 35_000])
def test_p07_a_megabyte_takes_less_than_five_seconds(text: str) -> None:
    start = time.process_time()
    fitted = fit(text)
    assert time.process_time() - start < 5
    assert_sound(text, fitted, 1950)


STRONG = re.compile(r"\*\*((?:\\[\s\S]|[^\\])+?)\*\*(?!\*)")
UNDERLINE = re.compile(r"__((?:\\[\s\S]|[^\\])+?)__(?!_)")
STAR = re.compile(r"\*(?=\S)((?:\*\*|\\[\s\S]|\s+(?:\\[\s\S]|[^\s*\\]|\*\*)|[^\s*\\])+?)\*(?!\*)")
LOW_LINE = re.compile(r"_((?:__|\\[\s\S]|[^\\_])+?)_\b", re.ASCII)
STRIKE = re.compile(r"~~([\s\S]+?)~~(?!_)")
SPOILER = re.compile(r"\|\|([\s\S]+?)\|\|")
CODE = re.compile(r"(`+)([\s\S]*?[^`])\1(?!`)")
BLOCK = re.compile(r"```([\s\S]+?)```")

TEXT = st.text(st.sampled_from("**__~~||``\\\\ a.\n"), max_size=24)


def close(pattern: re.Pattern[str], text: str, at: int, high: int) -> int | None:
    """Where *pattern* finds the closer.  The text is cut off, as the grammar does it."""
    match = pattern.match(text[at:high])
    return at + match.end(match.lastindex or 0) if match else None


def unescaped(text: str, at: int) -> bool:
    before = text[:at]
    return (len(before) - len(before.rstrip("\\"))) % 2 == 0


@settings(max_examples=300, deadline=None)
@given(text=TEXT, data=st.data())
def test_closers_are_where_the_grammar_finds_them(text: str, data: st.DataObject) -> None:
    closers = Closers(text)
    high = data.draw(st.integers(0, len(text)))
    for at in range(high):
        rest = text[at:high]
        if rest.startswith("**") and unescaped(text, at):
            assert closers.pair("*", at, high) == close(STRONG, text, at, high)
        if rest.startswith("__") and unescaped(text, at):
            assert closers.pair("_", at, high) == close(UNDERLINE, text, at, high)
        if rest.startswith("*") and unescaped(text, at):
            assert closers.single("*", at, high) == close(STAR, text, at, high)
        if rest.startswith("_") and unescaped(text, at):
            assert closers.single("_", at, high) == close(LOW_LINE, text, at, high)
        if rest.startswith("~~"):
            assert closers.strike(at, high) == close(STRIKE, text, at, high)
        if rest.startswith("||"):
            assert closers.spoiler(at, high) == close(SPOILER, text, at, high)
        if rest.startswith("```"):
            assert closers.block(at, high) == close(BLOCK, text, at, high)
        if rest.startswith("`"):
            match = CODE.match(rest)
            expected = (len(match[1]), at + match.end(2)) if match else None
            assert closers.code(at, high) == expected


LETTERS = "abcdefghijklmnopqrstuvwxyz"
# How often each kind of part comes up in a text.
KINDS = {
    "word": 60, "name": 4, "sentence": 6, "quoted": 3, "strong": 3, "emphasis": 2, "url": 4,
    "mention": 2, "command": 3, "emoji": 2, "timestamp": 2, "code": 6, "long code": 1,
    "long url": 1, "bracketed": 2, "commands": 1, "tick": 1,
}  # fmt: skip


class Made:
    """A text, and its parts that are not to be cut: each is different from every other."""

    def __init__(self, seed: int, size: int, part_max: int) -> None:
        self._random = random.Random(seed)
        self._count = 0
        self._part_max = part_max
        self.whole: list[str] = []
        pieces: list[str] = []
        while sum(map(len, pieces)) < size:
            (kind,) = self._random.choices(list(KINDS), list(KINDS.values()))
            pieces.append(self._part(kind))
            pieces.append("\n" if self._random.random() < 0.01 else " ")
        self.text = "".join(pieces).strip()

    def _number(self) -> str:
        self._count += 1
        return f"{self._count:05}"

    def _word(self) -> str:
        """A word of up to 20 characters that is found nowhere else."""
        size = self._random.randint(0, 15)
        return self._keep("".join(self._random.choices(LETTERS, k=size)) + self._number())

    def _keep(self, part: str) -> str:
        self.whole.append(part)
        return part

    def _words(self, most: int) -> str:
        return " ".join(self._word() for _ in range(self._random.randint(1, most)))

    def _token(self, text: str) -> str:
        return self._keep(text[: self._part_max - 1] + text[-1])

    def _code(self, size: int) -> str:
        pick = self._random.choice
        ticks = pick(["`", "`", "``"])
        inner = "x" + " ".join(
            f"Fn_{self._number()}(a, b)" + pick(["", ".", "!"]) for _ in range(size // 16 + 1)
        )
        room = min(size, self._part_max - 2 * len(ticks)) - 1
        return self._keep(f"{ticks}{inner[:room].rstrip()};{ticks}")

    def _part(self, kind: str) -> str:
        pick = self._random.choice
        if kind == "tick":
            return self._word() + "\u02cb"  # a look-alike of a backtick
        if kind in ("code", "long code"):
            return self._code(self._random.randint(3, 60 if kind == "code" else 900))
        if kind in ("url", "long url"):
            size = self._random.randint(1, 40 if kind == "url" else 1_900)
            return self._token(f"https://{self._number()}.test/" + "p" * size + "q")
        if kind == "commands":
            count = self._random.randint(1, 8)
            return "".join(self._token(f"</roll dice:{self._number()}>") for _ in range(count))
        made: dict[str, Callable[[], str]] = {
            "word": self._word,
            "name": lambda: self._word() + pick([",", ";", ":"]),
            "sentence": lambda: self._words(6) + pick([".", "!", "?", "..."]),
            "quoted": lambda: f'"{self._words(12)}"',
            "bracketed": lambda: f"({self._words(12)})",
            "strong": lambda: f"**{self._words(8)}**",
            "emphasis": lambda: f"*{self._words(8)}*",
            "mention": lambda: self._token(f"<@{self._number()}>"),
            "command": lambda: self._token(f"</roll dice {pick('ab')}:{self._number()}>"),
            "emoji": lambda: self._token(f"<a:wave:{self._number()}>"),
            "timestamp": lambda: self._token(f"<t:{self._number()}:R>"),
        }
        return made[kind]()


def judge(made: Made, messages: list[str]) -> list[str]:
    """The parts that are whole in no message."""
    shown = "\n\n".join(messages)
    return [part for part in made.whole if part not in shown]


SEEDS = st.integers(0, 10**9)
SIZES = st.sampled_from([200, 1_500, 3_000, 6_000])
CUT_LIMITS = st.one_of(st.sampled_from([300, 301, 999, 1_950, 2_000]), st.integers(300, 1_950))
FLUSHES = st.one_of(st.sampled_from([1, 50, 300, 1_000, 1_900, 5_000]), st.integers(1, 2_500))


@settings(COMMON, max_examples=examples(50, 400))
@given(SEEDS, SIZES, CUT_LIMITS)
def test_p04_fit_cuts_no_word_span_or_token(seed: int, size: int, limit: int) -> None:
    made = Made(seed, size, limit - 4)
    assert judge(made, [message.text for message in fit(made.text, limit=limit).messages]) == []


@settings(COMMON, max_examples=examples(50, 400))
@given(SEEDS, SIZES, CUT_LIMITS, FLUSHES, st.integers(0, 3))
@example(14, 6_000, 1_950, 1_000, 1)
def test_p04_a_reply_is_cut_in_no_word_span_or_token(
    seed: int, size: int, limit: int, flush: int, degree: int
) -> None:
    made = Made(seed, size, limit - 4)
    chosen = {"max_message_length": limit, "flush_buffer_size": flush, "degree": degree}
    done = run([made.text], **chosen)
    assert judge(made, list(done.messages)) == []
    fits(done, limit)
    audit(done, made.text)
    steps = random.Random(seed)
    chunks = []
    at = 0
    while at < len(made.text):
        chunks.append(made.text[at : at + steps.randint(1, 40)])
        at += len(chunks[-1])
    same(done, run(chunks, **chosen))


@pytest.mark.parametrize(
    ("seed", "limit", "flush", "degree"),
    [
        # A portion showed the opening of a span in its second message, and not its end.
        (0, 783, 1_243, 0),
        # The buffer was cut in front while the second backtick of a run was still to come.
        (1075, 1_303, 152, 3),
        (1543, 1_661, 29, 3),
    ],
)
def test_p04_spans_that_were_cut_once_are_not(
    seed: int, limit: int, flush: int, degree: int
) -> None:
    made = Made(seed, 4_000, limit - 4)
    done = run([made.text], max_message_length=limit, flush_buffer_size=flush, degree=degree)
    assert judge(made, list(done.messages)) == []


def behind(seed: int) -> tuple[Made, list[str]]:
    """A reply for a lane that is behind: it takes several segments at once, and not too often."""
    steps = random.Random(seed)
    limit = steps.randint(300, 1_950)
    made = Made(seed, 6_000, limit - 4)
    config = StreamConfig(
        max_message_length=limit,
        flush_buffer_size=steps.randint(1, 2_500),
        degree=HumanizerDegree(seed % 4),
        humanize=False,
    )
    stream, messages, at = Stream(config), list[str](), 0
    outbox = stream.actions.outbox

    def take() -> None:
        room = steps.choice([None, 1, 2, 5])
        messages.extend(message.text for message in outbox.take(room=room))

    while at < len(made.text):
        size = steps.randint(1, 400)
        stream.chunk(TextChunk(made.text[at : at + size]))
        at += size
        if steps.random() < 0.15:
            take()
    stream.end()
    while outbox.waiting:
        take()
    return made, messages


def test_p04_a_lane_that_is_behind_cuts_no_word_span_or_token() -> None:
    for seed in range(40):
        assert judge(*behind(seed)) == [], seed


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_p04_three_thousand_replies_of_a_lane_that_is_behind(figure: Callable[[str], None]) -> None:
    for seed in seeds(3_000):
        with dice(seed):
            assert judge(*behind(seed)) == []
    figure("P4: 3,000 replies of a lane that is behind, nothing cut in two")


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_p04_three_thousand_replies_without_a_cut_word(figure: Callable[[str], None]) -> None:
    for seed in seeds(3_000):
        with dice(seed) as steps:
            limit = steps.randint(300, 1_950)
            made = Made(seed, 4_000, limit - 4)
            chosen = {"max_message_length": limit, "flush_buffer_size": steps.randint(1, 2_500),
                      "degree": seed % 4}  # fmt: skip
            assert judge(made, list(run([made.text], **chosen).messages)) == [], chosen
    figure("P4: 3,000 replies of 4,000 characters, no word, code span or token cut in two")


@pytest.mark.parametrize("limit", [300, 1_950])
def test_what_is_longer_than_a_message_is_cut_and_all_else_is_not(limit: int) -> None:
    code = "`" + "a_long(call, here); " * 45 + "`"
    text = f"{'some words ' * 50}{code} {'and more words ' * 50}`and code` {'at last ' * 99}"
    done = run([text], max_message_length=limit)
    fits(done, limit)
    audit(done, text)
    assert any("`and code`" in message for message in done.messages)
    words = {"some", "words", "and", "more", "at", "last", "a_long(call,", "here);"}
    assert set(re.findall(r"[^\s`]+", " ".join(done.messages))) <= words | {"code"}
