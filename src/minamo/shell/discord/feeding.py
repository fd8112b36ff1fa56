"""Show those who look on what happens in the bot's channels, as the gateway tells it."""

from __future__ import annotations

from collections.abc import Callable

import hikari

from minamo.shell.measuring.looking import Looker

_SHOWN = frozenset({"MESSAGE_CREATE", "MESSAGE_UPDATE", "MESSAGE_DELETE", "TYPING_START"})


def feed(bot: hikari.GatewayBotAware, looker: Looker) -> Callable[[], None]:
    """Begin; returns what ends it."""

    async def on_payload(event: hikari.ShardPayloadEvent) -> None:
        if event.name in _SHOWN and looker.watched:
            looker.feed.gateway(event.name, event.payload)

    bot.event_manager.subscribe(hikari.ShardPayloadEvent, on_payload)
    return lambda: bot.event_manager.unsubscribe(hikari.ShardPayloadEvent, on_payload)
