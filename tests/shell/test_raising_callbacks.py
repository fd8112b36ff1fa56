"""P27: callbacks, hooks and telemetry that raise change nothing of a reply, whatever becomes of it."""

from __future__ import annotations

from typing import Any, NoReturn

import pytest

from minamo import Call, ErrorChunk, FunctionCall, StreamConfig
from minamo.twin import Twin
from support.bot import Rig, rigged, streaming

pytestmark = pytest.mark.anyio


class Broken(Exception):
    """What the callbacks raise."""


def raises(*_: Any, **__: Any) -> NoReturn:
    raise Broken


class RaisingSpan:
    """Telemetry of one stream or tool that raises whatever it is told."""

    ended = cancelled = failed = raises


class RaisingTelemetry:
    """Telemetry that begins well and goes wrong then."""

    def stream_started(self, *_: Any, **__: Any) -> RaisingSpan:
        return RaisingSpan()

    tool_started = stream_started


class WorseTelemetry:
    """Telemetry that raises from the beginning."""

    stream_started = tool_started = raises


QUICK = StreamConfig(inactivity_timeout_ms=200, first_token_timeout_ms=200)
REPLIES: dict[str, list[Any]] = {
    "completed": ["One.\n\n", "Two <think>quietly</think>and three."],
    "empty_response": ["<think>hm</think>"],
    "error": ["Half", ErrorChunk("rate_limit", "slow down")],
    "function_call": ["Let me see.", FunctionCall((Call("roll"),))],
    "timeout": ["Half", (5.0, "never")],
}


async def told(rig: Rig) -> tuple[Any, ...]:
    """What the bot says, and the result, without what differs from time to time."""
    before = len(rig.twin.messages())
    result = await rig.ask()
    shown = [(m.content, len(m.embeds)) for m in rig.twin.messages()[before:] if m.author.is_bot]
    receipts = [(each.outcome, each.characters) for each in result.receipts]
    return (result.status, result.stop_reason, result.accumulated_text, result.thought_log,
            dict(result.suppressed), result.states, receipts, shown)  # fmt: skip


@pytest.mark.parametrize("name", REPLIES)
async def test_p27_what_raises_changes_nothing(name: str, twin: Twin) -> None:
    script = REPLIES[name]
    async with rigged(twin, streaming(script, config=QUICK)) as rig:
        expected = await told(rig)
    assert expected[0] == name
    calls: list[str] = []

    def hook(kind: str) -> Any:
        def called(*given: Any, **named: Any) -> NoReturn:
            calls.append(kind)
            raises(*given, **named)

        return called

    answer = streaming(script, config=QUICK, on_stream_progress=hook("progress"))
    telemetry = [RaisingTelemetry(), WorseTelemetry()]
    async with rigged(twin, answer, telemetry=telemetry) as rig:
        rig.client.on_result(hook("result"))
        rig.client.on_error(hook("error"))
        assert await told(rig) == expected
        assert {"progress", "result"} <= set(calls), "each was called, and raised"
        assert await told(rig) == expected, "and so it is the next time"
