"""The queue between one stream's driver and its lane, its waiters and its receipts.

The driver adds text and waits; the lane takes messages and settles them.  Nothing here calls
Discord, so a driver may be cancelled at any of its awaits without affecting a call in flight.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from types import TracebackType
from typing import Self

import anyio

from minamo.core.messages import Receipt
from minamo.machine.machine import Observer
from minamo.shell.callbacks import place_of
from minamo.shell.delivery.delivery import Delivery
from minamo.shell.delivery.interfaces import MessageSource, Sender, SendOptions
from minamo.shell.delivery.outgoing import Composer, Fitting
from minamo.shell.delivery.typing import Typing


class Condition:
    """Waiters for predicates over changing state."""

    __slots__ = ("_waiters",)

    def __init__(self) -> None:
        self._waiters: list[tuple[Callable[[], bool], anyio.Event]] = []

    def change(self) -> None:
        """Wake the waiters whose predicate is now true."""
        for true, event in self._waiters:
            if true():
                event.set()

    async def until(self, true: Callable[[], bool]) -> None:
        """Wait until *true* returns True.  Safe to cancel."""
        while not true():  # it may have been true only briefly
            event = anyio.Event()
            waiter = true, event
            self._waiters.append(waiter)
            try:
                await event.wait()
            finally:
                self._waiters.remove(waiter)


_LOG = logging.getLogger("minamo.discord")

# About four full messages: enough to keep a paced channel busy, little enough that a stalled
# one makes the provider wait instead of using more memory.
HELD_MAX = 8_000


def _nothing(_: object) -> None:
    pass


class StreamQueue:
    """The messages of one stream to one channel, in order.

    ``async with lanes.open(…) as queue``: an exception, including a cancellation, withdraws every
    message whose call has not begun.
    """

    def __init__(
        self,
        channel_id: int,
        sender: Sender,
        source: MessageSource,
        *,
        stream_id: str,
        manner: SendOptions,
        heard: Callable[[Receipt], object] | None = None,
        limit_reached: Callable[[], object] | None = None,
        typing: Typing | None = None,
        watch: Observer | None = None,
    ) -> None:
        self.channel_id = channel_id
        self.sender = sender
        self.typing = typing
        self.receipts: list[Receipt] = []
        self.finished: bool = False  # no text will be added
        self.behind = False  # another stream was in the lane before it
        self.tried = False  # a call has been made
        self.hurried: anyio.Event = anyio.Event()  # no more simulated typing
        self.interrupt: Callable[[], object] | None = None  # ends the lane's wait
        self.manner = manner
        self.buttoned: int | None = None  # id of the message with the button
        self._source = source
        self.fitting: Fitting = Fitting(
            source,
            Composer(channel_id, sender, manner, stream_id, self._settled, self._wake, watch),
        )
        self._heard = heard or _nothing
        self._limit_reached = limit_reached
        self._shut = ""  # why text is no longer accepted
        self._waiting = Condition()

    def __repr__(self) -> str:
        return (
            f"<StreamQueue to {self.channel_id}, {self.held} held, {len(self.receipts)} receipts>"
        )

    # For the driver.

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is not None:
            self.withdraw("cancelled")
        self.close()

    @property
    def held(self) -> int:
        """Characters accepted and not yet acknowledged; text collected for a file is excluded."""
        return self.fitting.held

    @property
    def busy(self) -> bool:
        """Whether messages or text can be sent now."""
        return self.fitting.busy(ending=self.finished)

    def deliver(self) -> None:
        """Wake the lane: the source has new text."""
        if self._shut:
            self._report_rest(self._shut)
        self.fitting.look_at_size()
        self._waiting.change()

    async def room(self) -> None:
        """Wait until the lane may hold more text; this applies back-pressure to the provider."""
        await self._waiting.until(lambda: self.held < HELD_MAX)

    def hurry(self) -> None:
        """Stop simulating typing, because the reply is to end soon."""
        self.hurried.set()

    def withdraw(self, reason: str) -> None:
        """Withdraw all text and messages whose call has not begun."""
        self.fitting.withdraw(reason, anyio.current_time())
        self._report_rest(reason)
        self.hurry()
        self._wake()

    def close(self) -> None:
        """Accept no more text; the lane serves the next stream when all messages have receipts."""
        if not self.finished and (finish := getattr(self._source, "finish", None)) is not None:
            finish()
        self.finished = True
        if self.typing is not None and not self.busy:
            self.typing.hide()
        self._waiting.change()

    async def finish(self) -> tuple[Receipt, ...]:
        """Close, wait until every message has a receipt, and return all receipts."""
        self.close()
        await self.answered()
        return tuple(self.receipts)

    async def answered(self) -> None:
        """Wait until no work is left; text collected for a file may remain."""
        await self._waiting.until(lambda: not self.busy)

    async def tidy(self) -> None:
        """Wait as `answered` does, and until a finished reply has no button."""
        await self._waiting.until(lambda: not self.open)

    # For the lane.

    @property
    def open(self) -> bool:
        """Whether the lane has work here, including a button to remove."""
        return self.busy or (self.finished and self.buttoned is not None)

    @property
    def first(self) -> Delivery | None:
        """The next message to send, if one is fitted."""
        return self.fitting.first

    @property
    def route(self) -> str:
        """The rate limit for the next call."""
        return self.sender.route(self.fitting.kind)

    @property
    def is_last(self) -> bool:
        """Whether the next message is the last of the stream."""
        return self.finished and self.fitting.is_last()

    @property
    def pausing(self) -> bool:
        """Whether to simulate typing before a message."""
        return self.manner.pause_s is not None and not self.hurried.is_set()

    async def work(self) -> bool:
        """Wait for text to send; return False if the stream finished without any."""
        await self._waiting.until(lambda: self.busy or self.finished)
        return self.busy

    def fit(self, most: int | None = None) -> Delivery | None:
        """Compose messages from waiting text; return the first, or None if it was blank."""
        first = self.fitting.fit(most, anyio.current_time(), ending=self.finished)
        if first is None:
            self._waiting.change()  # the text was blank, so none is held any more
            self._look_at_limit()
        return first

    def echoed(self, nonce: str, message_id: int) -> None:
        """Record that the gateway reported a message with this nonce."""
        self.fitting.echoed(nonce, message_id, anyio.current_time())

    def give_up(self, reason: str) -> None:
        """Issue receipts for all unacknowledged messages and accept no more text."""
        self._shut = reason
        self.finished = True
        self.fitting.give_up(reason, anyio.current_time())
        self._report_rest(reason)
        self._wake()

    def next_thread(self) -> tuple[int, str] | None:
        """Return message id and name for a thread due before the next message, or None."""
        return self.fitting.next_thread(self.receipts[-1] if self.receipts else None)

    def unfiled(self, delivery: Delivery, reason: str) -> None:
        """Turn the text of a file that Discord refused into messages."""
        self.fitting.unfiled(delivery, reason)
        self._waiting.change()

    def unbuttoned(self) -> None:
        """Record that the button was removed, or cannot be."""
        self.buttoned = None
        self._waiting.change()

    # Internal.

    def _report_rest(self, reason: str) -> None:
        """Withdraw text that was never fitted, and issue a receipt for it."""
        rest = self.fitting.drop_rest(self.channel_id, reason, anyio.current_time())
        if rest is not None:
            self._tell(rest)

    def _settled(self, receipt: Receipt) -> None:
        if (one := self.fitting.settle()) is not None:
            self._look_at_button(one, receipt)
        self._tell(receipt)

    def _look_at_button(self, one: Delivery, receipt: Receipt) -> None:
        if one.post.button is not None:
            self.buttoned = receipt.message_id
        elif one.kind == "delete" and one.target == self.buttoned and receipt.delivered:
            self.buttoned = None  # deleted with its message

    def _tell(self, receipt: Receipt) -> None:
        self.receipts.append(receipt)
        try:
            self._heard(receipt)
        except Exception as error:  # noqa: BLE001 - the lane has other messages to send
            where = {"kind": type(error).__name__, "place": place_of(error)}
            _LOG.error("hearing of a receipt failed", extra=where)
        self._look_at_limit()
        self._waiting.change()

    def _look_at_limit(self) -> None:
        # Only when the messages within the limit have receipts: the stream reacts by withdrawing
        # every message that is not in flight.
        if self._source.limited and self.first is None and self._limit_reached is not None:
            tell, self._limit_reached = self._limit_reached, None
            tell()

    def _wake(self) -> None:
        if self.interrupt is not None:
            self.interrupt()
        self._waiting.change()
