"""One stream's way through its lane: who waits for what, and the receipts.

The driver talks to this and the lane works on it.  Nothing here calls Discord, so a driver may be
cancelled at any of its awaits and a call that is out does not notice.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from types import TracebackType
from typing import Self

import anyio

from minamo.machine.machine import Observer
from minamo.shell.callbacks import place_of
from minamo.shell.delivery.delivery import Delivery
from minamo.shell.delivery.interfaces import MessageSource, Sender, SendOptions
from minamo.shell.delivery.outgoing import Composer, Fitting
from minamo.shell.delivery.receipts import Receipt
from minamo.shell.delivery.typing import Typing


class Condition:
    """The waiters of one thing that changes."""

    __slots__ = ("_waiters",)

    def __init__(self) -> None:
        self._waiters: list[tuple[Callable[[], bool], anyio.Event]] = []

    def change(self) -> None:
        """Something is different now."""
        for true, event in self._waiters:
            if true():
                event.set()

    async def until(self, true: Callable[[], bool]) -> None:
        """Wait for it; it may be cancelled at any time."""
        while not true():  # it may have been for a moment only
            event = anyio.Event()
            waiter = true, event
            self._waiters.append(waiter)
            try:
                await event.wait()
            finally:
                self._waiters.remove(waiter)


_LOG = logging.getLogger("minamo.discord")

# About four full messages: enough to keep a paced channel busy, little enough that a stalled
# one makes the provider wait instead of our memory grow.
HELD_MAX = 8_000


def _nothing(_: object) -> None:
    pass


class StreamQueue:
    """The messages of one stream to one channel, in order.

    ``async with lanes.open(…) as dispatch``: an exception, also a cancellation, withdraws what
    has not begun to be sent.
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
        self.finished = False  # nothing will be added
        self.behind = False  # another stream was in the lane before
        self.tried = False  # a call has been made
        self.hurried = anyio.Event()  # no more pretending to type
        self.interrupt: Callable[[], object] | None = None  # ends the lane's wait
        self.manner = manner
        self.buttoned: int | None = None  # the message that has the button
        self._source = source
        self.fitting: Fitting = Fitting(
            source,
            Composer(channel_id, sender, manner, stream_id, self._settled, self._wake, watch),
        )
        self._heard = heard or _nothing
        self._limit_reached = limit_reached
        self._shut = ""  # why nothing is accepted any more
        self._waiting = Condition()

    def __repr__(self) -> str:
        return f"<Dispatch to {self.channel_id}, {self.held} held, {len(self.receipts)} receipts>"

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
        """How many characters are here and not answered for; what becomes a file does not count."""
        return self.fitting.held

    @property
    def busy(self) -> bool:
        """Whether something can be done and is not answered for."""
        return self.fitting.busy(ending=self.finished)

    def deliver(self) -> None:
        """Something waits in the source."""
        if self._shut:
            self._report_rest(self._shut)
        self.fitting.look_at_size()
        self._waiting.change()

    async def room(self) -> None:
        """Wait until the lane may hold more; this is what slows a provider down."""
        await self._waiting.until(lambda: self.held < HELD_MAX)

    def hurry(self) -> None:
        """Stop pretending to type; somebody wants this to end."""
        self.hurried.set()

    def withdraw(self, reason: str) -> None:
        """Take back everything whose call has not begun."""
        self.fitting.withdraw(reason, anyio.current_time())
        self._report_rest(reason)
        self.hurry()
        self._wake()

    def close(self) -> None:
        """Nothing more will come; the lane goes on to the next stream when all is answered."""
        if not self.finished and (finish := getattr(self._source, "finish", None)) is not None:
            finish()
        self.finished = True
        if self.typing is not None and not self.busy:
            self.typing.hide()
        self._waiting.change()

    async def finish(self) -> tuple[Receipt, ...]:
        """Close, wait until everything is answered for, and return all receipts."""
        self.close()
        await self.answered()
        return tuple(self.receipts)

    async def answered(self) -> None:
        """Wait until nothing is left that can be done."""
        await self._waiting.until(lambda: not self.busy)

    async def tidy(self) -> None:
        """Wait until, besides, a finished reply has no button any more."""
        await self._waiting.until(lambda: not self.open)

    # For the lane.

    @property
    def open(self) -> bool:
        """Whether the lane has something to do here."""
        return self.busy or (self.finished and self.buttoned is not None)

    @property
    def first(self) -> Delivery | None:
        """The message whose turn it is, if one is fitted."""
        return self.fitting.first

    @property
    def route(self) -> str:
        """The rate limit that the next call is under."""
        return self.sender.route(self.fitting.kind)

    @property
    def is_last(self) -> bool:
        """Whether nothing comes after the message whose turn it is."""
        return self.finished and self.fitting.is_last()

    @property
    def pausing(self) -> bool:
        """Whether to pretend to type before a message."""
        return self.manner.pause_s is not None and not self.hurried.is_set()

    async def work(self) -> bool:
        """Wait for something to send; whether there is."""
        await self._waiting.until(lambda: self.busy or self.finished)
        return self.busy

    def fit(self, most: int | None = None) -> Delivery | None:
        """Make messages of what waits; the first of them."""
        first = self.fitting.fit(most, anyio.current_time(), ending=self.finished)
        if first is None:
            self._waiting.change()  # it was blank, so nothing is held any more
            self._look_at_limit()
        return first

    def echoed(self, nonce: str, message_id: int) -> None:
        """The gateway showed a message with this nonce."""
        self.fitting.echoed(nonce, message_id, anyio.current_time())

    def give_up(self, reason: str) -> None:
        """The time is over: what is not answered for is reported, and nothing more accepted."""
        self._shut = reason
        self.finished = True
        self.fitting.give_up(reason, anyio.current_time())
        self._report_rest(reason)
        self._wake()

    def next_thread(self) -> tuple[int, str] | None:
        """The message to start a thread from before the next one, and its name; None if not."""
        return self.fitting.next_thread(self.receipts[-1] if self.receipts else None)

    def unfiled(self, delivery: Delivery, reason: str) -> None:
        """Discord refused the file: its text becomes messages after all."""
        self.fitting.unfiled(delivery, reason)
        self._waiting.change()

    def unbuttoned(self) -> None:
        """The button is gone, or stays for good."""
        self.buttoned = None
        self._waiting.change()

    # Inside.

    def _report_rest(self, reason: str) -> None:
        """Say of text that was never fitted that it was not sent."""
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
            self.buttoned = None  # it went with its message

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
        # Only when the messages within the limit are answered for: the stream's answer to this is
        # to take back everything that is not out.
        if self._source.limited and self.first is None and self._limit_reached is not None:
            tell, self._limit_reached = self._limit_reached, None
            tell()

    def _wake(self) -> None:
        if self.interrupt is not None:
            self.interrupt()
        self._waiting.change()
