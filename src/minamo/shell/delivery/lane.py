"""The worker of one channel: one call in flight at a time, in order, never cancelled.

hikari's limiter breaks when a call waiting in it is cancelled (one channel hangs, or the whole
process), so the calls are made by the lanes' own tasks.  A driver waits for results on an event
and may be cancelled at any time.  `Burst` sends consecutive plain messages within one call of the
sender.
"""

from __future__ import annotations

import logging
from collections import deque
from functools import partial
from typing import assert_never

import anyio
from attrs import define, field

from minamo.core.messages import OutgoingMessage
from minamo.shell.callbacks import place_of
from minamo.shell.delivery.delivery import Delivery
from minamo.shell.delivery.interfaces import (
    Accepted,
    Rejected,
    RetryLater,
    Sender,
    SendOutcome,
    Unknown,
)
from minamo.shell.delivery.pacing import Pacer, Permit
from minamo.shell.delivery.queue import StreamQueue


def fits_in(queue: StreamQueue) -> bool:
    """Return whether the next message is a plain create: no typing, wait, file or thread."""
    first = queue.first
    if first is None or queue.typing is not None or first.wait_s > 0:
        return False
    return first.kind == "create" and first.post.file is None and queue.next_thread() is None


@define(eq=False)
class Burst:
    """A callback for `create_all`: settles each message of a stream queue, returns the next."""

    _pacer: Pacer
    _queue: StreamQueue
    _turn: Permit | None
    """The permit for the next call; initially that of the first message."""
    _out: Delivery | None = field(default=None, init=False)
    error: Exception | None = field(default=None, init=False)
    """An exception raised while settling, such as by a receipt callback; the lane re-raises it."""

    def __call__(self, answer: SendOutcome | None) -> OutgoingMessage | None:
        """Record the outcome of the last message; return the next one if it may go now."""
        try:
            if answer is not None:
                self._settle(answer)
            return self._next()
        except Exception as error:  # noqa: BLE001 - not lost: the lane raises it
            self.error = error
            return None

    def _settle(self, answer: SendOutcome) -> None:
        assert self._out is not None
        assert self._turn is not None
        now = anyio.current_time()
        turn, self._turn = self._turn, None
        turn.settle(answer)
        self._pacer.learn(turn, now)
        self._out.answer(answer, now)

    def _next(self) -> OutgoingMessage | None:
        queue, delivery = self._queue, self._queue.first
        if delivery is None or not fits_in(queue):
            return None
        if self._turn is None:
            self._turn = self._pacer.at_once(queue.route, queue.sender.place)
        if self._turn is None:
            return None
        queue.tried = True
        self._out = delivery
        delivery.turn_came(max(self._turn.began_at, delivery.accepted_at))
        return delivery.post


# A call whose answer was lost is repeated: a message has one thread, so it does no harm.
THREAD_ATTEMPTS = 3
# The reply waits for its thread, but not longer than it would for a message of its own.
THREAD_WAIT_MAX_S = 10.0

_LOG = logging.getLogger("minamo.discord")


@define(eq=False)
class Lane:
    """The worker of one channel; it lives as long as its queue is not empty."""

    line: int
    """The channel's id, or the id of a separate line."""
    pacer: Pacer
    queue: deque[StreamQueue] = field(factory=deque, repr=False)
    scope: anyio.CancelScope = field(factory=partial(anyio.CancelScope, shield=True), repr=False)

    async def run(self) -> None:
        """Serve the streams of the channel one after another; they never interleave."""
        # Shielded: when the surrounding program is cancelled, `Lanes.close` still drains.
        with self.scope:
            while self.queue:
                await self._serve_safely(self.queue[0])
                self.queue.popleft()

    def end(self) -> None:
        """Stop at once; only for closing, when every message has its receipt."""
        # A call in flight is left running, not cancelled: see shell/discord/bot.py.
        self.scope.cancel()

    async def _serve_safely(self, queue: StreamQueue) -> None:
        try:
            await self._serve(queue)
        except Exception as error:  # noqa: BLE001 - the other channels run in the same task group
            where = {"kind": type(error).__name__, "place": place_of(error)}
            _LOG.error("a reply broke its lane", extra=where)
            queue.give_up("broken")
            if queue.typing is not None:
                queue.typing.hide()

    async def _serve(self, queue: StreamQueue) -> None:
        await self._send_all(queue)
        if queue.typing is not None:
            queue.typing.hide()
        if queue.buttoned is not None:
            await self._take_button(queue, queue.buttoned)

    async def _send_all(self, queue: StreamQueue) -> None:
        paced = queue.behind
        while True:
            # An idle lane takes one segment, and so does one that only simulates typing.  Text
            # that arrives while a message is in flight or paced is taken together.
            idle = not queue.busy or not (queue.tried or paced)
            if not await queue.work():
                break
            most = 1 if idle or (queue.pausing and not paced) else None
            await _pause(queue, most)
            paced = await self._attempt(queue, most)

    async def _attempt(self, queue: StreamQueue, most: int | None) -> bool:
        """Wait for a permit, then make one call; return whether the permit was paced."""
        waits = queue.first is not None and queue.first.wait_s > 0
        turn = None if waits else self.pacer.at_once(queue.route, queue.sender.place)
        if turn is None:
            return await self._wait_and_attempt(queue, most)
        delivery = queue.first or queue.fit(most)
        if queue.bursts is not None and fits_in(queue):
            burst = Burst(self.pacer, queue, turn)
            await queue.bursts.create_all(burst)
            if burst.error is not None:
                raise burst.error
            return False
        if delivery is not None and queue.typing is not None:
            await queue.typing.before_message(last=queue.is_last)
            turn.began_at = anyio.current_time()
        if delivery is not None and not delivery.ended:
            self.pacer.learn(turn, await self._call(queue, delivery, turn))
        if queue.typing is not None:
            queue.typing.after_message()
        return False

    async def _wait_and_attempt(self, queue: StreamQueue, most: int | None) -> bool:
        """Make one attempt whose permit is not available at once.

        If the message ends meanwhile, by a stop or an echo, the wait ends.
        """
        paced = False
        with anyio.CancelScope() as waiting:
            queue.interrupt = waiting.cancel
            if queue.first is not None and queue.first.wait_s:
                await anyio.sleep(queue.first.wait_s)
            async with self.pacer.turn(queue.route, queue.sender.place) as turn:
                paced = turn.waited
                delivery = queue.first or queue.fit(None if paced else most)
                if delivery is not None and queue.typing is not None:
                    await queue.typing.before_message(last=queue.is_last)
                # A cancelled scope must not cancel the call.
                if delivery is not None and not waiting.cancel_called:
                    await self._call(queue, delivery, turn)
        queue.interrupt = None
        if queue.typing is not None:
            queue.typing.after_message()
        return paced

    async def _call(self, queue: StreamQueue, delivery: Delivery, turn: Permit) -> float:
        """Make the call; return the time at which it ended."""
        # From here on nothing is interrupted: the lane's own scope is a shield, and only closing
        # cancels it, when every message has its receipt.
        queue.interrupt = None
        queue.tried = True
        if (thread := queue.next_thread()) is not None:
            await self._start_thread(queue, *thread)
            if delivery.ended:  # withdrawn while the thread was started
                return anyio.current_time()
        delivery.turn_came(max(turn.began_at, delivery.accepted_at))
        answer = await _ask(queue.sender, delivery)
        now = anyio.current_time()
        turn.settle(answer)
        if isinstance(answer, Rejected) and delivery.post.file and delivery.only_tried:
            queue.unfiled(delivery, answer.reason)
        else:
            delivery.answer(answer, now)
        return now

    async def _start_thread(self, queue: StreamQueue, message_id: int, name: str) -> None:
        """Start the thread for the rest of a reply; if that fails, the reply is split."""
        answer: SendOutcome = RetryLater("not_asked")
        for _ in range(THREAD_ATTEMPTS):
            async with self.pacer.turn("thread", queue.channel_id) as turn:
                answer = await queue.sender.start_thread(queue.channel_id, message_id, name)
                turn.settle(answer)
            if not isinstance(answer, Unknown) and not _soon(answer):
                break
        if isinstance(answer, Accepted):
            queue.threaded(answer.message_id, "no_id")
        else:
            queue.threaded(None, answer.reason)

    async def _take_button(self, queue: StreamQueue, message_id: int) -> None:
        """Remove the button from the first message; a button that remains does nothing."""
        async with self.pacer.turn(queue.sender.route("edit"), queue.sender.place) as turn:
            answer = await queue.sender.edit(queue.without_button, message_id)
            turn.settle(answer)
        if not isinstance(answer, Accepted):
            _LOG.debug("a button stays", extra={"reason": answer.reason})
        queue.unbuttoned()


def _soon(answer: SendOutcome) -> bool:
    return isinstance(answer, RetryLater) and answer.wait_s <= THREAD_WAIT_MAX_S


async def _ask(sender: Sender, delivery: Delivery) -> SendOutcome:
    match delivery.kind:
        case "create":
            return await sender.create(delivery.post)
        case "edit":
            return await sender.edit(delivery.post, delivery.target)
        case "delete":
            return await sender.delete(delivery.post.channel_id, delivery.target)
        case _:
            assert_never(delivery.kind)


async def _pause(queue: StreamQueue, most: int | None) -> None:
    # No pause before the first message: the user has waited for it long enough.
    if not queue.pausing or not queue.tried or queue.first is not None:
        return
    delivery = queue.fit(most)
    if delivery is not None and queue.manner.pause_s is not None:
        with anyio.move_on_after(queue.manner.pause_s(len(delivery.post.text))):
            await queue.hurried.wait()
