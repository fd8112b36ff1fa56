from hypothesis import given
from hypothesis import strategies as st

from minamo.core.clean import RULES, clean
from minamo.core.code_spans import code_spans
from minamo.core.pieces import covers

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


@given(texts, fences)
def test_p25_nothing_that_hides_text_is_left(text, fence):
    shown = clean(text, fence=fence).text
    assert not set(shown) & set("\u00ad\u200b\u2060\ufeff\u202a\u202b\u202d\u202e\u2066\u2069")
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
