"""One outcome: any facts in any order end a stream once, and for good."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minamo.core.chunks import Call, DoneChunk, ErrorChunk, FunctionCall, TextChunk
from minamo.core.config import StreamConfig
from minamo.core.stream import Stream
from support.seeds import dice, seeds

FACTS: dict[str, Callable[[Stream], None]] = {
    "text": lambda s: s.chunk(TextChunk("Hello there.\n\nMore <thi")),
    "marker": lambda s: s.chunk(TextChunk("nk>x</think>\n```py\n1\n```\n")),
    "call": lambda s: s.chunk(FunctionCall((Call("f"),))),
    "error": lambda s: s.chunk(ErrorChunk("api_error")),
    "done": lambda s: s.chunk(DoneChunk("stop")),
    "end": lambda s: s.end(),
    "stop": lambda s: s.stop("7"),
    "follow_up": lambda s: s.follow_up(),
    "silence": lambda s: s.ran_out("inactivity"),
    "kill": lambda s: s.kill(),
    "lost": lambda s: s.delivery_lost(),
    "limit": lambda s: s.limit_reached(),
    "overran": lambda s: s.ran_out("deadline"),
    "flushed": lambda s: s.flushed(),
    "send": lambda s: s.delivered(len(s.actions.outbox.take())),
}
NAMES = sorted(FACTS)
CORE = ["text", "marker", "call", "error", "end", "stop", "follow_up", "flushed"]
PARTS = 4


def live_through(facts: list[str]) -> Stream:
    stream = Stream(StreamConfig(humanize=False))
    outcome = ""
    for fact in facts:
        FACTS[fact](stream)
        if outcome:
            assert stream.state == outcome, facts
        elif stream.ended:
            outcome = stream.state
    if not stream.ended:
        stream.end()
        stream.delivered(len(stream.actions.outbox.take()))
        stream.flushed()
    assert stream.ended
    assert stream.result().status == stream.state
    assert stream.result().states[-1] == stream.state
    return stream


@given(st.lists(st.sampled_from(NAMES), max_size=50))
def test_p01_any_facts_in_any_order_give_one_outcome(facts: list[str]) -> None:
    live_through(facts)


def test_p01_every_short_sequence_of_facts() -> None:
    outcomes = Counter(
        live_through(list(facts)).state
        for length in range(4)
        for facts in itertools.product(CORE, repeat=length)
    )
    assert {"completed", "function_call", "error", "stopped_by_user", "follow_up_interrupt",
            "empty_response"} <= set(outcomes)  # fmt: skip


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("first", ["", *CORE])
def test_p01_every_sequence_of_facts_up_to_five(first: str, figure: Callable[[str], None]) -> None:
    count = 0
    for length in range(5) if first else [0]:
        for facts in itertools.product(CORE, repeat=length):
            live_through([first, *facts] if first else [])
            count += 1
    figure(f"P1: {count:,} sequences of facts that begin with {first or 'nothing'}")
    assert count == (4_681 if first else 1)  # 37,449 in all


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("part", range(PARTS))
def test_p01_20_000_long_lists_of_facts(part: int, figure: Callable[[str], None]) -> None:
    for seed in seeds(20_000 // PARTS, part):
        with dice(seed) as rng:
            live_through(rng.choices(NAMES, k=rng.randint(0, 50)))
    figure(f"P1: {20_000 // PARTS:,} random lists of up to 50 facts")
