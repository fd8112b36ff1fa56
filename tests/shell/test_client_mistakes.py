"""Settings that make no sense are refused where they are made, with what they may be."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Any

import hikari
import pytest

import minamo
from minamo.errors import BadRequest, BadSetting, ClientClosed
from minamo.shell.providers.scripted import ScriptedProvider, check_source
from minamo.twin import Twin
from support.bot import make_bot, make_rest_bot, rigged


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
