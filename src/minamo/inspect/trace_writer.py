"""The lines of one stream's trace, written while it runs, so that it can be replayed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from attrs import define, field

from minamo.core.chunks import Chunk
from minamo.core.config import StreamConfig
from minamo.core.trace_lines import chunk_record
from minamo.inspect.settings_line import settings_of
from minamo.inspect.tracks import Tracks

# A long reply has a few thousand chunks.  A trace without its beginning cannot be replayed, so
# past this the end is left out, and said.
EVENTS_MAX = 20_000
# Over all chunks of one stream; some thirty times the longest reply anyone reads.
CHARACTERS_MAX = 1_000_000

Json = dict[str, Any]

# What a driver may report, and what it is in a trace.
_RECORDS: Mapping[str, Json] = {
    "user": {"stop": {"kind": "user"}},
    "follow_up": {"stop": {"kind": "follow_up"}},
    "kill": {"kill": True},
    "delivery_lost": {"delivery_lost": True},
    "end": {"end": True},
}
EVENTS = frozenset(_RECORDS)
"""What has a line in a trace, besides chunks."""
_WISHES = ("user", "follow_up", "kill")


@define(eq=False)
class TraceWriter:
    """Writes until there is enough; then nothing more is noted of the text either."""

    _tracks: Tracks
    _lines: list[str] = field(repr=False)
    cut: int = field(default=0, init=False)
    """How many happenings were not recorded, because there were too many."""
    _said: float = field(default=-1.0, init=False)  # the time of the last line

    @classmethod
    def of(cls, config: StreamConfig, tracks: Tracks) -> TraceWriter:
        """Begin with the settings that a replay needs."""
        return cls(tracks, [json.dumps({"settings": settings_of(config)})])

    def chunk(self, chunk: Chunk, now: float) -> None:
        """A chunk came."""
        if self._full():
            self.cut += 1
            return
        self._tracks.heard(chunk)
        self._line({"chunk": chunk_record(chunk)}, now)

    def event(self, event: str, payload: object, now: float) -> None:
        """One of `EVENTS` happened."""
        record = _RECORDS[event]
        requester = getattr(payload, "requester", None) if event == "user" else None
        if requester is not None:
            record = {"stop": {"kind": "user", "requester": requester}}
        self._line(record, now, is_stop=event in _WISHES)

    def text(self) -> str:
        """The stream as JSON lines."""
        return "".join(f"{line}\n" for line in self._lines)

    def _line(self, record: Json, now: float, *, is_stop: bool = False) -> None:
        if self._full():
            self.cut += 1
            return
        at = round(now, 3)
        # A stop with the time of a chunk would be taken before that chunk; without a time it
        # stays where it is.
        timed = {} if is_stop and at == self._said else {"t": at}
        self._said = at
        self._lines.append(json.dumps({**timed, **record}))

    def _full(self) -> bool:
        full = len(self._lines) > EVENTS_MAX or self._tracks.size > CHARACTERS_MAX
        self._tracks.full = self._tracks.full or full
        return self._tracks.full
