"""Whether a terminal wants colours, and how they are written."""

from __future__ import annotations

import os
from typing import TextIO

BOLD, DIM, RED, GREEN, YELLOW = 1, 2, 31, 32, 33


def wanted(stream: TextIO) -> bool:
    """Whether *stream* is a terminal that takes them, and nobody said no (no-color.org)."""
    plain = bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM") == "dumb"
    return stream.isatty() and not plain


def painted(text: str, code: int, *, on: bool) -> str:
    """*text* in a colour, or as it is."""
    return f"\x1b[{code}m{text}\x1b[0m" if on else text
