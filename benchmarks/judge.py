"""The judge of messages: what a channel would show of a text, whoever split it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

LIMIT = 2_000
_FENCE = re.compile(r"^```", re.MULTILINE)
_TABLE = re.compile(r"^\s*\|?(?:\s*:?-{3,}:?\s*\|)+", re.MULTILINE)
_CODE = re.compile(r"```.*?(?:```|\Z)|`[^`\n]*`", re.DOTALL)


def lost(messages: Sequence[str], marks: Iterable[str]) -> int:
    """Return how many marks no message shows whole."""
    text = "\n".join(messages)
    return sum(mark not in text for mark in marks)


def doubled(messages: Sequence[str], marks: Iterable[str]) -> int:
    """Return how many marks are shown more than once."""
    text = "\n".join(messages)
    return sum(text.count(mark) > 1 for mark in marks)


def shown(messages: Sequence[str], hidden: Iterable[str]) -> int:
    """Return how many marks that must stay hidden are shown."""
    text = "\n".join(messages)
    return sum(mark in text for mark in hidden)


def too_long(messages: Sequence[str]) -> int:
    """Return how many messages Discord refuses."""
    return sum(len(message) > LIMIT for message in messages)


def broken_fences(messages: Sequence[str]) -> int:
    """Return how many messages have a code block that is not closed in them."""
    return sum(len(_FENCE.findall(message)) % 2 for message in messages)


def raw_tables(messages: Sequence[str]) -> int:
    """Return how many tables are shown as their markup, which Discord does not render."""
    return sum(len(_TABLE.findall(_prose(message))) for message in messages)


def _prose(message: str) -> str:
    return _CODE.sub("", message)


def revealed(messages: Sequence[str], marks: Iterable[str]) -> int:
    """Return how many marks of a spoiler can be read without a click."""
    count = 0
    for message in messages:
        outside = "".join(_prose(message).split("||")[::2])
        if _prose(message).count("||") % 2:  # the last || opens nothing
            parts = _prose(message).split("||")
            outside = "".join([*parts[:-1][::2], parts[-1]])
        count += sum(mark in outside for mark in marks)
    return count


def left_open(messages: Sequence[str], mark: str = "**") -> int:
    """Return how many messages show a formatting mark that has no partner in them."""
    return sum(_prose(message).count(mark) % 2 for message in messages)


def torn(messages: Sequence[str], wholes: Iterable[str]) -> int:
    """Return how many strings that must stay whole are in no single message."""
    return sum(not any(whole in message for message in messages) for whole in wholes)


def same(one: str, other: str) -> bool:
    """Return whether two texts are the same but for blanks."""
    return "".join(one.split()) == "".join(other.split())
