"""Tools that cannot be stopped: threads, shields, swallowed cancellations; and tools of a turn in a real channel."""

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
from anyio.lowlevel import checkpoint

from minamo.core.chunks import Call, DoneChunk, FunctionCall
from minamo.shell.providers.scripted import ScriptedProvider
from minamo.shell.stops.registry import StopRequest
from minamo.shell.telemetry.telemetry import NoTelemetry
from minamo.shell.turns.tool_job import CLEAN_UP_S, LINES_MAX, LatestLines, Progress, ToolContext
from minamo.shell.turns.tool_runner import LEFT_BEHIND_MAX
from minamo.shell.turns.tools import Tools, tool
from minamo.shell.turns.turn_result import TurnResult, TurnSettings
from minamo.twin import Twin
from minamo.wire.conversation import ChatMessage, user
from support.bot import Rig, rigged
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


class Model:
    """Asks for tools, then says a word."""

    def __init__(self, *names: str) -> None:
        self.calls = tuple(Call(name, {}, id=str(n)) for n, name in enumerate(names))

    def chat(self, messages: list[ChatMessage], **_: Any) -> ScriptedProvider:
        return ScriptedProvider(
            ["Done."] if messages[-1].role == "tool" else [FunctionCall(self.calls)]
        )


def answering(tools: Tools, *names: str, **how: Any) -> Any:
    async def answer(rig: Rig, event: Any) -> Any:
        llm = Model(*names)
        return await rig.client.turn(event, llm, [user(event.content)], tools=tools, **how)

    return answer


class Crawler:
    """Tools that say a lot."""

    def __init__(self) -> None:
        self.begun = anyio.Event()

    async def crawl(self, context: ToolContext) -> str:
        for number in range(40):
            context.progress(f"page {number}")
            await checkpoint()
        self.begun.set()
        await anyio.sleep(30)
        return "never"

    async def look(self, context: ToolContext) -> str:
        for number in range(40):
            context.progress(f"shelf {number}")
        return "found"


Crawler.crawl.__annotations__["context"] = ToolContext
Crawler.look.__annotations__["context"] = ToolContext


@pytest.mark.parametrize("kind", ["stop", "kill", "follow_up"])
async def test_progress_is_few_lines_and_gone_with_a_wish(twin: Twin, kind: str) -> None:
    crawler = Crawler()
    tools = Tools([crawler.crawl])
    async with rigged(twin, answering(tools, "crawl")) as rig:
        place = twin.channel("general").id
        await twin.say("go", user="ann")
        with anyio.fail_after(10):
            await crawler.begun.wait()
        wish = {
            "stop": rig.client.request_stop,
            "kill": rig.client.kill,
            "follow_up": rig.client.request_follow_up,
        }[kind]
        await wish(channel_id=place)
        await rig.until(lambda: len(rig.results) == 1)
        shown = len(rig.said())
        assert shown <= 3
        await rig.client.stream(place, ScriptedProvider(["The next answer."]))
        assert rig.said()[shown:] == ["The next answer."]


async def test_the_newest_line_of_each_call_is_shown(twin: Twin) -> None:
    tools = Tools([Crawler().look])
    async with rigged(twin, answering(tools, "look", "look")) as rig:
        assert (await rig.ask("go")).status == "completed"
        lines = rig.said()
        assert lines[-1] == "Done."
        assert lines[:-1].count("-# shelf 39") == 2
        assert len(lines) <= 5


def test_a_turn_shows_only_so_many_lines() -> None:
    lines = LatestLines()
    sent = []
    for number in range(3 * LINES_MAX):
        lines.put(1, f"a {number}")
        lines.put(2, f"b {number}")
        lines.put(1, f"c {number}")
        assert lines.waiting <= 8
        sent += [one.text for one in lines.take()]
    assert len(sent) == LINES_MAX
    assert sent[:3] == ["b 0", "c 0", "b 1"]
    lines.put(1, "x")
    assert (lines.waiting, lines.take()) == (0, [])


async def test_a_thread_that_does_not_stop_holds_up_no_channel(
    twin: Twin, gate: threading.Event
) -> None:
    begun = anyio.Event()

    async def stuck() -> None:
        begun.set()
        await anyio.to_thread.run_sync(gate.wait, 20)

    how = TurnSettings(stop_grace_ms=100)
    async with rigged(twin, answering(Tools([stuck]), "stuck", settings=how)) as rig:
        place = twin.channel("general").id
        await twin.say("go", user="ann")
        with anyio.fail_after(10):
            await begun.wait()
        asked = time.monotonic()
        assert await rig.client.request_stop(channel_id=place, requester="1")
        await rig.until(lambda: len(rig.results) == 1)
        assert time.monotonic() - asked < 0.1 + CLEAN_UP_S + 1
        assert "still runs" in rig.results[0].tool_history[0].text
        assert (await rig.client.stream(place, ScriptedProvider(["Next."]))).status == "completed"


async def test_a_stop_during_a_tool_can_be_taken_back(twin: Twin) -> None:
    begun = anyio.Event()

    async def slow() -> str:
        begun.set()
        await anyio.sleep(0.3)
        return "ok"

    async with rigged(twin, answering(Tools([slow]), "slow")) as rig:
        place = twin.channel("general").id
        await twin.say("go", user="ann")
        with anyio.fail_after(10):
            await begun.wait()
        assert await rig.client.request_stop(channel_id=place, requester="1")
        assert await rig.client.has_stop_request(channel_id=place)
        assert await rig.client.clear_stop_request(channel_id=place)
        assert not await rig.client.has_stop_request(channel_id=place)
        await rig.until(lambda: len(rig.results) == 1)
        assert (rig.results[0].status, rig.said()) == ("completed", ["Done."])


async def test_a_turn_that_takes_too_long_says_so(twin: Twin) -> None:
    async def slow() -> None:
        await anyio.sleep(20)

    how = TurnSettings(turn_deadline_ms=300)
    async with rigged(twin, answering(Tools([slow]), "slow", settings=how)) as rig:
        result = await rig.ask("go")
        assert (result.status, result.stop_reason) == ("timeout", "deadline")
        assert twin.messages("general")[-1].embeds


class ToolLog:
    """Telemetry that only looks at tools; may fail."""

    def __init__(self, fails_at: str = "") -> None:
        self.log: list[Any] = []
        self.fails_at = fails_at

    def stream_started(self, info: Any) -> Any:
        return NoTelemetry()

    def tool_started(self, name: str, call_id: str = "") -> ToolLog:
        self.log.append((name, call_id))
        if self.fails_at == "start":
            raise OSError("oops")
        return self

    def ended(self, problem: str = "") -> None:
        self.log.append(problem)
        if self.fails_at == "end":
            raise OSError("oops")


@pytest.mark.parametrize("fails_at", ["", "start", "end"])
async def test_telemetry_is_told_of_tools_and_their_ends(twin: Twin, fails_at: str) -> None:
    async def hang() -> None:
        await anyio.sleep(20)

    log = ToolLog(fails_at)
    tools = Tools([Crawler().look, tool(hang, timeout_ms=50)])
    async with rigged(twin, answering(tools, "look", "hang"), telemetry=[log]) as rig:
        assert (await rig.ask("go")).status == "completed"
    ends = ["", "timeout"] if fails_at != "start" else []
    assert log.log == [("look", "0"), ("hang", "1"), *ends]


async def test_telemetry_hears_of_a_tool_that_was_stopped(twin: Twin) -> None:
    begun = anyio.Event()

    async def hang() -> None:
        begun.set()
        await anyio.sleep(20)

    log = ToolLog()
    async with rigged(twin, answering(Tools([hang]), "hang"), telemetry=[log]) as rig:
        await twin.say("go", user="ann")
        with anyio.fail_after(10):
            await begun.wait()
        await rig.client.kill(channel_id=twin.channel("general").id)
        await rig.until(lambda: len(rig.results) == 1)
    assert log.log == [("hang", "0"), "stopped"]


class Onlooker:
    """Fails at everything it is told, or at one thing."""

    watched = True

    def __init__(self, fails_at: str) -> None:
        self.fails_at = fails_at
        self.failed = 0

    @property
    def feed(self) -> Onlooker:
        return self

    def _look(self, what: str) -> None:
        if what == self.fails_at:
            self.failed += 1
            raise OSError("sk-secret")

    def gateway(self, name: str, data: Any) -> None:
        self._look("gateway")

    def happened(self, at: float, event: str, payload: object = None) -> None:
        self._look("happened")

    def open_stream(self, channel_id: int, stream: Any) -> Onlooker:
        self._look("open_stream")
        return self

    def observer(self, chart: str, channel_id: int | None = None) -> Any:
        self._look(f"observer of {chart}")
        return lambda _: self._look(f"step of {chart}")


CHARTS = ("turn", "channel", "delivery")


@pytest.mark.parametrize(
    "fails_at",
    ["gateway", "happened", "open_stream"]
    + [f"{what} of {chart}" for chart in CHARTS for what in ("observer", "step")],
)
async def test_an_onlooker_that_fails_changes_nothing(
    twin: Twin, fails_at: str, caplog: pytest.LogCaptureFixture
) -> None:
    looker = Onlooker(fails_at)
    tools = Tools([Crawler().look])
    async with rigged(twin, answering(tools, "look"), inspect=looker) as rig:
        assert (await rig.ask("go")).status == "completed"
        assert rig.said()[-1] == "Done."
        other = await rig.client.stream(twin.channel("other").id, ScriptedProvider(["Hello."]))
        assert other.status == "completed"
    assert looker.failed
    assert "sk-secret" not in caplog.text
