"""`minamo run`: the bot on the real Discord, or the demo if there is no token.

Starts and stops everything in order, and handles signals.
"""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import hikari

from minamo.bot.demo.demo import demo_world
from minamo.bot.doctor_discord import CannotRun, explained
from minamo.bot.factory import make_bot, make_client, make_providers, with_options
from minamo.bot.health import PrometheusMetrics, Readiness, serve_health
from minamo.bot.listener import Answering
from minamo.bot.provider_check import Probed, probe
from minamo.bot.settings import ProviderSettings, Settings
from minamo.bot.tools import add_mcp, toolbox
from minamo.inspect.hub import Hub
from minamo.inspect.server import serve
from minamo.shell.stops.registry import Stops
from minamo.shell.turns.channels import Lease

# Running replies get the client's own time to end; this limit is for anything that hangs after
# that.
CLOSE_S = 20.0
# Exit code of a process killed by Ctrl-C, by the convention of shells.
_INTERRUPTED = 130


class Ending:
    """The shutdown request: set by the first signal; a second signal exits immediately."""

    def __init__(self) -> None:
        self._event = asyncio.Event()

    async def wait(self) -> None:
        """Wait for the first signal."""
        await self._event.wait()

    def heard(self) -> None:
        """Handle a signal."""
        if self._event.is_set():
            # hikari cannot always be cancelled, so this is the only exit that is certain.
            leave_now(_INTERRUPTED)
        self._event.set()


@asynccontextmanager
async def signals() -> AsyncIterator[Ending]:
    """Handle Ctrl-C and SIGTERM until the block is left."""
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
    """Flush the output and end the process without any clean-up."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    os._exit(code)


async def start(bot: hikari.GatewayBot, ending: Ending, url: str = "") -> bool:
    """Connect; return False if a signal came first.

    Raises:
        CannotRun: with what to do.
    """
    starting = asyncio.ensure_future(bot.start(check_for_updates=False))
    stopped = asyncio.ensure_future(ending.wait())
    try:
        await asyncio.wait({starting, stopped}, return_when=asyncio.FIRST_COMPLETED)
        if not starting.done():
            return False
        await starting
        # Of 110,000 objects nearly all are modules and stay.  A collection of all of them held the
        # event loop for 60 ms.
        gc.freeze()
    except Exception as error:  # noqa: BLE001 - raised again, with a better message if known
        raise explained(error, url) or error from None
    finally:
        stopped.cancel()
    return True


async def until_the_end(bot: hikari.GatewayBot, ending: Ending) -> None:
    """Wait for a signal, or for Discord to close the connection for good.

    Raises:
        CannotRun: with what to do.
    """
    joined = asyncio.ensure_future(bot.join())
    stopped = asyncio.ensure_future(ending.wait())
    try:
        await asyncio.wait({joined, stopped}, return_when=asyncio.FIRST_COMPLETED)
        if stopped.done():
            return
        try:
            await joined
        except Exception as error:  # noqa: BLE001 - as above
            raise explained(error) or error from None
        raise CannotRun("Discord closed the connection for good; start it again")
    finally:
        for task in (joined, stopped):
            task.cancel()
        await asyncio.gather(joined, stopped, return_exceptions=True)


async def close(bot: hikari.GatewayBot) -> None:
    """Close the bot; if that takes longer than `CLOSE_S`, exit the process."""
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
    """Drop hikari's second report, on close, of why Discord closed the connection."""
    if not isinstance(context.get("exception"), hikari.GatewayError):
        loop.default_exception_handler(context)


Say = Callable[[str], object]


async def run_bot(settings: Settings, say: Say, folder: Path) -> None:
    """Run the owner's bot until a signal; *say* is called with messages for the owner.

    Raises:
        BadSetting: a setting is invalid.
        CannotRun: Discord or every provider refuses; the message says what to do.
    """
    async with AsyncExitStack() as stack:
        providers = make_providers(settings.provider)
        for provider in providers:
            stack.push_async_callback(provider.close)
        file = settings.bot.tools_file
        tools = toolbox(settings.bot.tools, folder / file if file else None)
        await add_mcp(tools, settings.mcp, stack, os.environ)
        try:
            bot = make_bot(settings)
        except ValueError:
            raise CannotRun(
                "the token is not one of Discord's, which are three long parts with dots between "
                "them: copy it anew from the page Bot of your application"
            ) from None
        stops, lease = _shared(settings)
        hub = Hub(recording=True) if settings.page.on else None
        metrics = PrometheusMetrics()
        client = make_client(
            bot, settings, inspector=hub, stops=stops, lease=lease, telemetry=[metrics]
        )
        models = [with_options(*pair) for pair in zip(providers, settings.provider, strict=True)]
        Answering(bot, client, settings, models, tools).listen()
        ending = await stack.enter_async_context(signals())
        if hub is not None:
            served = await stack.enter_async_context(serve(hub, port=settings.page.port))
            say(f"page     {served.address}")
        readiness = Readiness.of(bot, settings.provider, settings.redis.url)
        if settings.health.port:
            address = await stack.enter_async_context(
                serve_health(settings.health, readiness, metrics)
            )
            say(f"health   {address}/readyz")
        await _check_providers(settings.provider, say)
        stack.push_async_callback(close, bot)
        if not await start(bot, ending, settings.discord.url):
            return
        say(_greeting(bot.get_me(), settings))
        try:
            await until_the_end(bot, ending)
        finally:
            readiness.close()
        say("ending: replies that are being written come to their end; Ctrl-C again ends at once")


async def run_demo(say: Say, *, port: int, show: Callable[[str], object]) -> None:
    """Run the demo until a signal; *show* is called with the address of the page."""
    hub = Hub(recording=True)
    async with AsyncExitStack() as stack:
        ending = await stack.enter_async_context(signals())
        world = await stack.enter_async_context(demo_world(hub=hub))
        served = await stack.enter_async_context(serve(hub, port=port, actions=world))
        say("The demo: a local Discord, a scripted model, and the real bot between them.")
        say(f"page     {served.address}")
        say("Ctrl-C ends it.  With a DISCORD_TOKEN it is your own bot: minamo run --help")
        show(served.address)
        await ending.wait()


def _shared(settings: Settings) -> tuple[Stops | None, Lease | None]:
    """Return the Redis objects that processes share; the client opens and closes them."""
    url, prefix = settings.redis.url, settings.redis.prefix
    if not url:
        return None, None
    # Imported here, so that a bot of one process needs no Redis.
    from minamo.shell.stops.redis_registry import RedisStops
    from minamo.shell.turns.redis_lease import RedisLease

    return RedisStops(url, prefix=prefix), RedisLease(url, prefix=prefix)


async def _check_providers(providers: Sequence[ProviderSettings], say: Say) -> None:
    """Check every provider's key now, before the first user's question would reveal a wrong one."""
    found: list[Probed] = await asyncio.gather(*(probe(provider) for provider in providers))
    if all(probed.verdict == "refused" for probed in found):
        raise CannotRun("; ".join(probed.words for probed in found))
    for probed in found:
        if probed.verdict in ("refused", "no_model", "unreachable"):
            say(f"warning  {probed.words}")


def _greeting(me: object, settings: Settings) -> str:
    ways = []
    if settings.bot.mentions:
        ways.append("mentions")
    if settings.bot.direct_messages:
        ways.append("direct messages")
    if settings.bot.ask_command:
        ways.append(f"/{settings.bot.ask_command}")
    return f"ready    as {me}, for {', '.join(ways) or 'nobody'}; Ctrl-C ends it"
