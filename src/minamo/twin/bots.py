"""Bots under test: start one on the twin, and close it however the test ends."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, Protocol

import anyio

from minamo.twin.discord import Discord

_READY_S = 10.0
#: A bot may drain its work first; a close that takes longer than this never ends.
_CLOSE_S = 10.0


class TwinFailure(AssertionError):
    """A failure of the bot under test.

    It called an unsupported route, made enough invalid calls for a ban, or did not close.
    """


class Bot(Protocol):
    """A client of Discord: hikari's bots, discord.py's, or any object with these two methods."""

    @property
    def start(self) -> Callable[..., Awaitable[Any]]:
        """Connect to Discord, and return when connected; discord.py returns when closed."""
        ...

    @property
    def close(self) -> Callable[[], Awaitable[Any]]:
        """Disconnect from Discord."""
        ...


@asynccontextmanager
async def running(discord: Discord, bot: Bot, **options: object) -> AsyncIterator[None]:
    """Start *bot* with *options*, and close it when the block ends, by an exception too."""
    known = inspect.signature(bot.start).parameters
    if "check_for_updates" in known:  # hikari would ask the package index, which is no part of this
        options = {"check_for_updates": False, **options}
    session: asyncio.Future[Any] | None = None
    try:
        if "token" in known:  # discord.py: `start` runs the whole session
            options = {"token": discord.token, **options}
            session = asyncio.ensure_future(bot.start(**options))
            await _ready(discord, session)
        else:
            await bot.start(**options)
        yield
    except BaseException as error:
        await _close(bot, session, error)
        raise
    await _close(bot, session, None)


async def _ready(discord: Discord, session: asyncio.Future[Any]) -> None:
    """Wait until the bot has connected, or raise what ended its session."""
    session.add_done_callback(lambda _: discord.journal.changed())
    seen = len(discord.journal.events("READY"))
    await discord.journal.until(
        lambda: session.done() or len(discord.journal.events("READY")) > seen, _READY_S
    )
    if session.done():
        session.result()


async def _close(
    bot: Bot, session: asyncio.Future[Any] | None, error: BaseException | None
) -> None:
    """Close *bot*; a failure to close is raised, or becomes a note of the test's own *error*."""
    # hikari refuses to close a bot that its test has closed already, and has an attribute for it.
    if not getattr(bot, "is_alive", True):
        return
    try:
        with anyio.fail_after(_CLOSE_S, shield=True):
            await bot.close()
            if session is not None:
                await asyncio.wait([session])
    except Exception as failure:
        if error is None:
            raise TwinFailure(f"the bot did not close: {failure!r}") from failure
        error.add_note(f"Besides, the bot did not close: {failure!r}")
