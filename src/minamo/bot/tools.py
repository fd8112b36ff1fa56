"""Tools of the ready-made bot: a few harmless ones, and those of the owner's file."""

from __future__ import annotations

import datetime
import importlib.util
import inspect
import random
import sys
import zoneinfo
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from types import ModuleType

from minamo.bot.settings import McpSettings
from minamo.core.redact import shorten
from minamo.errors import BadRequest, BadSetting, MinamoError
from minamo.shell.turns.mcp import McpServer
from minamo.shell.turns.tool_job import ToolError
from minamo.shell.turns.tools import FunctionTool, ToolFunction, Tools

# More dice than any game needs.
_DICE_MAX = 100
_SIDES_MAX = 1_000_000


async def roll(sides: int = 6, count: int = 1) -> dict[str, object]:
    """Roll dice.

    Args:
        sides: How many sides each die has.
        count: How many dice.
    """
    if not 1 <= count <= _DICE_MAX or not 2 <= sides <= _SIDES_MAX:
        raise ToolError(f"1 to {_DICE_MAX} dice, with 2 to {_SIDES_MAX} sides")
    rolled = [random.randint(1, sides) for _ in range(count)]  # noqa: S311 - a game
    return {"rolled": rolled, "total": sum(rolled)}


async def now(zone: str = "UTC") -> str:
    """What date and time it is.

    Args:
        zone: A time zone such as Europe/Lisbon.
    """
    try:
        place: datetime.tzinfo = datetime.UTC if zone == "UTC" else zoneinfo.ZoneInfo(zone)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        raise ToolError("there is no such time zone; give one such as Europe/Lisbon") from None
    return datetime.datetime.now(place).strftime("%A, %Y-%m-%d %H:%M %Z")


BUILT_IN: dict[str, ToolFunction] = {"roll": roll, "now": now}


def toolbox(names: Sequence[str], file: Path | None = None) -> Tools:
    """Return the built-in tools of these names, and those of the owner's file."""
    unknown = [name for name in names if name not in BUILT_IN]
    if unknown:
        raise BadSetting(
            f"bot.tools: there is no {unknown[0]!r}; there are {', '.join(BUILT_IN)}. "
            "Your own go into a file, named by bot.tools_file"
        )
    own = [] if file is None else _own(file)
    try:
        return Tools([*(BUILT_IN[name] for name in names), *own])
    except BadRequest as error:
        raise BadSetting(f"tools: {error}") from None


def _own(file: Path) -> list[FunctionTool | ToolFunction]:
    """Return the tools of the owner's file: its `tools`, or else every public async function."""
    module = _module(file)
    given = getattr(module, "tools", None)
    if isinstance(given, Tools):
        return [tool for name in given if (tool := given.get(name)) is not None]
    found = [
        value
        for name, value in vars(module).items()
        if inspect.iscoroutinefunction(value)
        and not name.startswith("_")
        and value.__module__ == module.__name__
    ]
    if not found:
        raise BadSetting(f"{file}: no tools in it; write async functions with typed arguments")
    return list(found)


def _module(file: Path) -> ModuleType:
    if not file.is_file():
        raise BadSetting(f"bot.tools_file: there is no file {file}")
    spec = importlib.util.spec_from_file_location("minamo_own_tools", file)
    if spec is None or spec.loader is None:
        raise BadSetting(f"bot.tools_file: {file} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look up their module there
    try:
        spec.loader.exec_module(module)
    except Exception as error:  # noqa: BLE001 - the owner's code; any error in it is reported
        words = shorten(str(error), 300)
        raise BadSetting(f"{file}: {_where(error, file)}{type(error).__name__}: {words}") from None
    return module


def _where(error: Exception, file: Path) -> str:
    if isinstance(error, SyntaxError) and error.lineno:
        return f"line {error.lineno}: "
    at = error.__traceback__
    line = 0
    while at is not None:
        if at.tb_frame.f_code.co_filename == str(file):
            line = at.tb_lineno
        at = at.tb_next
    return f"line {line}: " if line else ""


async def add_mcp(
    tools: Tools, servers: Sequence[McpSettings], stack: AsyncExitStack, environ: Mapping[str, str]
) -> None:
    """Start or connect to the MCP servers, and add their tools; *stack* closes them.

    Raises:
        BadSetting: a server cannot be used; the message says which and why.
    """
    for number, settings in enumerate(servers, 1):
        token = environ.get(settings.token_env, "").strip() if settings.token_env else ""
        if settings.token_env and not token:
            raise BadSetting(f"mcp {number}: {settings.token_env} is not set in the environment")
        try:
            server = McpServer(
                settings.url or settings.command,
                headers={"Authorization": f"Bearer {token}"} if token else None,
                prefix=settings.prefix,
                only=settings.only,
                timeout_ms=settings.timeout_ms,
            )
            tools.include((await stack.enter_async_context(server)).tools)
        except MinamoError as error:
            raise BadSetting(f"mcp {number}: {error}") from None
