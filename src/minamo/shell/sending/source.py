"""What a lane sends, and how: where text waits until its turn, and the manner of sending it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from attrs import define, field, frozen

from minamo.shell.sending.overflow import Overflow
from minamo.shell.sending.sender import NOBODY, SUPPRESS_EMBEDS, Button, Embed, Ping


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

    def withdraw(self, reason: str) -> object:
        """Forget what waits."""


class Divisible(Source, Protocol):
    """A source that an overflow can take the rest of."""

    def take(self, most: int | None = None, room: int | None = None) -> Sequence[Text]:
        """As above, but no more than *room* messages; the text of the others goes on waiting."""

    def take_rest(self) -> str:
        """Everything that waits, as it was written, to be sent as one."""

    def put_rest_back(self) -> None:
        """What `take_rest` gave was not sent: it waits again."""


@frozen(slots=True, kw_only=True)
class Manner:
    """How the messages of one stream are sent."""

    reply_to: int | None = None
    """What the first message replies to."""
    ping: Ping = NOBODY
    flags: int = SUPPRESS_EMBEDS
    """Discord's; by default nothing is fetched from the addresses in a text."""
    embed: Embed | None = None
    """Goes with the first message, and is seen if that has no text or previews are on."""
    pause_s: Callable[[int], float] | None = None
    """How long to pretend to type so many characters."""
    overflow: Overflow | None = None
    """What to do with a reply of too many messages; its source must be `Divisible`."""
    button: Button | None = None
    """Stands under the first message until the stream is finished."""


@frozen(slots=True)
class Line:
    """A message that needs no fitting."""

    text: str


@define
class Texts:
    """Texts that wait to be sent, each as one message."""

    lines: list[str] = field(factory=list, repr=False)
    limited: bool = field(default=False, init=False)
    _rest: list[str] = field(factory=list, init=False, repr=False)

    @property
    def waiting(self) -> int:
        """How many characters wait; an empty text counts, for an embed may go with it."""
        return sum(map(len, self.lines)) + self.lines.count("")

    def put(self, text: str) -> None:
        """Add one; tell the dispatch with `deliver`."""
        self.lines.append(text)

    def take(self, most: int | None = None, room: int | None = None) -> list[Line]:
        """The messages of what waits, or of the first *most*; never two texts in one."""
        most = room if most is None else most if room is None else min(most, room)
        taken, self.lines = self.lines[:most], [] if most is None else self.lines[most:]
        return [Line(text) for text in taken]

    def take_rest(self) -> str:
        """Everything that waits, one text to a paragraph."""
        self._rest, self.lines = self.lines, []
        return "\n\n".join(self._rest)

    def put_rest_back(self) -> None:
        """What `take_rest` gave was not sent: it waits again."""
        self.lines, self._rest = [*self._rest, *self.lines], []

    def withdraw(self, reason: str) -> None:
        """Forget what waits."""
        del reason
        self.lines.clear()
