"""The finish reason of replies that call tools, from sources that name it in a chunk of its own."""

from __future__ import annotations

from collections.abc import AsyncIterator

import anyio.lowlevel
import pytest

from minamo import Call, DoneChunk, FunctionCall, ScriptedProvider, StreamConfig, Usage, retry
from minamo.core.chunks import Chunk
from minamo.testing import listen, run_with_virtual_clock

CALL = FunctionCall((Call("roll"),))
DONE = DoneChunk("tool_calls", Usage(3, 4))


@pytest.mark.parametrize("wrap", [lambda source: source, retry], ids=["bare", "retried"])
def test_a_done_chunk_behind_the_calls_is_heard(wrap: object) -> None:
    source = wrap(ScriptedProvider(["So: ", CALL, DONE]))  # type: ignore[operator]
    heard = run_with_virtual_clock(lambda: listen(source))
    result = heard.result
    assert (result.status, result.finish_reason, result.usage) == (
        "function_call", "tool_calls", Usage(3, 4)
    )  # fmt: skip
    assert heard.messages == ["So:"]


def test_a_source_without_one_does_not_delay_the_calls() -> None:
    heard = run_with_virtual_clock(lambda: listen(ScriptedProvider([CALL], hangs=True)))
    assert (heard.result.status, heard.result.finish_reason) == ("function_call", "")
    assert heard.seconds < 0.05


def test_a_stop_does_not_wait_for_one() -> None:
    heard = run_with_virtual_clock(
        lambda: listen(
            ScriptedProvider([CALL], hangs=True),
            StreamConfig(drain_timeout_ms=1),
            stop_after_s=0.005,
        )
    )
    assert heard.result.status == "function_call"
    assert 0.005 <= heard.seconds < 0.01


def test_what_else_follows_the_calls_changes_nothing() -> None:
    late = run_with_virtual_clock(
        lambda: listen(ScriptedProvider(["So: ", CALL, "and more", DONE]))
    )
    assert late.result.status == "function_call"
    assert late.messages == ["So:"]
    assert late.result.suppressed == {"late": 8, "seam": 1}

    async def failing() -> AsyncIterator[Chunk]:
        yield CALL
        await anyio.lowlevel.checkpoint()
        raise OSError("too late to matter")

    assert run_with_virtual_clock(lambda: listen(failing())).result.status == "function_call"
