"""From segments to messages: clean, humanise and fit what waits, at the moment of sending.

A lane that is behind takes several segments together and they are fitted as one text; an idle
lane takes each by itself.  Both use this, so text and order are the same either way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from attrs import define, field, frozen

from minamo.core.buffer import Segment
from minamo.core.clean import clean
from minamo.core.config import HumanizerDegree, StreamConfig
from minamo.core.edits import whole
from minamo.core.fit import NOTHING, Carry, Fitted, Message, fit
from minamo.core.humanize import humanize
from minamo.core.ledger import Ledger
from minamo.core.origins import ADDED
from minamo.core.pieces import Piece, Shaped
from minamo.core.provenance import Trail, cut, through

# Why the stream itself takes text back.  A lane does too: it is closed, or was given up.
_WITHDRAWN = frozenset({"stop", "follow_up", "killed", "limit"})


@frozen(slots=True)
class Waiting:
    """A segment, cleaned, with where every character of it stood."""

    segment: Segment
    cleaned: Shaped
    trail: Trail


@frozen(slots=True)
class Batch:
    """What was fitted together and what came of it; for looking at where characters went."""

    trail: Trail
    """Of the text that was fitted."""
    fitted: Fitted
    sent: int
    """How many of the messages were given out; the limit may have cut off the rest."""


@define
class Outbox:
    """Segments that wait to be sent."""

    config: StreamConfig
    ledger: Ledger
    watch: Callable[[Batch], object] | None = None
    """Told of every batch; nothing is kept when nobody looks."""
    count: int = 0
    """Messages given out so far."""
    limited: bool = False
    """The message limit was reached and something was left."""
    spoke: bool = False
    """Some segment had something to say."""
    _waiting: list[Waiting] = field(factory=list)
    _said: list[tuple[str, Trail]] = field(factory=list)
    _out: dict[int, tuple[Trail, tuple[Piece, ...]]] = field(factory=dict)
    _lost: list[tuple[int, int]] = field(factory=list)
    _carry: Carry = NOTHING

    @property
    def text(self) -> str:
        """What was given out, cleaned, with the whitespace between segments as written."""
        if not self._lost:
            return "".join(text for text, _ in self._said).strip()
        return "".join(self._kept()).strip()

    @property
    def waiting(self) -> int:
        """How many characters wait."""
        return sum(len(one.segment.text) for one in self._waiting)

    def put(self, segment: Segment) -> None:
        """Take a segment; it is cleaned at once and fitted when it is its turn."""
        config = self.config
        cleaned = clean(
            segment.text,
            off=config.clean_off,
            bot_name=config.bot_name,
            mentions=config.mentions,
            first=not self.spoke,
            in_code=segment.in_code,
            uncensor_unicode_space=config.uncensor_unicode_space,
        )
        stood = segment.trail
        for lost in cleaned.dropped:
            self._suppress(stood, lost.start, lost.end, lost.reason)
        self.spoke = self.spoke or bool(cleaned.text.strip())
        self._waiting.append(Waiting(segment, cleaned, through(stood, cleaned.pieces)))

    def take(self, most: int | None = None) -> list[Message]:
        """The messages of what waits, or of the first *most* segments of it.

        An idle lane takes one segment at a time; one that is behind takes them all.
        """
        waiting, self._waiting = self._waiting[:most], self._waiting[most:] if most else []
        if not waiting:
            return []
        if self.config.suppress_text_output:
            self._said += [(one.cleaned.text, one.trail) for one in waiting]
            return []
        shaped = [
            self._humanize(one, number) for number, one in enumerate(waiting, len(self._said))
        ]
        trail: Trail = []
        for one, made in zip(waiting, shaped, strict=True):
            self.ledger.add(one.cleaned.pieces)
            self.ledger.add(made.pieces)
            for lost in made.dropped:
                self._suppress(one.trail, lost.start, lost.end, lost.reason)
            trail += through(one.trail, made.pieces)
        fitted = fit(
            "".join(made.text for made in shaped),
            limit=self.config.max_message_length,
            tables=self.config.tables,
            carry=self._carry,
            last=not waiting[-1].segment.torn,
            mid_line=waiting[0].segment.mid_line,
        )
        self._carry = fitted.carry
        self._said += [(one.cleaned.text, one.trail) for one in waiting]
        return self._account(trail, fitted)

    def delivered(self, number: int | None = None) -> None:
        """Discord has the message of that number, from 0; None: the first of those that are out."""
        if self._out:
            self._out.pop(next(iter(self._out)) if number is None else number, None)

    def lose(self, number: int, reason: str) -> None:
        """The message of that number was given out and not delivered."""
        trail, pieces = self._out.pop(number, ([], ()))
        for piece in pieces:
            if piece.start is None:
                self.ledger.additions[piece.reason] -= len(piece.text)
        self._forget(trail, pieces, reason)

    def withdraw(self, reason: str) -> None:
        """Suppress everything that waits; a lane's own reasons are all one to the books."""
        booked = reason if reason in _WITHDRAWN else "undelivered"
        for one in self._waiting:
            self._suppress(one.trail, 0, len(one.cleaned.text), booked)
        self._waiting.clear()

    def _humanize(self, one: Waiting, number: int) -> Shaped:
        text = one.cleaned.text
        if self.config.degree < HumanizerDegree.HEAVY or not self.config.humanize:
            return whole(text)
        seed = self.config.humanize_seed + number
        return humanize(text, seed, in_code=one.segment.in_code)

    def _account(self, trail: Trail, fitted: Fitted) -> list[Message]:
        messages = list(fitted.messages)
        limit = self.config.send_message_limit
        if limit and self.count + len(messages) > limit:
            self.limited = True
            rest = messages[limit - self.count :]
            self._forget(trail, [p for message in rest for p in message.pieces], "limit")
            messages = messages[: limit - self.count]
        for lost in fitted.dropped:
            self._suppress(trail, lost.start, lost.end, lost.reason)
        for message in messages:
            self.ledger.add(message.pieces)
            self._out[self.count] = trail, message.pieces
            self.count += 1
        if self.watch is not None:
            self.watch(Batch(trail, fitted, len(messages)))
        return messages

    def _forget(self, trail: Trail, pieces: Iterable[Piece], reason: str) -> None:
        """Take back a message that was not delivered."""
        came = through(trail, pieces)
        stood = [(start, start + size) for start, size in came if start != ADDED]
        for start, end in stood:
            self.ledger.suppress(start, end - start, reason)
        if stood:
            # The whole stretch: what stood between its lines was dropped by fit, not said.
            self._lost.append((stood[0][0], stood[-1][1]))

    def _kept(self) -> Iterator[str]:
        """What was said, without the messages that were lost."""
        for text, trail in self._said:
            at = 0
            for start, size in trail:
                yield "".join(
                    text[at + n]
                    for n in range(size)
                    if start == ADDED
                    or not any(low <= start + n < high for low, high in self._lost)
                )
                at += size

    def _suppress(self, trail: Trail, start: int, end: int, reason: str) -> None:
        for stood, size in cut(trail, start, end - start):
            if stood != ADDED:
                self.ledger.suppress(stood, size, reason)
