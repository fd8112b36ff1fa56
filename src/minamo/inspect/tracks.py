"""Records of a running stream that are needed to explain later where each character went.

The core's own ledger has the final place of each character.  It lacks the chunk that brought it
and the state in which it was read; both are recorded here, from outside.
"""

from __future__ import annotations

from typing import Any

from attrs import define, field, frozen

from minamo.core.accounting.pending import FittedBatch
from minamo.core.accounting.spans import Ledger
from minamo.core.chunks import Chunk, TextChunk
from minamo.core.lexing.intake import RULE, Intake
from minamo.core.lexing.lexer import Token
from minamo.core.messages import Receipt
from minamo.core.stream import Stream
from minamo.machine import TransitionRecord


def receipt_record(receipt: Receipt) -> dict[str, Any]:
    """Return a receipt as JSON."""
    return {
        "index": receipt.index,
        "call": receipt.kind,
        "outcome": receipt.outcome,
        "reason": receipt.reason,
        "characters": receipt.characters,
        "file": receipt.file,
        "attempts": receipt.attempts,
        "message": str(receipt.message_id) if receipt.message_id is not None else None,
        "took": round(max(receipt.settled_at - receipt.accepted_at, 0.0), 3),
    }


@frozen(slots=True)
class Read:
    """The state in which the characters `start` to `end` were read."""

    start: int
    end: int
    state: str


@frozen(slots=True)
class Move:
    """One chart row that was taken."""

    event: str
    """Empty for a row without an event, which is taken immediately."""
    source: str
    target: str
    row: int


@define(eq=False)
class Tracks:
    """The records of one stream; attach them before the stream gets its first event."""

    stream: Stream
    reads: list[Read] = field(factory=list, init=False)
    batches: list[FittedBatch] = field(factory=list, init=False)
    ends: list[int] = field(factory=list, init=False)
    """For each chunk, the total characters received up to its end."""
    moves: list[Move] = field(factory=list, init=False)
    """Rows taken since the reader last cleared this list, without text rows that keep the state."""
    given: dict[int, int] = field(factory=dict, init=False)
    """Sizes of messages handed out, by index; the recorder removes one for each receipt."""
    count: int = field(default=0, init=False)
    full: bool = field(default=False, init=False)
    """Whether to record nothing more except moves, because a size limit was reached."""
    _parts: list[str] = field(factory=list, init=False)
    _size: int = field(default=0, init=False)
    _intake: Intake = field(init=False)

    def __attrs_post_init__(self) -> None:
        off = self.stream.actions.config.clean_off
        self._intake = Intake(Ledger(), line_ends=RULE not in off)

    @classmethod
    def of(cls, stream: Stream) -> Tracks:
        """Attach to *stream* and return the records."""
        tracks = cls(stream)
        outbox = stream.actions.outbox
        before = outbox.watch

        def keep(batch: FittedBatch) -> None:
            if before is not None:
                before(batch)
            tracks.forget_from(outbox.count - batch.sent)
            for message in batch.fitted.messages[: batch.sent]:
                tracks.given[tracks.count] = len(message.text)
                tracks.count += 1
            if not tracks.full:
                tracks.batches.append(batch)

        outbox.watch = keep
        stream.machine.subscribe(tracks._taken)
        return tracks

    @property
    def size(self) -> int:
        """Characters received."""
        return self._size

    @property
    def text(self) -> str:
        """Every character received, as the stream counts them: see `Intake`."""
        text = "".join(self._parts)
        # The stream decides at its end about the text that `Intake` holds back.
        ended = not self.full and self.stream.actions.lexer.at > len(text)
        return text + self._intake.pending if ended else text

    def forget_from(self, number: int) -> None:
        """Forget the messages from *number* on; they were taken back and are handed out again."""
        while self.count > number and self.batches and not self.full:
            self.count -= self.batches.pop().sent

    def heard(self, chunk: Chunk) -> None:
        """Record a chunk."""
        if isinstance(chunk, TextChunk) and chunk.content:
            text = self._intake.feed(chunk.content)
            self._parts.append(text)
            self._size += len(text)
        self.ends.append(self._size)

    def _taken(self, taken: TransitionRecord) -> None:
        token = taken.payload
        if isinstance(token, Token) and taken.event:
            self._read(token.start, token.start + len(token.text), taken.source)
            if taken.event == "text" and taken.source == taken.target:
                return  # nearly all rows are like this, and they carry no information
        if taken.row is not None:
            self.moves.append(Move(taken.event, taken.source, taken.target, taken.row.index))

    def _read(self, start: int, end: int, state: str) -> None:
        if start == end or self.full:
            return
        last = self.reads[-1] if self.reads else None
        if last is not None and last.end == start and last.state == state:
            self.reads[-1] = Read(last.start, end, state)
        else:
            self.reads.append(Read(start, end, state))
