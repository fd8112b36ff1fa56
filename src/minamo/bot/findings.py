"""What a check found: fine, a warning or a problem, and what to do."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Literal

from attrs import frozen

Level = Literal["ok", "warning", "problem"]


@frozen
class Finding:
    """One line of the doctor's report; never holds a secret."""

    check: str
    level: Level
    words: str


Check = Callable[[], Awaitable[list[Finding]]]


def ok(check: str, words: str) -> Finding:
    """All is well."""
    return Finding(check, "ok", words)


def warning(check: str, words: str) -> Finding:
    """It runs, but not as somebody may expect."""
    return Finding(check, "warning", words)


def problem(check: str, words: str) -> Finding:
    """It does not run like this."""
    return Finding(check, "problem", words)
