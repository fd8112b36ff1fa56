"""Test your settings with generated event sequences, and time-outs without waiting.

Look at what Hypothesis prints when you break something: the shortest sequence that fails, as lines
for `minamo replay`.
"""

from hypothesis import given

import minamo
from minamo.testing import (
    Trace,
    check_stream,
    listen,
    results,
    run_with_virtual_clock,
    traces,
)

MINE = minamo.StreamConfig(degree=2, max_message_length=400, inactivity_timeout_ms=30_000)


@given(traces(MINE))
def test_nothing_is_lost_with_my_settings(trace: Trace) -> None:
    done = check_stream(trace)  # one outcome, every character accounted for, any chunking
    assert all(len(message) <= 400 for message in done.messages)


def summary(result: minamo.StreamResult) -> str:
    """Return a line for a log; code like this must know all seven outcomes."""
    match result.status:
        case "completed" | "function_call":
            return "fine"
        case "empty_response" | "follow_up_interrupt" | "stopped_by_user":
            return f"ended early: {result.stop_reason or 'nothing to say'}"
        case "error" | "timeout":
            return f"failed: {result.stop_reason or result.data}"


@given(results())
def test_every_outcome_has_a_summary(result: minamo.StreamResult) -> None:
    assert summary(result)


def test_a_silent_provider_ends_after_half_a_minute() -> None:
    silent = minamo.ScriptedProvider(["Half a sent"], hangs=True)
    heard = run_with_virtual_clock(lambda: listen(silent, MINE))
    assert (heard.result.status, heard.seconds) == ("timeout", 30.0)
    assert heard.messages == ["Half a sent"]
