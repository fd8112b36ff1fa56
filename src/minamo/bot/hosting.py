"""From settings to a hikari bot and the client beside it."""

from __future__ import annotations

import hikari

from minamo.bot.settings import Settings
from minamo.shell.client import Client
from minamo.shell.measuring.looking import Looker
from minamo.shell.stopping.lease import Lease
from minamo.shell.stopping.stops import Stops
from minamo.shell.telling.thoughts import Thoughts

# What is said to the bot comes with its words even without the privileged intent.  Channels and
# threads are known through GUILDS.
_INTENTS = hikari.Intents.GUILDS | hikari.Intents.GUILD_MESSAGES | hikari.Intents.DM_MESSAGES


def intents(settings: Settings) -> hikari.Intents:
    """What the bot asks the gateway for."""
    more = settings.discord.message_content
    return _INTENTS | hikari.Intents.MESSAGE_CONTENT if more else _INTENTS


def make_bot(settings: Settings) -> hikari.GatewayBot:
    """A bot that is not started yet and prints nothing of its own."""
    return hikari.GatewayBot(
        settings.discord.token,
        rest_url=settings.discord.url or None,
        intents=intents(settings),
        banner=None,
        logs=None,
        suppress_optimization_warning=True,
        cache_settings=hikari.impl.CacheSettings(
            # A bot in large servers would otherwise keep all of their people in memory.
            components=hikari.api.CacheComponents.ME
            | hikari.api.CacheComponents.GUILDS
            | hikari.api.CacheComponents.GUILD_CHANNELS
            | hikari.api.CacheComponents.GUILD_THREADS,
        ),
    )


def make_client(
    bot: hikari.GatewayBot,
    settings: Settings,
    *,
    looker: Looker | None = None,
    stops: Stops | None = None,
    lease: Lease | None = None,
) -> Client:
    """The client with everything the owner decided."""
    wants = settings.bot
    return Client(
        bot,
        config=settings.stream,
        policy=wants.while_busy,  # type: ignore[arg-type]  # checked by the settings
        stops=stops,
        lease=lease,
        thoughts=Thoughts(wants.thoughts, channel_id=wants.thoughts_channel or None),  # type: ignore[arg-type]
        locale=wants.locale,
        stop_command=wants.stop_command or None,
        rest_url=settings.discord.url or None,
        inspect=False if looker is None else looker,
    )
