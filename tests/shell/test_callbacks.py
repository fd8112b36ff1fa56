"""Callbacks of others: how they are called, and that what raises changes no outcome that is not its own."""

from __future__ import annotations

import functools
import logging
from typing import Any, NoReturn

import pytest

from minamo import Call, ErrorChunk, FunctionCall, StreamConfig
from minamo.errors import BadSetting
from minamo.shell.callbacks import Guarded, call, refuse_async
from minamo.twin import Twin
from support.bot import Rig, rigged, streaming

pytestmark = pytest.mark.anyio


LOG = logging.getLogger("minamo.test")


async def waits(*_: Any) -> None:
    raise AssertionError("nobody awaits it")


class Called:
    async def __call__(self) -> None:
        raise AssertionError("nobody awaits it")


def test_what_it_raises_is_told_once_and_without_its_words(caplog: Any) -> None:
    calls = []

    def raises(value: int) -> None:
        calls.append(value)
        raise OSError("canary")

    guarded = Guarded("hook", raises, LOG)
    assert [guarded(1), guarded(2)] == [None, None]
    assert calls == [1]
    (line,) = caplog.messages
    assert line.startswith("hook raised OSError at test_callbacks.py:")
    assert "canary" not in caplog.text


def test_what_it_returns_is_returned() -> None:
    assert Guarded("hook", lambda value: value + 1, LOG)(1) == 2
    assert call(lambda: None) == ("", None)


def test_a_coroutine_is_closed_and_told(caplog: Any) -> None:
    guarded = Guarded("hook", lambda: waits(), LOG)
    assert [guarded(), guarded()] == [None, None]
    assert caplog.messages == [
        "hook returned an awaitable, which is not awaited; it will not be called again"
    ]


@pytest.mark.parametrize(
    "callback", [waits, functools.partial(waits, 1), Called(), Called().__call__]
)
def test_an_async_def_is_refused(callback: Any) -> None:
    with pytest.raises(BadSetting, match=r"^hook is an `async def`, and is not awaited: give"):
        refuse_async("hook", callback)


@pytest.mark.parametrize("callback", [5, "print"])
def test_so_is_what_cannot_be_called(callback: Any) -> None:
    with pytest.raises(BadSetting, match=r"^hook must be a function; it is a (int|str)$"):
        refuse_async("hook", callback)


@pytest.mark.parametrize("callback", [None, print, lambda: None, Guarded("x", print, LOG)])
def test_plain_functions_are_fine(callback: Any) -> None:
    refuse_async("hook", callback)


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
