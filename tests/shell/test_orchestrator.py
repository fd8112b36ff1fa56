"""The full form: provider, config and context, as the seeds have it; and its finish reasons."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import anyio
import anyio.lowlevel
import hikari
import pytest

from minamo import (
    ChatStream,
    DoneChunk,
    OpenAICompatible,
    ScriptedProvider,
    StreamConfig,
    StreamContext,
    StreamOrchestrator,
    Usage,
    retry,
)
from minamo.core.chunks import Call, Chunk, ErrorChunk, FunctionCall, TextChunk
from minamo.errors import BadSetting
from minamo.inspect.hub import Hub
from minamo.shell.discord.bot import BotSender
from minamo.shell.providers.base import Adapter
from minamo.shell.stops.registry import STREAMS_PER_CHANNEL_MAX, StopRequest
from minamo.testing import listen, run_with_virtual_clock
from minamo.twin import CREATE, Twin
from minamo.wire.frames import Frame
from support.bot import Rig, rigged

pytestmark = pytest.mark.anyio


async def context(rig: Rig, **more: Any) -> StreamContext:
    place = rig.twin.channel("general").id
    return StreamContext(
        orchestrator=await rig.client.orchestrator(),
        channel_id=place,
        sender=BotSender(rig.bot.rest, place),
        **more,
    )


async def test_text_parts_and_progress_are_told(twin: Twin) -> None:
    parts: list[Any] = []
    beats: list[float] = []
    async with rigged(twin, None) as rig:
        where = await context(
            rig,
            current_turn_model_parts=parts,
            on_stream_progress=lambda: beats.append(anyio.current_time()),
        )
        call = FunctionCall((Call("roll", {"sides": 6}),))
        result = await where.orchestrator.stream_to_discord(
            ScriptedProvider(["One.\n\n", "Two, and", call]), StreamConfig(), where
        )
    assert result.status == "function_call"
    assert result.data == Call("roll", {"sides": 6})
    assert result.accumulated_text == "One.\n\nTwo, and"  # the unfinished clause too
    assert "".join(one["text"] for one in parts) == "One.\n\nTwo, and"
    assert len(beats) == 3 + 2  # chunks and receipts
    assert rig.said() == ["One.", "Two, and"]


async def test_a_progress_callback_that_raises_harms_nobody(twin: Twin, caplog: Any) -> None:
    def broken() -> None:
        raise ZeroDivisionError

    async with rigged(twin, None) as rig:
        where = await context(rig, on_stream_progress=broken)
        result = await where.orchestrator.stream_to_discord(
            ScriptedProvider(["a", "b"]), StreamConfig(), where
        )
    assert result.status == "completed"
    assert sum("on_stream_progress" in one.message for one in caplog.records) == 1


async def test_a_provider_carries_itself(twin: Twin) -> None:
    async with (
        rigged(twin, None) as rig,
        OpenAICompatible("http://127.0.0.1:9/v1", model="none") as llm,
    ):
        where = await context(rig)
        result = await llm.ask("hi").stream_to_discord(where)
    assert (result.status, result.data.kind) == ("error", "api_error")
    assert len(twin.messages()[-1].embeds) == 1  # one embed, by one path


async def test_an_error_of_a_kind_that_nobody_knows_is_told_like_any_other(twin: Twin) -> None:
    async with rigged(twin, None) as rig:
        where = await context(rig)
        odd = ScriptedProvider(["So far.", ErrorChunk("of its own", "odd")])  # type: ignore[arg-type]
        result = await where.orchestrator.stream_to_discord(odd, StreamConfig(), where)
    assert (result.status, result.accumulated_text) == ("error", "So far.")
    assert [one.content for one in twin.messages()] == ["So far.", ""]
    assert len(twin.messages()[-1].embeds) == 1


async def test_stream_once_ends_by_its_own_clock(twin: Twin) -> None:
    # Chunks wind it up: five of them take longer than it lasts.
    config = StreamConfig()
    async with rigged(twin, None) as rig:
        where = await context(rig)
        object.__setattr__(config, "sdk_call_timeout_ms", 400)  # less than may be set
        source = ScriptedProvider(["a ", *[(0.15, "b ") for _ in range(5)]], hangs=True)
        result = await where.orchestrator.stream_once(source, config, where)
    assert (result.status, result.stop_reason) == ("timeout", "sdk_call_timeout")
    assert rig.said()[0] == "a b b b b b"
    assert 1_000 <= result.metrics["decided_after_ms"] <= 2_500


async def test_a_kill_of_stream_once_leaves_nothing_behind(twin: Twin) -> None:
    async with rigged(twin, None) as rig:
        where = await context(rig)
        results: list[Any] = []

        async def run() -> None:
            source = ScriptedProvider(["a"], hangs=True)
            results.append(await where.orchestrator.stream_once(source, StreamConfig(), where))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(run)
            await anyio.sleep(0.05)
            assert await rig.client.kill(stream_id=where.stream_id)
        assert (results[0].status, results[0].stop_reason) == ("stopped_by_user", "killed")
        assert not await rig.client.has_stop_request(stream_id=where.stream_id)
        assert not await rig.client.kill(stream_id=where.stream_id)
    assert twin.journal.count(CREATE) == 0


async def test_a_wish_from_before_the_stream_counts(twin: Twin) -> None:
    async with rigged(twin, None) as rig:
        where = await context(rig)
        where.stop_signal.request(StopRequest(kind="follow_up"))
        result = await where.orchestrator.stream_to_discord(
            ScriptedProvider(["never"]), StreamConfig(), where
        )
    assert (result.status, result.metrics["total_chunks"]) == ("follow_up_interrupt", 0)
    assert twin.journal.count(CREATE) == 0


async def test_what_is_suppressed_is_still_captured(twin: Twin) -> None:
    async with rigged(twin, None) as rig:
        where = await context(rig)
        result = await where.orchestrator.stream_to_discord(
            ScriptedProvider(["quiet <think>very</think>words"]),
            StreamConfig(suppress_text_output=True),
            where,
        )
    assert (result.status, result.accumulated_text) == ("completed", "quiet words")
    assert result.thought_log == ("very",)
    assert twin.journal.count(CREATE) == 0


async def test_a_cancelled_stream_is_over_for_those_who_look(twin: Twin) -> None:
    hub = Hub(recording=True)
    async with rigged(twin, None, inspect=hub) as rig:
        where = await context(rig)
        with anyio.move_on_after(0.1) as scope:
            await where.orchestrator.stream_to_discord(
                ScriptedProvider(["a"], hangs=True), StreamConfig(), where
            )
        assert scope.cancelled_caught
        recorder = hub.find("1")
        assert recorder is not None
        assert recorder.ended_at is not None
        assert [one["kind"] for one in recorder.latest].count("ended") == 1
        assert recorder.outcome()["status"] is None  # there is no outcome, and none is invented


@pytest.mark.parametrize("method", ["stream_to_discord", "stream_once"])
async def test_a_stream_that_cannot_be_told_from_another_is_an_error(
    twin: Twin, method: str
) -> None:
    async with rigged(twin, None) as rig, anyio.create_task_group() as tasks:
        where = await context(rig, stream_id="same")
        silent = ScriptedProvider([], hangs=True)
        stream = getattr(where.orchestrator, method)
        tasks.start_soon(stream, silent, StreamConfig(), where)
        await anyio.sleep(0.05)
        result = await stream(
            ScriptedProvider(["never"]), StreamConfig(), await context(rig, stream_id="same")
        )
        assert (result.status, result.data.kind) == ("error", "api_error")
        assert result.data.message == "stream_id 'same' runs already; each stream needs its own"
        assert await rig.client.kill(stream_id="same")  # the first one still hears of stops
    assert twin.journal.count(CREATE) == 0


async def test_a_channel_with_too_many_streams_is_an_error(twin: Twin) -> None:
    results: list[Any] = []
    async with rigged(twin, None) as rig, anyio.create_task_group() as tasks:

        async def run() -> None:
            where = await context(rig)
            source = ScriptedProvider([], hangs=True)
            results.append(
                await where.orchestrator.stream_to_discord(source, StreamConfig(), where)
            )

        for _ in range(STREAMS_PER_CHANNEL_MAX + 1):
            tasks.start_soon(run)
        await rig.until(lambda: bool(results))
        assert len(results) == 1
        assert await rig.client.kill(channel_id=twin.channel("general").id)
    assert (results[0].status, results[0].data.kind) == ("error", "api_error")
    assert "streams run in channel" in results[0].data.message
    assert len(results) == STREAMS_PER_CHANNEL_MAX + 1


@pytest.mark.parametrize("person", [1, hikari.Snowflake(1), "1"], ids=["int", "hikari", "text"])
async def test_a_person_is_a_number_or_a_text(twin: Twin, person: Any) -> None:
    async with rigged(twin, None) as rig, anyio.create_task_group() as tasks:
        where = await context(rig, requester=person)
        silent = ScriptedProvider([], hangs=True)
        tasks.start_soon(where.orchestrator.stream_to_discord, silent, StreamConfig(), where)
        place = twin.channel("general").id
        await anyio.sleep(0.05)
        assert not await rig.client.request_stop(channel_id=place, asker=hikari.Snowflake(2))
        assert await rig.client.request_stop(channel_id=place, asker=person, requester=person)
        assert where.stop_signal.strongest == StopRequest(kind="user", requester="1")


async def test_only_who_asked_may_stop_it(twin: Twin) -> None:
    async with rigged(twin, None) as rig, anyio.create_task_group() as tasks:
        where = await context(rig, requester="1")
        silent = ScriptedProvider([], hangs=True)
        tasks.start_soon(where.orchestrator.stream_to_discord, silent, StreamConfig(), where)
        place = twin.channel("general").id
        await anyio.sleep(0.05)
        assert not await rig.client.request_stop(channel_id=place, asker="2")
        assert await rig.client.request_stop(channel_id=place, asker="1")


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (ErrorChunk("server_error", "boom"), "api_error"),  # type: ignore[arg-type]
        (ErrorChunk("rate_limit", "boom", True, "30"), "rate_limit"),  # type: ignore[arg-type]
        (ErrorChunk("rate_limit", "boom", True, float("nan")), "rate_limit"),
        (TextChunk(None), "api_error"),  # type: ignore[arg-type]
        (FunctionCall(()), "api_error"),
    ],
)
async def test_a_source_that_breaks_the_contract_is_an_error_with_an_embed(
    twin: Twin, error: Any, kind: str
) -> None:
    told: list[Any] = []

    class Told:
        def stream_started(self, _: Any) -> Any:
            return self

        def tool_started(self, *_: Any) -> Any:
            return self

        def ended(self, result: Any) -> None:
            told.append(result.status)

        def cancelled(self) -> None:
            told.append("cancelled")

    async with rigged(twin, None, telemetry=[Told()]) as rig:
        place = rig.twin.channel("general").id
        result = await rig.client.stream(place, ScriptedProvider(["so far ", error]))
        again = await rig.client.stream(place, ScriptedProvider(["fine"]))
    assert (result.status, result.data.kind, result.accumulated_text) == ("error", kind, "so far")
    assert again.status == "completed"
    shown = [(one.content, len(one.embeds)) for one in rig.twin.messages("general")]
    assert shown == [("so far", 0), ("", 1), ("fine", 0)]
    assert told == ["error", "completed"]


class Sulking(Adapter):
    """An adapter of other people, of which everything that can raise does."""

    async def start_stream(self, _: Any) -> Any:
        yield Frame("Hi")

    def process_chunk(self, frame: Frame) -> Any:
        return [TextChunk(frame.data)]

    @property
    def host(self) -> str:
        raise OSError("canary")

    def on_raw_chunk(self, _: Frame) -> None:
        raise OSError("canary")


class Moody:
    """Telemetry and a looker, of which everything raises."""

    def __getattr__(self, name: str) -> Any:
        def raises(*_: Any, **__: Any) -> Any:
            raise OSError("canary")

        return raises


class Sticky(Moody):
    """A looker whose recorders raise."""

    def open_stream(self, *_: Any) -> Any:
        return Moody()


@pytest.mark.parametrize("looker", [Moody(), Sticky()])
async def test_no_callback_changes_the_outcome(twin: Twin, looker: Any, caplog: Any) -> None:
    async with rigged(twin, None) as rig:
        where = await context(rig)
        lanes = where.orchestrator.lanes
        alone = StreamOrchestrator(lanes, telemetry=Moody(), inspector=looker)  # type: ignore[arg-type]
        conversation = ChatStream(Sulking(), None)
        result = await alone.stream_to_discord(conversation, StreamConfig(), where)
    assert result.status == "completed"
    assert rig.said() == ["Hi"]
    assert "canary" not in caplog.text
    for name in ("on_raw_chunk", "Moody.stream_started"):
        assert sum(name in one.getMessage() for one in caplog.records) == 1, name


async def test_an_async_callback_is_refused_where_it_is_given(twin: Twin) -> None:
    async def progress() -> None:
        pass

    class Hooked(Sulking):
        async def on_raw_chunk(self, _: Frame) -> None:  # type: ignore[override]
            pass

    class Waits(Moody):
        async def stream_started(self, _: Any) -> None:
            pass

    async with rigged(twin, None) as rig:
        with pytest.raises(BadSetting, match=r"on_stream_progress is an `async def`"):
            await context(rig, on_stream_progress=progress)
        with pytest.raises(BadSetting, match=r"on_stream_progress is an `async def`"):
            await rig.client.stream(1, ScriptedProvider(["a"]), on_stream_progress=progress)  # type: ignore[arg-type]
        with pytest.raises(BadSetting, match=r"on_stream_progress must be a function; it is a int"):
            await context(rig, on_stream_progress=5)
        with pytest.raises(BadSetting, match=r"Hooked\.on_raw_chunk is an `async def`"):
            ChatStream(Hooked(), None)
        lanes = (await context(rig)).orchestrator.lanes
        with pytest.raises(BadSetting, match=r"Waits\.stream_started is an `async def`"):
            StreamOrchestrator(lanes, telemetry=Waits())  # type: ignore[arg-type]


async def test_a_provider_that_carries_itself_reads_the_environment(
    twin: Twin, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Hangs(Sulking):
        async def start_stream(self, _: Any) -> Any:
            yield Frame("Hi")
            await anyio.sleep_forever()

    monkeypatch.setenv("INACTIVITY_TIMEOUT_MS", "100")
    async with rigged(twin, None) as rig:
        where = await context(rig, suppress_user_errors=True)
        with anyio.fail_after(5):
            result = await ChatStream(Hangs(), None).stream_to_discord(where)
    assert (result.status, result.stop_reason) == ("timeout", "inactivity")


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
