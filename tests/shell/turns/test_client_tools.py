"""Tools of a turn in a real channel: their progress, those that do not stop, and observers that fail."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from typing import Any

import anyio
import anyio.to_thread
import pytest
from anyio.lowlevel import checkpoint

from minamo.core.chunks import Call, FunctionCall
from minamo.shell.providers.scripted import ScriptedProvider
from minamo.shell.telemetry.telemetry import NoTelemetry
from minamo.shell.turns.tool_job import CLEAN_UP_S, LINES_MAX, LatestLines, ToolContext
from minamo.shell.turns.tools import Tools, tool
from minamo.shell.turns.turn_result import TurnSettings
from minamo.twin import Twin
from minamo.wire.conversation import ChatMessage, user
from support.bot import Rig, rigged

pytestmark = pytest.mark.anyio


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


@pytest.fixture
def gate() -> Iterator[threading.Event]:
    event = threading.Event()
    yield event
    event.set()


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
