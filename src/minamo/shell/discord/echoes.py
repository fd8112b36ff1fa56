"""The bot's own messages, as the gateway shows them."""

from __future__ import annotations

from collections.abc import Callable

import hikari


def hear_echoes(
    bot: hikari.GatewayBotAware, heard: Callable[[int, str, int], object]
) -> Callable[[], None]:
    """Have *heard* told channel, nonce and id of the bot's own messages; returns what ends it."""

    async def on_message(event: hikari.MessageCreateEvent) -> None:
        me, nonce = bot.get_me(), event.message.nonce
        # Nonces can be seen by others, and used by them; only our own messages count.
        if nonce and me is not None and event.author_id == me.id:
            heard(int(event.channel_id), nonce, int(event.message_id))

    bot.event_manager.subscribe(hikari.MessageCreateEvent, on_message)
    return lambda: bot.event_manager.unsubscribe(hikari.MessageCreateEvent, on_message)
