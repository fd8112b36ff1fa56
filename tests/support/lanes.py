"""Lanes over the real hikari, for the tests of delivery on the twin."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from itertools import count
from typing import Any

import hikari
from attrs import define

from minamo.core.messages import Receipt
from minamo.machine.machine import Observer
from minamo.shell.delivery.interfaces import SendOptions as SendOptions
from minamo.shell.delivery.interfaces import TextQueue
from minamo.shell.delivery.lanes import Lanes, open_lanes
from minamo.shell.delivery.pacing import PACES, Pacer, RateLimit
from minamo.shell.delivery.persona import PersonaSender
from minamo.shell.delivery.queue import StreamQueue
from minamo.shell.discord.bot import BotSender
from minamo.shell.discord.interaction import InteractionSender
from minamo.shell.discord.webhook import BotWebhooks, WebhookSender, webhook_client
from minamo.shell.telemetry.telemetry import redact_hikari_logs
from minamo.twin import Interaction, Twin

_NUMBERS = count()


def unpaced() -> Pacer:
    """For what is not about pace, on a twin without limits."""
    at_once = RateLimit(10_000, 0.0001)
    return Pacer(dict.fromkeys(PACES, (at_once,)), at_once)


@define(eq=False)
class Post:
    """A bot's lanes, and short ways to use them."""

    twin: Twin
    rest: hikari.api.RESTClient
    lanes: Lanes

    def sender(self, channel: str = "general") -> BotSender:
        return BotSender(self.rest, self.twin.channel(channel).id)

    def open(
        self, texts: Sequence[str], channel: str = "general", *, sender: Any = None, **options: Any
    ) -> StreamQueue:
        sender = sender or self.sender(channel)
        place = self.twin.channel(channel).id
        options.setdefault("stream_id", f"stream {next(_NUMBERS)}")
        one = self.lanes.open(place, sender, TextQueue(list(texts)), **options)
        one.deliver()
        return one

    async def send(
        self, *texts: str, channel: str = "general", **options: Any
    ) -> tuple[Receipt, ...]:
        async with self.open(texts, channel, **options) as one:
            return await one.finish()


@asynccontextmanager
async def posting(
    twin: Twin,
    *,
    pacer: Pacer | None = None,
    watch: Observer | None = None,
    drain_s: float = 5.0,
    **settings: Any,
) -> AsyncIterator[Post]:
    """A bare REST client and lanes over it; *settings* are the client's."""
    redact_hikari_logs()  # as a client of ours does
    app = hikari.RESTApp(url=twin.url, **settings)
    await app.start()
    try:
        async with (
            app.acquire(twin.token, hikari.TokenType.BOT) as rest,
            open_lanes(pacer=pacer, watch=watch, drain_s=drain_s) as lanes,
        ):
            yield Post(twin, rest, lanes)
    finally:
        await app.close()


@asynccontextmanager
async def persona(
    post: Post, channel: str = "general", **looks: Any
) -> AsyncIterator[WebhookSender]:
    """A webhook of the channel, over a client of its own."""
    redact_hikari_logs()  # as a client of ours does
    made = await post.rest.create_webhook(post.twin.channel(channel).id, "persona")
    assert made.token is not None
    async with webhook_client(post.twin.url) as rest:
        yield WebhookSender(rest, int(made.id), made.token, post.sender(channel), **looks)


@asynccontextmanager
async def ada(post: Post, name: str = "Ada", **more: Any) -> AsyncIterator[PersonaSender]:
    """A persona whose webhook is found or made, and made again."""
    bot = post.sender()
    async with webhook_client(post.twin.url) as rest:

        def voice(webhook_id: int, token: str) -> WebhookSender:
            return WebhookSender(rest, webhook_id, token, bot, name=name)

        place = post.twin.channel().id
        yield PersonaSender(place, BotWebhooks(post.rest), voice, bot, **more)


def reasons(receipts: Sequence[Receipt]) -> list[tuple[str, str]]:
    return [(one.outcome, one.reason) for one in receipts]


@define
class Clock:
    """A clock that moves when it is told to."""

    now: float = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now


@asynccontextmanager
async def asked(
    post: Post, *, channel: Any = "general", used: Interaction | None = None, **options: Any
) -> AsyncIterator[tuple[Interaction, InteractionSender]]:
    """Somebody uses a command; a sender that answers."""
    used = used or await post.twin.slash("ask", channel=channel)
    bot = post.sender() if channel == "general" else post.sender(channel)
    async with webhook_client(post.twin.url) as rest:
        yield (
            used,
            InteractionSender(rest, post.twin.bot.id, used.id, used.token, bot, **options),
        )
