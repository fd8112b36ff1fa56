"""The figures of one stream: what `StreamResult.metrics` holds.

Pure bookkeeping: whoever drives the stream says what happened and when.  A figure that does not
exist (nothing was shown, nobody asked to stop) has no key, so that no average counts it as zero.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from minamo.core.chunks import TextChunk
from minamo.shell.delivery.receipts import Receipt

# Of several streams in a row: how long it took until something came is a matter of the first.
_OF_THE_FIRST = ("time_to_first_chunk_ms", "time_to_first_visible_ms")
_WISHES = ("user", "follow_up", "kill")


# Plain and slotted: `chunk` is called for every chunk of every stream.
class StreamMetrics:
    """Keeps the figures of one stream.  All times are seconds on one clock, the event loop's."""

    __slots__ = (
        "_asked_at", "_bytes", "_calls", "_characters", "_chunks", "_decided_at", "_edits",
        "_first_at", "_full_at", "_messages", "_settled_at", "_started_at", "_visible_at",
        "_waited_s",
    )  # fmt: skip

    def __init__(self, started_at: float) -> None:
        self._started_at = started_at
        self._chunks = self._characters = self._bytes = 0
        self._messages = self._edits = self._calls = 0
        self._waited_s = 0.0  # for Discord, while the provider had to wait
        self._first_at: float | None = None
        self._visible_at: float | None = None
        self._asked_at: float | None = None
        self._decided_at: float | None = None
        self._settled_at: float | None = None
        self._full_at: float | None = None

    def __repr__(self) -> str:
        return f"<Meter: {self._chunks} chunks, {self._messages} messages>"

    def chunk(self, at: float, characters: int = 0, size: int = 0) -> None:
        """A chunk came, with so many characters of text, made of so many bytes."""
        if self._first_at is None:
            self._first_at = at
        self._chunks += 1
        self._characters += characters
        self._bytes += size

    def visible(self, at: float) -> None:
        """People can read something; only the first time counts."""
        if self._visible_at is None:
            self._visible_at = at

    def receipt(self, receipt: Receipt) -> None:
        """A message was answered for."""
        self._calls += receipt.attempts
        if not receipt.delivered:
            return
        if receipt.kind == "create":
            self._messages += 1
            self.visible(receipt.settled_at)
        elif receipt.kind == "edit":
            self._edits += 1

    def call(self) -> None:
        """A call to Discord was made that has no receipt, such as typing or an embed."""
        self._calls += 1

    def wait(self, seconds: float) -> None:
        """The provider had to wait so long for Discord."""
        self._waited_s += seconds

    def asked_to_stop(self, at: float) -> None:
        """Somebody wants it to end; only the first time counts."""
        if self._asked_at is None:
            self._asked_at = at

    def decided(self, at: float) -> None:
        """The outcome is fixed and the provider let go."""
        if self._decided_at is None:
            self._decided_at = at

    def settled(self, at: float) -> None:
        """Everything is answered for."""
        self._settled_at = at

    def watch(self, at: float, event: str, payload: object) -> None:
        """The same, as the driver tells it: ``Driver(…, watch=[meter.watch])``."""
        if event == "chunk":
            self.chunk(at, len(payload.content) if isinstance(payload, TextChunk) else 0)
        elif event == "receipt":
            assert isinstance(payload, Receipt)
            self.receipt(payload)
        elif event == "full":
            self._full_at = at
        elif event == "room" and self._full_at is not None:
            self.wait(at - self._full_at)
            self._full_at = None
        elif event == "decided":
            if self._full_at is not None:  # it is not waited for any more
                self.wait(at - self._full_at)
                self._full_at = None
            self.decided(at)
        elif event == "settled":
            self.settled(at)
        elif event in _WISHES:
            self.asked_to_stop(at)

    def figures(self) -> dict[str, float]:
        """What is known so far."""
        found: dict[str, float] = {
            "total_chunks": self._chunks,
            "total_characters": self._characters,
        }
        counts = {
            "bytes": self._bytes,
            "messages": self._messages,
            "edits": self._edits,
            "calls": self._calls,
        }
        found.update({name: count for name, count in counts.items() if count})
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
    """The figures of the streams of one turn, as if they were one stream's."""
    total: dict[str, float] = {}
    for number, one in enumerate(figures):
        for name, value in one.items():
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
