"""Repeated tails: taken out only where it was asked for."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minamo.testing import check_adapter
from minamo.wire.overlap import MINIMUM, WINDOW, OverlapRemoval
from recordings import adapter, gathered


def removed(*pieces: str) -> str:
    overlap = OverlapRemoval()
    return "".join(overlap.add(piece) for piece in pieces)


@pytest.mark.parametrize(
    ("pieces", "text"),
    [
        (["It was a dark night", "dark night and cold"], "It was a dark night and cold"),
        (["It was dark", "dark and cold"], "It was darkdark and cold"),  # four are too few
        (["12345678", "12345678"], "12345678"),
        (["1234567", "1234567"], "12345671234567"),
        (["aaaaaaaaaa", "aaaaaaaaab"], "aaaaaaaaaab"),
        (["abc", "", "def"], "abcdef"),
        (["x" * 5_000, "x" * 5_000], "x" * 5_904),  # the window, no more
    ],
)
def test_the_longest_overlap_goes(pieces: list[str], text: str) -> None:
    assert removed(*pieces) == text


@given(st.text("ab", max_size=40), st.text("ab", max_size=40))
def test_trying_every_length_agrees(tail: str, piece: str) -> None:
    lengths = range(min(len(tail), len(piece)), MINIMUM - 1, -1)
    size = next((n for n in lengths if tail.endswith(piece[:n])), 0)

    assert removed(tail, piece) == tail + piece[size:]
    assert WINDOW == 4_096


def test_it_is_off_by_default() -> None:
    part = '{"candidates":[{"content":{"parts":[{"text":"%s"}]}%s}]}'
    stop = ',"finishReason":"STOP"'
    data = f"data: {part % ('a dark night', '')}\n\ndata: {part % ('dark night and', stop)}\n\n"

    texts = [
        gathered(check_adapter(adapter("google", overlap_removal=on), data.encode())).text
        for on in (False, True)
    ]
    assert texts == ["a dark nightdark night and", "a dark night and"]
