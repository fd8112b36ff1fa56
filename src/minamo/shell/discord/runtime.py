"""The runtime of one bot: lanes, webhook client and services, in a task of their own.

Opened at the bot's first reply and closed when the bot stops.  hikari runs every listener in a task
that ends with it, so lanes cannot run in one.  This file also subscribes to the gateway, for
echoes and for the inspector, and checks the bot given to a client.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from typing import Any, cast

import hikari
from attrs import define, field, frozen

from minamo.core.messages import Receipt
from minamo.errors import BadSetting, ClientClosed
from minamo.shell.delivery.lanes import DRAIN_S, Lanes, open_lanes
from minamo.shell.delivery.pacing import Pacer
from minamo.shell.discord.bot import CallRunner
from minamo.shell.discord.webhook import BotWebhooks, webhook_client
from minamo.shell.telemetry.observer import StreamInspector


def watch_echoes(
    bot: hikari.GatewayBotAware, heard: Callable[[int, str, int], object]
) -> Callable[[], None]:
    """Call *heard* with channel, nonce and id of the bot's messages; return the unsubscriber."""

    async def on_message(event: hikari.MessageCreateEvent) -> None:
        me, nonce = bot.get_me(), event.message.nonce
        # Other users can see and reuse nonces; only the bot's own messages count.
        if nonce and me is not None and event.author_id == me.id:
            heard(int(event.channel_id), nonce, int(event.message_id))

    bot.event_manager.subscribe(hikari.MessageCreateEvent, on_message)
    return lambda: bot.event_manager.unsubscribe(hikari.MessageCreateEvent, on_message)


_SHOWN = frozenset({"MESSAGE_CREATE", "MESSAGE_UPDATE", "MESSAGE_DELETE", "TYPING_START"})
# Channel names are sent once, long before an inspector page is open.
_NAMED = frozenset({"GUILD_CREATE", "CHANNEL_CREATE", "CHANNEL_UPDATE", "THREAD_CREATE"})


def feed(bot: hikari.GatewayBotAware, inspector: StreamInspector) -> Callable[[], None]:
    """Pass gateway events to the inspector from now on; return the unsubscriber."""

    async def on_payload(event: hikari.ShardPayloadEvent) -> None:
        if event.name in _NAMED or (event.name in _SHOWN and inspector.watched):
            inspector.feed.gateway(event.name, event.payload)

    # Guilds received before the subscription are in the bot's cache, if it keeps one.
    known = [*bot.cache.get_guild_channels_view().values(), *bot.cache.get_threads_view().values()]
    channels = [{"id": str(int(channel.id)), "name": channel.name} for channel in known]
    inspector.feed.gateway("GUILD_CREATE", {"channels": channels})
    bot.event_manager.subscribe(hikari.ShardPayloadEvent, on_payload)
    return lambda: bot.event_manager.unsubscribe(hikari.ShardPayloadEvent, on_payload)


@frozen
class _Rest:
    """A bare REST client in the shape of a bot, with its `rest` attribute."""

    rest: hikari.api.RESTClient


def bot_of(given: object) -> hikari.RESTAware:
    """Return the bot given to a client; a REST client counts as a bot without events.

    Raises:
        BadSetting: if it is neither.
    """
    if isinstance(given, hikari.RESTAware):
        return given
    # Not `isinstance`: hikari's check is structural there, and accepts a bot or an app as well.
    if hikari.api.RESTClient in type(given).__mro__:
        return cast("hikari.RESTAware", _Rest(cast("hikari.api.RESTClient", given)))
    raise BadSetting(
        f"a client is for a bot, such as hikari.GatewayBot(…) or hikari.RESTBot(…); "
        f"this is of type {type(given).__name__}"
    )


def listeners(bot: hikari.RESTAware) -> Collection[object]:
    """Return the listeners called when *bot* starts."""
    if isinstance(bot, hikari.GatewayBotAware):
        return bot.event_manager.get_listeners(hikari.StartedEvent)
    return bot.on_startup if isinstance(bot, hikari.RESTBotAware) else ()


def check_running(bot: hikari.RESTAware) -> None:
    """Refuse a bot that is not running.

    Raises:
        ClientClosed: if it is not; the message says what to do.
    """
    if not bot.rest.is_alive:
        raise ClientClosed(
            "the bot is not running yet; stream from one of its listeners, or after bot.start()"
        )


@define(eq=False)
class Runtime:
    """The resources that are open while the bot runs."""

    lanes: Lanes
    webhooks: hikari.api.RESTClient = field(repr=False)
    """The client for webhooks and interactions, which never retries."""
    own_webhooks: BotWebhooks = field(repr=False)
    calls: CallRunner = field(factory=CallRunner, repr=False)


class RuntimeHost:
    """The owner of one runtime, which it keeps open in a task of its own."""

    def __init__(
        self,
        bot: hikari.RESTAware,
        *,
        rest_url: str | None = None,
        pacer: Pacer | None = None,
        inspector: StreamInspector | None = None,
        page: Callable[[], AbstractAsyncContextManager[Any]] | None = None,
        services: Sequence[object] = (),
    ) -> None:
        self._bot = bot
        self._services = services
        self._inspector = inspector
        self._page = page
        # If a bot uses a substitute for Discord, such as the twin, its webhooks must not call the
        # real one.  hikari has no public name for this.
        self._url = rest_url or getattr(bot.rest, "_rest_url", None)
        self._pacer = pacer
        self._task: asyncio.Task[None] | None = None
        self._runtime: asyncio.Future[Runtime] | None = None
        self._leave: asyncio.Event | None = None

    async def runtime(self) -> Runtime:
        """Return the runtime; the first call opens it."""
        if self._runtime is None:
            loop = asyncio.get_running_loop()
            self._runtime, self._leave = loop.create_future(), asyncio.Event()
            self._task = loop.create_task(self._keep(self._runtime, self._leave), name="minamo")
        return await asyncio.shield(self._runtime)

    async def close(self, drain_s: float = DRAIN_S) -> list[Receipt]:
        """Send accepted text for at most *drain_s*, close, and return the receipts of lost text."""
        if self._task is None or self._leave is None:
            return []
        runtime = await self.runtime()
        lost = await runtime.lanes.close(drain_s)
        self._leave.set()
        await asyncio.shield(self._task)
        return lost

    async def _keep(self, started: asyncio.Future[Runtime], leave: asyncio.Event) -> None:
        try:
            async with AsyncExitStack() as stack:
                for service in self._services:
                    if isinstance(service, AbstractAsyncContextManager):
                        await stack.enter_async_context(service)
                webhooks = await stack.enter_async_context(
                    webhook_client(self._url, like=self._bot.rest)
                )
                look = None if self._inspector is None else self._inspector.observer("delivery")
                lanes = await stack.enter_async_context(open_lanes(pacer=self._pacer, watch=look))
                if isinstance(self._bot, hikari.GatewayBotAware):
                    stack.callback(watch_echoes(self._bot, lanes.echoed))
                    if self._inspector is not None:
                        stack.callback(feed(self._bot, self._inspector))
                if self._page is not None:
                    await stack.enter_async_context(self._page())
                started.set_result(Runtime(lanes, webhooks, BotWebhooks(self._bot.rest)))
                await leave.wait()
        except Exception as error:
            if started.done():
                raise
            started.set_exception(error)
