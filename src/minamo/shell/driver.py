"""Driver of one stream: feeds it chunks and stop requests, and performs its effects.

There is no polling and no queue.  A stop request or a receipt enters the machine the moment it
arrives, in the task that brings it; the driver itself only reads chunks and waits.  A second task
checks the clocks, and only when one may have expired: a chunk updates a number, never a timer.
`Sink` is the interface to the delivery side, `NullSink` the one without Discord.
"""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable
from typing import Protocol, TypeAlias, runtime_checkable

import anyio
from anyio.lowlevel import checkpoint, checkpoint_if_cancelled

from minamo.core.actions import Effect
from minamo.core.chunks import Chunk, ErrorChunk, FunctionCall
from minamo.core.fitting.split import as_line
from minamo.core.lexing.filters import Silence
from minamo.core.messages import Receipt
from minamo.core.stream import CHART, OPEN, RESTARTED, Stream, clock_lengths
from minamo.machine import RunningClocks
from minamo.shell.callbacks import Guarded
from minamo.shell.delivery.queue import HELD_MAX
from minamo.shell.providers.base import closing
from minamo.shell.providers.scripted import as_chunks
from minamo.shell.providers.sdk_streams import SourceItem
from minamo.shell.stops.registry import StopRequest, StopSignal
from minamo.wire.assembler import ChunkOverlap

ChunkSource: TypeAlias = AsyncIterable[SourceItem]
"""May also be a `MarkedSource`."""
Watcher: TypeAlias = Callable[[float, str, object], object]
"""Called with each event of the stream: time, name, payload."""


@runtime_checkable
class MarkedSource(Protocol):
    """A source with the marker of a reply that must not be shown."""

    silence: Silence | None


class Sink(Protocol):
    """The destination of text, such as a lane's `StreamQueue`."""

    @property
    def held(self) -> int:
        """Characters accepted and not yet acknowledged (used for back-pressure)."""

    async def room(self) -> None:
        """Wait until the sink can accept more text."""

    def deliver(self) -> None:
        """Notify the sink that the outbox has another segment."""

    def withdraw(self, reason: str) -> None:
        """Withdraw all messages whose call to Discord has not begun."""

    def hurry(self) -> None:
        """Skip the simulated typing delays from now on."""

    async def finish(self) -> tuple[Receipt, ...]:
        """Wait until every message has a receipt; no further text will follow."""

    def give_up(self, reason: str) -> None:
        """Write receipts for the unacknowledged messages."""


class NullSink:
    """A sink that accepts everything at once, as an idle lane would, without Discord."""

    __slots__ = ("_shown", "_stream")

    def __init__(self, stream: Stream, shown: Callable[[str], object] | None = None) -> None:
        self._stream = stream
        self._shown = shown
        stream.actions.idle_lane = self._take

    @property
    def held(self) -> int:
        """Always 0: no text is ever pending."""
        return 0

    async def room(self) -> None:
        """Return at once: there is always room."""

    def deliver(self) -> None:
        """Do nothing: every segment was taken as it was handed over."""

    def withdraw(self, reason: str) -> None:
        """Do nothing: no message is pending."""

    def hurry(self) -> None:
        """Do nothing: no typing is simulated."""

    async def finish(self) -> tuple[Receipt, ...]:
        """Return no receipts: every segment was acknowledged on arrival."""
        return ()

    def give_up(self, reason: str) -> None:
        """Do nothing: no message is unacknowledged."""

    def _take(self) -> None:
        outbox = self._stream.actions.outbox
        messages = outbox.take_segment()
        self._stream.delivered(len(messages))
        if self._shown is not None:
            for message in messages:
                self._shown(as_line(message))
        if outbox.limited:
            self._stream.limit_reached()


_LOG = logging.getLogger("minamo.stream")

# A source that always has a chunk ready would otherwise keep all other tasks from running.
TURN_CHUNKS = 16
TURN_CHARACTERS = 400
# A source may name the finish reason of its calls in a chunk of its own, which follows at once.
_FINISH_GRACE_S = 0.02


class Driver:
    """The loop that carries one stream from its provider to its sink."""

    def __init__(
        self,
        stream: Stream,
        *,
        stop_signal: StopSignal | None = None,
        progress: Callable[[], object] | None = None,
        call_timeout_ms: int | None = None,
        watch: Iterable[Watcher] = (),
    ) -> None:
        self.on_text_changed: Callable[[], object] | None = None
        """Called when the text may have changed; for a reply that is edited in place."""
        self.on_settled: Callable[[], object] | None = None
        """Called after the last message, before the stream is flushed; also for edited replies."""
        self.stream = stream
        self.stop_signal: StopSignal = stop_signal or StopSignal()
        self._clocks: RunningClocks | None = None
        self._resumed: anyio.Event | None = None  # while the clocks are paused
        self._config = stream.actions.config
        self._overlap = ChunkOverlap() if self._config.overlap_removal else None
        self._progress = None
        if progress is not None:
            self._progress = Guarded("on_stream_progress", progress, _LOG)
        self._call_timeout_ms = call_timeout_ms
        self._watch = tuple(watch)
        self._turned_at = 0  # characters read at the last checkpoint
        self._sink: Sink | None = None
        self._reading: anyio.CancelScope | None = None
        # Shielded: the outcome is decided when it is entered, and so its task is cancelled.
        self._finishing = anyio.CancelScope(shield=True)
        self._settling = anyio.CancelScope()
        self._settle_by = math.inf
        self._now: Callable[[], float] = anyio.current_time

    def __repr__(self) -> str:
        return f"<Driver of a stream that is {self.stream.state}>"

    async def run(self, source: ChunkSource, sink: Sink) -> None:
        """Run the stream to its outcome; raise nothing but a cancellation from outside."""
        self._sink = sink
        self._now = _loop_clock()
        silence = source.silence if isinstance(source, MarkedSource) else None
        self.stream.actions.silence = silence if isinstance(silence, Silence) else None
        with self.stop_signal.listen(self._request_stop):
            await self._read(source)
            # A cancellation that arrived while `_finishing` was a shield against it.
            await checkpoint_if_cancelled()
            await self._settle(sink)
        self._tell("settled", None)

    # Events, from any task.

    def on_receipt(self, receipt: Receipt) -> None:
        """Process the receipt of a message; called by the lane."""
        stream = self.stream
        if receipt.kind == "create":
            if receipt.delivered:
                stream.arrived(receipt.index)
            else:
                stream.missed(receipt.index, self._reason(receipt))
        elif receipt.kind == "delete" and receipt.delivered:
            stream.removed()
        self._tell("receipt", receipt)
        if receipt.lost and not self._was_wanted(receipt):
            stream.delivery_lost()
            self._tell("delivery_lost", receipt)
        if self._clocks is not None:
            self._clocks.heard("receipt", self._now(), stream.machine.state)
        if self._progress is not None:
            self._progress()
        self._perform()

    def limit_reached(self) -> None:
        """End the stream because the reply has used up its messages; called by the lane."""
        self._tell("limit_reached", None)
        self.stream.limit_reached()
        self._perform()

    def _request_stop(self, request: StopRequest) -> None:
        self._tell(request.kind, request)
        match request.kind:
            case "user":
                self.stream.stop(request.requester)
            case "follow_up":
                self.stream.follow_up()
            case "kill":
                self.stream.kill()
        self._hasten(request.deadline)
        self._perform()

    # Reading.

    async def _read(self, source: ChunkSource) -> None:
        lengths = clock_lengths(self._config)
        call_ms = self._call_timeout_ms
        lengths["sdk_call_timeout"] = math.inf if call_ms is None else call_ms / 1000
        state = self.stream.machine.state
        clocks = self._clocks = RunningClocks(CHART, lengths, state, self._now())
        if self.stream.decided:
            return
        try:
            async with anyio.create_task_group() as tasks:
                self._reading = tasks.cancel_scope
                # A clock that is started again cannot run out earlier than this.
                soonest = min(map(lengths.__getitem__, RESTARTED))
                tasks.start_soon(self._watch_clocks, clocks, soonest)
                await self._read_safely(source, clocks)
                self._reading.cancel()
        except BaseExceptionGroup as group:
            # Only exceptions such as `SystemExit` arrive here; they are raised unwrapped.
            raise group.exceptions[0] from None

    async def _watch_clocks(self, clocks: RunningClocks, soonest: float) -> None:
        """Wait until the first clock runs out, and end the stream."""
        try:
            clock = await self._run_out(clocks, soonest)
        except anyio.get_cancelled_exc_class():
            # Not raised again: the traceback of a task that ends with it is part of a cycle, which
            # keeps the whole reply in memory until a garbage collection.
            return
        if not self.stream.decided:
            self._tell("silent", clock)
            self.stream.ran_out(clock)
            self._perform()

    async def _run_out(self, clocks: RunningClocks, soonest: float) -> str:
        """Wait until the first clock runs out; return its name."""
        while True:
            if self._resumed is not None:
                await self._resumed.wait()
            _, deadline = clocks.first()
            await anyio.sleep_until(min(deadline, anyio.current_time() + soonest))
            clock, deadline = clocks.first()
            if self._resumed is None and anyio.current_time() >= deadline:
                return clock

    async def _read_safely(self, source: ChunkSource, clocks: RunningClocks) -> None:
        try:
            await self._read_chunks(source, clocks)
        except anyio.get_cancelled_exc_class():
            if _is_cancelled():
                raise
            self.stream.fail(ErrorChunk("api_error", "the provider failed (CancelledError)"))
            self._perform()
        except Exception as error:  # noqa: BLE001 - a bug of ours fails the stream only
            _LOG.exception("the stream failed", extra={"kind": type(error).__name__})
            self.stream.fail(ErrorChunk("api_error", "internal error; the log has it"))
            self._perform()

    async def _read_chunks(self, source: ChunkSource, clocks: RunningClocks) -> None:
        stream, sink = self.stream, self._sink
        machine = stream.machine  # asked for every chunk, so without a detour
        assert sink is not None
        async with closing(as_chunks(source, overlap=self._overlap)) as chunks:
            while machine.state in OPEN:
                if sink.held >= HELD_MAX:
                    await self._wait_for_room(sink, clocks)
                read = stream.characters - self._turned_at
                if not stream.chunks % TURN_CHUNKS or read >= TURN_CHARACTERS:
                    self._turned_at = stream.characters
                    await checkpoint()
                chunk = await anext(chunks, None)
                if machine.state not in OPEN:
                    # A stop request arrived at the same time and won; the chunk is still recorded.
                    if chunk is not None:
                        self._tell("chunk", chunk)
                        stream.chunk(chunk)
                    return
                if chunk is None:
                    self._tell("end", None)
                    stream.end()
                else:
                    now = self._now()
                    self._tell("chunk", chunk)
                    stream.chunk(chunk)
                    clocks.heard("chunk", now, machine.state)
                    if self.on_text_changed is not None:
                        self.on_text_changed()
                    if self._progress is not None:
                        self._progress()
                if stream.actions.effects:
                    self._perform()
                if isinstance(chunk, FunctionCall) and not chunk.finish_reason:
                    await self._read_finish(chunks)

    async def _read_finish(self, chunks: AsyncIterator[Chunk]) -> None:
        """Wait briefly for the done chunk: these function calls came without a finish reason."""
        with self._finishing:
            self._finishing.deadline = min(self._now() + _FINISH_GRACE_S, self._settle_by)
            chunk = await anext(chunks, None)
            if chunk is not None:
                self._tell("chunk", chunk)
                self.stream.chunk(chunk)

    async def _wait_for_room(self, sink: Sink, clocks: RunningClocks) -> None:
        """Wait for Discord; that time is not the provider's, so no clock counts it."""
        clocks.pause(self._now())
        self._resumed = anyio.Event()
        self._tell("full", None)
        await sink.room()
        clocks.resume(self._now())
        self._resumed.set()
        self._resumed = None
        self._tell("room", None)

    # Settling.

    async def _settle(self, sink: Sink) -> None:
        with self._settling:
            self._settling.deadline = self._settle_by
            await sink.finish()
        if self._settling.cancelled_caught:
            # The requester has waited long enough.  A call in flight continues.
            sink.give_up("drain_timeout")
        if self.on_settled is not None:
            self.on_settled()
        self.stream.flushed()

    def _hasten(self, by: float = math.inf) -> None:
        """Bound the remaining delivery by `drain_timeout_ms` and the requester's deadline."""
        if self._sink is not None:
            self._sink.hurry()
        own = self._now() + self._config.drain_timeout_ms / 1000
        self._settle_by = min(self._settle_by, own, by)
        self._settling.deadline = self._settle_by
        self._finishing.deadline = min(self._finishing.deadline, self._settle_by)

    def _perform(self) -> None:
        sink = self._sink
        assert sink is not None
        while effects := self.stream.take_effects():
            for effect in effects:
                if effect is Effect.DELIVER:
                    if self.on_text_changed is not None:
                        self.on_text_changed()
                    sink.deliver()
                elif effect is Effect.WITHDRAW:
                    sink.withdraw(self.stream.actions.withdrawn)
                    self._hasten()
                else:
                    self._tell("decided", None)
                    if self._reading is not None:
                        self._reading.cancel()

    def _was_wanted(self, receipt: Receipt) -> bool:
        """Return whether the message was left unsent on purpose: withdrawn, or out of time."""
        taken_back = self.stream.actions.withdrawn or receipt.reason == "drain_timeout"
        return receipt.outcome == "not_sent" and bool(taken_back)

    def _reason(self, receipt: Receipt) -> str:
        """Return the ledger's reason for an undelivered message."""
        withdrawn = self.stream.actions.withdrawn
        return withdrawn if withdrawn and receipt.outcome == "not_sent" else "undelivered"

    def _tell(self, event: str, payload: object) -> None:
        if self._watch:
            now = self._now()
            for watch in self._watch:
                watch(now, event, payload)


def _loop_clock() -> Callable[[], float]:
    """Return the running event loop's clock, cheap enough to read for every chunk.

    `anyio.current_time` returns the same, but looks up the loop each time, which costs more than
    all other timeout work for a chunk.
    """
    if anyio.get_cancelled_exc_class() is asyncio.CancelledError:
        return asyncio.get_running_loop().time
    return anyio.current_time


def _is_cancelled() -> bool:
    """Return whether this task is cancelled; on asyncio, awaiting a cancelled one looks alike."""
    if anyio.get_cancelled_exc_class() is not asyncio.CancelledError:
        return True
    task = asyncio.current_task()
    return task is None or task.cancelling() > 0
