"""The lanes of one bot, one for each channel with messages to send, and how a lane sends them.

A lane has one call in flight at a time, in order, never cancelled: hikari's limiter breaks when a
call waiting in it is cancelled (one channel hangs, or the whole process), so the calls are made by
the lanes' own tasks.  A driver waits for results on an event and may be cancelled at any time.
`Burst` sends consecutive plain messages within one call of the sender.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import assert_never

import anyio
from anyio.abc import TaskGroup
from attrs import define, field

from minamo.core.messages import MessageSource, OutgoingMessage, Receipt
from minamo.machine.machine import Observer
from minamo.shell.callbacks import Guarded, log_failure
from minamo.shell.delivery.delivery import Delivery
from minamo.shell.delivery.interfaces import (
    Accepted,
    Rejected,
    RetryLater,
    Sender,
    SendOptions,
    SendOutcome,
    Unknown,
)
from minamo.shell.delivery.pacing import Pacer, Permit
from minamo.shell.delivery.queue import StreamQueue
from minamo.shell.delivery.typing import Typing

_LOG = logging.getLogger("minamo.discord")

# How long closing waits for accepted text; a bot is expected to exit soon after.
DRAIN_S = 5.0
# A call whose answer was lost is repeated: a message has one thread, so it does no harm.
THREAD_ATTEMPTS = 3
# The reply waits for its thread, but not longer than it would for a message of its own.
THREAD_WAIT_MAX_S = 10.0


def _fits_in(queue: StreamQueue) -> bool:
    """Return whether the next message is a plain create: without a wait, a file or a thread."""
    if not queue.fitted or queue.fitted[0].wait_s > 0:
        return False
    first = queue.fitted[0]
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
        queue = self._queue
        if not _fits_in(queue):
            return None
        if self._turn is None:
            self._turn = self._pacer.at_once(queue.route, queue.sender.place)
        if self._turn is None:
            return None
        queue.tried = True
        delivery = self._out = queue.fitted[0]
        delivery.turn_came(max(self._turn.began_at, delivery.accepted_at))
        return delivery.post


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
            behind = False  # another stream was in the lane before it
            while self.queue:
                await self._serve(self.queue[0], behind)
                self.queue.popleft().release()
                behind = True

    def end(self) -> None:
        """Stop at once; only for closing, when every message has its receipt."""
        # A call in flight is left running, not cancelled: see shell/discord/bot.py.
        self.scope.cancel()

    async def _serve(self, queue: StreamQueue, behind: bool) -> None:
        try:
            await self._send_all(queue, behind)
            if queue.typing is not None:
                queue.typing.hide()
            if queue.buttoned is not None:
                await self._take_button(queue, queue.buttoned)
        except Exception as error:  # noqa: BLE001 - the other channels run in the same task group
            log_failure(_LOG, "a reply broke its lane", error)
            queue.give_up("broken")
            if queue.typing is not None:
                queue.typing.hide()

    async def _send_all(self, queue: StreamQueue, paced: bool) -> None:
        while True:
            # An idle lane takes one segment, and so does one that only simulates typing.  Text
            # that arrives while a message is in flight or paced is taken together.
            idle = not queue.busy or not (queue.tried or paced)
            if not await queue.work():
                break
            pauses = queue.options.pause_s is not None and not queue.hurried.is_set()
            most = 1 if idle or (pauses and not paced) else None
            # No pause before the first message: the user has waited for it long enough.
            if pauses and queue.tried and not queue.fitted:
                await _pause(queue, most)
            paced = await self._attempt(queue, most)

    async def _attempt(self, queue: StreamQueue, most: int | None) -> bool:
        """Wait for a permit, then make one call; return whether the permit was paced."""
        waits = queue.fitted and queue.fitted[0].wait_s > 0
        turn = None if waits else self.pacer.at_once(queue.route, queue.sender.place)
        if turn is None:
            return await self._wait_and_attempt(queue, most)
        delivery = queue.fitted[0] if queue.fitted else queue.fit(most)
        if queue.bursts is not None and _fits_in(queue):
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
            if queue.fitted and queue.fitted[0].wait_s:
                await anyio.sleep(queue.fitted[0].wait_s)
            async with self.pacer.turn(queue.route, queue.sender.place) as turn:
                paced = turn.waited
                most = None if paced else most
                delivery = queue.fitted[0] if queue.fitted else queue.fit(most)
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
        if queue.overflow is not None and (thread := queue.next_thread()) is not None:
            await self._start_thread(queue, *thread)
            if delivery.ended:  # withdrawn while the thread was started
                return anyio.current_time()
        delivery.turn_came(max(turn.began_at, delivery.accepted_at))
        answer = await _ask(queue.sender, delivery)
        now = anyio.current_time()
        turn.settle(answer)
        if isinstance(answer, Rejected) and delivery.post.file and delivery.only_tried:
            if delivery.post.file.characters:
                queue.unfiled(delivery, answer.reason)
                return now
            queue.unattached(delivery, answer.reason)
            answer = RetryLater(answer.reason)
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
    """Simulate typing of the next message."""
    delivery = queue.fit(most)
    if delivery is not None and queue.options.pause_s is not None:
        with anyio.move_on_after(queue.options.pause_s(len(delivery.post.text))):
            await queue.hurried.wait()


class Lanes:
    """All lanes of one bot; created by `open_lanes`."""

    def __init__(
        self, tasks: TaskGroup, *, pacer: Pacer | None = None, watch: Observer | None = None
    ) -> None:
        self._tasks = tasks
        self._watch = None if watch is None else Guarded("watch", watch, _LOG)
        self._lanes: dict[int, Lane] = {}
        self._closed = False
        self.pacer: Pacer = pacer or Pacer()

    def __repr__(self) -> str:
        return f"<Lanes: {len(self._lanes)} busy>"

    def __len__(self) -> int:
        """Return the number of busy lanes."""
        return len(self._lanes)

    def open(
        self,
        channel_id: int,
        sender: Sender,
        source: MessageSource,
        *,
        stream_id: str,
        line: int | None = None,
        options: SendOptions | None = None,
        typing: bool = False,
        on_receipt: Callable[[Receipt], object] | None = None,
        on_limit: Callable[[], object] | None = None,
    ) -> StreamQueue:
        """Queue a stream in the channel; *on_receipt* is called with each receipt, at once.

        A message that need not wait for the reply being written there gets a *line* of its own:
        any id that is not a channel's.
        """
        shown = Typing(sender, self.pacer, channel_id) if typing and not self._closed else None
        queue = StreamQueue(
            channel_id,
            sender,
            source,
            stream_id=stream_id,
            options=options or SendOptions(),
            on_receipt=on_receipt,
            on_limit=on_limit,
            typing=shown,
            watch=self._watch,
        )
        if self._closed:
            queue.give_up("closed")
            return queue
        if shown is not None:
            self._tasks.start_soon(shown.run)
        key = channel_id if line is None else line
        lane = self._lanes.get(key)
        if lane is None:
            lane = self._lanes[key] = Lane(key, self.pacer)
            lane.queue.append(queue)
            self._tasks.start_soon(self._run, lane)
        else:
            lane.queue.append(queue)
        return queue

    def echoed(self, channel_id: int, nonce: str, message_id: int) -> None:
        """Record that the gateway reported a message of the bot with this nonce."""
        lane = self._lanes.get(channel_id)
        if lane is not None and lane.queue:
            lane.queue[0].echoed(nonce, message_id)

    async def close(self, drain_s: float = DRAIN_S) -> list[Receipt]:
        """Send accepted text for at most *drain_s*; return the receipts of lost text."""
        before = {id(receipt) for queue in self._every() for receipt in queue.receipts}
        every = self._every()
        for queue in every:
            queue.hurry()
        with anyio.move_on_after(drain_s, shield=True):
            while busy := [queue for queue in self._every() if queue.open]:
                await busy[0].tidy()
        self._closed = True
        every += [queue for queue in self._every() if queue not in every]
        for queue in every:
            queue.give_up("closed")
            if queue.typing is not None:
                queue.typing.end()
        for lane in list(self._lanes.values()):
            lane.end()
        receipts = [receipt for queue in every for receipt in queue.receipts]
        return [receipt for receipt in receipts if receipt.lost and id(receipt) not in before]

    def _every(self) -> list[StreamQueue]:
        return [queue for lane in self._lanes.values() for queue in lane.queue]

    async def _run(self, lane: Lane) -> None:
        # All lanes of the bot run in the same task group: an exception in one must not reach it.
        try:
            await lane.run()
        except Exception as error:  # noqa: BLE001 - reported as the loss of the queued text
            log_failure(_LOG, "a lane failed", error)
            for queue in lane.queue:
                _give_up(queue)
        finally:
            del self._lanes[lane.line]


def _give_up(queue: StreamQueue) -> None:
    try:
        queue.give_up("broken")
    except Exception as error:  # noqa: BLE001 - the other streams are still to be given up
        log_failure(_LOG, "a broken reply could not be given up", error)


@asynccontextmanager
async def open_lanes(
    *, pacer: Pacer | None = None, drain_s: float = DRAIN_S, watch: Observer | None = None
) -> AsyncIterator[Lanes]:
    """Yield the lanes of a bot; leaving the block drains them."""
    async with anyio.create_task_group() as tasks:
        lanes = Lanes(tasks, pacer=pacer, watch=watch)
        try:
            yield lanes
        finally:
            await lanes.close(drain_s)
