"""A reply of degree 0 that is too long to keep goes in parts, and the parts are whole paragraphs."""

from __future__ import annotations

import pytest

from minamo.core.chunks import TextChunk
from minamo.core.config import StreamConfig
from minamo.core.lexing.segmenter import Segment, cut_aggregate
from minamo.core.limits import AGGREGATE_MAX
from minamo.core.stream import Stream

CODE = "```py\n" + "".join(f"print({number:03})  # a line\n" for number in range(40)) + "```\n"


def parts(text: str, size: int = 97) -> list[str]:
    """The segments of *text* at degree 0."""
    stream = Stream(StreamConfig(degree=0))
    segments: list[Segment] = []
    put = stream.actions.outbox.put

    def listen(segment: Segment) -> None:
        segments.append(segment)
        put(segment)

    stream.actions.outbox = _Listening(stream.actions.outbox, listen)  # type: ignore[assignment]
    for at in range(0, len(text), size):
        stream.chunk(TextChunk(text[at : at + size]))
        stream.take_effects()
    stream.end()
    assert "".join(segment.text for segment in segments) == text
    return [segment.text for segment in segments]


class _Listening:
    """An outbox that reports the segments it is given."""

    def __init__(self, outbox: object, put: object) -> None:
        self._outbox, self.put = outbox, put

    def __getattr__(self, name: str) -> object:
        return getattr(self._outbox, name)


def test_a_reply_that_can_be_kept_is_one_part() -> None:
    text = "A paragraph of words.\n\n" * (AGGREGATE_MAX // 24)
    assert len(parts(text)) == 1


def test_a_longer_one_is_cut_between_paragraphs() -> None:
    text = ("A paragraph of words, " * 20 + "the end.\n\n") * 60
    found = parts(text)
    assert len(found) > 2
    assert all(part.endswith("the end.\n\n") for part in found)
    assert all(len(part) > AGGREGATE_MAX / 2 for part in found[:-1])


@pytest.mark.parametrize("before", range(AGGREGATE_MAX - 1_500, AGGREGATE_MAX + 300, 150))
def test_a_fence_is_not_cut_where_a_part_ends(before: int) -> None:
    words = ("word " * 50 + "\n\n") * (before // 252)
    text = words + CODE + "\n" + "And words behind it. " * 200
    found = parts(text)
    assert sum(CODE in part for part in found) == 1


def test_a_fence_longer_than_a_part_is_cut_between_lines() -> None:
    found = parts("Look:\n```\n" + "a line of code\n" * 1_500 + "```\n")
    assert len(found) == 3
    assert all(part.endswith("\n") for part in found)


def test_blank_lines_in_a_fence_end_no_paragraph() -> None:
    text = "a " * 1_500 + "\n\n```\n" + "b\n\n" * 1_000 + "```\n" + "c " * 1_000
    at = cut_aggregate(text, AGGREGATE_MAX)
    assert text[at:].startswith("```\n")
    assert cut_aggregate(text.replace("a \n\n", "a\n"), AGGREGATE_MAX) == 0
    late = "a " * 1_500 + "\n\n" + "b " * 1_000 + CODE + "c\n" * 1_500
    assert late[cut_aggregate(late, AGGREGATE_MAX) :].startswith("b ")


@pytest.mark.parametrize("size", [1, 7, 5_000])
def test_chunks_do_not_change_the_parts(size: int) -> None:
    text = ("Some words here.\n\n" * 100 + CODE + "\n") * 6
    assert parts(text, size) == parts(text)
