"""What is written down is read back the same."""

from __future__ import annotations

import json

import pytest

from minamo.core.chunks import (
    Call,
    Chunk,
    DoneChunk,
    ErrorChunk,
    FileChunk,
    FunctionCall,
    TextChunk,
    Usage,
)
from minamo.core.trace import Moment, chunk_record, read_trace, trace_lines, usage_record
from support.audit import run


@pytest.mark.parametrize(
    "chunk",
    [
        TextChunk("Hi", ("a", "b")), TextChunk(),
        FileChunk(b"\0\xff", "image/png", "a.png", ("a",)), FileChunk(b""),
        FunctionCall((Call("roll", {"n": 1}, "c1"), Call("stop"))),
        ErrorChunk("rate_limit", "slow down", retryable=True, retry_after=2.5, status=429),
        ErrorChunk("api_error"),
        DoneChunk("stop", Usage(1, 2, 3, 4), "m", "p", thoughts=("x",)), DoneChunk(),
    ],
)  # fmt: skip
def test_a_chunk_survives(chunk: Chunk) -> None:
    line = json.dumps({"chunk": chunk_record(chunk)})
    assert read_trace([line]).moments[0].chunk == chunk


def test_a_life_survives() -> None:
    life = (
        Moment(0.0, "chunk", TextChunk("Hi")),
        Moment(1.5, "stop", requester="7", first=True),
        Moment(1.5, "chunk", TextChunk("!")),
        Moment(1.5, "follow_up"),
        Moment(1.5, "kill"),
        Moment(2.0, "delivery_lost"),
        Moment(2.0, "end"),
    )
    assert read_trace(trace_lines(life)).moments == life


def test_usage_names_only_what_is_known() -> None:
    assert usage_record(None) is None
    assert usage_record(Usage(input_tokens=3)) == {"input_tokens": 3}


def test_overlaps_are_removed_only_if_asked_for() -> None:
    chunks = ["The quick brown fox", "brown fox jumps", " over it"]
    assert run(chunks).messages == ("The quick brown foxbrown fox jumps over it",)
    done = run(chunks, overlap_removal=True)
    assert done.messages == ("The quick brown fox jumps over it",)
    assert done.result.suppressed["overlap"] == len("brown fox")
