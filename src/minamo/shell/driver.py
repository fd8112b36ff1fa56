"""The only loop: chunks and wishes in, effects out, until the stream has its outcome.

There is no polling and no queue.  A wish or a receipt enters the machine the moment it comes, in
whatever task it comes; the driver itself only reads chunks, and waits.  A second task looks at the
clocks, and only when one may have run out: a chunk moves a number, never a timer.
"""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import AsyncIterable, Callable, Iterable
from typing import Protocol, TypeAlias

import anyio
from anyio.lowlevel import checkpoint

from minamo.core.actions import Effect
from minamo.core.chunks import Chunk, ErrorChunk
from minamo.core.lexing.silence import Silence
from minamo.core.result import StopReason
from minamo.core.stream import Stream
from minamo.shell.callbacks import Guarded
from minamo.shell.clocks import Clocks, loop_clock
from minamo.shell.delivery.queue import HELD_MAX
from minamo.shell.delivery.receipts import Receipt
from minamo.shell.providers.endpoint import closing
from minamo.shell.providers.scripted import as_chunks
from minamo.shell.stops.requests import StopRequest, StopSignal
from minamo.wire.assembler import ChunkOverlap

ChunkSource: TypeAlias = AsyncIterable[str | Chunk]
"""It may also have ``silence``, a `Silence`: the marker of a reply that is not to be shown."""
Watcher: TypeAlias = Callable[[float, str, object], object]
"""Told of everything that happens: when, what, and with what."""


class Sink(Protocol):
    """Where text goes; a lane's `Dispatch` is one."""

    @property
    def held(self) -> int:
        """How many characters are here and not answered for."""

    async def room(self) -> None:
        """Wait until more may come."""

    def deliver(self) -> None:
        """One more segment waits in the outbox."""

    def withdraw(self, reason: str) -> None:
        """Take back everything whose call has not begun."""

    def hurry(self) -> None:
        """Stop pretending to type."""

    async def finish(self) -> tuple[Receipt, ...]:
        """Nothing more will come; wait until everything is answered for."""

    def give_up(self, reason: str) -> None:
        """Write the receipts of what is not answered for."""


class NullSink:
    """What an idle lane would do, without Discord."""

    __slots__ = ("_shown", "_stream")

    def __init__(self, stream: Stream, shown: Callable[[str], object] | None = None) -> None:
        self._stream = stream
        self._shown = shown
        stream.actions.idle_lane = self._take

    @property
    def held(self) -> int:
        """Nothing ever waits."""
        return 0

    async def room(self) -> None:
        """There always is."""

    def deliver(self) -> None:
        """The segment is gone already, unless the limit cut it off."""
        if self._stream.actions.outbox.limited:
            self._stream.limit_reached()

    def withdraw(self, reason: str) -> None:
        """Nothing waits."""

    def hurry(self) -> None:
        """Nobody pretends to type."""

    async def finish(self) -> tuple[Receipt, ...]:
        """Everything was answered for when it came."""
        return ()

    def give_up(self, reason: str) -> None:
        """Nothing is open."""

    def _take(self) -> None:
        messages = self._stream.actions.outbox.take_segment()
        self._stream.delivered(len(messages))
        if self._shown is not None:
            for message in messages:
                self._shown(message.text)


_LOG = logging.getLogger("minamo.stream")

# A source that always has a chunk ready would otherwise keep everybody else from running.
_TURN_CHUNKS = 16
_TURN_CHARACTERS = 2_000


class Driver:
    """One stream on its way from its provider to its outlet."""

    def __init__(
        self,
        stream: Stream,
        *,
        wishes: StopSignal | None = None,
        progress: Callable[[], object] | None = None,
        call_timeout_ms: int | None = None,
        watch: Iterable[Watcher] = (),
    ) -> None:
        self.touched: Callable[[], object] | None = None
        """Called whenever the text may have changed; for a reply that grows in place."""
        self.settling: Callable[[], object] | None = None
        """Called when nothing more will be sent, before that is told; for such a reply too."""
        self.stream = stream
        self.wishes = wishes or StopSignal()
        self.clocks: Clocks | None = None
        self._config = stream.actions.config
        self._overlap = ChunkOverlap() if self._config.overlap_removal else None
        self._progress = None
        if progress is not None:
            self._progress = Guarded("on_stream_progress", progress, _LOG)
        self._call_timeout_ms = call_timeout_ms
        self._watch = tuple(watch)
        self._turned_at = 0  # how many characters had been read when others last had a turn
        self._outlet: Sink | None = None
        self._closed = False
        self._reading: anyio.CancelScope | None = None
        self._settling = anyio.CancelScope()
        self._settle_by = math.inf
        self._now: Callable[[], float] = anyio.current_time

    def __repr__(self) -> str:
        return f"<Driver of a stream that is {self.stream.state}>"

    async def run(self, source: ChunkSource, outlet: Sink) -> None:
        """Run the stream to its outcome; only a cancellation from outside is raised."""
        self._outlet = outlet
        self._now = loop_clock()
        silence = getattr(source, "silence", None)
        self.stream.actions.silence = silence if isinstance(silence, Silence) else None
        with self.wishes.heard_by(self._wish):
            await self._read(source)
            await self._settle(outlet)
        self._tell("settled", None)

    # What happens, from whichever task.

    def heard(self, receipt: Receipt) -> None:
        """Learn what became of a message; for the lane."""
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
        if self.clocks is not None:
            self.clocks.progressed(self._now())
        if self._progress is not None:
            self._progress()
        self._perform()

    def limit_reached(self) -> None:
        """The reply has used up its messages; for the lane."""
        self._tell("limit_reached", None)
        self.stream.limit_reached()
        self._perform()

    def _wish(self, wish: StopRequest) -> None:
        self._tell(wish.kind, wish)
        match wish.kind:
            case "user":
                self.stream.stop(wish.requester)
            case "follow_up":
                self.stream.follow_up()
            case "kill":
                self.stream.kill()
        self._hasten(wish.by)
        self._perform()

    # Reading.

    async def _read(self, source: ChunkSource) -> None:
        clocks = self.clocks = Clocks(self._config, self._now(), self._call_timeout_ms)
        if self._closed:
            return
        try:
            async with anyio.create_task_group() as tasks:
                self._reading = tasks.cancel_scope
                tasks.start_soon(clocks.watch, self._run_out)
                await self._heed(source, clocks)
                self._reading.cancel()
        except BaseExceptionGroup as group:
            # Only what nobody may catch comes here, `SystemExit` say; it stays what it is.
            raise group.exceptions[0] from None

    def _run_out(self, reason: StopReason) -> None:
        if self._closed:
            return
        self._tell("silent", reason)
        if reason == "deadline":
            self.stream.overran()
        else:
            self.stream.silent(reason)
        self._perform()

    async def _heed(self, source: ChunkSource, clocks: Clocks) -> None:
        try:
            await self._hear(source, clocks)
        except anyio.get_cancelled_exc_class():
            if _is_cancelled():
                raise
            self.stream.fail(ErrorChunk("api_error", "the provider failed (CancelledError)"))
            self._perform()
        except Exception as error:  # noqa: BLE001 - a fault of ours is a failed stream, no crash
            _LOG.exception("the stream failed", extra={"kind": type(error).__name__})
            self.stream.fail(ErrorChunk("api_error", "internal error; the log has it"))
            self._perform()

    async def _hear(self, source: ChunkSource, clocks: Clocks) -> None:
        stream, outlet = self.stream, self._outlet
        assert outlet is not None
        async with closing(as_chunks(source, overlap=self._overlap)) as chunks:
            while not self._closed:
                if outlet.held >= HELD_MAX:
                    await self._wait_for_room(outlet, clocks)
                read = stream.characters - self._turned_at
                if not stream.chunks % _TURN_CHUNKS or read >= _TURN_CHARACTERS:
                    self._turned_at = stream.characters
                    await checkpoint()
                chunk = await anext(chunks, None)
                if self._closed:
                    # A wish came in the same moment and went first.  What was read is booked.
                    if chunk is not None:
                        self._take(chunk)
                    return
                if chunk is None:
                    self._tell("end", None)
                    stream.end()
                else:
                    clocks.heard(self._now())
                    self._take(chunk)
                    if self.touched is not None:
                        self.touched()
                    if self._progress is not None:
                        self._progress()
                if stream.actions.effects:
                    self._perform()

    def _take(self, chunk: Chunk) -> None:
        self._tell("chunk", chunk)
        self.stream.chunk(chunk)

    async def _wait_for_room(self, outlet: Sink, clocks: Clocks) -> None:
        clocks.pause(self._now())
        self._tell("full", None)
        await outlet.room()
        clocks.resume(self._now())
        self._tell("room", None)

    # Settling.

    async def _settle(self, outlet: Sink) -> None:
        with self._settling:
            self._settling.deadline = self._settle_by
            await outlet.finish()
        if self._settling.cancelled_caught:
            # Whoever asked for the end has waited long enough.  A call that is out goes on.
            outlet.give_up("drain_timeout")
        if self.settling is not None:
            self.settling()
        self.stream.flushed()

    def _hasten(self, by: float = math.inf) -> None:
        """Somebody wants this to end: from now on they wait for so long at most."""
        if self._outlet is not None:
            self._outlet.hurry()
        own = self._now() + self._config.drain_timeout_ms / 1000
        self._settle_by = min(self._settle_by, own, by)
        self._settling.deadline = self._settle_by

    def _perform(self) -> None:
        outlet = self._outlet
        assert outlet is not None
        while effects := self.stream.take_effects():
            for effect in effects:
                if effect is Effect.DELIVER:
                    if self.touched is not None:
                        self.touched()
                    outlet.deliver()
                elif effect is Effect.WITHDRAW:
                    outlet.withdraw(self.stream.actions.withdrawn)
                    self._hasten()
                else:
                    self._closed = True
                    self._tell("decided", None)
                    if self._reading is not None:
                        self._reading.cancel()

    def _was_wanted(self, receipt: Receipt) -> bool:
        """Whether nobody misses it: it was taken back, or was out and came back by itself."""
        taken_back = self.stream.actions.withdrawn or receipt.reason == "drain_timeout"
        return receipt.outcome == "not_sent" and bool(taken_back)

    def _reason(self, receipt: Receipt) -> str:
        """The reason under which the ledger books what was not delivered."""
        withdrawn = self.stream.actions.withdrawn
        return withdrawn if withdrawn and receipt.outcome == "not_sent" else "undelivered"

    def _tell(self, event: str, payload: object) -> None:
        if self._watch:
            now = self._now()
            for watch in self._watch:
                watch(now, event, payload)


def _is_cancelled() -> bool:
    """Whether this very task is; on asyncio, awaiting a cancelled one looks the same."""
    if anyio.get_cancelled_exc_class() is not asyncio.CancelledError:
        return True
    task = asyncio.current_task()
    return task is None or task.cancelling() > 0
