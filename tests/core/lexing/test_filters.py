import random
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minamo.core.lexing.filters import Prefill, PrefillOutput
from minamo.core.limits import LEADING_BLANKS_MAX


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
