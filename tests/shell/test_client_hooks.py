"""Callbacks of others: hooks for results and errors, hikari's events, and that what raises changes nothing else."""

from __future__ import annotations

import functools
import logging
import subprocess
import sys
from typing import Any, NoReturn

import anyio
import hikari
import pytest

import minamo
from minamo import StreamConfig
from minamo.core.chunks import Call, ErrorChunk, FunctionCall
from minamo.errors import BadSetting
from minamo.shell.callbacks import Guarded, call, refuse_async
from minamo.twin import Twin
from support.bot import Rig, rigged, streaming

pytestmark = pytest.mark.anyio


async def test_every_result_is_told_before_the_call_returns(twin: Twin) -> None:
    told: list[tuple[minamo.ReplyInfo, Any]] = []

    async def answer(rig: Rig, event: Any) -> Any:
        result = await rig.client.stream(event, minamo.ScriptedProvider(["Hi."]))
        assert told[-1][1] is result
        return result

    async with rigged(twin, answer) as rig:
        rig.client.on_result(lambda reply, result: told.append((reply, result)))
        await rig.ask("hello", user="ann")
    (asked, _) = twin.messages()
    [(reply, result)] = told
    assert result.status == "completed"
    assert reply.channel_id == twin.channel("general").id
    assert (reply.message_id, reply.user_id) == (asked.id, twin.user("ann").id)


async def test_errors_are_told_with_the_exception_of_the_source(
    twin: Twin, caplog: pytest.LogCaptureFixture
) -> None:
    failed: list[Any] = []
    key = "sk-" + "a" * 30

    async def broken() -> Any:
        yield "Half."
        raise KeyError("choices " + key)

    async with rigged(twin, streaming(lambda _: broken())) as rig:
        rig.client.on_error(lambda _, result: failed.append(result))
        await rig.ask()
    [result] = failed
    assert isinstance(result.data, ErrorChunk)
    assert isinstance(result.data.cause, KeyError)
    [line] = [one.getMessage() for one in caplog.records if "raised KeyError" in one.getMessage()]
    assert "in broken" in line
    assert 'raise KeyError("choices " + key)' in line
    assert key not in caplog.text
    assert "shell/providers" not in line  # only the user's frames


async def test_on_error_is_silent_when_all_went_well(twin: Twin) -> None:
    failed: list[Any] = []
    async with rigged(twin, streaming(["fine"])) as rig:
        rig.client.on_error(lambda _, result: failed.append(result))
        await rig.ask()
    assert failed == []


async def test_a_callback_that_raises_changes_nothing(
    twin: Twin, caplog: pytest.LogCaptureFixture
) -> None:
    told: list[str] = []

    async with rigged(twin, streaming(["one"])) as rig:

        @rig.client.on_result
        def bad(*_: object) -> None:
            raise RuntimeError("secret words")

        rig.client.on_result(lambda _, result: told.append(result.status))
        with caplog.at_level(logging.WARNING):
            result = await rig.ask()
    assert (result.status, told, rig.said()) == ("completed", ["completed"], ["one"])
    assert "on_result: a callback raised RuntimeError" in caplog.text
    assert "secret words" not in caplog.text


async def test_an_async_callback_is_refused_at_once(twin: Twin) -> None:
    async with rigged(twin, None) as rig:

        async def later(*_: object) -> None: ...

        for register in (rig.client.on_result, rig.client.on_error):
            with pytest.raises(minamo.BadSetting, match="async def"):
                register(later)


async def test_events_come_in_pairs_for_hikaris_listeners(twin: Twin) -> None:
    seen: list[Any] = []

    async with rigged(twin, streaming(["yes"])) as rig:

        @rig.bot.listen()
        async def began(event: minamo.StreamStarted) -> None:
            seen.append(event)

        @rig.bot.listen()
        async def ended(event: minamo.StreamEnded) -> None:
            seen.append(event)

        result = await rig.ask()
        await rig.until(lambda: len(seen) == 2)
    first, last = seen
    assert isinstance(first, minamo.StreamStarted)
    assert isinstance(last, minamo.StreamEnded)
    assert first.app is rig.bot
    assert first.reply == last.reply
    assert last.result is result


async def test_listeners_that_raise_or_hang_change_nothing(twin: Twin) -> None:
    broken: list[hikari.ExceptionEvent[Any]] = []

    async with rigged(twin, streaming(["yes"])) as rig:

        @rig.bot.listen()
        async def raises(_: minamo.StreamStarted) -> None:
            raise RuntimeError("no")

        @rig.bot.listen()
        async def hangs(_: minamo.StreamEnded) -> None:
            await anyio.sleep_forever()

        @rig.bot.listen(hikari.ExceptionEvent)
        async def on_exception(event: hikari.ExceptionEvent[Any]) -> None:
            broken.append(event)

        with anyio.fail_after(5):
            result = await rig.ask()
        await rig.until(lambda: bool(broken))
    assert (result.status, rig.said()) == ("completed", ["yes"])


async def test_a_cancelled_reply_ends_without_a_result(twin: Twin) -> None:
    seen: list[minamo.StreamEnded] = []

    async def answer(rig: Rig, event: Any) -> str:
        with anyio.move_on_after(0.2):
            await rig.client.stream(event, minamo.ScriptedProvider(["a"], hangs=True))
        return "given up"

    async with rigged(twin, answer) as rig:

        @rig.bot.listen()
        async def ended(event: minamo.StreamEnded) -> None:
            seen.append(event)

        await rig.ask()
        await rig.until(lambda: bool(seen))
    assert seen[0].result is None


async def test_a_turn_is_one_reply_for_hooks(twin: Twin) -> None:
    told: list[Any] = []
    events: list[Any] = []

    class Model:
        def chat(self, messages: list[minamo.ChatMessage], **_: Any) -> minamo.ScriptedProvider:
            call = FunctionCall((Call("roll", {}, id="1"),))
            return minamo.ScriptedProvider(["Six."] if messages[-1].role == "tool" else [call])

    async def roll() -> str:
        return "6"

    async def answer(rig: Rig, event: Any) -> Any:
        messages = [minamo.user("roll")]
        return await rig.client.turn(event, Model(), messages, tools=minamo.Tools([roll]))

    async with rigged(twin, answer) as rig:
        rig.client.on_result(lambda _, result: told.append(result))

        @rig.bot.listen()
        async def ended(event: minamo.StreamEnded) -> None:
            events.append(event)

        result = await rig.ask()
        await rig.until(lambda: bool(events))
    assert told == [result]
    assert [event.result for event in events] == [result]


def test_naming_the_package_imports_no_hikari() -> None:
    check = "import sys, minamo; assert 'hikari' not in sys.modules; minamo.StreamEnded; assert 'hikari' in sys.modules"
    subprocess.run([sys.executable, "-c", check], check=True)


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
    assert line.startswith("hook raised OSError at test_client_hooks.py:")
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


CONFIGS = {"timeout": StreamConfig(inactivity_timeout_ms=200, first_token_timeout_ms=200)}
# One message each: how a lane divides more depends on how fast the machine is.
REPLIES: dict[str, list[Any]] = {
    "completed": ["One ", "and two <think>quietly</think>and three."],
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
    script, config = REPLIES[name], CONFIGS.get(name)
    async with rigged(twin, streaming(script, config=config)) as rig:
        expected = await told(rig)
    assert expected[0] == name
    calls: list[str] = []

    def hook(kind: str) -> Any:
        def called(*given: Any, **named: Any) -> NoReturn:
            calls.append(kind)
            raises(*given, **named)

        return called

    answer = streaming(script, config=config, on_stream_progress=hook("progress"))
    telemetry = [RaisingTelemetry(), WorseTelemetry()]
    async with rigged(twin, answer, telemetry=telemetry) as rig:
        rig.client.on_result(hook("result"))
        rig.client.on_error(hook("error"))
        assert await told(rig) == expected
        assert {"progress", "result"} <= set(calls), "each was called, and raised"
        assert await told(rig) == expected, "and so it is the next time"
