"""A bot without a gateway: `hikari.RESTBot`, told of interactions by signed requests."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import hikari
import pytest
from attrs import define, field

from minamo.core.result import StreamResult
from minamo.shell.client import Client
from minamo.shell.providers.scripted import ScriptedProvider
from minamo.twin import CREATE, Twin
from minamo.twin.server.endpoint import EndpointFailure
from support.bot import make_rest_bot, served, until

pytestmark = pytest.mark.anyio

LONG = ["One.\n\n", "Two."]
SLOW = [(0.0, "First.\n\n"), (0.02, "Second"), (60.0, " never")]


@define(eq=False)
class Rig:
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
async def rigged(
    twin: Twin, attach: Callable[[Rig], object], **settings: Any
) -> AsyncIterator[Rig]:
    bot = make_rest_bot(twin)
    rig = Rig(bot, Client(bot, **settings))
    attach(rig)
    async with served(twin, bot):
        yield rig
        if rig.tasks:
            await asyncio.wait(rig.tasks)


def answers_later(rig: Rig) -> None:
    """The listener defers by itself and goes on afterwards."""

    async def on_command(interaction: hikari.CommandInteraction) -> AsyncIterator[Any]:
        yield interaction.build_deferred_response()
        await rig.stream(interaction, *LONG)

    rig.bot.set_listener(hikari.CommandInteraction, on_command)


def answers_itself(rig: Rig) -> None:
    """The listener leaves everything to the client."""

    async def on_command(interaction: hikari.CommandInteraction) -> None:
        await rig.stream(interaction, *LONG)

    rig.bot.set_listener(hikari.CommandInteraction, on_command)


def answers_beside(rig: Rig) -> None:
    """The listener answers the request while a task streams."""

    async def on_command(interaction: hikari.CommandInteraction) -> Any:
        rig.begin(interaction, *LONG)
        return interaction.build_deferred_response()

    rig.bot.set_listener(hikari.CommandInteraction, on_command)


@pytest.mark.parametrize("attach", [answers_later, answers_itself, answers_beside])
async def test_a_command_is_answered(twin: Twin, attach: Callable[[Rig], object]) -> None:
    async with rigged(twin, attach) as rig:
        asked = await twin.slash("ask")
        await until(lambda: bool(rig.results))
        assert rig.results[0].status == "completed"
        assert not asked.failed
    assert twin.texts() == ["One.", "Two."]
    assert twin.journal.count(CREATE) == 0  # all of it was the answer to the interaction


def speaks_in_a_channel(rig: Rig, twin: Twin) -> None:
    rig.begin(twin.channel("general").id, *SLOW, button=True)


async def test_the_button_works_without_a_listener_of_ones_own(twin: Twin) -> None:
    async with rigged(twin, lambda _: None) as rig:
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

    def attach(rig: Rig) -> None:
        async def on_press(interaction: hikari.ComponentInteraction) -> None:
            if not await rig.client.answer_stop(interaction):
                others.append(interaction.custom_id)

        async def on_command(interaction: hikari.CommandInteraction) -> None:
            if not await rig.client.answer_stop(interaction):
                others.append(interaction.command_name)

        rig.bot.set_listener(hikari.ComponentInteraction, on_press)
        rig.bot.set_listener(hikari.CommandInteraction, on_command)

    async with rigged(twin, attach, stop_command="stop") as rig:
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
    rig_seen: list[Rig] = []
    async with rigged(twin, lambda _: None) as rig:
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
    async with rigged(twin, lambda _: None):
        asked = await twin.slash("ask")
        await until(lambda: asked.failed != "")
    assert asked.failed == "HTTP 501"
