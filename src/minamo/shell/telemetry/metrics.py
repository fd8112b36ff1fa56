"""The metrics of one stream: the contents of `StreamResult.metrics`.

Pure bookkeeping without a clock: the driver reports each event and its time.  A metric that does
not apply (nothing was shown, no stop was requested) has no key, so that no average counts it as
zero.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from minamo.core.chunks import TextChunk
from minamo.core.messages import Receipt

# For several streams in a row, the time to the first output is that of the first stream.
_OF_THE_FIRST = ("time_to_first_chunk_ms", "time_to_first_visible_ms")
_STOP_KINDS = ("user", "follow_up", "kill")


# Plain and slotted: `watch` is called for every chunk of every stream.
class StreamMetrics:
    """The metrics of one stream.  All times are seconds on the event loop's clock."""

    __slots__ = (
        "_asked_at", "_calls", "_characters", "_chunks", "_decided_at", "_edits", "_first_at",
        "_full_at", "_messages", "_settled_at", "_started_at", "_visible_at", "_waited_s",
    )  # fmt: skip

    def __init__(self, started_at: float) -> None:
        self._started_at = started_at
        self._chunks = self._characters = 0
        self._messages = self._edits = self._calls = 0
        self._waited_s = 0.0  # time the provider was blocked by Discord
        self._first_at: float | None = None
        self._visible_at: float | None = None
        self._asked_at: float | None = None
        self._decided_at: float | None = None
        self._settled_at: float | None = None
        self._full_at: float | None = None

    def __repr__(self) -> str:
        return f"<StreamMetrics: {self._chunks} chunks, {self._messages} messages>"

    def watch(self, at: float, event: str, payload: object) -> None:
        """Record an event of the driver: ``Driver(…, watch=[metrics.watch])``."""
        if event == "chunk":
            if self._first_at is None:
                self._first_at = at
            self._chunks += 1
            if isinstance(payload, TextChunk):
                self._characters += len(payload.content)
        elif event == "receipt":
            assert isinstance(payload, Receipt)
            self._count(payload)
        elif event == "full":
            self._full_at = at
        elif event in ("room", "decided"):  # the provider no longer waits
            if self._full_at is not None:
                self._waited_s += at - self._full_at
                self._full_at = None
            if event == "decided" and self._decided_at is None:
                self._decided_at = at
        elif event == "settled":
            self._settled_at = at
        elif event in _STOP_KINDS and self._asked_at is None:
            self._asked_at = at

    def _count(self, receipt: Receipt) -> None:
        self._calls += receipt.attempts
        if receipt.outcome != "delivered":
            return
        if receipt.kind == "create":
            self._messages += 1
            if self._visible_at is None:
                self._visible_at = receipt.settled_at
        elif receipt.kind == "edit":
            self._edits += 1

    def figures(self) -> dict[str, float]:
        """Return the metrics known so far."""
        found: dict[str, float] = {
            "total_chunks": self._chunks,
            "total_characters": self._characters,
        }
        counts = {"messages": self._messages, "edits": self._edits, "calls": self._calls}
        found |= {name: count for name, count in counts.items() if count}
        since = self._started_at
        decided, settled, asked = self._decided_at, self._settled_at, self._asked_at
        _put(found, "time_to_first_chunk_ms", since, self._first_at)
        _put(found, "time_to_first_visible_ms", since, self._visible_at)
        _put(found, "decided_after_ms", since, decided)
        _put(found, "duration_ms", since, settled)
        if asked is not None and decided is not None and asked <= decided:
            _put(found, "stop_latency_ms", asked, decided)
        _put(found, "stop_settled_ms", asked, settled)
        if decided is not None:
            found["waited_for_provider_ms"] = _ms(decided - since - self._waited_s)
            if settled is not None:
                found["waited_for_discord_ms"] = _ms(settled - decided + self._waited_s)
        return found


def together(figures: Iterable[Mapping[str, float]]) -> dict[str, float]:
    """Return the metrics of the streams of one turn, combined into one set."""
    total: dict[str, float] = {}
    for number, metrics in enumerate(figures):
        for name, value in metrics.items():
            if name not in _OF_THE_FIRST:
                total[name] = total.get(name, 0) + value
            elif not number:
                total[name] = value
    return total


def _put(found: dict[str, float], name: str, since: float | None, at: float | None) -> None:
    if since is not None and at is not None:
        found[name] = _ms(at - since)


def _ms(seconds: float) -> float:
    # A microsecond is finer than any of these clocks; more digits are noise in a log.
    return round(max(seconds, 0.0) * 1000, 3)
