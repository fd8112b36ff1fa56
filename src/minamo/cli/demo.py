"""`minamo demo`: show a reply in the terminal, through the real bot and a local Discord."""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import os
import signal
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from minamo.cli import colours
from minamo.errors import BadRequest

if TYPE_CHECKING:
    from minamo.shell.turns.turn_result import TurnResult

_FINE = ("completed", "stopped_by_user")
# Below Discord's limit for a message, 2000.
_TEXT_MAX = 1_900
_EPILOG = """\
examples:

  minamo demo code             show a reply with code in it
  minamo demo --list           list all scripted replies
  minamo demo roll --json      print the events as JSON lines

Ctrl-C stops the reply, as the Stop button does.
exit codes: 0 the reply was completed or stopped; 1 it failed; 2 an argument is wrong
"""


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the sub-command."""
    parser = commands.add_parser(
        "demo",
        help="watch a reply in the terminal, without a token",
        description="Watch a scripted reply go through the real bot into a local Discord.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "piece",
        nargs="?",
        default="hello",
        help="a scripted reply (default: hello), or any text to say",
    )
    parser.add_argument("--list", action="store_true", help="list the scripted replies and exit")
    parser.add_argument("--json", action="store_true", help="print the events as JSON lines")
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> int:
    from minamo.bot.demo.provider import PIECES

    if options.list:
        for piece in PIECES:
            print(f"{piece.name:9} {piece.prompt}")
        return 0
    text = options.piece.strip()
    if not text or len(text) > _TEXT_MAX:
        raise BadRequest(f"say 1 to {_TEXT_MAX} characters")
    prompt = next((piece.prompt for piece in PIECES if piece.name == text), text)
    logging.basicConfig(level=logging.ERROR)  # the outcome of a reply is printed anyway
    turn = asyncio.run(_show(prompt, _Printer(options.json)))
    return 0 if turn is not None and turn.status in _FINE else 1


async def _show(text: str, out: _Printer) -> TurnResult | None:
    from minamo.bot.demo.demo import ConsoleView, demo_world, summary
    from minamo.inspect.hub import Hub

    ended: asyncio.Queue[TurnResult] = asyncio.Queue()
    hub = Hub(recording=True)
    async with demo_world(hub=hub, on_result=ended.put_nowait) as world:
        onlooker = ConsoleView(hub, str(world.twin.bot.id), out.happened)
        onlooker.begin()
        stops = _Stops(world)
        try:
            await world.say(text)
            turn = await ended.get()
            onlooker.look()
        finally:
            stops.close()
            onlooker.end()
        out.finish(summary(turn))
        return turn


class _Stops:
    """The Ctrl-C handler: requests a stop, which keeps the text shown so far."""

    def __init__(self, world: Any) -> None:
        self._world = world
        self._asked: set[asyncio.Task[None]] = set()
        self._loop = asyncio.get_running_loop()
        with suppress(NotImplementedError):  # Windows raises KeyboardInterrupt instead
            self._loop.add_signal_handler(signal.SIGINT, self._heard)

    def _heard(self) -> None:
        self._asked.add(self._loop.create_task(self._world.stop()))

    def close(self) -> None:
        with suppress(NotImplementedError):
            self._loop.remove_signal_handler(signal.SIGINT)


class _Printer:
    """The terminal output: events, with the current state in the bottom line."""

    def __init__(self, as_json: bool) -> None:
        self._json = as_json
        self._colour = colours.wanted(sys.stdout) and not as_json
        self._lively = self._colour and sys.stderr.isatty()
        self._state = ""
        self._typing = False

    def happened(self, event: dict[str, Any]) -> None:
        try:
            self._tell(event)
            sys.stdout.flush()
        except BrokenPipeError:
            # The reader of a pipe, such as `head`, has exited.  The local Discord calls this, and
            # the error must not reach it or the bot, so the remaining output is discarded.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())

    def _tell(self, event: dict[str, Any]) -> None:
        if self._json:
            print(json.dumps(event), flush=True)
            return
        message = event.get("message") or event.get("edit")
        if message is not None:
            self._typing = False
            self._clear()
            self._message(message)
        self._state = event.get("state", self._state)
        self._typing = bool(event.get("typing", self._typing))
        self._line()

    def finish(self, result: dict[str, Any]) -> None:
        self._clear()
        self._lively = False
        if self._json:
            print(json.dumps({"result": result}), flush=True)
            return
        for thought in result["thoughts"]:
            print(self._dim(f"thought: {thought}"))
        if result["details"]:
            print(self._dim(f"details: {result['details']}"))
        for states in result["streams"]:
            print(self._dim(" > ".join(states)))
        why = f" ({result['stop_reason']})" if result["stop_reason"] else ""
        tools = f", tools: {', '.join(result['tools'])}" if result["tools"] else ""
        print(f"{result['status']}{why}{tools}")

    def _message(self, message: dict[str, Any]) -> None:
        print(self._bold(message["from"]))
        if message["text"]:
            print(message["text"])
        for embed in message["embeds"]:
            print(f"[{embed['title']}] {embed['description']}")
        print(flush=True)

    def _line(self) -> None:
        if self._lively:
            typing = "  minamo is typing…" if self._typing else ""
            print(
                f"\r\x1b[K\x1b[2m{self._state}{typing}\x1b[0m", end="", file=sys.stderr, flush=True
            )

    def _clear(self) -> None:
        if self._lively:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)

    def _dim(self, text: str) -> str:
        return colours.painted(text, colours.DIM, on=self._colour)

    def _bold(self, text: str) -> str:
        return colours.painted(text, colours.BOLD, on=self._colour)
