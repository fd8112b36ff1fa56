"""Messages on their way to Discord, and receipts: the data that core, shell and page share.

Receipts hold short codes and no exception text.  Nothing here imports hikari.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, Literal, Protocol

from attrs import Attribute, field, frozen

from minamo.errors import BadSetting

Kind = Literal["create", "edit", "delete"]
"""The kinds of calls to Discord."""
Outcome = Literal["delivered", "refused", "not_sent", "unknown"]

# Discord's own flag values, so that callers need not import hikari for them.
SUPPRESS_EMBEDS = 1 << 2
EPHEMERAL = 1 << 6
SUPPRESS_NOTIFICATIONS = 1 << 12


def _listed(value: Any) -> Any:
    return tuple(value) if isinstance(value, list | set | frozenset) else value


def _ids(_: object, attribute: Attribute[Any], value: object) -> None:
    # True would notify every user or role that the text mentions.
    fine = isinstance(value, tuple) and all(
        isinstance(number, int) and not isinstance(number, bool) for number in value
    )
    if not fine:
        raise BadSetting(f"ping: {attribute.name} must be a list of ids; it is {value!r}")


def _flag(_: object, attribute: Attribute[Any], value: object) -> None:
    if not isinstance(value, bool):
        raise BadSetting(f"ping: {attribute.name} must be True or False; it is {value!r}")


@frozen(slots=True)
class AllowedMentions:
    """Users and roles a message may notify.  None by default, regardless of its text."""

    users: tuple[int, ...] = field(default=(), converter=_listed, validator=_ids)
    roles: tuple[int, ...] = field(default=(), converter=_listed, validator=_ids)
    everyone: bool = field(default=False, validator=_flag)
    reply: bool = field(default=False, validator=_flag)
    """Whether to notify the author of the message replied to."""


NOBODY = AllowedMentions()


@frozen(slots=True, kw_only=True)
class Embed:
    """An embed next to, or instead of, the text."""

    title: str = ""
    description: str = field(default="", repr=False)
    colour: int | None = None


@frozen(slots=True)
class Button:
    """A button that stops the reply; the interaction handler receives its `custom_id`."""

    custom_id: str
    label: str = "Stop"


@frozen(slots=True)
class OutgoingFile:
    """A file attached to a message."""

    name: str
    data: bytes = field(repr=False)
    characters: int = 0
    """The length of the reply's text in it; 0 if it is a file that the model made."""

    @classmethod
    def of_text(cls, name: str, text: str) -> OutgoingFile:
        """Return a file with a part of the reply's text."""
        return cls(name, text.encode("utf-8", "replace"), len(text))


@frozen(slots=True)
class Extras:
    """Parts of the caller's own beside the text: objects that the Discord client takes as such."""

    components: tuple[Any, ...] = ()
    embeds: tuple[Any, ...] = ()
    attachments: tuple[Any, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.components or self.embeds or self.attachments)


@frozen(slots=True, kw_only=True)
class OutgoingMessage:
    """One message as passed to a sender."""

    channel_id: int
    text: str = field(repr=False)
    nonce: str | None = None
    """Lets Discord recognise a repeated create; omitted on routes without nonces."""
    reply_to: int | None = None
    ping: AllowedMentions = NOBODY
    flags: int = 0
    embed: Embed | None = None
    button: Button | None = None
    file: OutgoingFile | None = None
    extras: Extras | None = field(default=None, repr=False)
    bare: bool = False
    """Whether this is an edit that removes the button."""


@frozen(slots=True, kw_only=True)
class Receipt:
    """The outcome of one message.  It holds no text: that is for the reader, not for logs."""

    outcome: Outcome
    channel_id: int
    index: int
    """Zero-based index of this message within its stream."""
    characters: int
    message_id: int | None = None
    """The message sent, edited or deleted; None if that failed, or if its id was never known."""
    file: str = ""
    """The name of the attached file, if there is one."""
    reason: str = ""
    """Why it was not delivered, as a short code."""
    note: str = ""
    """How delivery differs from the options, such as ``no_thread:no_permission``."""
    kind: Kind = "create"
    """The kind of call; only a create adds a message."""
    nonce: str | None = None
    attempts: int = 0
    """Number of calls made; hikari may have repeated each."""
    accepted_at: float = 0.0
    """In event loop time, like the next two."""
    sent_at: float | None = None
    """When the first call was made."""
    settled_at: float = 0.0

    @property
    def delivered(self) -> bool:
        """Whether Discord accepted it."""
        return self.outcome == "delivered"

    @property
    def lost(self) -> bool:
        """Whether its text is, or may be, missing from the channel."""
        return not self.delivered and self.kind != "delete"


class Sendable(Protocol):
    """The text of one call: a message to create, or the new text of one to edit or delete."""

    @property
    def text(self) -> str:
        """The text to send."""

    @property
    def kind(self) -> Kind:
        """The kind of call."""

    @property
    def target(self) -> int:
        """The id of the message to edit or delete; 0 for a new one."""

    @property
    def file(self) -> OutgoingFile | None:
        """The file to attach, if there is one."""


class MessageSource(ABC):
    """Text waiting to be sent; `minamo.core.accounting.outbox.Outbox` is one implementation."""

    __slots__ = ()

    can_split: ClassVar[bool] = False
    """Whether an overflow can take the remaining text as one text, with `take_rest`."""

    @property
    @abstractmethod
    def waiting(self) -> int:
        """Number of waiting characters."""

    @property
    def limited(self) -> bool:
        """Whether the message limit cut text off."""
        return False

    @property
    def kind(self) -> Kind:
        """The kind of the next call."""
        return "create"

    @abstractmethod
    def take(self, most: int | None = None, room: int | None = None) -> Sequence[Sendable]:
        """Take and return the messages of the waiting text, or of its first *most* segments.

        With *room*, take at most so many messages; the text beyond them keeps waiting.
        """

    @abstractmethod
    def withdraw(self, reason: str) -> object:
        """Discard the waiting text."""

    def drop_file(self, index: int) -> None:  # noqa: B027 - most sources have none
        """Note that message *index* goes without its file, which could not be attached."""

    def finish(self) -> None:  # noqa: B027 - most sources need not know
        """Note that no more text will follow; called once, when the stream queue is closed."""

    def take_rest(self) -> str:
        """Take and return all waiting text as written, to be sent as one file."""
        raise NotImplementedError

    def put_rest_back(self) -> None:
        """Put the text of `take_rest` back because it was not sent."""
        raise NotImplementedError
