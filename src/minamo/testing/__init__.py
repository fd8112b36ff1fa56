"""Helpers for testing your own code: Hypothesis strategies, checkers, and a virtual clock.

@given(traces(config=MY_SETTINGS))
def test_any_trace(trace):
    check_stream(trace)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from minamo.lazy import lazy_exports

if TYPE_CHECKING:
    from minamo.core.trace import Moment as Moment
    from minamo.core.trace import Trace as Trace
    from minamo.shell.providers.scripted import ScriptedProvider as ScriptedProvider
    from minamo.shell.providers.scripted import as_chunks as as_chunks
    from minamo.shell.turns.turn import TextPass as TextPass
    from minamo.shell.turns.turn import run_turn as run_turn
    from minamo.testing.adapters import check_adapter as check_adapter
    from minamo.testing.checks import check_stream as check_stream
    from minamo.testing.runner import Heard as Heard
    from minamo.testing.runner import listen as listen
    from minamo.testing.runner import run_with_virtual_clock as run_with_virtual_clock
    from minamo.testing.strategies import events as events
    from minamo.testing.strategies import markdown_texts as markdown_texts
    from minamo.testing.strategies import results as results
    from minamo.testing.strategies import texts as texts
    from minamo.testing.strategies import traces as traces
    from minamo.testing.stub_actions import stand_in as stand_in

# Imported on first use: Hypothesis and trio come with `hikari-minamo[testing]`, and a caller that
# only checks an adapter needs neither.
_HOMES = {
    "Heard": "minamo.testing.runner",
    "TextPass": "minamo.shell.turns.turn",
    "Moment": "minamo.core.trace",
    "ScriptedProvider": "minamo.shell.providers.scripted",
    "Trace": "minamo.core.trace",
    "as_chunks": "minamo.shell.providers.scripted",
    "check_adapter": "minamo.testing.adapters",
    "check_stream": "minamo.testing.checks",
    "events": "minamo.testing.strategies",
    "listen": "minamo.testing.runner",
    "markdown_texts": "minamo.testing.strategies",
    "results": "minamo.testing.strategies",
    "run_turn": "minamo.shell.turns.turn",
    "stand_in": "minamo.testing.stub_actions",
    "texts": "minamo.testing.strategies",
    "traces": "minamo.testing.strategies",
    "run_with_virtual_clock": "minamo.testing.runner",
}
_EXTRA = frozenset({"hypothesis", "trio"})

__all__ = [
    "Heard",
    "Moment",
    "ScriptedProvider",
    "TextPass",
    "Trace",
    "as_chunks",
    "check_adapter",
    "check_stream",
    "events",
    "listen",
    "markdown_texts",
    "results",
    "run_turn",
    "run_with_virtual_clock",
    "stand_in",
    "texts",
    "traces",
]

_get = lazy_exports(__name__, _HOMES)


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
