"""What a reply shows of what it answers: in servers, in direct messages, and in scenes."""

from __future__ import annotations

from typing import Any

import anyio
import hikari
import pytest

import minamo
from minamo.core.config import StreamConfig
from minamo.errors import BadSetting
from minamo.shell.client import Client
from minamo.shell.options import Persona
from minamo.shell.providers.scripted import ScriptedProvider
from minamo.twin import Message, Twin
from support.bot import Rig, make_bot, rigged

pytestmark = pytest.mark.anyio

CHANNEL = "GET /channels/{channel}"
CAST = ("Ada", "Bea", "Cid")


async def fetched(bot: hikari.GatewayBot, asked: Message) -> hikari.Message:
    """A message as REST tells it: without the server it stands in."""
    found = await bot.rest.fetch_message(asked.channel_id, asked.id)
    assert found.guild_id is None
    return found


async def answered(client: Client, message: hikari.Message, twin: Twin, where: Any) -> bool:
    """Whether the reply to *message* shows it."""
    result = await client.stream(message, ScriptedProvider(["hey"]))
    assert result.status == "completed"
    return twin.messages(where)[-1].reply_to == message.id


@pytest.mark.parametrize("cached", [True, False])
async def test_a_fetched_message_of_a_server_is_no_direct_message(twin: Twin, cached: bool) -> None:
    parts = hikari.api.CacheComponents.ALL if cached else hikari.api.CacheComponents.NONE
    bot = make_bot(twin, cache_settings=hikari.impl.CacheSettings(components=parts))
    client = Client(bot)
    await bot.start(check_for_updates=False)
    thread = twin.thread("aside")
    for _ in range(2):
        for where in ("general", thread):
            asked = await fetched(bot, await twin.say("not for you", channel=where, user="ann"))
            assert not await answered(client, asked, twin, where)
        direct = twin.dm("ann")
        asked = await fetched(bot, await twin.say("you!", channel=direct, user="ann"))
        assert await answered(client, asked, twin, direct)
    await bot.close()
    # A direct channel is in no cache; each place is asked about once.
    assert twin.journal.count(CHANNEL) == (1 if cached else 3)


async def test_a_place_that_cannot_be_asked_about_is_no_direct_message(twin: Twin) -> None:
    bot = make_bot(
        twin,
        cache_settings=hikari.impl.CacheSettings(components=hikari.api.CacheComponents.NONE),
    )
    client = Client(bot)
    await bot.start(check_for_updates=False)
    asked = await fetched(bot, await twin.say("not for you", user="ann"))
    twin.faults.status(404, on=CHANNEL)
    assert not await answered(client, asked, twin, "general")
    assert not await answered(client, asked, twin, "general")
    await bot.close()
    assert twin.journal.count(CHANNEL) == 2  # what was not learnt is asked again


async def test_who_is_spoken_to_replies_wherever_it_was(twin: Twin) -> None:
    async with rigged(twin, None) as rig:
        me = f"<@{twin.bot.id}>"
        asked = await fetched(rig.bot, await twin.say(f"{me} hello", user="ann"))
        assert await answered(rig.client, asked, twin, "general")


async def test_a_notice_above_a_persona_leads_to_the_server(twin: Twin) -> None:
    async with rigged(twin, None) as rig:
        asked = await fetched(rig.bot, await twin.say("who?", user="ann"))
        await rig.client.stream(
            asked, ScriptedProvider(["I."]), persona=Persona("Mira"), reply=True
        )
    place = twin.channel().id
    assert f"/channels/{twin.guild.id}/{place}/{asked.id}" in twin.messages()[-2].content


async def play(rig: Rig, target: Any, **how: Any) -> list[tuple[str, str, int | None]]:
    """Three personas answer one message, in turn; who said what, and in reply to which."""
    before = len(rig.twin.messages())
    async with anyio.create_task_group() as tasks:

        async def act(name: str) -> None:
            source = ScriptedProvider([(0.05, f"I am {name}.")])
            await rig.client.stream(target, source, policy="queue", persona=Persona(name), **how)

        for name in CAST:
            tasks.start_soon(act, name)
            await anyio.sleep(0.01)
    return [(m.author.name, m.content, m.reply_to) for m in rig.twin.messages()[before:]]


async def test_a_scene_of_three_personas_reads_as_a_dialogue(twin: Twin) -> None:
    heard: list[Any] = []

    async def answer(rig: Rig, event: Any) -> Any:
        heard.append((await play(rig, event, scene=True), await play(rig, event)))
        return heard

    async with rigged(twin, answer) as rig:
        await twin.say(f"<@{twin.bot.id}> scene!", user="ann")
        await rig.until(lambda: bool(rig.results))
    scene, replies = heard[0]
    assert scene == [(name, f"I am {name}.", None) for name in CAST]
    # Without it each of them shows what it answers.
    assert sum("/channels/" in text for _, text, _ in replies) == 3


async def test_a_turn_of_a_scene_replies_to_nothing(twin: Twin) -> None:
    async def answer(rig: Rig, event: Any) -> Any:
        def model(*_: Any) -> ScriptedProvider:
            return ScriptedProvider(["So be it."])

        return await rig.client.turn(event, model, [minamo.user("hi")], scene=True)

    async with rigged(twin, answer) as rig:
        await rig.ask(f"<@{twin.bot.id}> scene!")
    assert (twin.messages()[-1].content, twin.messages()[-1].reply_to) == ("So be it.", None)


async def test_a_scene_in_the_full_form(twin: Twin) -> None:
    async with rigged(twin, None) as rig:
        orchestrator, place = await rig.client.orchestrator(), twin.channel().id
        asked = await twin.say("scene!", user="ann")
        for scene in (True, False):
            context = minamo.StreamContext(
                orchestrator=orchestrator,
                channel_id=place,
                sender=minamo.BotSender(rig.bot.rest, place),
                options=minamo.SendOptions(reply_to=asked.id),
                scene=scene,
            )
            await orchestrator.stream_to_discord(ScriptedProvider(["hey"]), StreamConfig(), context)
    assert [one.reply_to for one in twin.messages()[1:]] == [None, asked.id]


async def test_a_scene_that_replies_is_a_contradiction(twin: Twin) -> None:
    async with rigged(twin, None) as rig:
        with pytest.raises(BadSetting, match="scene"):
            await rig.client.stream(1, ScriptedProvider([]), scene=True, reply=True)


async def test_the_clock_of_a_call_is_for_turns(twin: Twin) -> None:
    config = StreamConfig()
    object.__setattr__(config, "sdk_call_timeout_ms", 300)  # less than may be set
    place = twin.channel().id
    late = ScriptedProvider([(0.9, "late, but fine")])
    async with rigged(twin, None) as rig:
        plain = await rig.client.stream(place, late, config=config)
        turn = await rig.client.turn(place, lambda *_: late, [minamo.user("hi")], config=config)
    assert (plain.status, plain.stop_reason) == ("completed", None)
    assert (turn.status, turn.stop_reason) == ("timeout", "sdk_call_timeout")


@pytest.mark.parametrize(
    ("clock", "reason"),
    [
        ("first_token_timeout_ms", "inactivity"),
        ("inactivity_timeout_ms", "inactivity"),
        ("stream_deadline_ms", "deadline"),
    ],
)
async def test_a_plain_stream_has_three_clocks(twin: Twin, clock: str, reason: str) -> None:
    said = [] if clock == "first_token_timeout_ms" else ["So far."]
    config = StreamConfig(**{clock: 200})  # type: ignore[arg-type]
    async with rigged(twin, None) as rig:
        with anyio.fail_after(5):
            source = ScriptedProvider(said, hangs=True)
            result = await rig.client.stream(twin.channel().id, source, config=config)
    assert (result.status, result.stop_reason) == ("timeout", reason)
