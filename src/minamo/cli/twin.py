"""`minamo twin`: run the local Discord by itself, for a bot in another terminal."""

from __future__ import annotations

import argparse
import asyncio
import signal
from contextlib import suppress
from typing import TYPE_CHECKING

from minamo.errors import BadRequest, BadSetting

if TYPE_CHECKING:
    from minamo.twin import Message, Twin
    from minamo.twin.journal import RequestEntry

# Constant, so that it can stay in a bot's settings; it gives access to nothing else.
_SECRET = "local-and-worthless"  # noqa: S105
_EPILOG = """\
examples:

  minamo twin --port 8123                       prints how your bot connects to it
  minamo twin --port 8123 --say "@bot hello"    a user mentions the bot when it has connected

It prints every message and every request of the bot.  For tests, use `minamo.twin` in Python.
exit codes: 0 it was ended by Ctrl-C; 2 the port cannot be used
"""


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the sub-command."""
    parser = commands.add_parser(
        "twin",
        help="run a local Discord for your bot",
        description="Run a local Discord: REST and gateway on one port, until Ctrl-C.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--port", type=int, default=0, metavar="N", help="default: a free one")
    parser.add_argument(
        "--say",
        metavar="TEXT",
        help="a user says this in #general when a bot has connected; @bot mentions the bot",
    )
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> int:
    if not 0 <= options.port <= 65_535:
        raise BadRequest(f"there is no port {options.port}; ports go from 0 to 65535")
    with suppress(KeyboardInterrupt):
        asyncio.run(_serve(options.port, options.say))
    return 0


async def _serve(port: int, text: str | None) -> None:
    from minamo.twin import Twin

    ended = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        with suppress(NotImplementedError):  # Windows raises KeyboardInterrupt instead
            loop.add_signal_handler(number, ended.set)
    twin = Twin(port=port, secret=_SECRET)
    try:
        await twin.__aenter__()
    except OSError as error:
        why = f"port {port} cannot be used: {error.strerror}"
        raise BadSetting(f"{why}; choose another, or leave --port out") from error
    try:
        print(f"address  {twin.url}")
        print(f"token    {twin.token}")
        print(f'connect  hikari.GatewayBot("{twin.token}", rest_url="{twin.url}")')
        print(f"mention  <@{twin.bot.id}>")
        print("Ctrl-C ends it.", flush=True)
        watching = asyncio.create_task(_watch(twin, text))
        await ended.wait()
        watching.cancel()
    finally:
        # Unknown routes are printed while the twin runs, and are no reason to fail here.
        twin.disconnect(1001)  # going away: a bot reconnects when the twin is started again
        with suppress(AssertionError):
            await twin.__aexit__(None, None, None)
    print("ended")


async def _watch(twin: Twin, text: str | None) -> None:
    """Print messages and the bot's requests, one per line; say *text* when a bot has connected."""
    seen = reported = newest = 0
    waiting: list[RequestEntry] = []
    greeted = text is None
    while True:
        requests, unknown = list(twin.journal.requests_made), twin.unknown
        waiting += requests[seen:]
        for request in waiting:
            if request.is_over:
                print(f"{request.method:6} {request.path} -> {request.outcome}", flush=True)
        waiting = [request for request in waiting if not request.is_over]
        for name in unknown[reported:]:
            print(f"the twin does not know this route: {name}", flush=True)
        for message in _since(twin, newest):
            print(f"       {_said(twin, message)}", flush=True)
            newest = message.id
        seen, reported = len(requests), len(unknown)
        if not greeted and twin.journal.events("READY"):
            greeted = True
            await twin.say((text or "").replace("@bot", f"<@{twin.bot.id}>"))
        await _changed(twin, (seen, reported, newest), waiting, greeted)


def _since(twin: Twin, newest: int) -> list[Message]:
    """Return the messages after the one with the id *newest*, in all channels, oldest first."""
    every = [message for found in twin.world.messages.values() for message in found.values()]
    return sorted(
        (message for message in every if message.id > newest), key=lambda message: message.id
    )


def _said(twin: Twin, message: Message) -> str:
    channel = twin.world.channels.get(message.channel_id)
    place = f"#{channel.name}" if channel is not None and channel.name else "direct message"
    text = message.content.replace(f"<@{twin.bot.id}>", "@bot").replace("\n", "\n         ")
    return f"{place}  {message.author.name}: {text}"


async def _changed(
    twin: Twin, seen: tuple[int, int, int], waiting: list[RequestEntry], greeted: bool
) -> None:
    def something() -> bool:
        newest = max((message.id for message in _since(twin, seen[2])), default=seen[2])
        grown = (len(twin.journal.requests_made), len(twin.unknown), newest) != seen
        answered = any(request.is_over for request in waiting)
        return grown or answered or (not greeted and bool(twin.journal.events("READY")))

    with suppress(TimeoutError):
        await twin.journal.until(something, 60.0)
