"""One outgoing message: the actions and guards named in statecharts/delivery.yaml.

This file reads no clock and makes no calls.  The lane reports each event with its time, the chart
decides its meaning, and the result is a receipt.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import assert_never

from attrs import define, frozen

from minamo.core.messages import Kind, Outcome, OutgoingMessage, Receipt
from minamo.machine import Machine, compile, load
from minamo.machine.machine import Observer
from minamo.shell.delivery.interfaces import (
    Accepted,
    Deleted,
    Rejected,
    RetryLater,
    SendOutcome,
    Unknown,
)

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
    is_wanted: bool = True
    echoed: bool = False
    wait_s: float = 0.0

    def wanted(self, _: Report) -> bool:
        return self.is_wanted

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

    def echo_seen(self, _: Report) -> bool:
        return self.echoed

    def count_attempt(self, report: Report) -> None:
        self.attempts += 1
        self.wait_s = 0.0
        if self.first_at is None:
            self.first_at = report.at

    def note_message(self, report: Report) -> None:
        self.message_id = report.message_id
        self.echoed = True

    def note_reason(self, report: Report) -> None:
        self.reason = report.reason

    def note_withdrawn(self, _: Report) -> None:
        self.is_wanted = False

    def note_wait(self, report: Report) -> None:
        backoff = min(BACKOFF_S * 2 ** (self.attempts - 1), BACKOFF_MAX_S)
        self.wait_s = max(report.wait_s, backoff)


CHART = load("delivery")
TABLE = compile(CHART, DeliveryActions)


class Delivery:
    """One message being sent; `settled` is called once, with its receipt."""

    __slots__ = ("_machine", "_settled", "accepted_at", "index", "kind", "note", "on_end", "post",
                 "target")  # fmt: skip

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
        self.index: int = index
        self.kind = kind
        self.target: int = target
        """The message to edit or delete; 0 for a new one."""
        self.accepted_at: float = at
        self.note: str = ""
        """Copied to the receipt's `note`."""
        self.on_end: Callable[[], object] | None = None
        self._settled = settled
        safe = post.nonce is not None or kind != "create"
        self._machine = Machine(TABLE, DeliveryActions(safe))
        if watch is not None:
            self._machine.subscribe(watch)

    def __repr__(self) -> str:
        return f"<Delivery {self.index} to {self.post.channel_id}, {self.state}>"

    @property
    def state(self) -> str:
        """The current leaf state of the chart."""
        return self._machine.state

    @property
    def ended(self) -> bool:
        """Whether its receipt has been issued."""
        return self._machine.ended

    @property
    def wait_s(self) -> float:
        """Seconds to wait before the next attempt."""
        wait: float = self._machine.actions.wait_s
        return wait

    @property
    def only_tried(self) -> bool:
        """Whether a call is in flight, no earlier answer was lost and it was not withdrawn."""
        actions: DeliveryActions = self._machine.actions
        return self._machine.state == "sending" and actions.is_wanted

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
        was_over = self._machine.ended
        self._machine.send(event, report)
        if was_over or not self._machine.ended:
            return
        known: DeliveryActions = self._machine.actions
        outcome: Outcome = self._machine.state  # type: ignore[assignment]  # the chart's outcomes
        self._settled(
            Receipt(
                outcome=outcome,
                channel_id=self.post.channel_id,
                index=self.index,
                characters=self.post.characters,
                message_id=self._message(outcome, known.message_id),
                reason=known.reason,
                note=self.note,
                kind=self.kind,
                nonce=self.post.nonce,
                attempts=known.attempts,
                accepted_at=self.accepted_at,
                sent_at=known.first_at,
                settled_at=report.at,
            )
        )
        if self.on_end is not None:
            self.on_end()

    def _message(self, outcome: Outcome, answered: int | None) -> int | None:
        """Return the id for the receipt; Discord's answer to a deletion has none."""
        return self.target if self.kind == "delete" and outcome == "delivered" else answered
