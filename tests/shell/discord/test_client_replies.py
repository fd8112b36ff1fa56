"""What a reply shows of what it answers: in servers, direct messages and scenes; and bots without a gateway."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio
import hikari
import pytest
from attrs import define, field

import minamo
from minamo.core.config import StreamConfig
from minamo.core.result import StreamResult
from minamo.errors import BadSetting
from minamo.shell.client import Client
from minamo.shell.options import Persona
from minamo.shell.providers.scripted import ScriptedProvider
from minamo.twin import CREATE, Message, Twin
from minamo.twin.server.endpoint import EndpointFailure
from support.bot import Rig, make_bot, make_rest_bot, rigged, served, until

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


LONG = ["One.\n\n", "Two."]
SLOW = [(0.0, "First.\n\n"), (0.02, "Second"), (60.0, " never")]


@define(eq=False)
class RestRig:
    """A bot, its client, and what its replies came to."""

    bot: hikari.RESTBot
    client: Client
    results: list[StreamResult] = field(factory=list)
    tasks: set[asyncio.Task[None]] = field(factory=set)

    async def stream(self, target: Any, *script: Any, **how: Any) -> None:
        self.results.append(await self.client.stream(target, ScriptedProvider(list(script)), **how))

    def begin(self, target: Any, *script: Any, **how: Any) -> None:
        """In a task of its own, so that the request can be answered."""
        self.tasks.add(asyncio.create_task(self.stream(target, *script, **how)))


@asynccontextmanager
async def rest_rigged(
    twin: Twin, attach: Callable[[RestRig], object], **settings: Any
) -> AsyncIterator[RestRig]:
    bot = make_rest_bot(twin)
    rig = RestRig(bot, Client(bot, **settings))
    attach(rig)
    async with served(twin, bot):
        yield rig
        if rig.tasks:
            await asyncio.wait(rig.tasks)


def answers_later(rig: RestRig) -> None:
    """The listener defers by itself and goes on afterwards."""

    async def on_command(interaction: hikari.CommandInteraction) -> AsyncIterator[Any]:
        yield interaction.build_deferred_response()
        await rig.stream(interaction, *LONG)

    rig.bot.set_listener(hikari.CommandInteraction, on_command)


def answers_itself(rig: RestRig) -> None:
    """The listener leaves everything to the client."""

    async def on_command(interaction: hikari.CommandInteraction) -> None:
        await rig.stream(interaction, *LONG)

    rig.bot.set_listener(hikari.CommandInteraction, on_command)


def answers_beside(rig: RestRig) -> None:
    """The listener answers the request while a task streams."""

    async def on_command(interaction: hikari.CommandInteraction) -> Any:
        rig.begin(interaction, *LONG)
        return interaction.build_deferred_response()

    rig.bot.set_listener(hikari.CommandInteraction, on_command)


@pytest.mark.parametrize("attach", [answers_later, answers_itself, answers_beside])
async def test_a_command_is_answered(twin: Twin, attach: Callable[[RestRig], object]) -> None:
    async with rest_rigged(twin, attach) as rig:
        asked = await twin.slash("ask")
        await until(lambda: bool(rig.results))
        assert rig.results[0].status == "completed"
        assert not asked.failed
    assert twin.texts() == ["One.", "Two."]
    assert twin.journal.count(CREATE) == 0  # all of it was the answer to the interaction


def speaks_in_a_channel(rig: RestRig, twin: Twin) -> None:
    rig.begin(twin.channel("general").id, *SLOW, button=True)


async def test_the_button_works_without_a_listener_of_ones_own(twin: Twin) -> None:
    async with rest_rigged(twin, lambda _: None) as rig:
        speaks_in_a_channel(rig, twin)
        await until(lambda: twin.texts() == ["First."])
        shown = twin.messages()[0]
        custom_id = shown.components[0]["components"][0]["custom_id"]
        await twin.click(shown, custom_id)
        await until(lambda: bool(rig.results))
        await until(lambda: "Stopped." in twin.texts(ephemeral=True))
    assert (rig.results[0].status, rig.results[0].stop_reason) == (
        "stopped_by_user",
        "user_request",
    )


async def test_a_listener_of_ones_own_passes_on_what_is_not_its_own(twin: Twin) -> None:
    others: list[str] = []

    def attach(rig: RestRig) -> None:
        async def on_press(interaction: hikari.ComponentInteraction) -> None:
            if not await rig.client.answer_stop(interaction):
                others.append(interaction.custom_id)

        async def on_command(interaction: hikari.CommandInteraction) -> None:
            if not await rig.client.answer_stop(interaction):
                others.append(interaction.command_name)

        rig.bot.set_listener(hikari.ComponentInteraction, on_press)
        rig.bot.set_listener(hikari.CommandInteraction, on_command)

    async with rest_rigged(twin, attach, stop_command="stop") as rig:
        assert [one["name"] for shelf in twin.world.commands.values() for one in shelf.values()]
        speaks_in_a_channel(rig, twin)
        await until(lambda: twin.texts() == ["First."])
        asked = await twin.slash("stop")
        await until(lambda: bool(rig.results))
        await until(lambda: "Stopped." in twin.texts(ephemeral=True))
        twin.world.commands.clear()
        await twin.slash("else")
        await until(lambda: others == ["else"])
        assert asked.is_answered


async def test_what_is_being_written_comes_to_an_end_with_the_bot(twin: Twin) -> None:
    rig_seen: list[RestRig] = []
    async with rest_rigged(twin, lambda _: None) as rig:
        rig_seen.append(rig)
        speaks_in_a_channel(rig, twin)
        await until(lambda: twin.texts() == ["First."])
        await asyncio.sleep(0.05)
        await rig.bot.close()
    result = rig_seen[0].results[0]
    assert (result.status, result.stop_reason) == ("stopped_by_user", "system_request")
    assert twin.texts() == ["First.", "Second"]


async def test_an_address_where_nobody_answers_is_refused(twin: Twin) -> None:
    with pytest.raises(EndpointFailure, match="cannot be reached"):
        await twin.send_interactions_to("http://127.0.0.1:9/")


async def test_a_command_that_nobody_listens_to_fails_for_its_user(twin: Twin) -> None:
    async with rest_rigged(twin, lambda _: None):
        asked = await twin.slash("ask")
        await until(lambda: asked.failed != "")
    assert asked.failed == "HTTP 501"
