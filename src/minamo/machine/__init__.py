"""The state-machine engine: read a chart, compile it, run it, verify it, draw it.

chart = load("stream")                 # or a path to a chart of your own
assert not verify(chart)
table = compile(chart, MyActions)      # once, at import
machine = Machine(table, MyActions())  # many, and cheap
machine.send("text", "hello")
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from minamo.lazy import homes_of, lazy_exports

if TYPE_CHECKING:
    from collections.abc import Callable

    from minamo.machine.compiler import Table as Table
    from minamo.machine.compiler import compile as compile
    from minamo.machine.compiler import declare as declare
    from minamo.machine.export import to_markdown as to_markdown
    from minamo.machine.export import to_mermaid as to_mermaid
    from minamo.machine.export import to_scxml as to_scxml
    from minamo.machine.machine import Machine as Machine
    from minamo.machine.machine import RunningClocks as RunningClocks
    from minamo.machine.machine import TransitionRecord as TransitionRecord
    from minamo.machine.model import Chart as Chart
    from minamo.machine.model import Clock as Clock
    from minamo.machine.model import Row as Row
    from minamo.machine.model import State as State
    from minamo.machine.reader import chart_names as chart_names
    from minamo.machine.reader import load as load
    from minamo.machine.reader import read as read
    from minamo.machine.svg.render import to_svg as to_svg
    from minamo.machine.verifier import Coverage as Coverage
    from minamo.machine.verifier import Finding as Finding
    from minamo.machine.verifier import Step as Step
    from minamo.machine.verifier import paths as paths
    from minamo.machine.verifier import verify as verify

_EXPORTS = {
    "minamo.machine.compiler": "Table compile declare",
    "minamo.machine.export": "to_markdown to_mermaid to_scxml",
    "minamo.machine.machine": "Machine RunningClocks TransitionRecord",
    "minamo.machine.model": "Chart Clock Row State",
    "minamo.machine.reader": "chart_names load read",
    "minamo.machine.svg.render": "to_svg",
    "minamo.machine.verifier": "Coverage Finding Step paths verify",
}

__all__ = sorted(homes_of(_EXPORTS))

__getattr__: Callable[[str], object] = lazy_exports(__name__, _EXPORTS)
