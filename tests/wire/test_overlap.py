"""Repeated tails: taken out only where it was asked for."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minamo.core.config import StreamConfig
from minamo.core.trace import read_trace
from minamo.inspect.replay import replay
from minamo.shell.providers.retry import fallback
from minamo.shell.providers.scripted import ScriptedProvider
from minamo.testing import check_adapter, listen, run_with_virtual_clock
from minamo.wire.assembler import MINIMUM, WINDOW, OverlapRemoval
from support.recordings import adapter, gathered


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


PIECES = ["Hello wonderful world", "wonderful world again, ok", "again, ok", "again, ok"]


def test_the_switch_of_a_stream_does_in_life_what_it_does_in_a_replay() -> None:
    config = StreamConfig(overlap_removal=True, degree=0, humanize=False)
    trace = "\n".join([
        json.dumps({"settings": {"overlap_removal": True, "degree": 0}}),
        *(json.dumps({"chunk": {"type": "text", "content": piece}}) for piece in PIECES),
        json.dumps({"end": True}),
    ])  # fmt: skip
    replayed = replay(read_trace(trace.split("\n")))

    async def plain() -> AsyncIterator[str]:
        for piece in PIECES:
            yield piece

    for source in (ScriptedProvider(PIECES), plain(), fallback(ScriptedProvider(PIECES))):
        heard = run_with_virtual_clock(lambda source=source: listen(source, config))  # type: ignore[misc]
        assert heard.messages == list(replayed.messages) == ["Hello wonderful world again, ok"]
        assert heard.result.suppressed == replayed.result.suppressed
    lost = sum(map(len, PIECES)) - len("Hello wonderful world again, ok")
    assert replayed.result.suppressed == {"overlap": lost}


class Conversation:
    """A recorded answer, read by an adapter as it would be over a connection."""

    def __init__(self, llm: Any, data: bytes) -> None:
        self.llm = llm
        self.data = data

    async def __aiter__(self) -> AsyncIterator[Any]:
        decoder = self.llm.decoder()
        for frame in [*decoder.feed(self.data), *decoder.end()]:
            for chunk in self.llm.process_chunk(frame):
                yield chunk


@pytest.mark.parametrize("of_adapter", [False, True])
@pytest.mark.parametrize("of_stream", [False, True])
def test_it_is_removed_once_whoever_removes_it(of_adapter: bool, of_stream: bool) -> None:
    """The second look would take the genuine repeat behind an overlap for another one."""
    part = '{"candidates":[{"content":{"parts":[{"text":"%s"}]}%s}]}'
    said = ["a dark night", "dark nightdark nightdark night"]
    stop = ',"finishReason":"STOP"'
    data = f"data: {part % (said[0], '')}\n\ndata: {part % (said[1], stop)}\n\n".encode()
    llm = adapter("google", overlap_removal=of_adapter)
    config = StreamConfig(overlap_removal=of_stream, degree=0)
    heard = run_with_virtual_clock(lambda: listen(Conversation(llm, data), config))

    removed = 10 if of_adapter or of_stream else 0
    assert heard.messages == [said[0] + said[1][removed:]]
    assert heard.result.suppressed == ({"overlap": removed} if removed else {})
