"""Commands: whoever used one gets an answer, and what is for them alone stays so."""

from __future__ import annotations

from typing import Any

import anyio
import hikari
import pytest

from minamo.core.chunks import Call, FunctionCall
from minamo.core.config import StreamConfig
from minamo.errors import BadSetting
from minamo.shell.notices.thoughts import ThoughtDisplay
from minamo.shell.options import Persona
from minamo.shell.providers.scripted import ScriptedProvider
from minamo.shell.turns.turn_result import TurnSettings
from minamo.twin import Twin
from minamo.wire.conversation import user
from support.bot import on_command, rigged

pytestmark = pytest.mark.anyio

LOADING = 1 << 7
SILENT = ScriptedProvider([], hangs=True)


def thinking(twin: Twin, channel: str = "general") -> list[Any]:
    """Deferred answers that nobody has filled."""
    return [one for one in twin.messages(channel) if one.flags & LOADING]


@pytest.mark.parametrize("end", ["stop", "kill", "follow_up"])
async def test_who_is_shown_nothing_is_told_so(twin: Twin, end: str) -> None:
    async with rigged(twin, None) as rig:
        on_command(rig, lambda one: rig.client.stream(one, SILENT))
        await twin.slash("ask")
        await rig.until(lambda: len(thinking(twin)) == 1)
        await anyio.sleep(0.05)
        place = twin.channel("general").id
        if end == "stop":
            await rig.client.request_stop(channel_id=place, requester="1")
        elif end == "kill":
            await rig.client.kill(channel_id=place)
        else:
            await rig.client.request_follow_up(channel_id=place)
        await rig.until(lambda: bool(rig.results))
        assert rig.said() == ["Stopped."]
    assert not thinking(twin)


async def test_who_waits_and_is_overtaken_is_told_so(twin: Twin) -> None:
    async with rigged(twin, None) as rig:

        async def answer(one: hikari.CommandInteraction) -> Any:
            return await rig.client.stream(one, SILENT, policy=one.command_name)  # type: ignore[arg-type]

        on_command(rig, answer)
        for number, name in enumerate(("interrupt", "queue"), 1):
            await twin.slash(name)
            await rig.until(lambda count=number: len(thinking(twin)) == count)
            await anyio.sleep(0.1)
        await rig.client.kill(channel_id=twin.channel("general").id)
        await rig.until(lambda: len(rig.results) == 2)
        assert rig.said() == ["Stopped.", "Stopped."]


async def test_a_model_that_says_nothing_still_answers_a_command(twin: Twin) -> None:
    settings = TurnSettings(silence_marker="<silence/>", empty_retries=0)

    async def answer(one: hikari.CommandInteraction) -> Any:
        if one.command_name == "stream":
            return await rig.client.stream(one, ScriptedProvider([]))
        silence = ScriptedProvider(["<silence/>"])
        return await rig.client.turn(one, silence, [user("hi")], settings=settings)

    async with rigged(twin, None) as rig:
        on_command(rig, answer)
        for number, name in enumerate(("stream", "turn"), 1):
            await twin.slash(name)
            await rig.until(lambda count=number: len(rig.results) == count)
    assert rig.said() == ["The model had nothing to say."] * 2


async def test_an_answer_that_the_caller_still_gives_is_left_to_them(twin: Twin) -> None:
    hushed = StreamConfig(suppress_text_output=True)

    async def answer(one: hikari.CommandInteraction) -> Any:
        call = FunctionCall((Call("roll"),))
        await rig.client.stream(one, ScriptedProvider([call]))
        await rig.client.stream(one, ScriptedProvider([]), config=hushed)
        assert len(thinking(twin)) == 1
        await one.edit_initial_response("a picture")
        return await rig.client.stream(one, ScriptedProvider([]))

    async with rigged(twin, None) as rig:
        on_command(rig, answer)
        await twin.slash("ask")
        await rig.until(lambda: bool(rig.results))
    assert rig.said() == ["a picture"]


async def test_the_thoughts_behind_what_one_person_sees_only_they_see(twin: Twin) -> None:
    async def answer(one: hikari.CommandInteraction) -> Any:
        source = ScriptedProvider(["<think>a secret</think>Hello."])
        return await rig.client.stream(
            one, source, ephemeral=True, thoughts=ThoughtDisplay("spoiler")
        )

    async with rigged(twin, None) as rig:
        on_command(rig, answer)
        await twin.slash("ask")
        await rig.until(lambda: bool(rig.results))
    assert twin.texts(ephemeral=True) == ["Hello.", "||a secret||"]
    assert all(one.is_ephemeral for one in twin.messages())


async def test_a_persona_cannot_whisper(twin: Twin) -> None:
    async with rigged(twin, None) as rig:
        with pytest.raises(BadSetting, match="persona"):
            await rig.client.stream(1, SILENT, ephemeral=True, persona=Persona("Mira"))


async def test_a_command_that_a_persona_answers_has_an_answer_of_its_own(twin: Twin) -> None:
    async with rigged(twin, None) as rig:
        on_command(
            rig,
            lambda one: rig.client.stream(
                one, ScriptedProvider(["Hello."]), persona=Persona("Mira")
            ),
        )
        asked = await twin.slash("ask")
        await rig.until(lambda: bool(rig.results))
        assert asked.is_answered
    assert rig.results[0].status == "completed"
    assert [(one.content, one.author.name) for one in twin.messages()] == [
        ("Mira answers below.", "twin-bot"),
        ("Hello.", "Mira"),
    ]
    assert twin.messages()[0].is_ephemeral


async def test_a_channel_that_is_deleted_under_a_command(twin: Twin) -> None:
    async with rigged(twin, None) as rig:
        on_command(rig, lambda one: rig.client.stream(one, ScriptedProvider([(0.2, "Hello.")])))
        twin.channel("gone")
        await twin.slash("ask", channel="gone")
        await rig.until(lambda: bool(thinking(twin, "gone")))
        twin.delete_channel("gone")
        await rig.until(lambda: bool(rig.results))
    assert (rig.results[0].status, rig.results[0].stop_reason) == ("error", "delivery_lost")
    assert rig.results[0].receipts[0].reason == "unknown_channel"
