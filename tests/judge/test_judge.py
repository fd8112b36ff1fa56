"""An independent parser of Discord's markdown judges what `fit` makes of it.

Every character that can be seen must be under the same formatting in our messages as in the
source.  The judge is an npm package; `node_packages` fetches it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from minamo.core.fitting.fit import NOTHING, Fitted, fit
from support.audit import run
from support.masked_links import TEXTS
from support.node_packages import node_program
from support.seeds import examples

HERE = Path(__file__).parent
UNSEEN = {" ", "\n", "\r", "\t", "\u200b"}
MARKERS = ["**", "__", "~~", "||", "*", "_", "`"]
Shown = list[tuple[str, tuple[str, ...]]]
Judge = Callable[[list[str]], list[Shown]]


@pytest.fixture(scope="module")
def judge() -> Iterator[Judge]:
    with node_program(HERE / "judge.js") as ask:

        def judged(texts: list[str]) -> list[Shown]:
            return [
                [
                    (char, tuple(styles))
                    for shown, styles in answer
                    for char in shown
                    if char not in UNSEEN
                ]
                for answer in ask(texts)
            ]

        yield judged


def shown(judge: Judge, fitted: list[Fitted]) -> Shown:
    texts = [message.text for each in fitted for message in each.messages]
    return [char for answer in judge(texts) for char in answer]


def assert_same(judge: Judge, source: str, fitted: list[Fitted]) -> None:
    expected = judge([source])[0]
    actual = shown(judge, fitted)
    assert "".join(char for char, _ in actual) == "".join(char for char, _ in expected)
    wrong = [at for at, pair in enumerate(zip(actual, expected, strict=True)) if pair[0] != pair[1]]
    assert not wrong, (actual[wrong[0]], expected[wrong[0]], wrong[:5])


# --- documents the judge and Discord read alike ----------------------------------------------
# Left out, because the judge's grammar (or Discord's own) is not what CommonMark says there:
# fences in mid-line or in quotes, code with markers of the formatting around it, formatting that
# opens in one kind of marker and closes in another, a blank before a lone `*` in italics,
# spoilers left open (we close them), `~~~` and long fences, and tables.  Underscores in words
# inside `_` take the italics away once they have all been read; a text that is handed over before
# that cannot know, so texts that are carried over have none (`odd=False`).

WORD = st.sampled_from(
    [
        *["alpha", "beta,", "end.", "snake_case", "5", "x < y", "(so)", "漢字", "é", "🙂", "\\*"],
        *["https://example.com/a_b_c", "<@12345678901234567>", "<:wave:12345678901234567>"],
        *["[label](https://example.com/x_y)", "\\|\\|", "a-b", "List<int>", "1. x"],
    ]
)


@st.composite
def inline(draw: st.DrawFn, used: tuple[str, ...] = (), depth: int = 0, *, odd: bool = True) -> str:
    """Words and formatting; no marker character occurs again inside its own formatting."""
    word = WORD if odd else WORD.filter(lambda word: "_" not in word)
    parts: list[str] = []
    for _ in range(draw(st.integers(1, 4 if depth else 6))):
        free = [m for m in MARKERS if m[0] not in {u[0] for u in used}]
        if free and depth < 4 and draw(st.integers(0, 2)) == 0:
            marker = draw(st.sampled_from(free))
            if marker == "`":
                inner = " ".join(draw(st.lists(st.sampled_from(["a b", "c", "d.e"]), min_size=1)))
            else:
                inner = draw(inline((*used, marker), depth + 1, odd=odd))
            parts.append(marker + inner + marker)
        else:
            words = draw(st.lists(word, min_size=1, max_size=25))
            parts.append(" ".join(words))
    return draw(st.sampled_from([" ", " ", "\n", "\n\n" if not used else " "])).join(parts)


FENCE = st.tuples(
    st.sampled_from(["", "py", "c++"]),
    st.lists(st.sampled_from(["x = 1", "    pass", "", "if a: b()", "# note"]), max_size=30),
).map(lambda t: "\n".join(["```" + t[0], "first", *t[1], "last", "```"]))


def quote(text: str) -> str:
    return "\n".join(f"> {line}" for line in text.split("\n"))


@st.composite
def documents(draw: st.DrawFn, *, odd: bool = True) -> str:
    prose = inline(odd=odd)
    block = st.one_of(prose, prose, FENCE, prose.map(quote))
    blocks = draw(st.lists(block, min_size=1, max_size=6))
    if draw(st.booleans()):
        marker = draw(st.sampled_from(["||", "**"]))
        plain = st.lists(st.sampled_from(["alpha", "beta", "gamma."]), min_size=1, max_size=40)
        inner = [" ".join(draw(plain)), *draw(st.lists(FENCE, max_size=2)), " ".join(draw(plain))]
        blocks.append(marker + "\n".join(inner) + marker)
    if draw(st.integers(0, 3)) == 0:
        blocks.append(">>> " + draw(prose))
    return "\n\n".join(blocks)


COMMON = settings(
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@settings(COMMON, max_examples=60)
@given(source=documents(), limit=st.sampled_from([100, 137, 300, 1950]))
def test_p04_formatting_is_the_same_on_both_sides_of_every_cut(
    judge: Judge, source: str, limit: int
) -> None:
    assert_same(judge, source, [fit(source, limit=limit, masked_links=True)])


def seams(source: str) -> list[int]:
    """Where a stream may hand over text: after a blank outside code, after a line in a fence."""
    found: list[int] = []
    for part in re.finditer(r"```.*?```|`[^`]*`|\s", source, re.DOTALL):
        if part[0].startswith("```"):
            lines = list(re.finditer(r"\n", part[0]))[1:]
            found += [part.start() + line.end() for line in lines]
        elif part[0].isspace():
            found.append(part.end())
    return found


@settings(COMMON, max_examples=60)
@given(data=st.data(), source=documents(odd=False), limit=st.sampled_from([100, 300, 1950]))
def test_formatting_is_carried_from_text_to_text(
    judge: Judge, data: st.DataObject, source: str, limit: int
) -> None:
    places = seams(source) or [len(source)]
    cuts = sorted(data.draw(st.sets(st.sampled_from(places), max_size=4)))
    fitted: list[Fitted] = []
    carry = NOTHING
    for start, end in zip([0, *cuts], [*cuts, len(source)], strict=True):
        last, ahead = end == len(source), source[end:]
        fitted.append(
            fit(
                source[start:end],
                limit=limit,
                carry=carry,
                last=last,
                ahead=ahead,
                masked_links=True,
            )
        )
        carry = fitted[-1].carry
    assert_same(judge, source, fitted)


@settings(COMMON, max_examples=60)
@given(
    source=documents(odd=False),
    degree=st.integers(0, 3),
    flush=st.sampled_from([80, 250, 1_000]),
    limit=st.sampled_from([100, 300, 1950]),
)
# Outer formatting is cut before its closers are read; they must not take a spoiler's marker later.
@example(
    source="alpha **alpha alpha alpha alpha alpha <:wave:12345678901234567> alpha __~~||alpha|| "
    "||alpha|| ||alpha alpha alpha alpha alpha alpha alpha alpha alpha alpha alpha alpha alpha alpha "
    "beta, beta, beta, beta, beta, beta, beta, alpha|| <@12345678901234567> "
    "<:wave:12345678901234567> alpha~~__ __~~||alpha||~~__** **__~~alpha alpha~~ alpha "
    "~~||alpha||~~ ||~~alpha~~||__ __~~||alpha||~~__** **__~~||alpha||~~__** **__alpha__**",
    degree=1,
    flush=80,
    limit=100,
)
def test_p04_a_streamed_reply_renders_as_it_was_written(
    judge: Judge, source: str, degree: int, flush: int, limit: int
) -> None:
    # Masked links are shown with their target on purpose; everything else must look the same.
    done = run([source], degree=degree, flush_buffer_size=flush, max_message_length=limit,
               flush_buffer_size_code_block=flush, clean_off=["masked_link"])  # fmt: skip
    expected = judge([source])[0]
    actual = [char for answer in judge(list(done.messages)) for char in answer]
    if len(source) > flush or re.search(r"\*\*[^*]*```", source):
        # A cut came before the closer was read: the formatting stays literal, a spoiler never.
        expected, actual = without_emphasis(expected), without_emphasis(actual)
    assert "".join(char for char, _ in actual) == "".join(char for char, _ in expected)
    wrong = [at for at, pair in enumerate(zip(actual, expected, strict=True)) if pair[0] != pair[1]]
    assert not wrong, (actual[wrong[0]], expected[wrong[0]], wrong[:5])


@settings(COMMON, max_examples=examples(60, 1_000))
@given(text=TEXTS, degree=st.integers(0, 3), limit=st.sampled_from([100, 1950]))
def test_p25_a_foreign_parser_finds_no_masked_link(
    judge: Judge, text: str, degree: int, limit: int
) -> None:
    done = run([text], degree=degree, max_message_length=limit)
    for message, answer in zip(done.messages, judge(list(done.messages)), strict=True):
        assert not any("link" in styles for _, styles in answer), message


def test_the_foreign_parser_knows_a_masked_link(judge: Judge) -> None:
    (answer,) = judge(["[x](https://x.test) https://y.test [z](/z)"])
    assert [char for char, styles in answer if "link" in styles] == list("xhttps://x.test")


def without_emphasis(shown: Shown) -> Shown:
    """The text without markers of emphasis, and of its styles those that hide or are code."""
    kept = ("spoiler", "code", "block", "quote")
    return [
        (char, tuple(style for style in styles if style in kept))
        for char, styles in shown
        if char not in "*_~"
    ]
