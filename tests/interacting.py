"""Interactions with the twin, answered through lanes, for the tests of delivery."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from attrs import define

from delivering import Post
from minamo.shell.discord.interaction import InteractionSender
from minamo.shell.discord.webhook import webhook_client
from minamo.twin import Interaction


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
