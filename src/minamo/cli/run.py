"""`minamo run`: run the ready-made bot, or the demo if there is no token."""

from __future__ import annotations

import argparse
import asyncio
import datetime
import json
import logging
import os
import sys
import webbrowser
from contextlib import suppress
from pathlib import Path

from minamo.core.redact import redact
from minamo.errors import BadRequest, BadSetting

_EPILOG = """\
environment variables, which take precedence over the settings file:

  DISCORD_TOKEN        the bot's token; without one, the demo runs
  MINAMO_MODEL         the model to ask, together with one of these:
  OPENAI_API_KEY  GEMINI_API_KEY  ANTHROPIC_API_KEY  OPENAI_BASE_URL
  MINAMO_HEALTH        a port, or host:port, for /healthz, /readyz and /metrics
  MINAMO_REDIS_URL     the Redis of a bot with several processes

examples:

  minamo run                                 run the demo: no token, no account
  minamo run --write-config minamo.toml      write a file with every setting explained
  minamo run --config minamo.toml            run your bot
  minamo doctor --config minamo.toml         check its setup

exit codes: 0 ended by a signal; 1 the bot cannot run, for the reason printed; 2 a setting is wrong
"""


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the sub-command."""
    parser = commands.add_parser(
        "run",
        help="run the ready-made bot, or the demo without a token",
        description="Run the ready-made bot.  Without DISCORD_TOKEN it runs in a local Discord, "
        "with a scripted model, and shows itself in the browser.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--config", type=Path, metavar="FILE", help="a settings file")
    parser.add_argument(
        "--write-config", type=Path, metavar="FILE", help="write a file with every setting and exit"
    )
    parser.add_argument("--demo", action="store_true", help="run the demo even if there is a token")
    parser.add_argument(
        "--port", type=int, metavar="N", help="port of the live page; default: a free one"
    )
    parser.add_argument(
        "--no-browser",
        action="store_true",
        help="print the address of the page, and open no browser",
    )
    parser.add_argument("--verbose", action="store_true", help="log every reply, not only problems")
    parser.add_argument(
        "--log", choices=("text", "json"), default="text", help="format of the log lines"
    )
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> int:
    from minamo.bot.settings_file import read_settings

    if options.write_config is not None:
        return _write(options.write_config)
    if options.port is not None and not 0 <= options.port <= 65_535:
        raise BadRequest(f"there is no port {options.port}; ports go from 0 to 65535")
    _log(verbose=options.verbose, as_json=options.log == "json")
    settings = read_settings(options.config)
    with suppress(KeyboardInterrupt):
        if options.demo or not settings.discord.token:
            _demo(options)
        else:
            _bot(options, settings)
    return 0


def _bot(options: argparse.Namespace, settings: object) -> None:
    from attrs import evolve

    from minamo.bot.run import run_bot
    from minamo.bot.settings import Settings

    assert isinstance(settings, Settings)
    if options.port is not None:
        settings = evolve(settings, page=evolve(settings.page, on=True, port=options.port))
    folder = options.config.parent if options.config else Path()
    asyncio.run(run_bot(settings, _say, folder))


def _demo(options: argparse.Namespace) -> None:
    from minamo.bot.run import run_demo

    def show(address: str) -> None:
        if not options.no_browser and _has_browser():
            webbrowser.open(address)

    asyncio.run(run_demo(_say, port=options.port or 0, show=show))


def _say(line: str) -> None:
    print(line, flush=True)


def _has_browser() -> bool:
    """Return whether a graphical browser can open; a text browser would occupy the terminal."""
    if not sys.stdout.isatty():
        return False
    windows = sys.platform in ("win32", "darwin")
    return windows or any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY"))


def _write(path: Path) -> int:
    from minamo.bot.settings_file import example

    try:
        # Do not overwrite a file the user has edited; 0o600, because it may hold secrets.
        path.touch(mode=0o600, exist_ok=False)
        path.write_text(example(), encoding="utf-8")
    except FileExistsError:
        raise BadSetting(f"{path} is there already; name another file") from None
    except OSError as error:
        raise BadSetting(f"{path} cannot be written: {error.strerror}") from None
    print(f"written to {path}; then: minamo run --config {path}")
    return 0


def _log(*, verbose: bool, as_json: bool) -> None:
    lines = logging.StreamHandler(sys.stderr)
    lines.setFormatter(
        JsonFormatter()
        if as_json
        else logging.Formatter("%(asctime)s %(levelname)-7s %(name)s: %(message)s")
    )
    logging.basicConfig(level=logging.INFO if verbose else logging.WARNING, handlers=[lines])
    # hikari warns about errors that it then retries; minamo reports the final outcome.
    logging.getLogger("hikari").setLevel(logging.INFO if verbose else logging.ERROR)


class JsonFormatter(logging.Formatter):
    """A formatter with one JSON object per line; minamo's own fields are in ``minamo``."""

    def format(self, record: logging.LogRecord) -> str:
        """Return *record* as one line, without anything shaped like a key."""
        at = datetime.datetime.fromtimestamp(record.created, datetime.UTC)
        report: dict[str, object] = {
            "time": at.isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": redact(record.getMessage()),
        }
        if isinstance(fields := vars(record).get("minamo"), dict):
            report["minamo"] = fields
        if record.exc_info:
            report["exception"] = redact(self.formatException(record.exc_info))
        return json.dumps(report, ensure_ascii=False, default=str)
