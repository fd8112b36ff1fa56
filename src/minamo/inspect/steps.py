"""Step through a recorded stream: what was so after each thing that happened.

One pass over the trace gives all steps, because everything a step shows only ever grows or is a
number; nothing is replayed twice, however far one jumps.
"""

from __future__ import annotations

from attrs import define, field, frozen

from minamo.core.chunks import Chunk
from minamo.core.stream import Stream
from minamo.core.trace import Trace
from minamo.inspect.replay import Replayed, replay
from minamo.inspect.tracks import Move, Tracks

# What a picture can still show of one step; a chunk of a hundred thousand characters makes more.
MOVES_MAX = 40


@frozen(slots=True)
class Step:
    """The stream after one event."""

    at: float
    event: str
    """``begin`` for the first step, before anything happened."""
    state: str
    moves: tuple[Move, ...]
    more: int
    """How many moves are left out."""
    read: int
    """Characters that have come."""
    messages: int
    """Messages given out so far; they never change afterwards."""
    thoughts: int
    """Thoughts and details that are complete."""
    buffered: int
    """Characters that wait in the buffer for a boundary."""
    undecided: int
    """Characters of which it is not known yet whether they are a marker."""


@define(eq=False)
class Steps:
    """Sees a replay and keeps its steps."""

    steps: list[Step] = field(factory=list, init=False)
    tracks: Tracks | None = field(default=None, init=False)

    def began(self, stream: Stream) -> None:
        """Note how it is before anything happens."""
        self.tracks = Tracks.of(stream)
        self.stepped(0.0, "begin")

    def heard(self, chunk: Chunk) -> None:
        """Note a chunk that is about to be taken."""
        assert self.tracks is not None
        self.tracks.heard(chunk)

    def stepped(self, at: float, event: str) -> None:
        """Note how it is now."""
        assert self.tracks is not None
        tracks, stream = self.tracks, self.tracks.stream
        actions = stream.actions
        moves = tracks.moves
        self.steps.append(
            Step(
                at=at,
                event=event,
                state=stream.state,
                moves=tuple(moves[:MOVES_MAX]),
                more=max(len(moves) - MOVES_MAX, 0),
                read=actions.lexer.at,
                messages=actions.outbox.count,
                thoughts=len(actions.captures.blocks),
                buffered=len(actions.buffer),
                undecided=len(actions.lexer.held),
            )
        )
        moves.clear()


def step_through(trace: Trace) -> tuple[Replayed, list[Step], Tracks]:
    """Replay *trace* and keep every step of it."""
    seen = Steps()
    replayed = replay(trace, seen)
    assert seen.tracks is not None
    return replayed, seen.steps, seen.tracks
