"""Where characters stood, through the stages."""

from __future__ import annotations

import pytest

from minamo.core.accounting.spans import ADDED, Added, Piece, Trail, cut, marked, through

# Ten characters: three from the front of the stream, two that nobody wrote, five from further on.
TRAIL: Trail = [(0, 3), (ADDED, 2), (20, 5)]
MARKS: Added = [(2, 3, "prefill"), (8, 2, "clean.mention")]


@pytest.mark.parametrize(
    ("offset", "size", "found"),
    [
        (0, 10, [(0, 3), (ADDED, 2), (20, 5)]),
        (0, 3, [(0, 3)]),
        (1, 3, [(1, 2), (ADDED, 1)]),
        (4, 2, [(ADDED, 1), (20, 1)]),
        (7, 9, [(22, 3)]),
        (5, 0, []),
        (10, 1, []),
    ],
)
def test_a_part_of_a_trail(offset: int, size: int, found: Trail) -> None:
    assert cut(TRAIL, offset, size) == found


def test_a_trail_through_a_stage() -> None:
    pieces = [Piece("ab", 1), Piece("(<", None, "clean.masked_link"), Piece("xyz", 6)]
    assert through(TRAIL, pieces) == [(1, 2), (ADDED, 2), (21, 3)]


@pytest.mark.parametrize(
    ("pieces", "found"),
    [
        ([Piece("x" * 10, 0)], MARKS),
        ([Piece("xx", 0)], []),  # before them all
        ([Piece("xxxx", 1)], [(1, 3, "prefill")]),
        ([Piece("xx", 3)], [(0, 2, "prefill")]),  # from within one
        ([Piece("xxx", 5)], []),  # between two
        ([Piece("xxxxx", 4)], [(0, 1, "prefill"), (4, 1, "clean.mention")]),
        ([Piece("-", None, "closer"), Piece("xx", 8)], [(0, 1, "closer"), (1, 2, "clean.mention")]),
    ],
)
def test_what_nobody_wrote_through_a_stage(pieces: list[Piece], found: Added) -> None:
    assert marked(MARKS, pieces) == found


def test_a_stage_marks_what_it_adds_to_a_text_that_was_written_whole() -> None:
    assert marked([], [Piece("abc", 0), Piece("**", None, "closer")]) == [(3, 2, "closer")]
