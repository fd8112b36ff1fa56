"""Red: its `pagify`, which many discord.py bots use to split messages."""

from __future__ import annotations

from redbot.core.utils.chat_formatting import pagify


def split(texts: list[str]) -> list[list[str]]:
    """Cut texts into messages."""
    return [list(pagify(text, page_length=2_000)) for text in texts]
