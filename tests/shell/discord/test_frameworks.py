"""arc, crescent and tanjun, as they are: a command's context is a target."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import arc
import crescent
import hikari
import pytest
import tanjun

from minamo.core.result import StreamResult
from minamo.shell.client import Client
from minamo.shell.providers.scripted import ScriptedProvider
from minamo.twin import CREATE, Twin
from support.bot import make_bot, make_rest_bot, served, until

pytestmark = pytest.mark.anyio

LONG = [f"Paragraph {number}.\n\n" for number in range(3)]


@asynccontextmanager
async def running(bot: hikari.GatewayBot) -> AsyncIterator[None]:
    await bot.start(check_for_updates=False)
    try:
        yield
    finally:
        await bot.close()


def with_arc(bot: hikari.GatewayBot, results: list[StreamResult]) -> None:
    framework = arc.GatewayClient(bot)
    client = Client.from_arc(framework)
    assert framework.get_type_dependency(Client) is client

    @framework.include
    @arc.slash_command("ask", "Ask the model")
    async def ask(
        ctx: arc.GatewayContext,
        q: arc.Option[str, arc.StrParams("what")],
        minamo: Client = arc.inject(),  # noqa: B008 - arc's own way
    ) -> None:
        results.append(await minamo.stream(ctx, ScriptedProvider([*LONG, q])))


def with_crescent(bot: hikari.GatewayBot, results: list[StreamResult]) -> None:
    framework = crescent.Client(bot)
    client = Client(bot)

    @framework.include
    @crescent.command(name="ask", description="Ask the model")
    class Ask:
        q = crescent.option(str, "what")

        async def callback(self, ctx: crescent.Context) -> None:
            results.append(await client.stream(ctx, ScriptedProvider([*LONG, self.q])))


def with_tanjun(bot: hikari.GatewayBot, results: list[StreamResult]) -> None:
    # tanjun 2.17 cannot declare commands with hikari 2.7; the twin asks for undeclared ones too.
    framework = tanjun.Client.from_gateway_bot(bot, declare_global_commands=False)
    client = Client.from_tanjun(framework, bot)
    component = tanjun.Component()

    @component.with_command
    @tanjun.with_str_slash_option("q", "what")
    @tanjun.as_slash_command("ask", "Ask the model")
    async def ask(
        ctx: tanjun.abc.SlashContext,
        q: str,
        minamo: Client = tanjun.injected(type=Client),  # noqa: B008 - tanjun's own way
    ) -> None:
        assert minamo is client
        results.append(await minamo.stream(ctx, ScriptedProvider([*LONG, q])))

    framework.add_component(component)


FRAMEWORKS = {"arc": with_arc, "crescent": with_crescent, "tanjun": with_tanjun}


@pytest.mark.parametrize("name", FRAMEWORKS)
async def test_a_command_is_answered(twin: Twin, name: str, caplog: Any) -> None:
    results: list[StreamResult] = []
    bot = make_bot(twin)
    FRAMEWORKS[name](bot, results)
    async with running(bot):
        await until(lambda: bool(twin.world.commands) or name == "tanjun")
        await twin.slash("ask", {"q": "why?"})
        await until(lambda: bool(results))
    assert results[0].status == "completed"
    assert twin.texts() == ["Paragraph 0.", "Paragraph 1.", "Paragraph 2.", "why?"]
    assert twin.journal.count(CREATE) == 0  # all of it was the answer to the interaction
    assert [one.outcome for one in results[0].receipts] == ["delivered"] * 4
    assert not [one for one in caplog.records if one.levelname == "ERROR"]


async def test_an_interaction_of_hikari_itself(twin: Twin) -> None:
    results: list[StreamResult] = []
    bot = make_bot(twin)
    client = Client(bot)

    @bot.listen()
    async def on_command(event: hikari.InteractionCreateEvent) -> None:
        results.append(
            await client.stream(event.interaction, ScriptedProvider(["yes"]), ephemeral=True)
        )

    async with running(bot):
        await twin.slash("ask")
        await until(lambda: bool(results))
    assert twin.texts(ephemeral=True) == ["yes"]
    assert twin.messages()[-1].flags & hikari.MessageFlag.EPHEMERAL


async def test_arc_without_a_gateway(twin: Twin) -> None:
    bot = make_rest_bot(twin)
    framework = arc.RESTClient(bot)
    results: list[StreamResult] = []
    client = Client.from_arc(framework)

    @framework.include
    @arc.slash_command("ask", "Ask the model")
    async def ask(ctx: arc.RESTContext) -> None:
        results.append(await client.stream(ctx, ScriptedProvider(["One.\n\n", "Two."])))

    async with served(twin, bot):
        await until(lambda: bool(twin.world.commands))
        await twin.slash("ask")
        await until(lambda: bool(results))
    assert results[0].status == "completed"
    assert twin.texts() == ["One.", "Two."]
