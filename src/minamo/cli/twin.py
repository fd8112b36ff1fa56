"""`minamo twin`: run the local Discord by itself, for a bot in another terminal."""

from __future__ import annotations

import argparse
import asyncio
import signal
from contextlib import suppress
from typing import TYPE_CHECKING

from minamo.errors import BadRequest, MinamoError

if TYPE_CHECKING:
    from minamo.twin import Twin

# Constant, so that it can stay in a bot's settings; it gives access to nothing else.
_SECRET = "local-and-worthless"  # noqa: S105
_EPILOG = """\
examples:

  minamo twin --port 8123                 prints how a bot of yours connects to it
  minamo twin --port 8123 --say "hello"   somebody speaks as soon as it has

What the bot does is shown line by line.  For tests there is `minamo.twin` in Python.
exit codes: 0 it was ended; 1 the port cannot be used; 2 there is no such port
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
        help="somebody says this in #general when a bot has connected",
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
        raise MinamoError(f"{why}; choose another, or leave --port out") from error
    try:
        print(f"address  {twin.url}")
        print(f"token    {twin.token}")
        print(f'connect  hikari.GatewayBot("{twin.token}", rest_url="{twin.url}")')
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
    """Print the bot's requests, one per line, and say *text* when a bot has connected."""
    shown = told = 0
    greeted = text is None
    while True:
        requests, unknown = list(twin.journal.requests_made), twin.unknown
        for one in requests[shown:]:
            print(f"{one.method:6} {one.path} -> {one.status or 'no answer'}", flush=True)
        for name in unknown[told:]:
            print(f"the twin does not know this route: {name}", flush=True)
        shown, told = len(requests), len(unknown)
        if not greeted and twin.journal.events("READY"):
            greeted = True
            await twin.say(text or "")
        seen = (shown, told)
        await _changed(twin, seen, greeted)


async def _changed(twin: Twin, seen: tuple[int, int], greeted: bool) -> None:
    def something() -> bool:
        grown = (len(twin.journal.requests_made), len(twin.unknown)) != seen
        return grown or (not greeted and bool(twin.journal.events("READY")))

    with suppress(TimeoutError):
        await twin.journal.until(something, 60.0)
