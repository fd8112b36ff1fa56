"""Guards around user-supplied callbacks: hooks, progress, telemetry, observers.

An exception in one is logged once and has no other effect.  Callbacks are never awaited: an
`async def` is refused where it is passed in.
"""

from __future__ import annotations

import inspect
import logging
import traceback
from collections.abc import Callable
from pathlib import Path, PurePath
from typing import Any

from attrs import Attribute

from minamo.core.redact import redact
from minamo.errors import BadSetting

# The folder of this package; a user's frames are outside it.
_OWN = Path(__file__).resolve().parents[1]
# The innermost frames; a recursion has a thousand of them.
_FRAMES_MAX = 12


def place_of(error: BaseException) -> str:
    """Return the file and line that raised *error*, for the author of the callback."""
    *_, frame = traceback.extract_tb(error.__traceback__)
    return f"{PurePath(frame.filename).name}:{frame.lineno}"


def log_failure(log: logging.Logger, message: str, error: BaseException) -> None:
    """Log *message* with the type and the place of *error*; its own message may hold secrets."""
    log.error(message, extra={"kind": type(error).__name__, "place": place_of(error)})


def user_frames(error: BaseException) -> str:
    """Return the frames of *error* outside minamo, redacted, each on lines of its own.

    Empty if there are none.  Frames show code, not values.
    """
    frames = traceback.extract_tb(error.__traceback__)
    theirs = [frame for frame in frames if not Path(frame.filename).is_relative_to(_OWN)]
    lines = "".join(traceback.format_list(theirs[-_FRAMES_MAX:])).rstrip()
    return f"\n{redact(lines)}" if lines else ""


def first_of(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """Return the first exception in *group* that is not a group itself."""
    first: BaseException = group
    while isinstance(first, BaseExceptionGroup):
        first = first.exceptions[0]
    return first


class Guarded:
    """A callback whose exceptions never reach its caller; disabled after its first failure."""

    __slots__ = ("_callback", "_log", "_name")

    def __init__(self, name: str, callback: Callable[..., object], log: logging.Logger) -> None:
        self._name = name
        self._callback: Callable[..., object] | None = callback
        self._log = log

    def __call__(self, *arguments: object) -> object:
        """Call the callback and return its value; None if it fails or has failed before."""
        if self._callback is None:
            return None
        failed, answer = call(self._callback, *arguments)
        if failed:
            self._callback = None
            self._log.warning("%s %s; it will not be called again", self._name, failed)
        return answer


def call(callback: Callable[..., Any], *arguments: object) -> tuple[str, Any]:
    """Call user code; return a description of its failure (empty if none) and its value."""
    try:
        answer = callback(*arguments)
        if answer is None or not inspect.isawaitable(answer):
            return "", answer
        # A coroutine neither awaited nor closed warns when it is garbage-collected.
        if inspect.iscoroutine(answer):
            answer.close()
    except Exception as error:  # noqa: BLE001 - user code; no reply depends on it
        # Only the type and the location: messages can hold secrets.
        return f"raised {type(error).__name__} at {place_of(error)}", None
    return "returned an awaitable, which is not awaited", None


def refuse_async(name: str, callback: object) -> None:
    """Refuse a callback that is an `async def` or not callable.

    Raises:
        BadSetting: the message says what to pass instead.
    """
    if callback is None:
        return
    if not callable(callback):
        raise BadSetting(f"{name} must be a function; it is a {type(callback).__name__}")
    called = getattr(callback, "__call__", None)  # noqa: B004 - for callable objects
    if inspect.iscoroutinefunction(callback) or inspect.iscoroutinefunction(called):
        raise BadSetting(
            f"{name} is an `async def`, and is not awaited: give a plain function, which may start "
            "a task or put its arguments into a queue"
        )


def plain_function(_: object, attribute: Attribute[Any], value: object) -> None:
    """Apply `refuse_async` as an attrs validator."""
    refuse_async(attribute.name, value)
