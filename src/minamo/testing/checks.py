"""The stream check (one outcome, reached by the chart, and no character lost), and stand-ins."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

from attrs import evolve

from minamo.core.chunks import TextChunk
from minamo.core.limits import STATES_MAX
from minamo.core.stream import CHART
from minamo.core.trace import Moment, Trace, trace_lines
from minamo.inspect.recorder import settings_of
from minamo.inspect.replay import Replayed, replay
from minamo.machine import Chart
from minamo.machine.verifier import hops
from minamo.testing.audit import Broken, audit, fits, same

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
