"""Test your own parts: strategies for Hypothesis, laws to check, and a clock that jumps.

@given(traces(config=MY_SETTINGS))
def test_whatever_happens(trace):
    check_stream(trace)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from minamo.lazy import lazily

if TYPE_CHECKING:
    from minamo.shell.providing.scripted import Scripted as Scripted
    from minamo.shell.providing.scripted import as_chunks as as_chunks
    from minamo.testing.actors import stand_in as stand_in
    from minamo.testing.adapters import check_adapter as check_adapter
    from minamo.testing.alone import Streamed as Streamed
    from minamo.testing.alone import stream_alone as stream_alone
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
    "Scripted": "minamo.shell.providing.scripted",
    "Streamed": "minamo.testing.alone",
    "as_chunks": "minamo.shell.providing.scripted",
    "check_adapter": "minamo.testing.adapters",
    "check_stream": "minamo.testing.streams",
    "events": "minamo.testing.sequences",
    "markdown_texts": "minamo.testing.sayings",
    "results": "minamo.testing.sequences",
    "stand_in": "minamo.testing.actors",
    "stream_alone": "minamo.testing.alone",
    "texts": "minamo.testing.sayings",
    "traces": "minamo.testing.sequences",
    "virtually": "minamo.testing.virtual",
}
_EXTRA = frozenset({"hypothesis", "trio"})

__all__ = [
    "Scripted",
    "Streamed",
    "as_chunks",
    "check_adapter",
    "check_stream",
    "events",
    "markdown_texts",
    "results",
    "stand_in",
    "stream_alone",
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
