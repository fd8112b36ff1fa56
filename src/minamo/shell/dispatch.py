"""One stream's way through its lane: what waits, what is fitted, and the receipts.

The driver talks to this and the lane works on it.  Nothing here calls Discord, so a driver may be
cancelled at any of its awaits and a call that is out does not notice.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from types import TracebackType
from typing import Self

import anyio

from minamo.machine.machine import Observer
from minamo.shell.delivery import Delivery
from minamo.shell.receipts import Receipt, nonce_for
from minamo.shell.sender import Kind, Post, Sender
from minamo.shell.source import Manner, Source
from minamo.shell.typing import Typing

# About four full messages: enough to keep a paced channel busy, little enough that a stalled
# one makes the provider wait instead of our memory grow.
HELD_MAX = 8_000


def _nothing(_: object) -> None:
    pass


class Dispatch:
    """The messages of one stream to one channel, in order.

    ``async with lanes.open(…) as dispatch``: an exception, also a cancellation, withdraws what
    has not begun to be sent.
    """

    def __init__(
        self,
        channel_id: int,
        sender: Sender,
        source: Source,
        *,
        stream_id: str,
        manner: Manner,
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
        self._source = source
        self._stream_id = stream_id
        self._heard = heard or _nothing
        self._limit_reached = limit_reached
        self._watch = watch
        self._fitted: deque[Delivery] = deque()
        self._count = 0
        self._shut = ""  # why nothing is accepted any more
        self._changed = anyio.Event()
        self._awaited = False  # most changes are seen by nobody, and an event is not free

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
        """How many characters are here and not answered for."""
        return self._source.waiting + sum(len(one.post.text) for one in self._fitted)

    @property
    def busy(self) -> bool:
        """Whether something is not answered for."""
        return bool(self._fitted) or self._source.waiting > 0

    def deliver(self) -> None:
        """Something waits in the source."""
        if self._shut:
            self._report_rest(self._shut)
        self._change()

    async def room(self) -> None:
        """Wait until the lane may hold more; this is what slows a provider down."""
        while self.held >= HELD_MAX:
            await self._wait()

    def hurry(self) -> None:
        """Stop pretending to type; somebody wants this to end."""
        self.hurried.set()

    def withdraw(self, reason: str) -> None:
        """Take back everything whose call has not begun."""
        now = anyio.current_time()
        for one in list(self._fitted):
            one.withdraw(reason, now)
        self._report_rest(reason)
        self.hurry()
        self._wake()

    def close(self) -> None:
        """Nothing more will come; the lane goes on to the next stream when all is answered."""
        self.finished = True
        if self.typing is not None and not self.busy:
            self.typing.hide()
        self._change()

    async def finish(self) -> tuple[Receipt, ...]:
        """Close, wait until everything is answered for, and return all receipts."""
        self.close()
        await self.answered()
        return tuple(self.receipts)

    async def answered(self) -> None:
        """Wait until nothing is held."""
        while self.busy:
            await self._wait()

    # For the lane.

    @property
    def first(self) -> Delivery | None:
        """The message whose turn it is, if one is fitted."""
        return self._fitted[0] if self._fitted else None

    @property
    def route(self) -> str:
        """The rate limit that the next call is under."""
        first = self.first
        kind: Kind = getattr(self._source, "kind", "create") if first is None else first.kind
        return self.sender.route(kind)

    @property
    def is_last(self) -> bool:
        """Whether nothing comes after the message whose turn it is."""
        return self.finished and len(self._fitted) <= 1 and not self._source.waiting

    @property
    def pausing(self) -> bool:
        """Whether to pretend to type before a message."""
        return self.manner.pause_s is not None and not self.hurried.is_set()

    async def work(self) -> bool:
        """Wait for something to send; whether there is."""
        while not self.busy and not self.finished:
            await self._wait()
        return self.busy

    def fit(self, most: int | None = None) -> Delivery | None:
        """Make messages of what waits; the first of them."""
        now = anyio.current_time()
        for message in self._source.take(most):
            kind: Kind = getattr(message, "kind", "create")
            made = Delivery(
                self._post(message.text, is_new=kind == "create"),
                self._settled,
                index=self._count,
                kind=kind,
                target=getattr(message, "target", 0),
                at=now,
                watch=self._watch,
            )
            made.on_end = self._wake
            self._fitted.append(made)
            self._count += 1
        if not self._fitted:
            self._change()  # it was blank, so nothing is held any more
            self._look_at_limit()
        return self.first

    def echoed(self, nonce: str, message_id: int) -> None:
        """The gateway showed a message with this nonce."""
        for one in self._fitted:
            if one.post.nonce == nonce:
                one.echoed(message_id, anyio.current_time())
                return

    def give_up(self, reason: str) -> None:
        """The time is over: what is not answered for is reported, and nothing more accepted."""
        self._shut = reason
        self.finished = True
        now = anyio.current_time()
        for one in list(self._fitted):
            one.give_up(reason, now)
        self._report_rest(reason)
        self._wake()

    def _post(self, text: str, *, is_new: bool) -> Post:
        first, manner = self._count == 0, self.manner
        has_nonce = is_new and self.sender.has_nonce
        nonce = nonce_for(self._stream_id, self._count) if has_nonce else None
        return Post(
            channel_id=self.channel_id,
            text=text,
            nonce=nonce,
            reply_to=manner.reply_to if first else None,
            ping=manner.ping,
            flags=manner.flags,
            embed=manner.embed if first else None,
        )

    def _report_rest(self, reason: str) -> None:
        """Say of text that was never fitted that it was not sent."""
        if waiting := self._source.waiting:
            self._source.withdraw(reason)
            self._tell(
                Receipt(
                    outcome="not_sent",
                    channel_id=self.channel_id,
                    index=self._count,
                    characters=waiting,
                    reason=reason,
                    settled_at=anyio.current_time(),
                )
            )

    def _settled(self, receipt: Receipt) -> None:
        if self._fitted[0].ended:
            self._fitted.popleft()
        else:  # a later one was taken back
            self._fitted = deque(one for one in self._fitted if not one.ended)
        self._tell(receipt)

    def _tell(self, receipt: Receipt) -> None:
        self.receipts.append(receipt)
        self._heard(receipt)
        self._look_at_limit()
        self._change()

    def _look_at_limit(self) -> None:
        # Only when the messages within the limit are answered for: the stream's answer to this is
        # to take back everything that is not out.
        if self._source.limited and not self._fitted and self._limit_reached is not None:
            tell, self._limit_reached = self._limit_reached, None
            tell()

    def _wake(self) -> None:
        if self.interrupt is not None:
            self.interrupt()
        self._change()

    def _change(self) -> None:
        if self._awaited:
            self._awaited = False
            self._changed.set()
            self._changed = anyio.Event()

    async def _wait(self) -> None:
        self._awaited = True
        await self._changed.wait()
