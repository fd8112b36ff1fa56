"""Terminal colours: detection and escape codes."""

from __future__ import annotations

import os
from typing import TextIO

BOLD, DIM, RED, GREEN, YELLOW = 1, 2, 31, 32, 33


def wanted(stream: TextIO) -> bool:
    """Return whether *stream* is a terminal with colours and NO_COLOR is unset (no-color.org)."""
    plain = bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM") == "dumb"
    return stream.isatty() and not plain


def painted(text: str, code: int, *, on: bool) -> str:
    """Return *text* in a colour if *on*, else unchanged."""
    return f"\x1b[{code}m{text}\x1b[0m" if on else text
