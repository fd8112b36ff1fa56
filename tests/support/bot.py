"""A real hikari bot with a client, on the twin, over real sockets."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

import hikari
from attrs import define, field

from minamo.core.result import StreamResult
from minamo.shell.client import Client
from minamo.shell.providers.scripted import ScriptedProvider
from minamo.twin import Twin
from support.waiting import until

Answer = Callable[["Rig", Any], Awaitable[Any]]


@define(eq=False)
class Rig:
    """A bot on a twin, and what its replies came to."""

    twin: Twin
    bot: hikari.GatewayBot
    client: Client
    results: list[Any] = field(factory=list)
    errors: list[BaseException] = field(factory=list)

    async def ask(self, text: str = "hi", user: str = "ann", **where: Any) -> Any:
        """Say something, and wait for one more result."""
        before = len(self.results)
        asked = await self.twin.say(text, user=user, **where)
        await self.until(lambda: len(self.results) > before)
        del asked
        return self.results[-1]

    async def until(self, holds: Callable[[], bool]) -> None:
        def seen() -> bool:
            if self.errors:
                raise self.errors[0]
            return holds()

        await until(seen)

    def said(self, channel: str = "general") -> list[str]:
        """What the bot said there."""
        return self.twin.texts(channel)


def make_bot(twin: Twin, **settings: Any) -> hikari.GatewayBot:
    return hikari.GatewayBot(
        twin.token,
        rest_url=twin.url,
        banner=None,
        logs=None,
        suppress_optimization_warning=True,
        **{"intents": hikari.Intents.ALL, **settings},
    )


def make_rest_bot(twin: Twin) -> hikari.RESTBot:
    return hikari.RESTBot(
        twin.token,
        "Bot",
        rest_url=twin.url,
        banner=None,
        logs=None,
        suppress_optimization_warning=True,
    )


@asynccontextmanager
async def served(twin: Twin, bot: hikari.RESTBot) -> AsyncIterator[None]:
    """A bot without a gateway, which the twin tells of interactions."""
    await bot.start(host="127.0.0.1", port=0, check_for_updates=False)
    # hikari has no public name for the port that the system chose.
    host, port = bot._server._server.addresses[0][:2]  # type: ignore[union-attr]
    await twin.send_interactions_to(f"http://{host}:{port}/")
    try:
        yield
    finally:
        if bot.is_alive:
            await bot.close()


@asynccontextmanager
async def rigged(twin: Twin, answer: Answer | None, **settings: Any) -> AsyncIterator[Rig]:
    """A bot that answers every message of a person with *answer*."""
    bot = make_bot(twin)
    rig = Rig(twin, bot, Client(bot, **settings))

    async def on_message(event: hikari.MessageCreateEvent) -> None:
        if answer is None or not event.is_human:
            return
        try:
            rig.results.append(await answer(rig, event))
        except BaseException as error:
            rig.errors.append(error)
            raise

    bot.event_manager.subscribe(hikari.MessageCreateEvent, on_message)
    await bot.start(check_for_updates=False)
    try:
        yield rig
    finally:
        if bot.is_alive:
            await bot.close()


def streaming(source: Any, **how: Any) -> Answer:
    """Answer with *source*, which may be a list of lines of a script."""

    async def answer(rig: Rig, event: Any) -> StreamResult:
        made = source(event) if callable(source) else source
        if isinstance(made, Sequence):
            made = ScriptedProvider(list(made))
        return await rig.client.stream(event, made, **how)

    return answer


def on_command(
    rig: Rig, answer: Callable[[hikari.CommandInteraction], Awaitable[Any]]
) -> Callable[[], None]:
    """Answer every slash command with *answer*; returns what ends that."""

    async def listen(event: hikari.InteractionCreateEvent) -> None:
        if isinstance(event.interaction, hikari.CommandInteraction):
            try:
                rig.results.append(await answer(event.interaction))
            except BaseException as error:
                rig.errors.append(error)
                raise

    rig.bot.subscribe(hikari.InteractionCreateEvent, listen)
    return lambda: rig.bot.unsubscribe(hikari.InteractionCreateEvent, listen)
