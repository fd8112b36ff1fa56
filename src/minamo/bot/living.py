"""From start to end: connect, wait for Ctrl-C or SIGTERM, and let replies come to their end."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

import hikari

from minamo.bot.failures import CannotRun, explained

# Replies that are being written get the client's own time to end; this is for what may hang
# behind it.
CLOSE_S = 20.0
# Killed by Ctrl-C, as shells count it.
_INTERRUPTED = 130


class Ending:
    """Set by the first signal; the second one leaves no choice."""

    def __init__(self) -> None:
        self._event = asyncio.Event()

    async def wait(self) -> None:
        """Wait for the first signal."""
        await self._event.wait()

    def heard(self) -> None:
        """A signal came."""
        if self._event.is_set():
            # hikari cannot always be cancelled, so this is the only way that surely ends.
            leave_now(_INTERRUPTED)
        self._event.set()


@asynccontextmanager
async def signals() -> AsyncIterator[Ending]:
    """Hear Ctrl-C and SIGTERM for as long as the block lasts."""
    loop, ending = asyncio.get_running_loop(), Ending()
    heard = []
    for number in (signal.SIGINT, signal.SIGTERM):
        with suppress(NotImplementedError):  # Windows raises KeyboardInterrupt instead
            loop.add_signal_handler(number, ending.heard)
            heard.append(number)
    try:
        yield ending
    finally:
        for number in heard:
            loop.remove_signal_handler(number)


def leave_now(code: int) -> None:
    """End the process without another word."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    os._exit(code)


async def start(bot: hikari.GatewayBot, ending: Ending, url: str = "") -> bool:
    """Connect; False if somebody ended it meanwhile.

    Raises:
        CannotRun: with what to do.
    """
    starting = asyncio.ensure_future(bot.start(check_for_updates=False))
    told = asyncio.ensure_future(ending.wait())
    try:
        await asyncio.wait({starting, told}, return_when=asyncio.FIRST_COMPLETED)
        if not starting.done():
            return False
        await starting
    except Exception as error:  # noqa: BLE001 - raised again, in better words if there are any
        raise explained(error, url) or error from None
    finally:
        told.cancel()
    return True


async def until_the_end(bot: hikari.GatewayBot, ending: Ending) -> None:
    """Wait for a signal, or for Discord to close the connection for good.

    Raises:
        CannotRun: with what to do.
    """
    joined = asyncio.ensure_future(bot.join())
    told = asyncio.ensure_future(ending.wait())
    try:
        await asyncio.wait({joined, told}, return_when=asyncio.FIRST_COMPLETED)
        if told.done():
            return
        try:
            await joined
        except Exception as error:  # noqa: BLE001 - as above
            raise explained(error) or error from None
        raise CannotRun("Discord closed the connection for good; start it again")
    finally:
        for one in (joined, told):
            one.cancel()
        await asyncio.gather(joined, told, return_exceptions=True)


async def close(bot: hikari.GatewayBot) -> None:
    """Close it; what hangs is left behind with the process."""
    if not bot.is_alive:
        return
    asyncio.get_running_loop().set_exception_handler(_unless_told)
    closing = asyncio.ensure_future(bot.close())
    done, _ = await asyncio.wait({closing}, timeout=CLOSE_S)
    if not done:
        print("minamo: the bot did not close in time", file=sys.stderr)  # noqa: T201
        leave_now(1)
    await closing


def _unless_told(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Leave out what hikari says once more when it closes: why Discord closed the connection."""
    if not isinstance(context.get("exception"), hikari.GatewayError):
        loop.default_exception_handler(context)
