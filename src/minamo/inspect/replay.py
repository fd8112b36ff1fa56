"""Run a trace through the real machine in virtual time, with a lane that is always idle."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from attrs import define, field, frozen

from minamo.core.accounting.pending import FittedBatch
from minamo.core.actions import Effect
from minamo.core.chunks import Chunk
from minamo.core.result import StreamResult
from minamo.core.stream import Stream
from minamo.core.trace import Moment, Trace
from minamo.inspect.tracks import Move, Tracks
from minamo.wire.assembler import ChunkOverlap


@frozen(slots=True)
class Replayed:
    """What a trace came to."""

    result: StreamResult
    messages: tuple[str, ...]
    thoughts: tuple[str, ...]
    details: tuple[str, ...]
    batches: tuple[FittedBatch, ...]
    """For following characters; see `minamo.core.accounting.spans`."""
    stream: Stream

    def summary(self) -> dict[str, Any]:
        """What `minamo replay --json` prints."""
        return summary(self.stream, self.messages)


def summary(stream: Stream, messages: Sequence[str]) -> dict[str, Any]:
    """How a stream ended, for programs."""
    result, captures = stream.result(), stream.actions.captures
    calls = [{"name": one.name, "arguments": one.arguments} for one in result.function_calls]
    return {
        "status": result.status,
        "stop_reason": result.stop_reason,
        "messages": list(messages),
        "thoughts": list(captures.texts("think")),
        "details": list(captures.texts("details")),
        "accumulated_text": result.accumulated_text,
        "function_calls": calls,
        "suppressed": dict(result.suppressed),
        "additions": dict(result.additions),
        "states": list(result.states),
    }


class StepObserver(Protocol):
    """Somebody who wants to see each step of a replay; see `minamo.inspect.replay`."""

    def began(self, stream: Stream) -> object:
        """The stream is there and nothing has happened."""

    def heard(self, chunk: Chunk) -> object:
        """The stream is about to take *chunk*."""

    def stepped(self, at: float, event: str) -> object:
        """*event* has happened, with everything that followed from it at once."""


def replay(trace: Trace, onlooker: StepObserver | None = None) -> Replayed:
    """Run *trace* to its outcome; without an end, the provider went silent."""
    run = _Run(trace, onlooker)
    for moment in trace.moments:
        run.wait_until(moment.at)
        run.happen(moment)
    run.wait_until(None)
    stream = run.stream
    captures = stream.actions.captures
    return Replayed(
        result=stream.result(),
        messages=tuple(run.messages),
        thoughts=captures.texts("think"),
        details=captures.texts("details"),
        batches=tuple(run.batches),
        stream=stream,
    )


class _Run:
    def __init__(self, trace: Trace, onlooker: StepObserver | None = None) -> None:
        self.stream = Stream(trace.config)
        self.onlooker = onlooker
        self.config = trace.config
        self.messages: list[str] = []
        self.batches: list[FittedBatch] = []
        self.heard = 0.0  # when the last chunk came
        self.patience = trace.config.first_token_timeout_ms / 1000
        self.limited = False
        self.overlap = ChunkOverlap() if trace.config.overlap_removal else None
        self.stream.actions.idle_lane = self.deliver
        self.stream.actions.outbox.watch = self.batches.append
        if onlooker is not None:
            onlooker.began(self.stream)

    def wait_until(self, at: float | None) -> None:
        """Let time pass; a clock that runs out before *at* ends the stream."""
        silent, over = self.heard + self.patience, self.config.stream_deadline_ms / 1000
        if self.stream.ended or (at is not None and at <= min(silent, over)):
            return
        if silent <= over:
            self.stream.silent("inactivity")
        else:
            self.stream.overran()
        self.settle()
        if self.onlooker is not None:
            self.onlooker.stepped(min(silent, over), "silent" if silent <= over else "overran")

    def happen(self, moment: Moment) -> None:
        """Let one line of the trace happen."""
        stream = self.stream
        if moment.chunk is not None:
            self.heard = moment.at
            self.patience = self.config.inactivity_timeout_ms / 1000
            chunk = moment.chunk if self.overlap is None else self.overlap.take(moment.chunk)
            if self.onlooker is not None:
                self.onlooker.heard(chunk)
            stream.chunk(chunk)
        elif moment.event == "stop":
            stream.stop(moment.requester)
        elif moment.event == "follow_up":
            stream.follow_up()
        elif moment.event == "kill":
            stream.kill()
        elif moment.event == "delivery_lost":
            stream.delivery_lost()
        else:
            stream.end()
        self.settle()
        if self.onlooker is not None:
            self.onlooker.stepped(moment.at, moment.event)

    def settle(self) -> None:
        """An idle lane has answered for everything by the time it is asked to finish."""
        if Effect.CLOSE in self.stream.take_effects():
            self.stream.flushed()

    def deliver(self) -> None:
        outbox = self.stream.actions.outbox
        messages = outbox.take_segment()
        self.messages += [message.text for message in messages]
        self.stream.delivered(len(messages))
        if outbox.limited and not self.limited:
            self.limited = True
            self.stream.limit_reached()


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
