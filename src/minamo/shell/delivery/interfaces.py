"""Types between the lanes and their surroundings: send outcomes, senders, sources and options.

Lanes know only these protocols, so their rules are tested with a fake sender in virtual time and
used with hikari in real time.  Nothing in this file imports hikari.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import ClassVar, Protocol, runtime_checkable

from attrs import define, field, frozen

from minamo.core.messages import (
    NOBODY,
    SUPPRESS_EMBEDS,
    AllowedMentions,
    Button,
    Embed,
    Extras,
    File,
    Kind,
    MessageSource,
    OutgoingMessage,
)
from minamo.shell.delivery.overflow import Overflow


@frozen(slots=True)
class Accepted:
    """Discord accepted the call."""

    reason: ClassVar[str] = ""
    message_id: int | None


@frozen(slots=True)
class Deleted:
    """Discord accepted the message, and it has been deleted since."""

    reason: ClassVar[str] = "deleted"


@frozen(slots=True)
class Rejected:
    """Discord refused the call; a retry would be refused, too."""

    reason: str


@frozen(slots=True)
class RetryLater:
    """Discord certainly did not accept the call; a retry may succeed."""

    reason: str
    wait_s: float = 0.0


@frozen(slots=True)
class Unknown:
    """It is unknown whether Discord accepted the call."""

    reason: str
    final: bool = False
    """A repeat could show the message twice."""


SendOutcome = Accepted | Deleted | Rejected | RetryLater | Unknown

CLOSED = RetryLater("closed", math.inf)
"""The client was closed before the call: nothing was sent, and waiting will not help."""


Burst = Callable[[SendOutcome | None], OutgoingMessage | None]
"""Takes the outcome of the last message and returns the next; None if it must wait or is absent."""


class Sender(Protocol):
    """A sender of calls for one channel.  Failures are returned as outcomes, never raised."""

    def route(self, kind: Kind) -> str:
        """Return the rate limit for calls of this kind, such as ``create`` or ``webhook``."""

    @property
    def place(self) -> int:
        """The id of the channel or webhook those limits apply to."""

    @property
    def has_nonce(self) -> bool:
        """Whether creates carry a nonce; without one, a create in doubt is never repeated."""

    async def create(self, post: OutgoingMessage) -> SendOutcome:
        """Send a new message."""

    async def edit(self, post: OutgoingMessage, message_id: int) -> SendOutcome:
        """Edit a sent message."""

    async def delete(self, channel_id: int, message_id: int) -> SendOutcome:
        """Delete a sent message; one that no longer exists counts as deleted."""

    async def typing(self, channel_id: int) -> SendOutcome:
        """Show the typing indicator for about ten seconds."""

    async def start_thread(self, channel_id: int, message_id: int, name: str) -> SendOutcome:
        """Start a thread from a message; `Accepted.message_id` is the thread's id."""


@runtime_checkable
class BurstSender(Protocol):
    """A sender that can make several creates within one call."""

    async def create_all(self, after: Burst) -> None:
        """Send messages until *after*, given the outcome of the last one, returns None."""


@frozen(slots=True, kw_only=True)
class SendOptions:
    """Options for sending the messages of one stream."""

    reply_to: int | None = None
    """Id of the message that the first message replies to."""
    ping: AllowedMentions = NOBODY
    flags: int = SUPPRESS_EMBEDS
    """Discord's message flags; by default Discord fetches no previews for links in the text."""
    embed: Embed | None = None
    """Sent with the first message; visible if that has no text or link previews are on."""
    pause_s: Callable[[int], float] | None = None
    """Simulated typing time in seconds for a number of characters; None for no pause."""
    overflow: Overflow | None = None
    """Handling of a reply with too many messages; needs a source that `can_split`."""
    button: Button | None = None
    """Shown below the first message until the stream is finished."""
    extras: Extras | None = None
    """Sent with the first message, or added to it if that is an edit."""
    unattached: Callable[[str], str] = "-# {} could not be attached".format
    """Returns the text in place of a file that Discord does not take, from its name."""


@frozen(slots=True)
class PlainMessage:
    """A message that needs no fitting."""

    text: str
    kind: Kind = "create"
    target: int = 0
    """The message to edit or delete; 0 for a new one."""
    file: File | None = None


@define
class TextQueue(MessageSource):
    """Texts waiting to be sent, each as one message."""

    can_split: ClassVar[bool] = True
    lines: list[str] = field(factory=list, repr=False)
    _rest: list[str] = field(factory=list, init=False, repr=False)

    @property
    def waiting(self) -> int:
        """Number of waiting characters; an empty text counts as one: it may carry an embed."""
        return sum(map(len, self.lines)) + self.lines.count("")

    def put(self, text: str) -> None:
        """Add one text; the caller then calls the stream queue's `deliver`."""
        self.lines.append(text)

    def take(self, most: int | None = None, room: int | None = None) -> list[PlainMessage]:
        """Take and return all texts, or the first *most*, each as a message of its own."""
        most = room if most is None else most if room is None else min(most, room)
        taken, self.lines = self.lines[:most], [] if most is None else self.lines[most:]
        return [PlainMessage(text) for text in taken]

    def take_rest(self) -> str:
        """Take and return all waiting texts, one per paragraph."""
        self._rest, self.lines = self.lines, []
        return "\n\n".join(self._rest)

    def put_rest_back(self) -> None:
        """Put the text of `take_rest` back because it was not sent."""
        self.lines, self._rest = [*self._rest, *self.lines], []

    def withdraw(self, reason: str) -> None:
        """Discard the waiting text."""
        del reason
        self.lines.clear()
