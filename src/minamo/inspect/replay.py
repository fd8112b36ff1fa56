"""Replay of a trace through the real machine in virtual time, with a lane that is always idle.

`replay` returns the outcome; `step_through` also records the stream after each event.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Protocol

from attrs import define, field, frozen

from minamo.core.accounting.pending import FittedBatch
from minamo.core.actions import Effect
from minamo.core.chunks import Chunk
from minamo.core.fitting.split import as_line
from minamo.core.result import StreamResult
from minamo.core.stream import CHART, Stream, clock_lengths
from minamo.core.trace import Moment, Trace
from minamo.inspect.tracks import Move, Tracks
from minamo.machine import RunningClocks
from minamo.wire.assembler import ChunkOverlap


@frozen(slots=True)
class Replayed:
    """The outcome of a replayed trace."""

    result: StreamResult
    messages: tuple[str, ...]
    thoughts: tuple[str, ...]
    details: tuple[str, ...]
    batches: tuple[FittedBatch, ...]
    """For tracing characters; see `minamo.core.accounting.spans`."""
    stream: Stream

    def summary(self) -> dict[str, Any]:
        """Return the record that `minamo replay --json` prints."""
        return summary(self.stream, self.messages)


def summary(stream: Stream, messages: Sequence[str]) -> dict[str, Any]:
    """Return the outcome of a stream as JSON."""
    result, captures = stream.result(), stream.actions.captures
    calls = [{"name": call.name, "arguments": call.arguments} for call in result.function_calls]
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
    """An observer of each step of a replay; `Steps` is one."""

    def began(self, stream: Stream) -> object:
        """Handle a new stream, before its first event."""

    def heard(self, chunk: Chunk) -> object:
        """Handle *chunk*, before the stream takes it."""

    def stepped(self, at: float, event: str) -> object:
        """Handle *event*, after the stream has processed it and all its consequences."""


def replay(trace: Trace, onlooker: StepObserver | None = None) -> Replayed:
    """Run *trace* to its outcome; a trace without an end means that the provider went silent."""
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
        # The call's own clock is for turns.
        lengths = clock_lengths(trace.config) | {"sdk_call_timeout": math.inf}
        self.clocks = RunningClocks(CHART, lengths, self.stream.state, 0.0)
        self.limited = False
        self.overlap = ChunkOverlap() if trace.config.overlap_removal else None
        self.stream.actions.idle_lane = self.deliver
        self.stream.actions.outbox.watch = self.batches.append
        if onlooker is not None:
            onlooker.began(self.stream)

    def wait_until(self, at: float | None) -> None:
        """Advance the time to *at*; a timeout that expires before *at* ends the stream."""
        clock, deadline = self.clocks.first()
        if self.stream.ended or (at is not None and at <= deadline):
            return
        self.stream.ran_out(clock)
        self.settle()
        if self.onlooker is not None:
            self.onlooker.stepped(deadline, "overran" if clock == "deadline" else "silent")

    def happen(self, moment: Moment) -> None:
        """Apply one line of the trace."""
        stream = self.stream
        if moment.chunk is not None:
            chunk = moment.chunk if self.overlap is None else self.overlap.take(moment.chunk)
            if self.onlooker is not None:
                self.onlooker.heard(chunk)
            stream.chunk(chunk)
            self.clocks.heard("chunk", moment.at, stream.state)
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
        """Report the flush at once: an idle lane has acknowledged everything when it is closed."""
        if Effect.CLOSE in self.stream.take_effects():
            self.stream.flushed()

    def deliver(self) -> None:
        outbox = self.stream.actions.outbox
        messages = outbox.take_segment()
        self.messages += [as_line(message) for message in messages]
        self.stream.delivered(len(messages))
        if outbox.limited and not self.limited:
            self.limited = True
            self.stream.limit_reached()


# Most moves of one step that a picture can show; a chunk of 100,000 characters makes more.
MOVES_MAX = 40


@frozen(slots=True)
class ReplayStep:
    """The stream after one event."""

    at: float
    event: str
    """``begin`` for the first step, before any event."""
    state: str
    moves: tuple[Move, ...]
    more: int
    """Number of moves left out."""
    read: int
    """Characters received."""
    messages: int
    """Messages handed out so far; they never change afterwards."""
    thoughts: int
    """Complete thoughts and details."""
    buffered: int
    """Characters in the buffer that wait for a boundary."""
    undecided: int
    """Characters that may still turn out to be a marker."""


@define(eq=False)
class Steps:
    """A `StepObserver` that records every step."""

    steps: list[ReplayStep] = field(factory=list, init=False)
    tracks: Tracks | None = field(default=None, init=False)

    def began(self, stream: Stream) -> None:
        """Record the initial state."""
        self.tracks = Tracks.of(stream)
        self.stepped(0.0, "begin")

    def heard(self, chunk: Chunk) -> None:
        """Record a chunk that is about to be taken."""
        assert self.tracks is not None
        self.tracks.heard(chunk)

    def stepped(self, at: float, event: str) -> None:
        """Record the current state."""
        assert self.tracks is not None
        tracks, stream = self.tracks, self.tracks.stream
        actions = stream.actions
        moves = tracks.moves
        self.steps.append(
            ReplayStep(
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


def step_through(trace: Trace) -> tuple[Replayed, list[ReplayStep], Tracks]:
    """Replay *trace* and return the outcome with every step."""
    seen = Steps()
    replayed = replay(trace, seen)
    assert seen.tracks is not None
    return replayed, seen.steps, seen.tracks
