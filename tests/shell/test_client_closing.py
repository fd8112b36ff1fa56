"""Closing that is cancelled, telemetry that always hears an end, and faults that stay in their stream."""

from __future__ import annotations

import asyncio
from typing import Any

import anyio
import pytest

from minamo import ScriptedProvider, StreamConfig, StreamContext
from minamo.core.chunks import ErrorChunk
from minamo.core.result import StreamResult
from minamo.shell.discord.bot import BotSender
from minamo.shell.orchestrator import StreamOrchestrator
from minamo.twin import CREATE, Twin
from support.bot import Rig, rigged

pytestmark = pytest.mark.anyio


async def test_closing_that_was_cancelled_goes_on_and_can_be_waited_for(twin: Twin) -> None:
    async with rigged(twin, None, inspect=True, drain_s=3) as rig:
        client, place = rig.client, twin.channel("general").id
        twin.faults.delay(1.0, on=CREATE)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(client.stream, place, ScriptedProvider(["a long one\n\n"], hangs=True))
            await anyio.sleep(0.3)
            for _ in range(2):
                with anyio.move_on_after(0.1) as scope:
                    await client.close()
                assert scope.cancelled_caught
            first, second = await asyncio.gather(client.close(), client.close())
        assert first == second
        assert client.page is None
        assert [one for one in asyncio.all_tasks() if "minamo" in one.get_name()] == []
        assert await client.close() == first


class Telemetry:
    """Notes what it is told; may fail at one thing."""

    def __init__(self, fails_at: str = "") -> None:
        self.log: list[str] = []
        self.fails_at = fails_at

    def _note(self, what: str) -> Telemetry:
        self.log.append(what)
        if what == self.fails_at:
            raise OSError("oops")
        return self

    def stream_started(self, info: Any) -> Telemetry:
        return self._note("started")

    def tool_started(self, name: str, call_id: str = "") -> Telemetry:
        return self._note("tool")

    def ended(self, result: StreamResult) -> Telemetry:
        return self._note("ended")

    def cancelled(self) -> Telemetry:
        return self._note("cancelled")


@pytest.mark.parametrize("tenths", range(10))
async def test_telemetry_hears_an_end_whenever_the_caller_is_cancelled(
    twin: Twin, tenths: int
) -> None:
    """While text comes, while it is sent, while the notice of an error goes out."""
    telemetry = Telemetry()
    async with rigged(twin, None, telemetry=[telemetry]) as rig:
        place = twin.channel("general").id
        await rig.client.stream(place, ScriptedProvider(["warm up"]))
        telemetry.log.clear()
        twin.faults.delay(0.3, on=CREATE)
        with anyio.move_on_after(tenths / 10):
            source = ScriptedProvider([(0.1, "One.\n\n"), (0.1, ErrorChunk("api_error", "x"))])
            await rig.client.stream(place, source)
        assert telemetry.log in (["started", "ended"], ["started", "cancelled"], [])


async def full_form(rig: Rig, **parts: Any) -> tuple[StreamOrchestrator, StreamContext]:
    place = rig.twin.channel("general").id
    made = await rig.client.orchestrator()
    orchestrator = StreamOrchestrator(made.lanes, **parts)
    sender = BotSender(rig.bot.rest, place)
    return orchestrator, StreamContext(orchestrator=orchestrator, channel_id=place, sender=sender)


@pytest.mark.parametrize("fails_at", ["started", "ended"])
async def test_telemetry_that_raises_changes_nothing(twin: Twin, fails_at: str) -> None:
    async with rigged(twin, None) as rig:
        orchestrator, where = await full_form(rig, telemetry=Telemetry(fails_at))
        result = await orchestrator.stream_to_discord(
            ScriptedProvider(["Hi."]), StreamConfig(), where
        )
        assert (result.status, rig.said()) == ("completed", ["Hi."])


class Odd:
    """A provider that does not want to be looked at."""

    @property
    def adapter(self) -> Any:
        raise OSError("oops")

    async def __aiter__(self) -> Any:
        yield "Hi."


async def test_a_provider_that_raises_when_looked_at_is_asked_all_the_same(twin: Twin) -> None:
    async with rigged(twin, None) as rig:
        result = await rig.client.stream(twin.channel("general").id, Odd())
        assert (result.status, rig.said()) == ("completed", ["Hi."])


async def test_a_lane_that_cannot_be_opened_is_an_error_of_its_own_stream(
    twin: Twin, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    telemetry = Telemetry()
    async with rigged(twin, None, telemetry=[telemetry]) as rig:
        bad, good = twin.channel("general").id, twin.channel("other").id
        lanes = (await rig.client.orchestrator()).lanes
        sound = lanes.open

        def opened(channel_id: int, *args: Any, **how: Any) -> Any:
            if channel_id == bad:
                raise OSError("sk-secret")
            return sound(channel_id, *args, **how)

        monkeypatch.setattr(lanes, "open", opened)
        with anyio.fail_after(10):
            results: list[StreamResult] = await asyncio.gather(
                *(
                    rig.client.stream(one, ScriptedProvider(["Hi."]))
                    for one in (bad, good, bad, good)
                )
            )
        statuses = {one.status for one in results[::2]}
        assert statuses <= {"error", "follow_up_interrupt"}
        assert results[3].status == "completed"
        assert telemetry.log.count("started") == telemetry.log.count("ended")
    assert "a stream could not be delivered" in caplog.text
    assert "sk-secret" not in caplog.text
