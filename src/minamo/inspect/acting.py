"""What a page may do besides looking: write, stop, press a button."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from attrs import frozen


@frozen(slots=True)
class Prompt:
    """Something to say with one press of a button."""

    title: str
    text: str


class Actions(Protocol):
    """What the page may do; without one it only looks.

    A `MinamoError` that one of these raises is told to whoever pressed.
    """

    @property
    def prompts(self) -> Sequence[Prompt]:
        """What to offer."""

    async def say(self, text: str) -> None:
        """Somebody writes into the channel."""

    async def stop(self) -> None:
        """Somebody wants the reply to end here."""

    async def press(self, message_id: str, button_id: str) -> None:
        """Somebody presses a button of a message."""
