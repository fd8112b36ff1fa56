import random
import unicodedata

import regex
from hypothesis import given
from hypothesis import strategies as st

from minamo.core.accounting.spans import covers
from minamo.core.cleaning.clean import RULES, clean
from minamo.core.cleaning.code_spans import code_spans

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
HIDING = [chr(n) for n in range(0x110000) if not 0xD800 <= n <= 0xDFFF and UNSEEN_RUN.match(chr(n))]
SHOWN = ["a", " ", "1", "#", "漢", "ᠠ", "ب", "א", "्", "क", "👩", "❤", "→", "\u0301", "ᄀ", "ᅡ", "⠓", "🏴",
         "\n", "`", "🏽", "\u20e3"]  # fmt: skip


def judged(shown):
    """The runs of characters in *shown* that cannot be seen and have no business there."""
    letters = [char for char in shown if not UNSEEN_RUN.match(char)]
    right_to_left = any(unicodedata.bidirectional(char) in ("R", "AL") for char in letters)
    bad = []
    for run in UNSEEN_RUN.finditer(shown):
        if run[0].startswith("\U0001f3f4"):
            if len(run[0]) > 8:
                bad.append(run[0])
            continue
        allowed = ALLOWED.match(shown, run.start()).end() == run.end()
        latin = run[0][-1] in "\u200c\u200d" and shown[run.start() - 1].isascii()
        marks = set(run[0]) & set("\u200e\u200f\u061c")
        if not allowed or latin or (marks and not right_to_left):
            bad.append(run[0])
    return bad


@given(
    st.lists(st.one_of(st.sampled_from(SHOWN), st.sampled_from(HIDING)), max_size=30).map("".join),
    fences,
)
def test_p25_no_run_of_unseen_characters_survives(text, fence):
    shown = clean(text, fence=fence).text
    assert judged(shown) == []
    seen = [char for char in clean(text, off=frozenset(RULES)).text if char not in HIDING]
    assert len(shown) <= 3 * len(seen) + 6 * shown.count("🏴")
    # Nothing but what cannot be seen is taken out.
    only = clean(text, off=UNSEEN, fence=fence).text
    assert [char for char in only if char not in HIDING] == seen


def test_p25_every_unseen_character_alone_and_a_message_in_them():
    assert judged("".join(f"a {char} b" for char in HIDING)) == HIDING
    assert clean("".join(f"a{char}b" for char in HIDING)).text == "ab" * len(HIDING)
    draw = random.Random(25)
    for base in SHOWN:
        text = base + "".join(draw.choices(HIDING, k=500)) + base
        shown = clean(text, off=UNSEEN).text
        assert judged(shown) == [], ascii(shown)
        assert len(shown) <= 2 + 2


@given(texts, fences)
def test_p25_nothing_that_hides_text_is_left(text, fence):
    shown = clean(text, fence=fence).text
    assert not set(shown) & set("\u00ad\u200b\u2060\ufeff\u202a\u202b\u202d\u202e\u2066\u2069")
    assert judged(shown) == []
    # The joiner inside an emoji is no such thing, nor are the tags of a flag.
    assert shown.count("👩\u200d👧") == text.count("👩\u200d👧")


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
