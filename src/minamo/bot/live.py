"""`minamo run`: the real bot on the real Discord, or the demo where there is no token."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import cast

from minamo.bot.answering import Answering
from minamo.bot.failures import CannotRun
from minamo.bot.hosting import make_bot, make_client
from minamo.bot.living import close, signals, start, until_the_end
from minamo.bot.probing import Probed, probe
from minamo.bot.providers import make_providers
from minamo.bot.settings import ProviderSettings, Settings
from minamo.bot.toolbox import toolbox
from minamo.bot.world import demo_world
from minamo.inspect.hub import Hub
from minamo.inspect.server import serve
from minamo.shell.stopping.lease import Lease
from minamo.shell.stopping.stops import Stops
from minamo.shell.turns.turn import Chats

Say = Callable[[str], object]


async def run_bot(settings: Settings, say: Say, folder: Path) -> None:
    """Run the owner's bot until it is ended; *say* gets what the owner should know.

    Raises:
        BadSetting: something in the settings makes no sense.
        CannotRun: Discord or every provider refuses; the message says what to do.
    """
    async with AsyncExitStack() as stack:
        providers = make_providers(settings.provider)
        for one in providers:
            stack.push_async_callback(one.aclose)
        file = settings.bot.tools_file
        tools = toolbox(settings.bot.tools, folder / file if file else None)
        try:
            bot = make_bot(settings)
        except ValueError:
            raise CannotRun(
                "the token is not one of Discord's: it has three parts with dots between them; "
                "copy it anew from the page Bot of your application"
            ) from None
        stops, lease = _shared(settings)
        hub = Hub(recording=True) if settings.page.on else None
        client = make_client(bot, settings, looker=hub, stops=stops, lease=lease)
        voices = cast("list[Chats]", providers)
        Answering(bot, client, settings, voices, tools).listen()
        ending = await stack.enter_async_context(signals())
        if hub is not None:
            served = await stack.enter_async_context(serve(hub, port=settings.page.port))
            say(f"page     {served.address}")
        await _check_providers(settings.provider, say)
        stack.push_async_callback(close, bot)
        if not await start(bot, ending, settings.discord.url):
            return
        say(_greeting(bot.get_me(), settings))
        await until_the_end(bot, ending)
        say("ending: replies that are being written come to their end; Ctrl-C again ends at once")


async def run_demo(say: Say, *, port: int, show: Callable[[str], object]) -> None:
    """Run the demo until it is ended; *show* opens the page's address."""
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
    """What a bot of several processes shares; the client opens and closes it."""
    url, prefix = settings.redis.url, settings.redis.prefix
    if not url:
        return None, None
    # Here, so that a bot of one process needs no Redis.
    from minamo.shell.stopping.lease_redis import RedisLease
    from minamo.shell.stopping.stops_redis import RedisStops

    return RedisStops(url, prefix=prefix), RedisLease(url, prefix=prefix)


async def _check_providers(providers: Sequence[ProviderSettings], say: Say) -> None:
    """Better to hear of a wrong key now than from the first person who asks."""
    found: list[Probed] = await asyncio.gather(*(probe(one) for one in providers))
    if all(one.verdict == "refused" for one in found):
        raise CannotRun("; ".join(one.words for one in found))
    for one in found:
        if one.verdict in ("refused", "no_model", "unreachable"):
            say(f"warning  {one.words}")


def _greeting(me: object, settings: Settings) -> str:
    ways = []
    if settings.bot.mentions:
        ways.append("mentions")
    if settings.bot.direct_messages:
        ways.append("direct messages")
    if settings.bot.ask_command:
        ways.append(f"/{settings.bot.ask_command}")
    return f"ready    as {me}, for {', '.join(ways) or 'nobody'}; Ctrl-C ends it"
