"""P7 for replies that are kept to their end: however long, no step of one holds the event loop."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from minamo.core.limits import AGGREGATE_MAX
from support.slow_texts import LIMIT_S, held, held_alone, told_stream

# Each once took 100 ms and more, for 200,000 characters were cleaned in one step.
UNITS = ["`a", "```\n", "[a](https://b.c ", "\u200b# ", "\ufe0f\ufe0f`", "|-|\n|-|\n```\n```\n"]


@pytest.fixture(autouse=True)
def _own_garbage() -> Iterator[None]:
    """Let the collector look at the objects of the reply only, not at those of all other tests."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.mark.parametrize("unit", UNITS, ids=ascii)
def test_p07_a_long_aggregated_reply_holds_nobody_up(unit: str) -> None:
    way = told_stream(degree=0)
    text = (unit * 60_000)[: 60_000 if len(unit) < 4 else 30_000]
    assert len(text) > 3 * AGGREGATE_MAX
    seconds = held(way, text)
    if seconds > LIMIT_S / 2:
        seconds = held_alone(way, text, seconds)
    assert seconds < LIMIT_S
