"""Helpers for testing your own code: Hypothesis strategies, checkers, and a virtual clock.

@given(traces(config=MY_SETTINGS))
def test_any_trace(trace):
    check_stream(trace)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from minamo.lazy import homes_of, lazy_exports

if TYPE_CHECKING:
    from minamo.core.trace import Moment as Moment
    from minamo.core.trace import Trace as Trace
    from minamo.shell.providers.scripted import ScriptedProvider as ScriptedProvider
    from minamo.shell.providers.scripted import as_chunks as as_chunks
    from minamo.shell.turns.turn import TextPass as TextPass
    from minamo.shell.turns.turn import run_turn as run_turn
    from minamo.testing.checks import Heard as Heard
    from minamo.testing.checks import check_adapter as check_adapter
    from minamo.testing.checks import check_stream as check_stream
    from minamo.testing.checks import listen as listen
    from minamo.testing.checks import run_with_virtual_clock as run_with_virtual_clock
    from minamo.testing.checks import stand_in as stand_in
    from minamo.testing.strategies import events as events
    from minamo.testing.strategies import markdown_texts as markdown_texts
    from minamo.testing.strategies import results as results
    from minamo.testing.strategies import texts as texts
    from minamo.testing.strategies import traces as traces

# Imported on first use: Hypothesis and trio come with `hikari-minamo[testing]`, and a caller that
# only checks an adapter needs neither.
_EXPORTS = {
    "minamo.core.trace": "Moment Trace",
    "minamo.shell.providers.scripted": "ScriptedProvider as_chunks",
    "minamo.shell.turns.turn": "TextPass run_turn",
    "minamo.testing.checks": (
        "Heard check_adapter check_stream listen run_with_virtual_clock stand_in"
    ),
    "minamo.testing.strategies": "events markdown_texts results texts traces",
}
_EXTRA = frozenset({"hypothesis", "trio"})

__all__ = sorted(homes_of(_EXPORTS))

_get = lazy_exports(__name__, _EXPORTS)


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
