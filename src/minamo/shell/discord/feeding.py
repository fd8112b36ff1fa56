"""Show those who look on what happens in the bot's channels, as the gateway tells it."""

from __future__ import annotations

from collections.abc import Callable

import hikari

from minamo.shell.measuring.looking import Looker

_SHOWN = frozenset({"MESSAGE_CREATE", "MESSAGE_UPDATE", "MESSAGE_DELETE", "TYPING_START"})
# What channels are called is told once, long before anybody looks.
_NAMED = frozenset({"GUILD_CREATE", "CHANNEL_CREATE", "CHANNEL_UPDATE", "THREAD_CREATE"})


def feed(bot: hikari.GatewayBotAware, looker: Looker) -> Callable[[], None]:
    """Begin; returns what ends it."""

    async def on_payload(event: hikari.ShardPayloadEvent) -> None:
        if event.name in _NAMED or (event.name in _SHOWN and looker.watched):
            looker.feed.gateway(event.name, event.payload)

    # Guilds that came before this began are in the bot's cache, if it keeps one.
    known = [*bot.cache.get_guild_channels_view().values(), *bot.cache.get_threads_view().values()]
    channels = [{"id": str(int(one.id)), "name": one.name} for one in known]
    looker.feed.gateway("GUILD_CREATE", {"channels": channels})
    bot.event_manager.subscribe(hikari.ShardPayloadEvent, on_payload)
    return lambda: bot.event_manager.unsubscribe(hikari.ShardPayloadEvent, on_payload)
