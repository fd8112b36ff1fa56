"""`fit` on any text: nothing lost, every message fits and shows something, always the same."""

from __future__ import annotations

import time

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from minamo.core.accounting.spans import covers
from minamo.core.fitting.compose import compose
from minamo.core.fitting.cut_points import DraftLayout, lay_out
from minamo.core.fitting.fit import NOTHING, Fitted, OpenFormatting, fit
from minamo.core.fitting.split import cuts
from minamo.testing.strategies import ATOMS, markdown_texts, texts

LIMITS = st.sampled_from([100, 101, 137, 500, 1950, 2000])
STYLES = st.sampled_from(["code", "bullets", "raw"])
REASONS = {"closer", "reopened", "header", "break", "table", "fence"}
DROPS = {"seam", "blank", "clean.fence", "clean.table"}
UNSEEN = {"\u200b", "\u202e", "\x00"}
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


@settings(COMMON, max_examples=150)
@given(text=ANY, limit=LIMITS, tables=STYLES, last=st.booleans())
def test_p03_p04_any_text_is_kept_whole_and_fits(
    text: str, limit: int, tables: str, last: bool
) -> None:
    fitted = fit(text, limit=limit, tables=tables, last=last)
    assert_sound(text, fitted, limit)
    assert fitted == fit(text, limit=limit, tables=tables, last=last)


@settings(COMMON, max_examples=100)
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
    for _ in range(7 if size < 100_000 else 2):
        start = time.process_time()
        fit(text, last=last)
        best = min(best, time.process_time() - start)
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
def test_a_megabyte_takes_less_than_five_seconds(text: str) -> None:
    start = time.process_time()
    fitted = fit(text)
    assert time.process_time() - start < 5
    assert_sound(text, fitted, 1950)
