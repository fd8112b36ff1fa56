"""What a lane sends, and how: where text waits until its turn, and the manner of sending it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from attrs import define, field, frozen

from minamo.shell.sender import NOBODY, Embed, Ping


class Text(Protocol):
    """Anything with a text, such as a fitted message.

    One that also has a `kind` and a `target` changes or removes the message of that id.
    """

    @property
    def text(self) -> str:
        """What it says."""


class Source(Protocol):
    """Where text waits until it is its turn; `minamo.core.outbox.Outbox` is one."""

    @property
    def waiting(self) -> int:
        """How many characters wait."""

    @property
    def limited(self) -> bool:
        """Whether the message limit cut something off."""

    def take(self, most: int | None = None) -> Sequence[Text]:
        """The messages of what waits, or of the first *most* segments of it."""

    def withdraw(self, reason: str) -> None:
        """Forget what waits."""


@frozen(slots=True, kw_only=True)
class Manner:
    """How the messages of one stream are sent."""

    reply_to: int | None = None
    """What the first message replies to."""
    ping: Ping = NOBODY
    flags: int = 0
    embed: Embed | None = None
    """Goes with the first message."""
    pause_s: Callable[[int], float] | None = None
    """How long to pretend to type so many characters."""


@frozen(slots=True)
class Line:
    """A message that needs no fitting."""

    text: str


@define
class Texts:
    """Texts that wait to be sent, each as one message."""

    lines: list[str] = field(factory=list, repr=False)
    limited: bool = field(default=False, init=False)

    @property
    def waiting(self) -> int:
        """How many characters wait; an empty text counts, for an embed may go with it."""
        return sum(max(len(line), 1) for line in self.lines)

    def put(self, text: str) -> None:
        """Add one; tell the dispatch with `deliver`."""
        self.lines.append(text)

    def take(self, most: int | None = None) -> list[Line]:
        """The messages of what waits, or of the first *most*; never two texts in one."""
        taken, self.lines = self.lines[:most], self.lines[most:] if most else []
        return [Line(text) for text in taken]

    def withdraw(self, reason: str) -> None:
        """Forget what waits."""
        del reason
        self.lines.clear()
