"""The lanes of one bot: one for each channel with messages to send.

This file starts, finds and drains lanes; it makes no calls to Discord.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import anyio
from anyio.abc import TaskGroup

from minamo.core.messages import MessageSource, Receipt
from minamo.machine.machine import Observer
from minamo.shell.callbacks import Guarded, place_of
from minamo.shell.delivery.interfaces import Sender, SendOptions
from minamo.shell.delivery.lane import Lane
from minamo.shell.delivery.pacing import Pacer
from minamo.shell.delivery.queue import StreamQueue
from minamo.shell.delivery.typing import Typing

_LOG = logging.getLogger("minamo.discord")

# How long closing waits for accepted text; a bot is expected to exit soon after.
DRAIN_S = 5.0


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
        manner: SendOptions | None = None,
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
            manner=manner or SendOptions(),
            on_receipt=on_receipt,
            on_limit=on_limit,
            typing=shown,
            watch=self._watch,
        )
        if self._closed:
            queue.give_up("closed")
            return queue
        if shown is not None:
            self._tasks.start_soon(_run_typing, shown)
        key = channel_id if line is None else line
        lane = self._lanes.get(key)
        if lane is None:
            lane = self._lanes[key] = Lane(key, self.pacer)
            lane.queue.append(queue)
            self._tasks.start_soon(self._run, lane)
        else:
            queue.behind = bool(lane.queue)
            lane.queue.append(queue)
        return queue

    def echoed(self, channel_id: int, nonce: str, message_id: int) -> None:
        """Record that the gateway reported a message of the bot with this nonce."""
        lane = self._lanes.get(channel_id)
        if lane is not None and lane.queue:
            lane.queue[0].echoed(nonce, message_id)

    async def close(self, drain_s: float = DRAIN_S) -> list[Receipt]:
        """Send accepted text for at most *drain_s*; return the receipts of lost text."""
        before = {id(receipt) for each in self._every() for receipt in each.receipts}
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
        told = [receipt for queue in every for receipt in queue.receipts]
        return [receipt for receipt in told if receipt.lost and id(receipt) not in before]

    def _every(self) -> list[StreamQueue]:
        return [queue for lane in self._lanes.values() for queue in lane.queue]

    async def _run(self, lane: Lane) -> None:
        # All lanes of the bot run in the same task group: an exception in one must not reach it.
        try:
            await lane.run()
        except Exception as error:  # noqa: BLE001 - reported as the loss of the queued text
            _complain("a lane failed", error)
            for queue in lane.queue:
                _give_up(queue)
        finally:
            del self._lanes[lane.line]


async def _run_typing(typing: Typing) -> None:
    try:
        await typing.run()
    except Exception as error:  # noqa: BLE001 - a missing indicator is harmless
        _complain("a typing indicator failed", error)
        typing.hide()


def _give_up(queue: StreamQueue) -> None:
    try:
        queue.give_up("broken")
    except Exception as error:  # noqa: BLE001 - the other streams are still to be given up
        _complain("a broken reply could not be given up", error)


def _complain(what: str, error: Exception) -> None:
    _LOG.error(what, extra={"kind": type(error).__name__, "place": place_of(error)})


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
