"""Cleaned text: nothing is hidden in it, no masked link is made, and what is kept aside never shows."""

from __future__ import annotations

import random
import re
import unicodedata
from collections.abc import Callable
from functools import cache

import pytest
import regex
from hypothesis import example, given
from hypothesis import strategies as st

from minamo.core.accounting.spans import covers
from minamo.core.chunks import TextChunk
from minamo.core.cleaning.clean import RULES, clean
from minamo.core.cleaning.code_spans import code_spans
from minamo.core.config import StreamConfig
from minamo.core.fitting.fit import fit
from minamo.core.stream import Stream
from support.audit import run, same
from support.masked_links import TEXTS, links, without_code

ATOMS = [
    "a", " ", ".", "\n", "\n\n\n", '"', "`", "``", "```", "~~~", "\n```\n", "<", ">",
    "\\", "[", "]", "(", ")", "!", "<b>x</b>", "<|im_end|>", "<|im_start|>assistant",
    "<s>", "</s>", "[INST]", "[system:", "[system: x]", "Mina:", "Note:", "@Bob",
    "<@123>", "[x](http://y)", "](http://y)", "https://", "e\u0301", "🙂", "👩\u200d👧",
    "🏴\U000e0067\U000e0062\U000e007f", "\U000e0067", "\u200b", "\u200c", "\u202e",
    "\u00ad", "\u2060", "\u2066", "\u2028", "\ufeff", "\ud800",
]  # fmt: skip
RUNS = [1, 1, 1, 1, 2, 3, 64, 65, 130]
texts = st.lists(st.tuples(st.sampled_from(ATOMS), st.sampled_from(RUNS)), max_size=10).map(
    lambda pairs: "".join(atom * count for atom, count in pairs)
)
offs = st.sets(st.sampled_from(RULES)).map(frozenset)
fences = st.sampled_from(["", "```", "~~~", "`````"])
NAMES = {"Bob": "1", "a": "2"}
UNSEEN = frozenset(RULES) - {"invisible"}
EMPTY = frozenset({"fence"})  # a fence that is not closed and empty is not kept


@given(texts, offs, st.booleans(), fences, st.booleans())
def test_every_character_is_accounted_for(text, off, first, fence, keep):
    shaped = clean(
        text,
        off=off,
        bot_name="Mina",
        mentions=NAMES,
        first=first,
        fence=fence,
        uncensor_unicode_space=keep,
    )
    assert covers(text, shaped.pieces, shaped.dropped)
    reasons = {lost.reason for lost in shaped.dropped}
    reasons |= {piece.reason for piece in shaped.pieces if piece.start is None}
    assert reasons <= {f"clean.{name}" for name in RULES if name not in off}
    assert all(piece.text for piece in shaped.pieces)


@given(texts, fences)
def test_code_keeps_its_words(text, fence):
    # The invisible characters are taken out first: they are no part of the promise.
    text = clean(text, off=UNSEEN).text
    code = code_spans(text, fence=fence)
    shaped = clean(text, off=EMPTY, bot_name="Mina", mentions=NAMES, fence=fence)
    assert not any(code.touches(lost.start, lost.end) for lost in shaped.dropped)
    kept = [(p.start, p.start + len(p.text)) for p in shaped.pieces if p.start is not None]
    for start, end in zip(code.starts, code.ends, strict=True):
        assert any(first <= start and end <= last for first, last in kept)


@given(texts)
def test_a_fence_that_does_not_close_protects_all(text):
    fenced = "~~~~~\n" + clean(text, off=UNSEEN).text.replace("~", "")
    empty = not fenced[6:].strip()
    kept = clean(fenced, bot_name="Mina", mentions=NAMES).text
    assert kept == ("" if empty else fenced)


@given(texts)
def test_some_rules_have_nothing_left_to_do(text):
    for rule in ("invisible", "blank_lines", "masked_link"):
        off = frozenset(RULES) - {rule}
        once = clean(text, off=off).text
        assert clean(once, off=off).text == once


# The judge of what cannot be seen takes its tables from Unicode, and knows nothing of ours.
UNSEEN_RUN = regex.compile(
    "\U0001f3f4[\U000e0030-\U000e0039\U000e0061-\U000e007a]+\U000e007f"
    r"|[\p{Default_Ignorable_Code_Point}\ufff9-\ufffb\u2800\U0001d159]+"
)
ALLOWED = regex.compile(
    # A selector behind what it selects, and one joiner or mark behind that.
    r"(?:(?<=[\p{Emoji}\p{Extended_Pictographic}])[\ufe0e\ufe0f]"
    r"|(?<=\p{Han})[\ufe00-\ufe0d\U000e0100-\U000e01ef]"
    r"|(?<=\p{Mongolian})[\u180b-\u180d\u180f])?"
    r"(?:\u200d(?=[\p{Emoji}\p{Extended_Pictographic}])"
    r"|(?<=[\p{L}\p{M}\p{N}\p{Variation_Selector}])[\u200c\u200d\u034f\u180e]"
    r"|[\u200e\u200f\u061c]|(?<=\p{Hangul})\u1160|\u115f(?=\p{Hangul})"
    r"|(?<=\p{Braille})\u2800)?"
)
SHOWN = ["a", " ", "1", "#", "漢", "ᠠ", "ب", "א", "्", "क", "👩", "❤", "→", "\u0301", "ᄀ", "ᅡ", "⠓", "🏴",
         "\n", "`", "🏽", "\u20e3"]  # fmt: skip


@cache  # it takes a second, which only these tests shall wait for
def hiding():
    """Every character that cannot be seen where it stands alone."""
    characters = (chr(n) for n in range(0x110000) if not 0xD800 <= n <= 0xDFFF)
    return [character for character in characters if UNSEEN_RUN.match(character)]


def judged(shown):
    """The runs of characters in *shown* that cannot be seen and have no business there."""
    letters = [char for char in shown if not UNSEEN_RUN.match(char)]
    right_to_left = any(unicodedata.bidirectional(char) in ("R", "AL") for char in letters)
    bad = []
    for unseen in UNSEEN_RUN.finditer(shown):
        if unseen[0].startswith("\U0001f3f4"):
            if len(unseen[0]) > 8:
                bad.append(unseen[0])
            continue
        allowed = ALLOWED.match(shown, unseen.start()).end() == unseen.end()
        latin = unseen[0][-1] in "\u200c\u200d" and shown[unseen.start() - 1].isascii()
        marks = set(unseen[0]) & set("\u200e\u200f\u061c")
        if not allowed or latin or (marks and not right_to_left):
            bad.append(unseen[0])
    return bad


@given(
    st.lists(
        st.one_of(st.sampled_from(SHOWN), st.deferred(lambda: st.sampled_from(hiding()))),
        max_size=30,
    ).map("".join),
    fences,
)
def test_p25_no_run_of_unseen_characters_survives(text, fence):
    shown = clean(text, fence=fence).text
    assert judged(shown) == []
    seen = [char for char in clean(text, off=frozenset(RULES)).text if char not in hiding()]
    assert len(shown) <= 3 * len(seen) + 6 * shown.count("🏴")
    # Nothing but what cannot be seen is taken out.
    only = clean(text, off=UNSEEN, fence=fence).text
    assert [char for char in only if char not in hiding()] == seen


def test_p25_every_unseen_character_alone_and_a_message_in_them():
    assert judged("".join(f"a {char} b" for char in hiding())) == hiding()
    assert clean("".join(f"a{char}b" for char in hiding())).text == "ab" * len(hiding())
    draw = random.Random(25)
    for base in SHOWN:
        text = base + "".join(draw.choices(hiding(), k=500)) + base
        shown = clean(text, off=UNSEEN).text
        assert judged(shown) == [], ascii(shown)
        assert len(shown) <= 2 + 2


@given(texts, fences)
def test_p25_nothing_that_hides_text_is_left(text, fence):
    shown = clean(text, fence=fence).text
    assert not set(shown) & set("\u00ad\u200b\u2060\ufeff\u202a\u202b\u202d\u202e\u2066\u2069")
    assert judged(shown) == []
    # The joiner inside an emoji is no such thing, nor are the tags of a flag.  Other rules take out
    # an empty fence, or a leaked instruction, with all that is in it.
    kept = clean(text, fence=fence, off=UNSEEN).text
    assert kept.count("👩\u200d👧") == text.count("👩\u200d👧")


@given(texts, fences)
def test_spans_are_sorted_and_apart(text, fence):
    code = code_spans(text, fence=fence)
    edges = [edge for pair in zip(code.starts, code.ends, strict=True) for edge in pair]
    assert edges == sorted(edges)
    assert all(a < b for a, b in zip(code.starts, code.ends, strict=True))
    for start, end in zip(code.starts, code.ends, strict=True):
        assert code.touches(start, end)
        assert not code.touches(start, start)
        assert not code.touches(end, end)
        assert fence or text[start] in "`~ "


@given(st.text(alphabet="abc <>/b:\n(){};=-*_#", max_size=200))
def test_ordinary_prose_and_markup_lose_nothing_but_blank_lines(text):
    shaped = clean(text, off=frozenset({"blank_lines"}))
    assert shaped.text == text


SECRET = "SECRET" * 4
# Of 201 characters or more each, so that there are 20,100 ways to cut one into three.
HIDDEN = {
    "a thought": "Some open text. <think>{}</think> And more open text here, to be long enough.\n\n"
    "Another paragraph, which is not hidden, with `code` and **bold** and (a bracket) in it.\n\nThat is the end.",
    "attributes and details": "<THINK a='b'>{}</Think>Text that is shown.\n\n<details open><summary>"
    "s</summary>{}</details>Then `<b>` and a little more of it.\n\nAnd the end of it all, at last.",
    "nested": "Text <think>{}<think>{}</think>{}</think>\n\nafter ``<think>`` and ` lone "
    "<think>{}</think> and so on and on.\n\nThe end.",
    "beside code": "```py\n<think>open</think>\n```\n<reasoning>{}</reasoning>\n```\nx\n```\nThen there "
    "is a bit of prose.\n\n- and\n- a list\n\n<thought>{}, and this one is never closed again",
    "an orphan close": "{}</think>Open text that is shown, with some more of it.\n\nAnd a paragraph "
    "< b.\n\n> a quotation, and ~~~ in the middle of a line, and <thi which is no tag.\n\nThen comes the end of it.",
    "odd tags": "A <ns:think>{}</ns:think> B <think/> C <details>{}</details> D </details> E and a "
    "word or two, so that it is long enough.\n\n||spoiler|| [x](http://y) !? </thi",
}  # fmt: skip


def test_p05_hidden_text_never_shows_wherever_tags_are_cut() -> None:
    secret, open_text = "SECRET" * 3, "OPEN" * 5
    for template in (
        f"{open_text}<think>{secret}</think>{open_text}",
        f"<THINK a='b'>{secret}</Think>{open_text}<details>{secret}</details>",
        f"{open_text}\n\n<think>{secret}<think>{secret}</think>{secret}</think>\n\n{open_text}",
        f"```\n{open_text}\n```\n<reasoning>{secret}",
        f"{secret}</think>{open_text}",
    ):
        whole = run([template])
        assert "SECRET" not in "".join(whole.messages)
        assert open_text in "".join(whole.messages)
        for one in range(1, len(template)):
            for two in range(one, min(one + 12, len(template))):
                parts = [template[:one], template[one:two], template[two:]]
                same(whole, run([part for part in parts if part]))


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", HIDDEN)
def test_p05_every_two_cuts_of_hidden_blocks(name: str, figure: Callable[[str], None]) -> None:
    text, splits = HIDDEN[name].replace("{}", SECRET), 0
    whole = run([text])
    hidden = "".join(whole.thoughts + whole.details)
    assert "SECRET" not in "".join(whole.messages)
    assert hidden.count(SECRET) == text.count(SECRET), "it is kept, and not thrown away"
    for one in range(1, len(text)):
        for two in range(one, len(text)):
            done = run([part for part in (text[:one], text[one:two], text[two:]) if part])
            assert done.messages == whole.messages
            assert done.thoughts == whole.thoughts
            assert done.details == whole.details
            splits += 1
    figure(f"P5: {splits:,} splits of {name}")
    assert splits >= 20_000


def test_the_judge_knows_a_link() -> None:
    assert links("see [a\n\nb](https://x.test) and `[c](https://y.test)`") == [
        "[a\n\nb](https://x.test)"
    ]
    assert links("[a] (https://x.test) a (<https://x.test>) \\[a](https://x.test)") == []
    assert links('[a](https:// "title")') == []
    assert links("[`a](https://x.test)`") == ["[`a](https://x.test)"]


# Inline code of several lines, and backticks that may belong to formatting or to an address.
DOUBTFUL = re.compile(r"(?<!`)`{1,2}(?!`)[^`]*\n|[*_~|>]|://\S*`")


@given(TEXTS, st.sampled_from([100, 1_950]))
def test_p25_a_message_that_was_not_cleaned_has_no_masked_link(text: str, limit: int) -> None:
    kept = fit(text, limit=limit, masked_links=True).messages
    for before, message in zip(kept, fit(text, limit=limit).messages, strict=True):
        assert links(message.text) == []
        assert len(message.text) == len(before.text)
        changed = [at for at, char in enumerate(before.text) if message.text[at] != char]
        assert {(before.text[at], message.text[at]) for at in changed} <= {("]", " ")}
        # Nothing is taken out of code if no link can begin outside of it.
        if not DOUBTFUL.search(before.text) and "[" not in without_code(before.text):
            assert not changed


@given(TEXTS, st.integers(0, 3), st.sampled_from([1, 100, 1_000]), st.sampled_from([100, 1_950]),
       st.lists(st.sampled_from([1, 2, None]), min_size=1, max_size=5), st.integers(1, 60))  # fmt: skip
@example("Log in to [your\n\nbank](https://x.test) now.", 1, 1_000, 1_950, [None], 5)
@example("[a]" + "label " * 250 + "](https://x.test) ok", 1, 1_000, 1_950, [None], 40)
@example("a `\nb ` [x](https://x.test) ` c", 1, 1_000, 1_950, [None], 40)
@example("a ``` b\n```\n[x](https://x.test)\n```", 1, 1_000, 1_950, [None], 40)
@example("`\n```\n`[x](https://x.test)", 0, 1, 1_950, [1], 1)
@example("`a\n````\n```\n[x](https://x.test)", 0, 1, 1_950, [1], 1)
@example("```\n```\n\n```\n[x](https://x.test)", 0, 1, 1_950, [1], 1)
@example(". ```[x](https://x.test)" + "word " * 60, 1, 1, 100, [1], 1)
@example("[x\\](https://x.test)", 0, 1, 1_950, [1], 1)
@example("```" + "x" * 2_500 + "\n[a](https://x.test)\n```", 1, 1_000, 1_950, [None], 60)
@example(
    "]. ```\n```" + "x" * 2_500 + "\n\n~~~" + "[a](https://x.test) " * 60, 3, 1, 100, [None], 1
)
@example("\u200b```[\n```\n[](<https://x.test>)", 1, 1, 100, [None], 1)
@example(
    "<|im_end|>```a\n```\n[a](https://x.test)\n```\nb [c](https://x.test)", 1, 1, 100, [None], 1
)
@example("\u200b~~~\na\n~~~\n[a](https://x.test)", 2, 1, 100, [None], 1)
def test_p25_no_message_has_a_masked_link(
    text: str, degree: int, flush: int, limit: int, takes: list[int | None], size: int
) -> None:
    config = StreamConfig(
        degree=degree, flush_buffer_size=flush, max_message_length=limit, humanize=False
    )
    stream, edited = Stream(config), Stream(config)
    outbox, looked = stream.actions.outbox, edited.actions
    messages: list[str] = []
    growing: list[str] = []
    for number, at in enumerate(range(0, len(text), size)):
        chunk = TextChunk(text[at : at + size])
        stream.chunk(chunk)
        if number < 40:
            edited.chunk(chunk)
            growing.append(looked.outbox.snapshot(looked.buffer.pending).text)
        if number % 3 == 0 and (most := takes[number % len(takes)]):
            messages += [message.text for message in outbox.take(most)]
    stream.end()
    messages += [message.text for message in outbox.take(takes[0])]
    messages += [message.text for message in outbox.take(None)]
    assert [links(message) for message in messages if links(message)] == []
    # A reply that grows in place is fitted as a whole, again and again.
    for look in growing:
        assert [m.text for m in fit(look, limit=limit).messages if links(m.text)] == []
