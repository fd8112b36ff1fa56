"""Recorder of one stream: writes a trace that can be replayed, and events for the live page.

The driver reports inputs and the machine reports transitions.  Nothing here waits, and no
exception raised here may reach the stream.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from attrs import define, evolve, field, fields

from minamo.core.chunks import Chunk, DoneChunk, ErrorChunk, FileChunk, FunctionCall, TextChunk
from minamo.core.config import StreamConfig
from minamo.core.messages import Receipt
from minamo.core.stream import Stream, clock_lengths
from minamo.core.trace import SETTINGS, chunk_record
from minamo.inspect.replay import MOVES_MAX
from minamo.inspect.tracks import Tracks, receipt_record
from minamo.inspect.views import excerpt
from minamo.shell.stops.registry import StopRequest


def settings_of(config: StreamConfig) -> dict[str, Any]:
    """Return the settings a replay needs to behave like a stream with *config*."""
    return dict(_changed(config, StreamConfig(humanize=False)))


def _changed(config: StreamConfig, usual: StreamConfig) -> Iterator[tuple[str, Any]]:
    known = {field_.name for field_ in fields(StreamConfig)} & set(SETTINGS)
    # The wire has removed overlaps before a chunk is recorded; doing it twice would delete text.
    for name in sorted(known - {"overlap_removal"}):
        value = getattr(config, name)
        if value != getattr(usual, name):
            yield name, _plain(value)


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, frozenset):
        return sorted(value)
    return list(value) if isinstance(value, tuple) else value


# A long reply has a few thousand chunks.  A trace without its beginning cannot be replayed, so
# past this limit the end is dropped, and `cut` counts the dropped records.
EVENTS_MAX = 20_000
# Over all chunks of one stream; about thirty times the longest reply a person reads.
CHARACTERS_MAX = 1_000_000
# Of the files that a model made; later ones are recorded without their content.
FILE_BYTES_MAX = 4_194_304

Json = dict[str, Any]

# Events a driver may report, and their trace records.
_RECORDS: Mapping[str, Json] = {
    "user": {"stop": {"kind": "user"}},
    "follow_up": {"stop": {"kind": "follow_up"}},
    "kill": {"kill": True},
    "delivery_lost": {"delivery_lost": True},
    "end": {"end": True},
}
EVENTS = frozenset(_RECORDS)
"""Events other than chunks that have a line in a trace."""
_STOP_KINDS = ("user", "follow_up", "kill")


@define(eq=False)
class TraceWriter:
    """Trace writer with a size limit; past the limit the tracks stop recording text too."""

    _tracks: Tracks
    _lines: list[str] = field(repr=False)
    cut: int = field(default=0, init=False)
    """Records dropped because the trace was full."""
    _said: float = field(default=-1.0, init=False)  # time of the last line
    _file_bytes: int = field(default=0, init=False)

    @classmethod
    def of(cls, config: StreamConfig, tracks: Tracks) -> TraceWriter:
        """Return a writer whose first line holds the settings that a replay needs."""
        return cls(tracks, [json.dumps({"settings": settings_of(config)})])

    def chunk(self, chunk: Chunk, now: float) -> None:
        """Record a chunk."""
        if self._full():
            self.cut += 1
            return
        self._tracks.heard(chunk)
        if isinstance(chunk, FileChunk):
            self._file_bytes += len(chunk.data)
            if self._file_bytes > FILE_BYTES_MAX:
                chunk = evolve(chunk, data=b"")
        self._line({"chunk": chunk_record(chunk)}, now)

    def event(self, event: str, payload: object, now: float) -> None:
        """Record one of `EVENTS`."""
        record = _RECORDS[event]
        if isinstance(payload, StopRequest) and event == "user" and payload.requester is not None:
            record = {"stop": {"kind": "user", "requester": payload.requester}}
        self._line(record, now, is_stop=event in _STOP_KINDS)

    def text(self) -> str:
        """Return the stream as JSON lines."""
        return "".join(f"{line}\n" for line in self._lines)

    def _line(self, record: Json, now: float, *, is_stop: bool = False) -> None:
        if self._full():
            self.cut += 1
            return
        at = round(now, 3)
        # A replay would apply a stop with the same time as a chunk before that chunk; without a
        # time it keeps its position.
        timed = {} if is_stop and at == self._said else {"t": at}
        self._said = at
        self._lines.append(json.dumps({**timed, **record}))

    def _full(self) -> bool:
        full = len(self._lines) > EVENTS_MAX or self._tracks.size > CHARACTERS_MAX
        self._tracks.full = self._tracks.full or full
        return self._tracks.full


_LOG = logging.getLogger("minamo.page")

# Latest events that are sent to a newly opened page.
LATEST_MAX = 400
# Far more messages than a reply has.
RECEIPTS_MAX = 500

Tell = Callable[[Json], object]


@define(eq=False)
class Recorder:
    """The record of one stream; created by `Hub.open_stream`."""

    id: str
    channel_id: int
    stream: Stream = field(repr=False)
    began_at: float
    tell: Tell = field(repr=False)
    """Called synchronously with every event."""
    wall: float = 0.0
    """Start as wall-clock time, used to order the stream among the messages."""
    tracks: Tracks = field(init=False, repr=False)
    latest: list[Json] = field(factory=list, init=False, repr=False)
    receipts: list[Json] = field(factory=list, init=False, repr=False)
    lane: Json = field(factory=lambda: {"held": 0, "waiting": 0}, init=False, repr=False)
    broken: bool = field(default=False, init=False)
    """Whether an event could not be recorded; this is a bug in minamo, and is in the log."""
    ended_at: float | None = field(default=None, init=False)
    first_at: float | None = field(default=None, init=False)
    heard_at: float | None = field(default=None, init=False)
    paused_at: float | None = field(default=None, init=False)
    _trace: TraceWriter = field(init=False, repr=False)
    _now: float = field(default=0.0, init=False)
    _number: int = field(default=0, init=False)

    def __attrs_post_init__(self) -> None:
        self.tracks = Tracks.of(self.stream)
        self._trace = TraceWriter.of(self.stream.actions.config, self.tracks)
        # Subscribed after the tracks, so that they have recorded the transition first.
        self.stream.machine.subscribe(lambda _: self._moved())

    # For the driver.

    def happened(self, at: float, event: str, payload: object = None) -> None:
        """Record that *event* happened at *at*, on the clock of the event loop.

        A driver takes this as its `watch`.  Recorded in the trace: ``chunk``, ``user`` (with the
        `StopRequest`), ``follow_up``, ``kill``, ``delivery_lost``, ``end``.  Sent to the page only:
        ``receipt``, ``full`` and ``room`` (the clocks are paused while the lane is full),
        ``settled`` (the stream has its result), ``cancelled`` (it will never have one), or any
        other string.
        """
        try:
            self._happened(at, event, payload)
        except Exception:  # noqa: BLE001 - inspection must not be able to break the stream
            if not self.broken:
                _LOG.exception("recording a stream failed; its record has gaps")
            self.broken = True

    def _happened(self, at: float, event: str, payload: object) -> None:
        self._now = max(at - self.began_at, self._now)
        if event == "receipt":
            assert isinstance(payload, Receipt)
            self._receipt(payload)
            self._look_at_lane()
            return
        if event in ("settled", "cancelled"):
            if self.ended_at is None:  # it may be cancelled while it closes
                self._close()
            return
        record: Json = {"kind": "event", "event": event}
        if event == "chunk" and isinstance(
            payload, TextChunk | FileChunk | FunctionCall | ErrorChunk | DoneChunk
        ):
            self.heard_at = self._now
            self.first_at = self._now if self.first_at is None else self.first_at
            record |= {"type": payload.type, "text": excerpt(payload), "size": _size(payload)}
            if payload.thoughts:
                record["thoughts"] = sum(map(len, payload.thoughts))
            self._trace.chunk(payload, self._now)
        elif event in ("full", "room"):
            self._pause(event)
        elif event in EVENTS:
            self._trace.event(event, payload, self._now)
        elif isinstance(payload, str):
            record["text"] = payload
        self._tell(record)
        self._look_at_lane()

    # For the page.

    def outcome(self) -> Json:
        """Return the current state of the stream as a short record."""
        actions = self.stream.actions
        ended = self.stream.ended
        return {
            "state": self.stream.state,
            "status": self.stream.state if ended else None,
            "stop_reason": actions.ending.stop_reason,
            "read": actions.lexer.at,
            "messages": actions.outbox.count,
            "buffered": len(actions.buffer),
            "suppressed": dict(actions.ledger.suppressed),
        }

    def summary(self, *, with_latest: bool = True) -> Json:
        """Return everything a page needs to show this stream from now on."""
        return {
            "id": self.id,
            "channel": str(self.channel_id),
            "wall": self.wall,
            "ended_at": self.ended_at,
            "first_at": self.first_at,
            "heard_at": self.heard_at,
            "paused_at": self.paused_at,
            "clocks": clock_lengths(self.stream.actions.config),
            "lane": self.lane,
            "receipts": list(self.receipts),
            "latest": list(self.latest) if with_latest else [],
            "cut": self._trace.cut,
            **self.outcome(),
        }

    def trace(self) -> str:
        """Return the stream as JSON lines, for a replay."""
        return self._trace.text()

    # Internals.

    def _close(self) -> None:
        self.tracks.given.clear()  # an edit-in-place reply has receipts for its edits only
        self._look_at_lane()
        self.ended_at = self._now
        self._tell({"kind": "ended", **self.outcome()})

    def _moved(self) -> None:
        moves = self.tracks.moves
        if not moves:
            return
        rows = [[move.event, move.source, move.target, move.row] for move in moves[:MOVES_MAX]]
        moves.clear()
        self._tell({"kind": "moves", "moves": rows})

    def _tell(self, record: Json) -> None:
        self._number += 1
        record |= {"stream": self.id, "n": self._number, "t": round(self._now, 3)}
        self.latest.append(record)
        if len(self.latest) > LATEST_MAX:
            del self.latest[: LATEST_MAX // 4]
        self.tell(record)

    def _look_at_lane(self) -> None:
        """Report text handed over without a receipt: fitted messages, and text not fitted yet."""
        outbox = self.stream.actions.outbox
        out = sum(self.tracks.given.values())
        lane = {"held": outbox.waiting + out, "waiting": outbox.waiting}
        if lane != self.lane:
            self.lane = lane
            self._tell({"kind": "lane", **lane})

    def _pause(self, event: str) -> None:
        if event == "full":
            self.paused_at = self._now
        elif self.paused_at is not None:
            waited, self.paused_at = self._now - self.paused_at, None
            if self.heard_at is not None:
                self.heard_at += waited

    def _receipt(self, receipt: Receipt) -> None:
        record = receipt_record(receipt) | {"t": round(self._now, 3)}
        if receipt.kind == "create":
            self.tracks.given.pop(receipt.index, None)
        if len(self.receipts) < RECEIPTS_MAX:
            self.receipts.append(record)
        self._tell({"kind": "receipt", **record})


def _size(chunk: Chunk) -> int:
    return len(chunk.content) if isinstance(chunk, TextChunk) else 0
