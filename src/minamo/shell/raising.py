"""What somebody else's code raised, told without its words: those can hold secrets."""

from __future__ import annotations

import traceback
from pathlib import PurePath


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
