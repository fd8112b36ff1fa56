"""The audit of a replayed stream: every character is accounted for exactly once.

It checks the result and must not depend on the implementation that it checks.
"""

from __future__ import annotations

from collections import Counter

from minamo.core.accounting.spans import ADDED, cut
from minamo.core.lexing.intake import RULE, as_read
from minamo.core.limits import SPANS_MAX
from minamo.inspect.replay import Replayed

_DISCORD_MAX = 2_000  # UTF-16 units


class Broken(AssertionError):
    """A broken rule; the message names it."""


def shown(replayed: Replayed) -> list[tuple[int, str]]:
    """Return the (offset, character) of every shown character that comes from the stream."""
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
    """Raise `Broken` unless each character of *text* is in one place, unaltered and in order."""
    text = as_read(text, line_ends=RULE not in replayed.stream.actions.config.clean_off)
    visible = shown(replayed)
    places = [position for position, _ in visible]
    _hold(places == sorted(set(places)), "something is shown twice or out of order")
    altered = [at for at, char in visible if text[at : at + 1] != char]
    _hold(not altered, f"characters were altered: {altered[:5]}")
    for block in replayed.stream.actions.captures.blocks:
        at = 0
        for start, size in block.trail:
            kept = block.text[at : at + size]
            _hold(text[start : start + size] == kept, f"what is kept of {start} was altered")
            places += range(start, start + size)
            at += size
    spans = replayed.stream.actions.ledger.spans
    for span in spans:
        places += range(span.start, span.end)
    counts = Counter(places)
    left = [n for n in range(len(text)) if n not in counts]
    # Changes made before the stream counts characters have no offset.
    unplaced = {"surrogate": 0, f"clean.{RULE}": 0, "overlap": 0}
    booked = sum({**replayed.result.suppressed, **unplaced}.values())
    unlisted = booked - sum(span.end - span.start for span in spans)
    if replayed.stream.actions.config.suppress_text_output:
        # A subsequence: cleaning inserts characters between them, and blanks at seams are as shown.
        rest = iter(replayed.result.accumulated_text)
        written = [text[n] for n in left if not text[n].isspace()]
        _hold(all(char in rest for char in written), "what is not shown is not in the result")
    elif len(spans) < SPANS_MAX:
        _none(left, text, "lost")
    else:
        _hold(unlisted == len(left), "the ledger, which is full, does not count the rest")
    _hold(unlisted == 0 or len(spans) == SPANS_MAX, "the ledger does not add up")
    _none([n for n, count in counts.items() if count > 1], text, "in two places")
    _hold(all(0 <= n < len(text) for n in counts), "more is booked than was said")


def fits(replayed: Replayed, limit: int = 1950) -> None:
    """Raise `Broken` unless every message can be sent."""
    for number, message in enumerate(replayed.messages):
        units = len(message.encode("utf-16-le", "surrogatepass")) // 2
        fine = 1 <= len(message) <= limit and units <= _DISCORD_MAX
        _hold(fine, f"message {number} has {len(message)} characters, {units} units")
        _hold(message == message.strip(), f"message {number} begins or ends blank")


def same(first: Replayed, second: Replayed) -> None:
    """Raise `Broken` unless two runs of the same text have the same messages and result."""
    for name in ("messages", "thoughts", "details"):
        _equal(getattr(first, name), getattr(second, name), name)
    for name in ("status", "stop_reason", "accumulated_text", "suppressed", "additions", "states",
                 "files"):  # fmt: skip
        _equal(getattr(first.result, name), getattr(second.result, name), name)


def _equal(first: object, second: object, name: str) -> None:
    _hold(first == second, f"{name} depends on how text was cut into chunks: {first!r}, {second!r}")


def _none(places: list[int], text: str, fault: str) -> None:
    found = [(n, text[max(0, n - 5) : n + 5]) for n in places[:5]]
    _hold(not places, f"{len(places)} characters are {fault}: {found}")


def _hold(fine: bool, law: str) -> None:
    if not fine:
        raise Broken(law)
