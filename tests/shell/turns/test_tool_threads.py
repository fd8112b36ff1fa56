"""Tools that cannot be stopped, in real time: threads, shields, and swallowed cancellations."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Iterator
from functools import partial
from typing import Any

import anyio
import anyio.from_thread
import anyio.to_thread
import pytest

from minamo.core.chunks import DoneChunk
from minamo.shell.stops.registry import StopRequest
from minamo.shell.turns.tool_job import CLEAN_UP_S, Progress, ToolContext
from minamo.shell.turns.tool_runner import LEFT_BEHIND_MAX
from minamo.shell.turns.tools import Tools, tool
from minamo.shell.turns.turn_result import TurnResult, TurnSettings
from support.turns import Dialogue, Stage, asks
from support.waiting import until

pytestmark = pytest.mark.anyio

# What a busy machine may add.
SLACK_S = 0.7


@pytest.fixture
def gate() -> Iterator[threading.Event]:
    """Holds threads until the test is over; a tool that waits here would wait for ever."""
    event = threading.Event()
    yield event
    event.set()


def hold(gate: threading.Event) -> None:
    gate.wait(20)


async def timed(stage: Stage, tools: Tools, **options: Any) -> tuple[TurnResult, float]:
    began = time.monotonic()
    result = await stage.turn(Dialogue([asks("stuck"), ["So be it."]]), tools, **options)
    return result, time.monotonic() - began


async def test_a_thread_is_left_behind_at_its_timeout_and_the_turn_goes_on(
    gate: threading.Event, caplog: pytest.LogCaptureFixture
) -> None:
    async def stuck() -> None:
        await anyio.to_thread.run_sync(hold, gate)

    caplog.set_level(logging.INFO, "minamo.tools")
    tools = Tools([tool(stuck, timeout_ms=50)])
    stage = Stage()
    result, took = await timed(stage, tools)
    assert took < 0.05 + CLEAN_UP_S + SLACK_S
    assert (result.status, stage.shown) == ("completed", ["So be it."])
    (answer,) = result.tool_history
    assert answer.problem == "timeout"
    assert "not done after 0.05 seconds; it could not be ended and still runs" in answer.text
    assert "tool stuck cannot be stopped, and is left behind" in caplog.text
    gate.set()
    await until(lambda: "tool stuck, left behind, has ended" in caplog.text)


@pytest.mark.parametrize("kind", ["user", "follow_up", "kill"])
async def test_a_wish_leaves_a_thread_behind(gate: threading.Event, kind: Any) -> None:
    async def stuck() -> None:
        await anyio.to_thread.run_sync(hold, gate)

    stage = Stage()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(later, 0.1, lambda: stage.stop_signal.request(StopRequest(kind=kind)))
        how = TurnSettings(stop_grace_ms=100)
        result, took = await timed(stage, Tools([stuck]), settings=how)
    assert took < 0.2 + CLEAN_UP_S + SLACK_S
    assert result.status == ("follow_up_interrupt" if kind == "follow_up" else "stopped_by_user")
    (answer,) = result.tool_history
    assert answer.problem == "stopped"
    assert "it could not be ended and still runs" in answer.text


async def test_a_thread_that_may_be_abandoned_ends_at_once(gate: threading.Event) -> None:
    """What docs/tools.md recommends."""

    async def stuck() -> None:
        await anyio.to_thread.run_sync(partial(hold, gate), abandon_on_cancel=True)

    tools = Tools([tool(stuck, timeout_ms=50)])
    result, took = await timed(Stage(), tools)
    assert took < 0.05 + SLACK_S
    assert "still runs" not in result.tool_history[0].text
    assert tools.get("stuck").left_behind == []


async def test_cancelling_from_outside_does_not_wait_for_a_thread(gate: threading.Event) -> None:
    async def stuck() -> None:
        await anyio.to_thread.run_sync(hold, gate)

    began = time.monotonic()
    with anyio.move_on_after(0.1) as scope:
        await Stage().turn(Dialogue([asks("stuck")]), Tools([stuck]))
    assert scope.cancelled_caught
    assert time.monotonic() - began < 0.1 + CLEAN_UP_S + SLACK_S


async def test_a_tool_that_swallows_its_cancellation_is_left_behind_and_costs_nothing() -> None:
    over = asyncio.Event()

    async def stuck() -> None:
        while not over.is_set():
            try:
                await over.wait()
            except BaseException:  # noqa: BLE001 - that is the mistake
                continue

    result, _ = await timed(Stage(), Tools([tool(stuck, timeout_ms=20)]))
    assert "still runs" in result.tool_history[0].text
    used = time.process_time()
    await anyio.sleep(0.5)
    assert time.process_time() - used < 0.2
    over.set()


async def test_calls_that_were_left_behind_are_bounded(gate: threading.Event) -> None:
    async def stuck() -> None:
        await anyio.to_thread.run_sync(hold, gate)

    async def fine() -> str:
        return "done"

    tools = Tools([tool(stuck, timeout_ms=20), fine])
    many = ["stuck"] * LEFT_BEHIND_MAX
    llm = Dialogue([asks(*many), asks("stuck", "fine"), [DoneChunk("stop")]])
    result = await Stage().turn(llm, tools.only("stuck", "fine"))
    assert [one.problem for one in result.tool_history] == ["timeout"] * 4 + ["too_many", ""]
    assert "4 earlier calls of it could not be stopped and still run" in result.tool_history[4].text
    gate.set()
    await until(lambda: all(one.ended for one in tools.get("stuck").left_behind))
    again = await Stage().turn(Dialogue([asks("stuck"), ["Good."]]), tools)
    assert again.tool_history[0].problem == ""


THREADS = {
    "anyio": anyio.to_thread.run_sync,
    "asyncio": asyncio.to_thread,
}


@pytest.mark.parametrize("kind", THREADS)
async def test_progress_from_a_thread_arrives_and_ends_with_the_call(
    gate: threading.Event, kind: str
) -> None:
    said: list[Progress] = []
    outside: list[int] = []

    def work(context: ToolContext) -> None:
        context.progress("begun")
        hold(gate)
        context.progress("too late")
        outside.append(1)

    async def stuck(context: ToolContext) -> None:
        await THREADS[kind](work, context)

    stuck.__annotations__["context"] = ToolContext

    def show(progress: Progress) -> None:
        assert threading.current_thread() is threading.main_thread()
        said.append(progress)

    await timed(Stage(), Tools([tool(stuck, timeout_ms=200)]), progress=show)
    gate.set()
    await until(lambda: bool(outside))
    assert [one.text for one in said] == ["begun"]


def test_a_tool_that_ends_the_program_does() -> None:
    async def stuck() -> None:
        raise SystemExit(3)

    async def main() -> None:
        await Stage().turn(Dialogue([asks("stuck")]), Tools([stuck]))

    with pytest.raises(SystemExit) as caught:
        anyio.run(main)
    assert caught.value.code == 3


async def test_the_context_of_the_caller_is_the_tools() -> None:
    from contextvars import ContextVar

    who: ContextVar[str] = ContextVar("who")
    who.set("ann")

    async def stuck() -> str:
        return who.get()

    result, _ = await timed(Stage(), Tools([stuck]))
    assert result.tool_history[0].text == "ann"


async def later(seconds: float, do: Any) -> None:
    await anyio.sleep(seconds)
    do()
