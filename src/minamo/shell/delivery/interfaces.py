"""Types between the lanes and their surroundings: send outcomes, senders, sources and options.

Lanes know only these protocols, so their rules are tested with a fake sender in virtual time and
used with hikari in real time.  Nothing in this file imports hikari.  Refusals of Discord are short
codes, never messages: an error text of Discord or hikari can contain a webhook's token.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import ClassVar, Protocol, runtime_checkable

from attrs import define, field, frozen

from minamo.core.messages import (
    NOBODY,
    SUPPRESS_EMBEDS,
    AllowedMentions,
    Button,
    Embed,
    Extras,
    Kind,
    MessageSource,
    OutgoingFile,
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
    file: OutgoingFile | None = None


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


#: Discord's own error codes that a sender of text can receive.
BY_CODE: Mapping[int, str] = {
    10003: "unknown_channel",
    10004: "unknown_guild",
    10008: "unknown_message",
    10013: "unknown_user",
    10015: "unknown_webhook",
    10062: "interaction_expired",
    20009: "explicit_content",
    20016: "slow_mode",
    20022: "edit_limit",
    20028: "write_limit",
    20029: "write_limit",
    20031: "words_not_allowed",
    30007: "webhook_limit",
    30046: "edit_limit",
    40004: "sending_disabled",
    40005: "too_large",
    40058: "forum_needs_a_thread",
    40060: "interaction_answered",
    40094: "follow_up_limit",
    50001: "no_access",
    50003: "not_in_direct_messages",
    50005: "not_ours_to_edit",
    50006: "empty_message",
    50007: "direct_messages_closed",
    50008: "not_a_text_channel",
    50013: "no_permission",
    50024: "wrong_kind_of_channel",
    50027: "bad_token",
    50035: "bad_form",
    50045: "too_large",
    50083: "thread_archived",
    50278: "direct_messages_closed",
    160002: "no_history_to_reply",
    160004: "thread_exists",
    160005: "thread_locked",
    160006: "thread_limit",
    200000: "automod",
    220001: "forum_needs_a_thread",
    240000: "harmful_link",
}

_BY_STATUS: Mapping[int, str] = {
    400: "bad_request",
    401: "unauthorized",
    403: "forbidden",
    404: "not_found",
    413: "too_large",
}

UNKNOWN_MESSAGE = 10008


def reason_for(status: int, code: int) -> str:
    """Return the short code of a refusal; Discord's code is preferred to the HTTP status."""
    return BY_CODE.get(code) or _BY_STATUS.get(status) or f"http_{status}"
