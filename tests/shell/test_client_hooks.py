"""Hooks of a client: callbacks for results and errors, and hikari's events."""

from __future__ import annotations

import logging
import subprocess
import sys
from typing import Any

import anyio
import hikari
import pytest

import minamo
from minamo.core.chunks import Call, ErrorChunk, FunctionCall
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
