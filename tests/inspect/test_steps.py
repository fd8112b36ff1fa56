"""Stepping back is a replay of less, worked out once for all steps."""

from __future__ import annotations

import gc
import time

from hypothesis import given
from hypothesis import strategies as st

from minamo.core.chunks import TextChunk
from minamo.core.config import StreamConfig
from minamo.core.trace import Moment, Trace, read_trace
from minamo.inspect.replay import MOVES_MAX, replay, step_through
from minamo.inspect.views import look_at, look_at_lines
from minamo.testing.strategies import texts


def trace_of(chunks, ending="end"):
    moments = [Moment(n * 0.1, "chunk", chunk=TextChunk(chunk)) for n, chunk in enumerate(chunks)]
    if ending:
        moments.append(Moment(len(chunks) * 0.1, ending))
    return Trace(StreamConfig(humanize=False), tuple(moments))


@given(texts(4), st.integers(5, 80), st.data())
def test_step_k_is_a_replay_of_the_first_k_events(text, size, data):
    chunks = [text[at : at + size] for at in range(0, min(len(text), 400), size)]
    trace = trace_of(chunks)
    _, steps, _ = step_through(trace)
    k = data.draw(st.integers(0, len(trace.moments)))
    _, some, _ = step_through(Trace(trace.config, trace.moments[:k]))
    assert some[: k + 1] == steps[: k + 1]


@given(texts(4), st.integers(5, 80))
def test_looking_changes_nothing(text, size):
    trace = trace_of([text[at : at + size] for at in range(0, min(len(text), 400), size)])
    assert step_through(trace)[0].summary() == replay(trace).summary()


def test_what_a_step_shows():
    _, steps, _ = step_through(trace_of(["<th", "ink>a thought</think>One.\n\nTw", "o"]))
    told = [
        (s.event, s.state, s.read, s.messages, s.thoughts, s.buffered, s.undecided) for s in steps
    ]
    assert told == [
        ("begin", "opening", 0, 0, 0, 0, 0),
        ("chunk", "opening", 3, 0, 0, 0, 3),
        ("chunk", "streaming", 32, 1, 1, 2, 0),
        ("chunk", "streaming", 33, 1, 1, 3, 0),
        ("end", "completed", 33, 2, 1, 0, 0),
    ]
    assert [(m.event, m.target) for m in steps[2].moves] == [
        ("think_opened", "in_think"),
        ("think_closed", "streaming"),
        ("", "handing"),
        ("", "streaming"),
    ]


def test_a_clock_that_runs_out_is_a_step():
    lines = ['{"settings": {"inactivity_timeout_ms": 500}}', '{"chunk": {"type": "text"}}']
    _, steps, _ = step_through(read_trace(lines))
    assert [(s.at, s.event, s.state) for s in steps[1:]] == [
        (0.0, "chunk", "streaming"),
        (0.5, "silent", "timeout"),
    ]


def test_a_step_tells_only_so_many_moves():
    _, steps, _ = step_through(trace_of(["<think>a</think>b" * 100]))
    assert len(steps[1].moves) == MOVES_MAX
    assert steps[1].more > 0


def test_five_thousand_events_are_linear(figure):
    def took(count: int) -> float:
        chunks = [f"Word {n}. <think>hm</think>\n\n" for n in range(count)]
        gc.collect()
        gc.freeze()  # the collector would look at the objects of all earlier tests, again and again
        began = time.process_time()
        look = look_at(trace_of(chunks))
        seconds = time.process_time() - began
        gc.unfreeze()
        assert len(look["steps"]) == count + 2
        return seconds

    took(200)
    few, many = took(1_000), took(5_000)
    figure(f"page: 5,000 events worked out in {many:.2f} s, 1,000 in {few:.2f} s")
    assert many < 12 * few  # five times as many; a quadratic would be 25


def test_everything_about_a_trace():
    look = look_at_lines(
        ['{"chunk": {"type": "text", "content": "Hi <think>x</think>"}}', '{"end": true}']
    )
    assert look["summary"]["status"] == "completed"
    assert look["text"] == "Hi <think>x</think>"
    assert look["messages"] == [{"text": "Hi", "runs": [[0, 2, 0, ""]]}]
    assert look["blocks"] == [{"kind": "thought", "text": "x"}]
    assert look["said"] == ["Hi <think>x</think>", ""]
