"""Test your own parts: strategies for Hypothesis, laws to check, and a clock that jumps.

@given(traces(config=MY_SETTINGS))
def test_whatever_happens(trace):
    check_stream(trace)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from minamo.lazy import lazily

if TYPE_CHECKING:
    from minamo.core.trace import Moment as Moment
    from minamo.core.trace import Trace as Trace
    from minamo.shell.providing.scripted import Scripted as Scripted
    from minamo.shell.providing.scripted import as_chunks as as_chunks
    from minamo.shell.turns.turn import run_turn as run_turn
    from minamo.shell.turns.turn_listen import ListeningPass as ListeningPass
    from minamo.testing.actors import stand_in as stand_in
    from minamo.testing.adapters import check_adapter as check_adapter
    from minamo.testing.hearing import Heard as Heard
    from minamo.testing.hearing import listen as listen
    from minamo.testing.sayings import markdown_texts as markdown_texts
    from minamo.testing.sayings import texts as texts
    from minamo.testing.sequences import events as events
    from minamo.testing.sequences import results as results
    from minamo.testing.sequences import traces as traces
    from minamo.testing.streams import check_stream as check_stream
    from minamo.testing.virtual import virtually as virtually

# One by one when they are asked for: Hypothesis and trio come with `hikari-minamo[testing]`, and
# who only checks an adapter needs neither.
_HOMES = {
    "Heard": "minamo.testing.hearing",
    "ListeningPass": "minamo.shell.turns.turn_listen",
    "Moment": "minamo.core.trace",
    "Scripted": "minamo.shell.providing.scripted",
    "Trace": "minamo.core.trace",
    "as_chunks": "minamo.shell.providing.scripted",
    "check_adapter": "minamo.testing.adapters",
    "check_stream": "minamo.testing.streams",
    "events": "minamo.testing.sequences",
    "listen": "minamo.testing.hearing",
    "markdown_texts": "minamo.testing.sayings",
    "results": "minamo.testing.sequences",
    "run_turn": "minamo.shell.turns.turn",
    "stand_in": "minamo.testing.actors",
    "texts": "minamo.testing.sayings",
    "traces": "minamo.testing.sequences",
    "virtually": "minamo.testing.virtual",
}
_EXTRA = frozenset({"hypothesis", "trio"})

__all__ = [
    "Heard",
    "ListeningPass",
    "Moment",
    "Scripted",
    "Trace",
    "as_chunks",
    "check_adapter",
    "check_stream",
    "events",
    "listen",
    "markdown_texts",
    "results",
    "run_turn",
    "stand_in",
    "texts",
    "traces",
    "virtually",
]

_get = lazily(__name__, _HOMES)


def __getattr__(name: str) -> object:
    try:
        return _get(name)
    except ModuleNotFoundError as error:
        if error.name not in _EXTRA:
            raise
        raise ModuleNotFoundError(
            f"minamo.testing.{name} needs {error.name}: pip install 'hikari-minamo[testing]'",
            name=error.name,
        ) from None
