"""Outgoing messages: composed from a stream's texts, each with a machine of its own.

The actions and guards are those named in statecharts/delivery.yaml.  This file reads no clock and
makes no calls: the lane reports each event with its time, the chart decides its meaning, and the
result is a receipt.  A message goes to the channel or, beyond a number of them, to a file or a
thread.
"""

from __future__ import annotations

from base64 import b32encode
from collections.abc import Callable
from hashlib import blake2s
from typing import assert_never

from attrs import define, field, frozen

from minamo.core.messages import (
    SUPPRESS_EMBEDS,
    Kind,
    Outcome,
    OutgoingMessage,
    Receipt,
    Sendable,
)
from minamo.machine import Machine, compile, load
from minamo.machine.machine import Observer
from minamo.shell.delivery.interfaces import (
    Accepted,
    Deleted,
    Rejected,
    RetryLater,
    Sender,
    SendOptions,
    SendOutcome,
    Unknown,
)
from minamo.shell.delivery.overflow import OverflowState

# With a third of all answers lost, one message in fifteen thousand fails this many times.
ATTEMPTS_MAX = 8
# Discord remembers a nonce for "a few minutes"; a repeat must fall safely within them.
NONCE_TRUSTED_S = 120.0
# A message more than a minute late answers a conversation that has moved on.
LATE_MAX_S = 60.0
# The wait between two attempts: the first is short, because a dropped connection is most likely
# temporary; then each wait is twice the last.
BACKOFF_S = 0.25
BACKOFF_MAX_S = 4.0


@frozen(slots=True)
class Report:
    """The data of an event."""

    at: float = 0.0
    reason: str = ""
    message_id: int | None = None
    wait_s: float = 0.0
    final: bool = False
    """A repeat could show the message twice."""


@define
class DeliveryActions:
    """The known facts about one message, and the chart's actions and guards on them."""

    repeat_is_safe: bool
    attempts: int = 0
    first_at: float | None = None
    message_id: int | None = None
    reason: str = ""
    wait_s: float = 0.0

    def patient(self, report: Report) -> bool:
        return self._late(report) <= LATE_MAX_S and self.attempts < ATTEMPTS_MAX

    def repeatable(self, report: Report) -> bool:
        in_time = self._late(report) < NONCE_TRUSTED_S
        is_safe = self.repeat_is_safe and not report.final
        return is_safe and in_time and self.attempts < ATTEMPTS_MAX

    def _late(self, report: Report) -> float:
        """Return the time in seconds from the first call to the next one."""
        first = report.at if self.first_at is None else self.first_at
        return report.at - first + report.wait_s

    def count_attempt(self, report: Report) -> None:
        self.attempts += 1
        self.wait_s = 0.0
        if self.first_at is None:
            self.first_at = report.at

    def note_message(self, report: Report) -> None:
        self.message_id = report.message_id

    def note_reason(self, report: Report) -> None:
        self.reason = report.reason

    def note_wait(self, report: Report) -> None:
        backoff = min(BACKOFF_S * 2 ** (self.attempts - 1), BACKOFF_MAX_S)
        self.wait_s = max(report.wait_s, backoff)


CHART = load("delivery")
TABLE = compile(CHART, DeliveryActions)


class Delivery:
    """One message being sent; `settled` is called once, with its receipt."""

    __slots__ = ("_machine", "_settled", "accepted_at", "characters", "ended", "index", "kind",
                 "note", "post", "target")  # fmt: skip

    def __init__(
        self,
        post: OutgoingMessage,
        settled: Callable[[Receipt], object],
        *,
        index: int = 0,
        kind: Kind = "create",
        target: int = 0,
        at: float = 0.0,
        watch: Observer | None = None,
    ) -> None:
        self.post: OutgoingMessage = post
        self.characters: int = len(post.text) + (0 if post.file is None else post.file.characters)
        """Length of the text and the attached file."""
        self.index: int = index
        self.kind = kind
        self.target: int = target
        """The message to edit or delete; 0 for a new one."""
        self.accepted_at: float = at
        self.ended: bool = False
        """Whether its receipt has been issued."""
        self.note: str = ""
        """Copied to the receipt's `note`."""
        self._settled = settled
        safe = post.nonce is not None or kind != "create"
        self._machine = Machine(TABLE, DeliveryActions(safe), watch=watch)

    def __repr__(self) -> str:
        return f"<Delivery {self.index} to {self.post.channel_id}, {self.state}>"

    @property
    def state(self) -> str:
        """The current leaf state of the chart."""
        return self._machine.state

    @property
    def wait_s(self) -> float:
        """Seconds to wait before the next attempt."""
        wait: float = self._machine.actions.wait_s
        return wait

    @property
    def only_tried(self) -> bool:
        """Whether a call is in flight, with no earlier answer lost, no echo and no withdrawal."""
        return self._machine.state == "calling"

    def turn_came(self, at: float) -> None:
        """Record that the call starts now."""
        self._send("turn_came", Report(at))

    def answer(self, answer: SendOutcome, at: float) -> None:
        """Record the outcome of the call."""
        match answer:
            case Accepted(message_id):
                self._send("answered", Report(at, message_id=message_id))
            case Deleted():
                self._send("vanished", Report(at))
            case Rejected(reason):
                self._send("rejected", Report(at, reason))
            case RetryLater(reason, wait_s):
                self._send("put_off", Report(at, reason, wait_s=wait_s))
            case Unknown(reason, final):
                self._send("answer_lost", Report(at, reason, final=final))
            case _:
                assert_never(answer)

    def echoed(self, message_id: int, at: float) -> None:
        """Record that the gateway reported the message."""
        self._send("echoed", Report(at, message_id=message_id))

    def withdraw(self, reason: str, at: float) -> None:
        """Withdraw the message; a call in flight still decides its outcome."""
        self._send("withdrawn", Report(at, reason))

    def give_up(self, reason: str, at: float) -> None:
        """End the message now: no time is left to learn its outcome."""
        self._send("gave_up", Report(at, reason))

    def _send(self, event: str, report: Report) -> None:
        self._machine.send(event, report)
        if self._machine.ended and not self.ended:
            self.ended = True
            self._settled(self._receipt(report.at))

    def _receipt(self, at: float) -> Receipt:
        known: DeliveryActions = self._machine.actions
        outcome: Outcome = self._machine.state  # type: ignore[assignment]  # the chart's outcomes
        # Discord's answer to a deletion has no id.
        was_deleted = self.kind == "delete" and outcome == "delivered"
        return Receipt(
            outcome=outcome,
            channel_id=self.post.channel_id,
            index=self.index,
            characters=self.characters,
            file="" if self.post.file is None else self.post.file.name,
            message_id=self.target if was_deleted else known.message_id,
            reason=known.reason,
            note=self.note,
            kind=self.kind,
            nonce=self.post.nonce,
            attempts=known.attempts,
            accepted_at=self.accepted_at,
            sent_at=known.first_at,
            settled_at=at,
        )


# Discord refuses a longer nonce; the digest leaves room for eight digits of the message's index.
NONCE_MAX = 25
# 80 bits: two streams of one bot share a digest once in 10^12 replies.
_DIGEST_BYTES = 10


def nonce_prefix(stream_id: str) -> str:
    """Return the first part of the nonces of a stream; the index of the message follows it.

    So a nonce is the same for each attempt and different for each message.  Discord remembers it
    for only a few minutes; a stream's id must not be reused within them.
    """
    named = stream_id.encode("utf-8", "surrogatepass")
    return b32encode(blake2s(named, digest_size=_DIGEST_BYTES).digest()).decode().lower() + "-"


@define(eq=False)
class Composer:
    """The factory for the messages of one stream."""

    channel_id: int
    sender: Sender
    options: SendOptions
    nonces: str = field(converter=nonce_prefix, alias="stream_id", repr=False)
    """The first part of every nonce."""
    overflow: OverflowState | None = None
    watch: Observer | None = None
    count: int = field(default=0, init=False)
    """Number of messages composed so far."""

    @property
    def collecting(self) -> bool:
        """Whether further text waits for the end of the stream."""
        return self.overflow is not None and self.overflow.collects(self.count)

    @property
    def room(self) -> int | None:
        """Number of ordinary messages still allowed; None if unlimited."""
        return None if self.overflow is None else self.overflow.room(self.count)

    def compose(
        self,
        text: Sendable,
        settled: Callable[[Receipt], object],
        at: float,
        *,
        ending: bool = False,
    ) -> Delivery:
        """Return one message; *settled* will get its receipt.

        *ending* means that no further text will arrive for the stream.
        """
        delivery = Delivery(
            self._post(text, ending=ending),
            settled,
            index=self.count,
            kind=text.kind,
            target=text.target,
            at=at,
            watch=self.watch,
        )
        if self.overflow is not None and self.overflow.note:
            delivery.note = self.overflow.take_note()
        self.count += 1
        return delivery

    def uncompose(self) -> None:
        """Free the index of the last message: it was refused and will be composed differently."""
        self.count -= 1

    def without_button(self) -> OutgoingMessage:
        """Return the edit that removes the button."""
        options = self.options
        return OutgoingMessage(
            channel_id=self.channel_id, text="", ping=options.ping, flags=options.flags, bare=True
        )

    def _post(self, text: Sendable, *, ending: bool) -> OutgoingMessage:
        first, options = self.count == 0, self.options
        embed = options.embed if first else None
        flags = options.flags
        extras = options.extras if first else None
        if not text.text and (embed is not None or (extras is not None and extras.embeds)):
            flags &= ~SUPPRESS_EMBEDS  # it would hide this embed, and there is no link to preview
        has_nonce = text.kind == "create" and self.sender.has_nonce
        place = self.channel_id
        if self.overflow is not None and self.overflow.thread_id is not None:
            place = self.overflow.thread_id
        return OutgoingMessage(
            channel_id=place,
            text=text.text,
            nonce=f"{self.nonces}{self.count}" if has_nonce else None,
            reply_to=options.reply_to if first else None,
            ping=options.ping,
            flags=flags,
            embed=embed,
            extras=extras,
            file=text.file,
            # A reply that is complete when it appears cannot be stopped.
            button=options.button if first and not ending else None,
        )
