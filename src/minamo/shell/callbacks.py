"""Callbacks of other people: hooks, progress, telemetry, observers.

Whatever one raises changes nothing but the log, and there it is named once.  None of them is
awaited: an `async def` is refused where it is given.
"""

from __future__ import annotations

import inspect
import logging
import traceback
from collections.abc import Callable
from pathlib import PurePath
from typing import Any

from attrs import Attribute

from minamo.errors import BadSetting


def place_of(error: BaseException) -> str:
    """Where it was raised, for whoever wrote the code."""
    *_, frame = traceback.extract_tb(error.__traceback__)
    return f"{PurePath(frame.filename).name}:{frame.lineno}"


def first_of(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """Return the first exception in *group* that is not a group itself."""
    first: BaseException = group
    while isinstance(first, BaseExceptionGroup):
        first = first.exceptions[0]
    return first


class Guarded:
    """A callback that cannot harm its caller.  After its first failure it is not called again."""

    __slots__ = ("_callback", "_log", "_name")

    def __init__(self, name: str, callback: Callable[..., object], log: logging.Logger) -> None:
        self._name = name
        self._callback: Callable[..., object] | None = callback
        self._log = log

    def __call__(self, *what: object) -> object:
        """Call it, and return what it returns; None if it fails or has failed before."""
        if self._callback is None:
            return None
        failed, answer = call(self._callback, *what)
        if failed:
            self._callback = None
            self._log.warning("%s %s; it will not be called again", self._name, failed)
        return answer


def call(callback: Callable[..., Any], *what: object) -> tuple[str, Any]:
    """Call other people's code; return how it failed, if it did, and what it returned."""
    try:
        answer = callback(*what)
        if answer is None or not inspect.isawaitable(answer):
            return "", answer
        # A coroutine that is neither awaited nor closed complains when it is collected.
        if inspect.iscoroutine(answer):
            answer.close()
    except Exception as error:  # noqa: BLE001 - other people's code; no reply depends on it
        # The name and the place only: messages can hold secrets.
        return f"raised {type(error).__name__} at {place_of(error)}", None
    return "returned an awaitable, which is not awaited", None


def refuse_async(name: str, callback: object) -> None:
    """Refuse an `async def` as a callback, and what cannot be called.

    Raises:
        BadSetting: the message says what to give instead.
    """
    if callback is None:
        return
    if not callable(callback):
        raise BadSetting(f"{name} must be a function; it is a {type(callback).__name__}")
    called = getattr(callback, "__call__", None)  # noqa: B004 - of an object that is no function
    if inspect.iscoroutinefunction(callback) or inspect.iscoroutinefunction(called):
        raise BadSetting(
            f"{name} is an `async def`, and is not awaited: give a plain function, which may start "
            "a task or put what it is told into a queue"
        )


def plain_function(_: object, attribute: Attribute[Any], value: object) -> None:
    """Refuse, as a validator, what `refuse_async` refuses."""
    refuse_async(attribute.name, value)
