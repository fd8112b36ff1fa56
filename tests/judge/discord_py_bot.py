"""A real discord.py bot on the twin, which keeps all it is told."""

from __future__ import annotations

import asyncio
import traceback
import warnings
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
import yarl
from attrs import define, field

from minamo.twin import Twin

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # it imports audioop, for voice
    import discord
    from discord import app_commands
    from discord.gateway import DiscordWebSocket
    from discord.http import Route


class Bot(discord.Client):
    """A client that writes down every event, with what it was told."""

    def __init__(self, **settings: Any) -> None:
        # It waits that long after the last server before it calls itself ready.
        super().__init__(guild_ready_timeout=0.05, **settings)
        self.tree = app_commands.CommandTree(self)
        self.heard: dict[str, list[tuple[Any, ...]]] = defaultdict(list)
        self.errors: list[str] = []

    def dispatch(self, event: str, /, *args: Any, **kwargs: Any) -> None:
        self.heard[event].append(args)
        super().dispatch(event, *args, **kwargs)

    async def on_error(self, event_method: str, /, *args: Any, **kwargs: Any) -> None:
        self.errors.append(f"{event_method}: {traceback.format_exc()}")


@define(eq=False)
class Rig:
    """The twin, the bot, and the channel where both meet."""

    twin: Twin
    bot: Bot
    running: asyncio.Task[None] = field(repr=False)

    @property
    def guild(self) -> discord.Guild:
        found = self.bot.get_guild(self.twin.guild.id)
        assert found is not None
        return found

    @property
    def channel(self) -> Any:
        return self.guild.get_channel(self.twin.channel().id)

    async def until(self, holds: Callable[[], Any], timeout_s: float = 10.0) -> Any:
        """Wait for what the other side of a socket does; what it is."""
        async with asyncio.timeout(timeout_s):
            while not (found := holds()):
                if self.running.done():
                    await self.running
                await asyncio.sleep(0.005)
        return found

    async def hears(self, event: str, count: int = 1, timeout_s: float = 10.0) -> Any:
        """Wait for an event; what it told, the only thing if it is one."""
        await self.until(lambda: len(self.bot.heard[event]) >= count, timeout_s)
        told = self.bot.heard[event][count - 1]
        return told[0] if len(told) == 1 else told

    async def asked(self, text: str = "hello", **who: Any) -> Any:
        """Let a person say something, and wait until the bot heard it."""
        said = await self.twin.say(text, **who)
        heard = self.bot.heard["message"]
        return await self.until(lambda: next((m for (m,) in heard if m.id == said.id), None))


@asynccontextmanager
async def connected(
    twin: Twin,
    patch: pytest.MonkeyPatch,
    prepare: Callable[[Bot], Awaitable[None] | None] | None = None,
    token: str | None = None,
    **settings: Any,
) -> AsyncIterator[Rig]:
    """A discord.py bot that is ready; nothing may have gone wrong in it at the end."""
    patch.setattr(Route, "BASE", twin.url)
    patch.setattr(DiscordWebSocket, "DEFAULT_GATEWAY", yarl.URL(twin.gateway_url))
    async with Bot(**{"intents": discord.Intents.all(), **settings}) as bot:
        if prepare is not None and (made := prepare(bot)) is not None:
            await made
        rig = Rig(twin, bot, asyncio.create_task(bot.start(token or twin.token)))
        try:
            await rig.hears("ready")
            yield rig
        finally:
            await bot.close()
            await asyncio.gather(rig.running, return_exceptions=True)
    assert not bot.errors, bot.errors[0]
