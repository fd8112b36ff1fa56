"""Whether a channel is a server's or a direct one, asked for once and remembered.

A message that was fetched does not tell which server it stands in, and a missing server does not
make it a direct message.
"""

from __future__ import annotations

import hikari
from attrs import define, evolve, field

from minamo.shell.discord.calls import Calls
from minamo.shell.discord.targets import Target

# A few bytes each; a bot that speaks in more channels asks again for the oldest.
PLACES_MAX = 10_000
_DIRECT = 0


@define(eq=False)
class Places:
    """The channels of one bot."""

    _bot: hikari.RESTAware = field(repr=False)
    _guilds: dict[int, int] = field(factory=dict, init=False, repr=False)
    _calls: Calls = field(factory=Calls, init=False, repr=False)

    async def locate(self, target: Target) -> Target:
        """Return *target* with its server; what cannot be found out is no direct message."""
        if target.is_located:
            return target
        guild_id = await self._guild_of(target.channel_id)
        return evolve(
            target,
            guild_id=guild_id or None,
            addressed=target.addressed or guild_id == _DIRECT,
            is_located=True,
        )

    async def _guild_of(self, channel_id: int) -> int | None:
        known = self._guilds.get(channel_id)
        if known is None:
            known = self._cached(channel_id)
        if known is None:
            known = await self._fetched(channel_id)
        if known is not None:
            if len(self._guilds) >= PLACES_MAX:
                del self._guilds[next(iter(self._guilds))]
            self._guilds[channel_id] = known
        return known

    def _cached(self, channel_id: int) -> int | None:
        if not isinstance(self._bot, hikari.CacheAware):
            return None
        cache = self._bot.cache
        found = cache.get_guild_channel(channel_id) or cache.get_thread(channel_id)
        return None if found is None else int(found.guild_id)

    async def _fetched(self, channel_id: int) -> int | None:
        found: list[hikari.PartialChannel] = []

        async def look() -> None:
            found.append(await self._bot.rest.fetch_channel(channel_id))

        await self._calls.make(look())
        if not found:
            return None
        return int(found[0].guild_id) if isinstance(found[0], hikari.GuildChannel) else _DIRECT
