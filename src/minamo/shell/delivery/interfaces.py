"""What a lane needs from Discord: a message to send, and five kinds of answer.

The protocol is all that lanes know, so their rules are tested with a fake in virtual time and
used with hikari in the real one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Literal, Protocol

from attrs import Attribute, define, field, frozen

from minamo.errors import BadSetting
from minamo.shell.delivery.overflow import Overflow

# Discord's own numbers, so that nobody needs hikari to say them.
SUPPRESS_EMBEDS = 1 << 2
EPHEMERAL = 1 << 6
SUPPRESS_NOTIFICATIONS = 1 << 12


def _listed(value: Any) -> Any:
    return tuple(value) if isinstance(value, list | set | frozenset) else value


def _ids(_: object, attribute: Attribute[Any], value: object) -> None:
    # True would ring for everybody whom the text names.
    fine = isinstance(value, tuple) and all(
        isinstance(one, int) and not isinstance(one, bool) for one in value
    )
    if not fine:
        raise BadSetting(f"ping: {attribute.name} must be a list of ids; it is {value!r}")


def _flag(_: object, attribute: Attribute[Any], value: object) -> None:
    if not isinstance(value, bool):
        raise BadSetting(f"ping: {attribute.name} must be True or False; it is {value!r}")


@frozen(slots=True)
class AllowedMentions:
    """Whom a message may ring for.  By default nobody, whatever its text says."""

    users: tuple[int, ...] = field(default=(), converter=_listed, validator=_ids)
    roles: tuple[int, ...] = field(default=(), converter=_listed, validator=_ids)
    everyone: bool = field(default=False, validator=_flag)
    reply: bool = field(default=False, validator=_flag)
    """The author of the message replied to."""


NOBODY = AllowedMentions()


@frozen(slots=True, kw_only=True)
class Embed:
    """A notice beside or instead of text."""

    title: str = ""
    description: str = field(default="", repr=False)
    colour: int | None = None


@frozen(slots=True)
class Button:
    """A button to stop the reply with; whoever handles interactions hears the `custom_id`."""

    custom_id: str
    label: str = "Stop"


@frozen(slots=True)
class File:
    """A text that goes with a message as a file."""

    name: str
    text: str = field(repr=False)

    @property
    def data(self) -> bytes:
        """What is uploaded."""
        return self.text.encode("utf-8", "replace")


@frozen(slots=True, kw_only=True)
class OutgoingMessage:
    """One message as it goes out."""

    channel_id: int
    text: str = field(repr=False)
    nonce: str | None = None
    """What Discord recognises a repetition by; a sender leaves it out where Discord knows none."""
    reply_to: int | None = None
    ping: AllowedMentions = NOBODY
    flags: int = 0
    embed: Embed | None = None
    button: Button | None = None
    file: File | None = None
    bare: bool = False
    """An edit that takes the button away."""

    @property
    def characters(self) -> int:
        """How much it says."""
        return len(self.text) + (len(self.file.text) if self.file is not None else 0)


@frozen(slots=True)
class Accepted:
    """Discord has the message."""

    message_id: int | None


@frozen(slots=True)
class Deleted:
    """Discord had the message, and it was deleted."""


@frozen(slots=True)
class Rejected:
    """Discord does not want it, now or later."""

    reason: str


@frozen(slots=True)
class RetryLater:
    """Discord certainly did not take it and may take it later."""

    reason: str
    wait_s: float = 0.0


@frozen(slots=True)
class Unknown:
    """Nobody knows whether Discord took it."""

    reason: str
    final: bool = False
    """Asking again could show it twice."""


Kind = Literal["create", "edit", "delete"]
SendOutcome = Accepted | Deleted | Rejected | RetryLater | Unknown

CLOSED = RetryLater("closed", math.inf)
"""The client was closed before the call went out: nothing was sent, and waiting will not help."""


class Sender(Protocol):
    """Somebody who can talk to one channel.  No method raises for what the world does."""

    def route(self, kind: Kind) -> str:
        """The rate limit that such a call is under, such as ``create`` or ``webhook``."""

    @property
    def place(self) -> int:
        """The channel or webhook those limits are counted for."""

    @property
    def has_nonce(self) -> bool:
        """Whether creates are given a nonce; one without is never repeated when in doubt."""

    async def create(self, post: OutgoingMessage) -> SendOutcome:
        """Send a new message."""

    async def edit(self, post: OutgoingMessage, message_id: int) -> SendOutcome:
        """Change a message that was sent."""

    async def delete(self, channel_id: int, message_id: int) -> SendOutcome:
        """Remove a message that was sent; one that is gone already is as good."""

    async def typing(self, channel_id: int) -> SendOutcome:
        """Show the typing indicator for some ten seconds."""

    async def start_thread(self, channel_id: int, message_id: int, name: str) -> SendOutcome:
        """Start a thread from a message; the id it took is the thread's."""


class HasText(Protocol):
    """Anything with a text, such as a fitted message.

    One that also has a `kind` and a `target` changes or removes the message of that id.
    """

    @property
    def text(self) -> str:
        """What it says."""


class MessageSource(Protocol):
    """Where text waits until it is its turn; `minamo.core.accounting.outbox.Outbox` is one."""

    @property
    def waiting(self) -> int:
        """How many characters wait."""

    @property
    def limited(self) -> bool:
        """Whether the message limit cut something off."""

    def take(self, most: int | None = None) -> Sequence[HasText]:
        """The messages of what waits, or of the first *most* segments of it."""

    def withdraw(self, reason: str) -> object:
        """Forget what waits."""


class SplittableSource(MessageSource, Protocol):
    """A source that an overflow can take the rest of."""

    def take(self, most: int | None = None, room: int | None = None) -> Sequence[HasText]:
        """As above, but no more than *room* messages; the text of the others goes on waiting."""

    def take_rest(self) -> str:
        """Everything that waits, as it was written, to be sent as one."""

    def put_rest_back(self) -> None:
        """What `take_rest` gave was not sent: it waits again."""


@frozen(slots=True, kw_only=True)
class SendOptions:
    """How the messages of one stream are sent."""

    reply_to: int | None = None
    """What the first message replies to."""
    ping: AllowedMentions = NOBODY
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
class PlainMessage:
    """A message that needs no fitting."""

    text: str


@define
class TextQueue:
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

    def take(self, most: int | None = None, room: int | None = None) -> list[PlainMessage]:
        """The messages of what waits, or of the first *most*; never two texts in one."""
        most = room if most is None else most if room is None else min(most, room)
        taken, self.lines = self.lines[:most], [] if most is None else self.lines[most:]
        return [PlainMessage(text) for text in taken]

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
