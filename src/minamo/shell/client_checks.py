"""What a client is made with, checked: a mistake is named here and not in some reply later."""

from __future__ import annotations

import inspect
import re
from collections.abc import AsyncIterable, Iterable, Mapping

from minamo.core.checks import is_seconds, shown
from minamo.errors import BadRequest, BadSetting

# Discord's rule for the names of commands, as far as case and characters go.
_COMMAND = re.compile(r"[-_'\w]{1,32}")


def check_kinds(given: Mapping[str, object], kinds: Mapping[str, tuple[type, ...]]) -> None:
    """Refuse a setting of another kind than its own."""
    for name, value in given.items():
        if not isinstance(value, kinds[name]):
            may = " or ".join("None" if one is type(None) else one.__name__ for one in kinds[name])
            raise BadSetting(f"{name} must be {may}; it is {value!r}")


def check_seconds(name: str, value: object) -> None:
    """Refuse a time that nobody can wait for."""
    if not is_seconds(value):
        raise BadSetting(f"{name} must be a number of seconds, 0 or more; it is {shown(value)}")


def check_command(value: object) -> None:
    """Refuse a name that Discord takes for no command."""
    if value is None:
        return
    fine = isinstance(value, str) and _COMMAND.fullmatch(value) and value == value.lower()
    if not fine:
        raise BadSetting(
            f"stop_command must be the name of a command, up to 32 lower-case letters, digits, "
            f'- or _, such as "stop"; it is {value!r}'
        )


def check_source(source: object) -> None:
    """Refuse what gives no text bit by bit, and say what to write instead."""
    if not isinstance(source, AsyncIterable):
        raise BadRequest(
            f"a reply comes from an async iterable of text, such as llm.ask(…); "
            f"this is a {type(source).__name__}{_instead(source)}"
        )


def _instead(source: object) -> str:
    if inspect.isasyncgenfunction(source):
        return f": call it, {source.__name__}(…)"
    if inspect.iscoroutinefunction(source) or inspect.iscoroutine(source):
        return ": await it if it gives a stream, or `yield` in it instead of `return`"
    if hasattr(source, "ask"):
        return ": ask it something, .ask(…)"
    if isinstance(source, str):
        return ": yield it from an `async def`, or send it with hikari"
    if isinstance(source, Iterable):
        return ": make it async, `async def` with `yield`; an SDK has an async client for that"
    return ""
