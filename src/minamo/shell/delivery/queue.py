"""The queue between one stream's driver and its lane: text, fitted messages, receipts, waiters.

The driver adds text and waits; the lane takes messages and settles them.  Nothing here calls
Discord, so a driver may be cancelled at any of its awaits without affecting a call in flight.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable
from types import TracebackType
from typing import Self

import anyio
from attrs import evolve

from minamo.core.messages import Kind, MessageSource, OutgoingFile, OutgoingMessage, Receipt
from minamo.errors import BadSetting
from minamo.machine.machine import Observer
from minamo.shell.callbacks import log_failure
from minamo.shell.delivery.delivery import Composer, Delivery
from minamo.shell.delivery.interfaces import BurstSender, PlainMessage, Sender, SendOptions
from minamo.shell.delivery.overflow import FILE_BYTES_MAX, OverflowState
from minamo.shell.delivery.typing import Typing

_LOG = logging.getLogger("minamo.discord")

# About four full messages: enough to keep a paced channel busy, little enough that a stalled
# one makes the provider wait instead of using more memory.
HELD_MAX = 8_000


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
        options: SendOptions,
        on_receipt: Callable[[Receipt], object] | None = None,
        on_limit: Callable[[], object] | None = None,
        typing: Typing | None = None,
        watch: Observer | None = None,
    ) -> None:
        self.channel_id = channel_id
        self.sender = sender
        self.typing = typing
        self.bursts: BurstSender | None = None
        if typing is None and isinstance(sender, BurstSender):  # else each waits for the indicator
            self.bursts = sender
        self.receipts: list[Receipt] = []
        self.fitted: deque[Delivery] = deque()  # composed and not acknowledged
        self.finished: bool = False  # no text will be added
        self.tried = False  # a call has been made
        self.hurried: anyio.Event = anyio.Event()  # no more simulated typing
        self.interrupt: Callable[[], object] | None = None  # ends the lane's wait
        self.options = options
        self.buttoned: int | None = None  # id of the message with the button
        self._source = source
        self.overflow: OverflowState | None = None
        if options.overflow is not None and options.overflow.to != "split":
            if not source.can_split:
                raise BadSetting("overflow: a reply that is edited in place can only be split")
            self.overflow = OverflowState(options.overflow)
        self._composer = Composer(channel_id, sender, options, stream_id, self.overflow, watch)
        self._on_receipt = on_receipt
        self._on_limit = on_limit
        self._shut = ""  # why text is no longer accepted
        self._changed: anyio.Event | None = None  # the driver or the lane waits for it

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
        held = 0 if self.overflow and self._composer.collecting else self._source.waiting
        for delivery in self.fitted:
            held += delivery.characters
        return held

    @property
    def busy(self) -> bool:
        """Whether messages or text can be sent now; a file is only made when the stream ends."""
        if self.fitted:
            return True
        if self.overflow is not None and self._composer.collecting and not self.finished:
            return False
        return self._source.waiting > 0

    def deliver(self) -> None:
        """Wake the lane: the source has new text."""
        if self._shut:
            self._drop_rest(self._shut)
        overflow = self.overflow
        # A character has at least a byte: text that is already too large for a file is split.
        too_large = overflow is not None and self._source.waiting > overflow.rules.bytes_max
        if overflow is not None and too_large and self._composer.collecting:
            overflow.split("too_large")
        self._change()

    async def room(self) -> None:
        """Wait until the lane may hold more text; this applies back-pressure to the provider."""
        while self.held >= HELD_MAX:
            await self._wait()

    def hurry(self) -> None:
        """Stop simulating typing, because the reply is to end soon."""
        self.hurried.set()

    def withdraw(self, reason: str) -> None:
        """Withdraw all text and messages whose call has not begun."""
        now = anyio.current_time()
        for delivery in list(self.fitted):
            delivery.withdraw(reason, now)
        self._drop_rest(reason)
        self.hurry()
        self._wake()

    def close(self) -> None:
        """Accept no more text; the lane serves the next stream when all messages have receipts."""
        if not self.finished:
            self._source.finish()
        self.finished = True
        if self.typing is not None and not self.busy:
            self.typing.hide()
        self._change()

    async def finish(self) -> tuple[Receipt, ...]:
        """Close, wait until every message has a receipt, and return all receipts."""
        self.close()
        await self.answered()
        return tuple(self.receipts)

    async def answered(self) -> None:
        """Wait until no work is left; text collected for a file may remain."""
        while self.busy:
            await self._wait()

    async def tidy(self) -> None:
        """Wait as `answered` does, and until a finished reply has no button."""
        while self.open:
            await self._wait()

    # For the lane.

    @property
    def open(self) -> bool:
        """Whether the lane has work here, including a button to remove."""
        return self.busy or (self.finished and self.buttoned is not None)

    def release(self) -> None:
        """Drop the callbacks when no more receipts will come.

        They refer to the driver of the reply, which refers to this queue; without them, the memory
        of a reply is free at once, not at the next full garbage collection.
        """
        self._on_receipt = self._on_limit = None

    @property
    def route(self) -> str:
        """The rate limit for the next call."""
        return self.sender.route(self.fitted[0].kind if self.fitted else self._source.kind)

    @property
    def is_last(self) -> bool:
        """Whether the next message is the last of the stream."""
        return self.finished and len(self.fitted) <= 1 and not self._source.waiting

    async def work(self) -> bool:
        """Wait for text to send; return False if the stream finished without any."""
        while not self.busy:
            if self.finished:
                return False
            await self._wait()
        return True

    def fit(self, most: int | None = None) -> Delivery | None:
        """Compose messages from waiting text; return the first, or None if it was blank."""
        composer, now, room = self._composer, anyio.current_time(), None
        if self.overflow is not None:
            if composer.collecting:
                self._fit_file(now)
            room = composer.room
        # What is left when the text is in a file are files of the model's own.
        rest = self.finished and not self.fitted
        if self.overflow is None or not composer.collecting or rest:
            for text in self._source.take(most, room):
                self.fitted.append(composer.compose(text, self._settle, now, ending=self.finished))
                if text.file is not None and not 0 < len(text.file.data) <= FILE_BYTES_MAX:
                    self.unattached(self.fitted[-1], "too_large")
        if not self.fitted:
            self._change()  # the text was blank, so none is held any more
            if self._source.limited:
                self._report_limit()
        return self.fitted[0] if self.fitted else None

    def echoed(self, nonce: str, message_id: int) -> None:
        """Record that the gateway reported a message with this nonce."""
        for delivery in self.fitted:
            if delivery.post.nonce == nonce:
                delivery.echoed(message_id, anyio.current_time())
                return

    def give_up(self, reason: str) -> None:
        """Issue receipts for all unacknowledged messages and accept no more text."""
        self._shut = reason
        self.finished = True
        now = anyio.current_time()
        for delivery in list(self.fitted):
            delivery.give_up(reason, now)
        self._drop_rest(reason)
        self._wake()

    def next_thread(self) -> tuple[int, str] | None:
        """Return message id and name for a thread due before the next message, or None."""
        overflow = self.overflow
        if overflow is None or not overflow.needs_thread(self.fitted[0].index):
            return None
        message_id = self.receipts[-1].message_id if self.receipts else None
        if message_id is None:
            self.threaded(None, "no_message")
            return None
        return message_id, overflow.rules.thread_name

    def threaded(self, thread_id: int | None, reason: str = "") -> None:
        """Continue in the thread *thread_id*; if None, split the reply and note the *reason*."""
        overflow = self.overflow
        assert overflow is not None
        if thread_id is None:
            overflow.split(reason)
            if self.fitted:
                self.fitted[0].note = overflow.take_note()
            return
        overflow.branch(thread_id)
        for delivery in self.fitted:
            delivery.post = evolve(delivery.post, channel_id=thread_id)

    def unfiled(self, delivery: Delivery, reason: str) -> None:
        """Turn the text of a file that Discord refused into messages."""
        overflow = self.overflow
        assert overflow is not None
        self.fitted.remove(delivery)
        self._composer.uncompose()
        overflow.split(reason)
        self._source.put_rest_back()
        self._change()

    def unattached(self, delivery: Delivery, reason: str) -> None:
        """Replace a file of the model's that Discord does not take by a line of text."""
        assert delivery.post.file is not None
        line = self.options.unattached(delivery.post.file.name)
        delivery.post = evolve(delivery.post, text=line, file=None)
        delivery.characters = len(line)
        delivery.note = f"no_file:{reason}"
        self._source.drop_file(delivery.index)

    @property
    def without_button(self) -> OutgoingMessage:
        """The edit that removes the button."""
        return self._composer.without_button()

    def unbuttoned(self) -> None:
        """Record that the button was removed, or cannot be."""
        self.buttoned = None
        self._change()

    # Internal.

    def _fit_file(self, now: float) -> None:
        """Compose the rest of the reply as one file message; split it if it is too large."""
        overflow = self.overflow
        assert overflow is not None
        text = self._source.take_rest()
        if not text.strip():
            return
        file = OutgoingFile.of_text(overflow.rules.file_name, text)
        if len(file.data) > overflow.rules.bytes_max:
            overflow.split("too_large")
            self._source.put_rest_back()
        else:
            message = PlainMessage("", file=file)
            self.fitted.append(self._composer.compose(message, self._settle, now, ending=True))

    def _drop_rest(self, reason: str) -> None:
        """Withdraw text that was never fitted, and issue a receipt for it."""
        waiting = self._source.waiting
        kind: Kind = self._source.kind if waiting else "create"
        # Also if no text waits yet: pages may follow the one in flight.
        self._source.withdraw(reason)
        if waiting:
            self._report(
                Receipt(
                    outcome="not_sent",
                    channel_id=self.channel_id,
                    index=self._composer.count,
                    characters=waiting,
                    reason=reason,
                    kind=kind,
                    settled_at=anyio.current_time(),
                )
            )

    def _settle(self, receipt: Receipt) -> None:
        """Drop the message of *receipt*, and report the receipt."""
        first = self.fitted[0]
        if first.ended:
            self.fitted.popleft()
            if first.post.button is not None:
                self.buttoned = receipt.message_id
            elif first.kind == "delete" and first.target == self.buttoned and receipt.delivered:
                self.buttoned = None  # deleted with its message
        else:  # a later one was withdrawn
            self.fitted = deque(delivery for delivery in self.fitted if not delivery.ended)
        self._report(receipt)
        if self.interrupt is not None:
            self.interrupt()

    def _report(self, receipt: Receipt) -> None:
        self.receipts.append(receipt)
        try:
            if self._on_receipt is not None:
                self._on_receipt(receipt)
        except Exception as error:  # noqa: BLE001 - the lane has other messages to send
            log_failure(_LOG, "processing a receipt failed", error)
        if self._source.limited:
            self._report_limit()
        self._change()

    def _report_limit(self) -> None:
        # Only when the messages within the limit have receipts: the stream reacts by withdrawing
        # every message that is not in flight.
        if not self.fitted and self._on_limit is not None:
            on_limit, self._on_limit = self._on_limit, None
            on_limit()

    def _wake(self) -> None:
        if self.interrupt is not None:
            self.interrupt()
        self._change()

    def _change(self) -> None:
        if self._changed is not None:
            self._changed.set()
            self._changed = None

    async def _wait(self) -> None:
        """Wait until the queue has changed.  Safe to cancel."""
        if self._changed is None:
            self._changed = anyio.Event()
        await self._changed.wait()
