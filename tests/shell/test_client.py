"""The client: settings that make no sense are refused, and closing that is cancelled leaves nothing behind."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import anyio
import hikari
import pytest

import minamo
from minamo import StreamConfig, StreamContext
from minamo.core.chunks import ErrorChunk
from minamo.core.result import StreamResult
from minamo.errors import BadRequest, BadSetting, ClientClosed
from minamo.shell.discord.bot import BotSender
from minamo.shell.orchestrator import StreamOrchestrator
from minamo.shell.providers.scripted import ScriptedProvider, check_source
from minamo.twin import CREATE, Twin
from support.bot import Rig, make_bot, make_rest_bot, rigged


@pytest.mark.parametrize(
    ("setting", "value", "says"),
    [
        ("config", {"degree": 1}, "config must be StreamConfig or None"),
        ("thoughts", "spoiler", "thoughts must be ThoughtDisplay or None"),
        ("notices", "none", "notices must be NoticeSettings or None"),
        ("locale", 5, "locale must be str"),
        ("stop_command", 5, "stop_command must be"),
        ("stop_command", "Stop Now!", "stop_command must be"),
        ("stop_command", "", "stop_command must be"),
        ("telemetry", 5, "telemetry must be Sequence"),
        ("pacer", 5, "pacer must be Pacer or None"),
        ("drain_s", "5", "drain_s must be"),
        ("drain_s", -1, "drain_s must be"),
        ("drain_s", float("nan"), "drain_s must be"),
        ("queue_max", "5", "queue_max must be int"),
        ("inspect", "yes", "inspect must be"),
    ],
)
def test_a_client_refuses(setting: str, value: Any, says: str) -> None:
    with pytest.raises(BadSetting, match=says):
        minamo.Client(make_bot(Twin()), **{setting: value})


@pytest.mark.parametrize("bot", [None, "token", 5, hikari.RESTApp()])
def test_a_client_is_for_a_bot(bot: Any) -> None:
    with pytest.raises(BadSetting, match=r"hikari\.GatewayBot"):
        minamo.Client(bot)


@pytest.mark.parametrize(
    ("make", "says"),
    ids=range(14),
    argvalues=[
        (lambda: minamo.AllowedMentions(users=5), "users must be a list of ids"),
        (lambda: minamo.AllowedMentions(users=True), "users must be a list of ids"),
        (lambda: minamo.AllowedMentions(roles=("x",)), "roles must be a list of ids"),
        (lambda: minamo.AllowedMentions(users=[None]), "users must be a list of ids"),
        (lambda: minamo.AllowedMentions(users=[True]), "users must be a list of ids"),
        (lambda: minamo.AllowedMentions(everyone="no"), "everyone must be True or False"),
        (lambda: minamo.AllowedMentions(reply=1), "reply must be True or False"),
        (lambda: minamo.Overflow("5"), "after must be a whole number"),
        (lambda: minamo.Overflow(True), "after must be a whole number"),
        (lambda: minamo.Overflow(2, bytes_max="x"), "bytes_max must be a whole number"),
        (lambda: minamo.Overflow(2, to="file", file_name=5), "file_name and thread_name"),
        (lambda: minamo.Overflow(2, to="file", thread_name=None), "file_name and thread_name"),
        (lambda: minamo.StreamConfig(clean_off=[["x"]]), "clean_off"),
        (lambda: minamo.StreamConfig(mentions={"@ann": 5}), "without @"),
    ],
)
def test_a_setting_refuses(make: Callable[[], object], says: str) -> None:
    with pytest.raises(BadSetting, match=says):
        make()


def test_who_may_be_rung_for_may_come_in_any_list() -> None:
    assert minamo.AllowedMentions(users=[5, 6]).users == (5, 6)
    assert minamo.AllowedMentions(roles={7}).roles == (7,)


@pytest.mark.anyio
async def test_a_turn_and_a_conversation_name_what_they_take(twin: Twin) -> None:
    llm: Any = ScriptedProvider(["x"])
    mistakes: list[tuple[str, Callable[[Any, int], Any]]] = [
        ("messages", lambda client, to: client.turn(to, llm, "text")),
        ("messages", lambda client, to: client.turn(to, llm, None)),
        ("messages", lambda client, to: client.turn(to, llm, minamo.user("x"))),
        ("message 0 is a str", lambda client, to: client.turn(to, llm, ["x"])),
        ("settings", lambda client, to: client.turn(to, llm, [minamo.user("x")], settings={})),
        ("fallbacks", lambda client, to: client.turn(to, llm, [minamo.user("x")], fallbacks=llm)),
        ("a message", lambda client, to: client.conversation(None)),
    ]
    async with rigged(twin, None) as rig:
        for says, use in mistakes:
            with pytest.raises(BadRequest, match=says):
                await use(rig.client, twin.channel("general").id)
    assert rig.said() == []


async def says() -> AsyncIterator[str]:
    yield "x"


async def returns() -> str:
    return "x"


@pytest.mark.parametrize(
    ("source", "advice"),
    [
        (says, r"call it, says\(…\)"),
        (returns, "`yield` in it instead of `return`"),
        (minamo.OpenAICompatible("http://localhost:1/v1", model="m"), r"ask it something, \.ask"),
        ("x", "send it with hikari"),
        (iter("x"), "make it async"),
        (None, "this is of type NoneType$"),
    ],
)
def test_what_is_no_source_is_told_what_to_write(source: Any, advice: str) -> None:
    with pytest.raises(BadRequest, match=advice):
        check_source(source)


def test_a_coroutine_is_no_source() -> None:
    one = returns()
    with pytest.raises(BadRequest, match="await it if it gives a stream"):
        check_source(one)
    one.close()


@pytest.mark.anyio
async def test_a_bot_that_has_not_started_is_named(twin: Twin) -> None:
    client = minamo.Client(make_bot(twin))
    with pytest.raises(ClientClosed, match=r"not running yet.*bot\.start\(\)"):
        await client.stream(twin.channel("general").id, says())
    with pytest.raises(ClientClosed, match="not running yet"):
        await client.conversation(None)  # type: ignore[arg-type]


@pytest.mark.parametrize("make", [make_bot, make_rest_bot])
def test_a_second_client_for_a_bot_is_warned_of(
    make: Callable[[Twin], Any], caplog: pytest.LogCaptureFixture
) -> None:
    bot = make(Twin())
    minamo.Client(bot)
    assert caplog.text == ""
    minamo.Client(bot)
    assert "has a minamo.Client already" in caplog.text


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
