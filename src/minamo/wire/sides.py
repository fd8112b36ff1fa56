"""Conversations of two sides, where each speaks in one message until it is the other's turn."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from minamo.wire.conversation import FILLER, Message, Turn, user

Parts = list[dict[str, Any]]

# The model never speaks first: a call at the front is refused.
_OPENING = Turn(user(FILLER))


def sided(
    turns: Iterable[Turn], model: str, field: str, said: Callable[[Turn], Parts]
) -> list[dict[str, Any]]:
    """What each side said in a row as one message; the answers of tools are the user's.

    *model* is what the dialect calls the model's side, *field* where it wants what *said* gives.
    What the model is told about itself stands elsewhere.
    """
    out: list[dict[str, Any]] = []
    for turn in turns:
        if turn.message.role == "system":
            continue
        role = model if turn.message.role == "assistant" else "user"
        if not out and role == model:
            out.append({"role": "user", field: said(_OPENING)})
        parts = said(turn)
        if out and out[-1]["role"] == role:
            out[-1][field].extend(parts)
        else:
            out.append({"role": role, field: parts})
    return out


def named(message: Message) -> str:
    """What a person said, behind who it was."""
    return f"{message.name}: {message.text}" if message.name else message.text
