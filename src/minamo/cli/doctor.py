"""`minamo doctor`: check a bot's setup and print problems with their remedies."""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from minamo.cli import colours

if TYPE_CHECKING:
    from minamo.bot.doctor_discord import Diagnosis

_COLOURS = {"ok": colours.GREEN, "warning": colours.YELLOW, "problem": colours.RED}
_EPILOG = """\
It checks Python and the packages, the settings, the tools, the token, the gateway, the intents,
the permissions, the providers and Redis, concurrently, with ten seconds for each.  It changes
nothing and prints no secret.  With --try it also shows what a model refuses, and what to change.

exit codes: 0 the bot would run; 1 there is a problem
"""


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the sub-command."""
    parser = commands.add_parser(
        "doctor",
        help="check the setup of a bot",
        description="Check everything that `minamo run` needs, and print what to do.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--config", type=Path, metavar="FILE", help="a settings file")
    parser.add_argument(
        "--try",
        dest="try_models",
        action="store_true",
        help="also ask each model for a streamed reply and a tool call; costs a few tokens",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object per line")
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> int:
    return asyncio.run(_examine(options))


async def _examine(options: argparse.Namespace) -> int:
    from minamo.bot.doctor import examine
    from minamo.bot.run import leave_now

    found = await examine(options.config, try_models=options.try_models)
    for diagnosis in found:
        _print(diagnosis, as_json=options.json)
    code = 1 if any(diagnosis.level == "problem" for diagnosis in found) else 0
    if len(asyncio.all_tasks()) > 1:
        # A check that hangs cannot always be cancelled, and must not delay the exit.
        leave_now(code)
    return code


def _print(diagnosis: Diagnosis, *, as_json: bool) -> None:
    if as_json:
        print(
            json.dumps(
                {"check": diagnosis.check, "level": diagnosis.level, "words": diagnosis.words}
            ),
            flush=True,
        )
        return
    on = colours.wanted(sys.stdout)
    level = colours.painted(f"{diagnosis.level:8}", _COLOURS[diagnosis.level], on=on)
    print(f"{level} {diagnosis.check:9} {diagnosis.words}", flush=True)
