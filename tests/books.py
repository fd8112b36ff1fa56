"""Audit a stream: where did every character go?  Knows the law, and nothing of how it is kept."""

from __future__ import annotations

from collections import Counter

from minamo.core.chunks import Text
from minamo.core.config import StreamConfig
from minamo.core.origins import ADDED
from minamo.core.provenance import cut
from minamo.core.trace import Moment, Trace
from minamo.inspect.replay import Replayed, replay


def run(chunks: list[str], *, ending: str = "end", **settings: object) -> Replayed:
    """Stream *chunks* and let *ending* happen."""
    config = StreamConfig(**{"humanize": False, **settings})  # type: ignore[arg-type]
    moments = [Moment(0.0, "chunk", chunk=Text(chunk)) for chunk in chunks]
    if ending:
        moments.append(Moment(0.0, ending))
    return replay(Trace(config, tuple(moments)))


def shown(replayed: Replayed) -> list[tuple[int, str]]:
    """Every character of every message that stood in the stream, with where it stood."""
    found = []
    for batch in replayed.batches:
        for message in batch.fitted.messages[: batch.sent]:
            for piece in message.pieces:
                if piece.start is None:
                    continue
                at = 0
                for start, size in cut(batch.trail, piece.start, len(piece.text)):
                    if start != ADDED:
                        chars = piece.text[at : at + size]
                        found += [(start + n, char) for n, char in enumerate(chars)]
                    at += size
    return found


def audit(replayed: Replayed, text: str) -> None:
    """Fail unless each character of *text* is in exactly one place, unaltered and in order."""
    visible = shown(replayed)
    places = [position for position, _ in visible]
    assert places == sorted(set(places)), "shown twice or out of order"
    altered = [position for position, char in visible if text[position] != char]
    assert not altered, f"altered at {altered[:5]}"
    for block in replayed.stream.actions.captures.blocks:
        at = 0
        for start, size in block.trail:
            assert text[start : start + size] == block.text[at : at + size], "capture altered"
            places += range(start, start + size)
            at += size
    for span in replayed.stream.actions.ledger.spans:
        places += range(span.start, span.end)
    counts = Counter(places)
    lost = [n for n in range(len(text)) if n not in counts]
    assert not lost, f"lost: {[(n, text[max(0, n - 5) : n + 5]) for n in lost[:5]]}"
    twice = [n for n, count in counts.items() if count > 1]
    assert not twice, f"in two places: {[(n, text[max(0, n - 5) : n + 5]) for n in twice[:5]]}"
    assert len(counts) == len(text), "where there is no text"
    booked = sum(replayed.result.suppressed.values()) - replayed.result.suppressed.get(
        "surrogate", 0
    )
    assert booked == sum(s.end - s.start for s in replayed.stream.actions.ledger.spans)


def fits(replayed: Replayed, limit: int = 1950) -> None:
    """Fail unless every message can be sent."""
    for message in replayed.messages:
        assert 1 <= len(message) <= limit
        assert len(message.encode("utf-16-le", "surrogatepass")) // 2 <= 2000
        assert message == message.strip()
        assert message.strip()


def same(one: Replayed, other: Replayed) -> None:
    """Fail unless two runs of the same text differ in nothing that matters."""
    assert one.messages == other.messages
    assert one.thoughts == other.thoughts
    assert one.details == other.details
    assert one.result.status == other.result.status
    assert one.result.stop_reason == other.result.stop_reason
    assert one.result.accumulated_text == other.result.accumulated_text
    assert one.result.suppressed == other.result.suppressed
    assert one.result.additions == other.result.additions
    assert one.result.states == other.result.states
