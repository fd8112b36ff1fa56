"""Which marker closes which, as Discord's clients match them."""

from __future__ import annotations

import pytest

from minamo.core.fitting.closers import Closers


def test_pairs_close_with_the_last_two_of_a_run() -> None:
    assert Closers("**a**").pair("*", 0, 5) == 3
    assert Closers("**a***").pair("*", 0, 6) == 4
    assert Closers("**a\\**").pair("*", 0, 6) is None
    assert Closers("**a*b**").pair("*", 0, 7) == 5
    assert Closers("****").pair("*", 0, 4) is None
    assert Closers("**a***").pair("*", 0, 5) == 3  # what is beyond `high` does not exist
    assert Closers("******").pair("*", 0, 5) == 3  # in the run of the opener, too
    assert Closers("******").pair("*", 0, 4) is None
    assert Closers("__a__").pair("_", 0, 5) == 3


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("*a*", 2),
        ("* a*", None),
        ("*a *", None),
        ("*a\\ *", 4),
        ("*a **b** c*", 10),
        ("*a***", 4),
        ("****a", 3),
        ("**", None),
        ("*", None),
        ("*a", None),
    ],
)
def test_stars_close_with_the_end_of_an_odd_run(text: str, expected: int | None) -> None:
    assert Closers(text).single("*", 0, len(text)) == expected


@pytest.mark.parametrize(
    ("text", "expected"), [("_a_", 2), ("_a_b", None), ("_a_ b", 2), ("_ a _", 4), ("____a", None)]
)
def test_low_lines_close_at_the_end_of_a_word(text: str, expected: int | None) -> None:
    assert Closers(text).single("_", 0, len(text)) == expected


def test_singles_in_a_run_that_is_cut_off() -> None:
    assert Closers("*a**").single("*", 0, 3) == 2
    assert Closers("*a***").single("*", 0, 4) is None


def test_strike_closes_unless_a_low_line_follows() -> None:
    closers = Closers("~~a~~_b~~_")
    assert closers.strike(0, 10) is None
    assert closers.strike(3, 10) is None
    assert Closers("~~a~~").strike(0, 5) == 3
    assert Closers("~~a~~_").strike(0, 5) == 3


def test_spoilers_and_blocks_close_at_the_next_marker() -> None:
    assert Closers("||a||").spoiler(0, 5) == 3
    assert Closers("||||").spoiler(0, 4) is None
    assert Closers("```a```").block(0, 7) == 4
    assert Closers("```a``").block(0, 6) is None


def test_code_closes_with_a_run_as_long_as_some_of_its_own() -> None:
    assert Closers("`a`").code(0, 3) == (1, 2)
    assert Closers("``a`b``").code(0, 7) == (2, 5)
    assert Closers("``a`").code(0, 4) == (1, 3)
    assert Closers("`a``").code(0, 4) is None
    assert Closers("``a```").code(0, 4) == (1, 3)
    assert Closers("``a``` b`").code(0, 9) == (1, 8)
    assert Closers("``a``` `").code(0, 5) == (2, 3)
    assert Closers("a `b``").code(2, 6) is None  # a longer run than its own
    assert Closers("`a```").code(0, 4) is None  # likewise, cut off
    assert Closers("`a``").code(0, 3) == (1, 2)
    assert Closers("`a` b``").code(0, 6) == (1, 2)  # the nearest of that length


@pytest.mark.parametrize(
    ("text", "at", "closer"),
    [
        (r"\\*a*", 2, 4),  # the backslash is escaped, the marker is not
        (r"\\\**a*", 4, 6),
        (r"\**a*", 2, 4),
        (r"*a\*", 0, None),
        (r"*a\\*", 0, 4),
        (r"*a\\\*", 0, None),
        (r"*a\**", 0, 4),
    ],
)
def test_a_marker_behind_an_odd_number_of_backslashes_does_not_count(
    text: str, at: int, closer: int | None
) -> None:
    assert Closers(text).single("*", at, len(text)) == closer


@pytest.mark.parametrize(
    ("text", "closer"),
    [("*a*", 2), ("*a *", None), (r"*a\ *", 4), (r"*a\\ *", None), (r"*a\\\ *", 6)],
)
def test_a_star_behind_a_blank_that_is_not_escaped_closes_nothing(
    text: str, closer: int | None
) -> None:
    assert Closers(text).single("*", 0, len(text)) == closer
