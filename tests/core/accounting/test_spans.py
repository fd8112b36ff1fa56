"""Where characters stood, through the stages."""

from __future__ import annotations

import pytest

from minamo.core.accounting.spans import (
    ADDED,
    Added,
    TextSpan,
    Trail,
    cut,
    map_insertions,
    map_spans,
)

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
    pieces = [TextSpan("ab", 1), TextSpan("(<", None, "clean.masked_link"), TextSpan("xyz", 6)]
    assert map_spans(TRAIL, pieces) == [(1, 2), (ADDED, 2), (21, 3)]


@pytest.mark.parametrize(
    ("pieces", "found"),
    [
        ([TextSpan("x" * 10, 0)], MARKS),
        ([TextSpan("xx", 0)], []),  # before them all
        ([TextSpan("xxxx", 1)], [(1, 3, "prefill")]),
        ([TextSpan("xx", 3)], [(0, 2, "prefill")]),  # from within one
        ([TextSpan("xxx", 5)], []),  # between two
        ([TextSpan("xxxxx", 4)], [(0, 1, "prefill"), (4, 1, "clean.mention")]),
        (
            [TextSpan("-", None, "closer"), TextSpan("xx", 8)],
            [(0, 1, "closer"), (1, 2, "clean.mention")],
        ),
    ],
)
def test_what_nobody_wrote_through_a_stage(pieces: list[TextSpan], found: Added) -> None:
    assert map_insertions(MARKS, pieces) == found


def test_a_stage_marks_what_it_adds_to_a_text_that_was_written_whole() -> None:
    assert map_insertions([], [TextSpan("abc", 0), TextSpan("**", None, "closer")]) == [
        (3, 2, "closer")
    ]
