"""Checks of streams and adapters, and a runner with a virtual clock.

`check_stream`: one outcome, reached by the chart, and no character lost.  `check_adapter`: a
recorded response, replayed in many cuts, keeps the chunk contract.
"""

from __future__ import annotations

import json
import random
from collections.abc import Awaitable, Callable, Iterable, Iterator
from typing import Any, Protocol, TypeVar

import anyio
import trio.testing
from attrs import evolve, field, frozen

from minamo.core.chunks import Chunk, DoneChunk, ErrorChunk, FunctionCall, TextChunk
from minamo.core.config import StreamConfig
from minamo.core.contract import find_problem
from minamo.core.limits import STATES_MAX
from minamo.core.result import StreamResult
from minamo.core.stream import CHART
from minamo.core.trace import Moment, Trace, trace_lines
from minamo.inspect.recorder import settings_of
from minamo.inspect.replay import Replayed, replay
from minamo.machine import Chart
from minamo.machine.verifier import hops
from minamo.shell.driver import ChunkSource
from minamo.shell.stops.registry import StopRequest, StopSignal
from minamo.shell.turns.turn import TextPass
from minamo.testing.audit import Broken, audit, fits, same
from minamo.wire.frames import Frame

#: Longer replies are not replayed one character at a time.
_SINGLE_MAX = 2_000


def check_stream(trace: Trace) -> Replayed:
    """Replay *trace*, check the guarantees that hold for any stream, and return the replay.

    There is one outcome, and the chart leads to it.  Every character is shown, captured, or
    suppressed for one reason.  Every message fits.  The division into chunks changes nothing.

    Raises:
        AssertionError: a rule is broken; the message names it and contains the trace to replay.
    """
    try:
        done = replay(trace)
        _check_path(done)
        audit(done, _text(trace))
        fits(done, trace.config.max_message_length)
        if not trace.config.overlap_removal:
            _check_chunking(trace, done)
    except Exception as error:
        law = str(error) if isinstance(error, Broken) else f"it raised {error!r}"
        raise AssertionError(f"{law}\n{_how_to_see(trace)}") from error
    return done


def _check_path(done: Replayed) -> None:
    result = done.result
    final = [leaf.id for leaf in CHART.leaves if leaf.final]
    if result.status not in final or result.states[-1] != result.status:
        raise Broken(f"no outcome of the chart: {result.status} after {result.states}")
    if len(result.states) >= STATES_MAX:
        return  # the middle of such a long path is not recorded
    for here, there in zip(result.states, result.states[1:], strict=False):
        if there not in {hop.target for hop in hops(CHART, here)}:
            raise Broken(f"no row of the chart leads from {here} to {there}")


def _check_chunking(trace: Trace, done: Replayed) -> None:
    size = sum(len(m.chunk.content) for m in trace.moments if isinstance(m.chunk, TextChunk))
    if size <= _SINGLE_MAX:
        single = tuple(single for moment in trace.moments for single in _singly(moment))
        same(done, replay(evolve(trace, moments=single)))


def _singly(moment: Moment) -> Iterator[Moment]:
    chunk = moment.chunk
    if not isinstance(chunk, TextChunk) or len(chunk.content) < 2:
        yield moment
        return
    for number, char in enumerate(chunk.content):
        yield evolve(moment, chunk=TextChunk(char, chunk.thoughts if not number else ()))


def _text(trace: Trace) -> str:
    """Return the text of all chunks."""
    return "".join(m.chunk.content for m in trace.moments if isinstance(m.chunk, TextChunk))


def _how_to_see(trace: Trace) -> str:
    settings: dict[str, Any] = settings_of(trace.config)
    lines = [json.dumps({"settings": settings}), *trace_lines(trace.moments)]
    return "To see it, save these lines and call `minamo replay` with them:\n" + "\n".join(lines)


def stand_in(chart: Chart) -> type[Any]:
    """Return a stub class to compile *chart* for.

    An instance takes a function that evaluates a guard by name; by default all guards are true.
    Its ``calls`` lists the names of the executed actions, in order.
    """

    def begin(self: Any, answer: Callable[[str], bool] = lambda _guard: True) -> None:
        self.answer = answer
        self.calls = []

    methods: dict[str, Any] = {"__init__": begin, "__doc__": f"Stands in for {chart.name}."}
    methods |= {guard: _guard(guard) for guard in chart.guards}
    methods |= {action: _action(action) for action in chart.actions}
    return type("StandIn", (), methods)


def _guard(name: str) -> Callable[[Any, object], bool]:
    return lambda self, _payload: self.answer(name)


def _action(name: str) -> Callable[[Any, object], None]:
    return lambda self, _payload: self.calls.append(name)


_RANDOM_CUTS = 8
_CUTS_MAX = 1_000


class BytesDecoder(Protocol):
    """The pure part of a stream: decodes bytes into frames."""

    def feed(self, data: bytes) -> Iterable[Frame]:
        """Return the frames that *data* completes."""

    def end(self) -> Iterable[Frame]:
        """Return the frames left at the end of the input."""


class CheckedAdapter(Protocol):
    """An adapter for `check_adapter`: makes a decoder for each stream and converts frames."""

    def decoder(self) -> BytesDecoder:
        """Return a decoder for a new stream."""

    def process_chunk(self, frame: Frame) -> list[Chunk]:
        """Return the chunks of one frame."""


def check_adapter(adapter: CheckedAdapter, recorded_bytes: bytes, *, seed: int = 0) -> list[Chunk]:
    """Replay a recorded response in many cuts, check the contract, and return its chunks.

    Read whole, byte by byte and in random cuts (repeatable by *seed*) the chunks must be equal.
    Every field has its declared type.  The chunks end in done or one error, nothing follows an
    error, text comes before calls, arguments are parsed, and nothing is raised.

    Raises:
        AssertionError: a rule is broken; the message names the rule and the place.
    """
    whole = _replay(adapter, [recorded_bytes], "whole")
    _check_laws(whole)
    single = [recorded_bytes[i : i + 1] for i in range(len(recorded_bytes))]
    _compare(whole, _replay(adapter, single, "byte by byte"), "byte by byte")
    dice = random.Random(seed)  # noqa: S311 - must be repeatable
    for number in range(_RANDOM_CUTS):
        cuts = f"random cuts, seed {seed}, number {number}"
        _compare(whole, _replay(adapter, _cut(recorded_bytes, dice), cuts), cuts)
    return whole


def _cut(data: bytes, dice: random.Random) -> list[bytes]:
    count = dice.randrange(1, 2 + min(len(data) // 3, _CUTS_MAX))
    places = sorted(dice.randrange(len(data) + 1) for _ in range(count))
    return [data[a:b] for a, b in zip([0, *places], [*places, len(data)], strict=True)]


def _replay(adapter: CheckedAdapter, pieces: list[bytes], cuts: str) -> list[Chunk]:
    decoder = adapter.decoder()
    out: list[Chunk] = []

    def take(step: Callable[[], Iterable[Frame]], place: str) -> None:
        try:
            for frame in step():
                out.extend(adapter.process_chunk(frame))
        except Exception as error:
            raise AssertionError(f"{cuts}, {place}: {type(error).__name__}: {error}") from error

    at = 0
    for piece in pieces:
        take(lambda piece=piece: decoder.feed(piece), f"bytes {at} to {at + len(piece)}")  # type: ignore[misc]
        at += len(piece)
    take(decoder.end, "at the end")
    return out


def _compare(whole: list[Chunk], other: list[Chunk], cuts: str) -> None:
    for number, (left, right) in enumerate(zip(whole, other, strict=False)):
        if left != right:
            raise AssertionError(
                f"{cuts}: chunk {number} is {right!r}, but {left!r} when read whole"
            )
    if len(whole) != len(other):
        raise AssertionError(f"{cuts}: {len(other)} chunks, but {len(whole)} when read whole")


def _check_laws(chunks: list[Chunk]) -> None:
    for number, chunk in enumerate(chunks):
        problem = find_problem(chunk)
        if problem:
            raise AssertionError(f"chunk {number} breaks the contract of chunks: {problem}")
    if not chunks or not isinstance(chunks[-1], DoneChunk | ErrorChunk):
        last = type(chunks[-1]).__name__ if chunks else "nothing"
        raise AssertionError(f"the stream must end in DoneChunk or ErrorChunk, not in {last}")
    called = False
    for number, chunk in enumerate(chunks):
        if isinstance(chunk, ErrorChunk) and number + 1 < len(chunks):
            raise AssertionError(f"chunk {number} is an error, but {chunks[number + 1]!r} follows")
        if isinstance(chunk, TextChunk) and called and chunk.content:
            raise AssertionError(f"chunk {number} is text after a function call")
        if isinstance(chunk, FunctionCall):
            if called:
                raise AssertionError(f"chunk {number} is a second function call of one reply")
            called = True


@frozen
class Heard:
    """A reply that was streamed into a list."""

    result: StreamResult
    messages: list[str] = field(repr=False)
    """The messages a channel would have received."""
    seconds: float
    """Duration, on the event loop's clock."""


async def listen(
    source: ChunkSource, config: StreamConfig | None = None, *, stop_after_s: float | None = None
) -> Heard:
    """Stream a reply through the machine, as if a channel accepted every message immediately.

    *source* is anything that `Client.stream` takes; *stop_after_s* simulates a user's Stop.
    """
    messages: list[str] = []
    stop_signal = StopSignal()
    began = anyio.current_time()

    async def press(after_s: float) -> None:
        await anyio.sleep(after_s)
        stop_signal.request(StopRequest(kind="user", requester="somebody"))

    async with anyio.create_task_group() as tasks:
        if stop_after_s is not None:
            tasks.start_soon(press, stop_after_s)
        result = await TextPass(messages.append, stop_signal, config or StreamConfig())(source)
        tasks.cancel_scope.cancel()
    return Heard(result, messages, anyio.current_time() - began)


Value = TypeVar("Value")


def run_with_virtual_clock(story: Callable[[], Awaitable[Value]]) -> Value:
    """Run *story* with a clock that advances when all tasks wait, and return its result.

    It runs on trio, so all code in it must use anyio to wait: streams and `ScriptedProvider` do.
    """
    clock = trio.testing.MockClock(autojump_threshold=0)
    return anyio.run(story, backend="trio", backend_options={"clock": clock})
