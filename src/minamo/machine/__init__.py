"""The state-machine engine: read a chart, compile it, run it, verify it, draw it.

chart = load("stream")                 # or a path to a chart of your own
assert not verify(chart)
table = compile(chart, MyActions)      # once, at import
machine = Machine(table, MyActions())  # many, and cheap
machine.send("text", "hello")
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from minamo.lazy import lazy_exports

if TYPE_CHECKING:
    from collections.abc import Callable

    from minamo.machine.compiler import Table as Table
    from minamo.machine.compiler import compile as compile
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

_HOMES = {
    "Chart": "minamo.machine.model",
    "Clock": "minamo.machine.model",
    "Coverage": "minamo.machine.verifier",
    "Finding": "minamo.machine.verifier",
    "Step": "minamo.machine.verifier",
    "Machine": "minamo.machine.machine",
    "Row": "minamo.machine.model",
    "RunningClocks": "minamo.machine.machine",
    "State": "minamo.machine.model",
    "Table": "minamo.machine.compiler",
    "TransitionRecord": "minamo.machine.machine",
    "chart_names": "minamo.machine.reader",
    "compile": "minamo.machine.compiler",
    "load": "minamo.machine.reader",
    "paths": "minamo.machine.verifier",
    "read": "minamo.machine.reader",
    "to_markdown": "minamo.machine.export",
    "to_mermaid": "minamo.machine.export",
    "to_scxml": "minamo.machine.export",
    "to_svg": "minamo.machine.svg.render",
    "verify": "minamo.machine.verifier",
}

__all__ = [
    "Chart",
    "Clock",
    "Coverage",
    "Finding",
    "Machine",
    "Row",
    "RunningClocks",
    "State",
    "Step",
    "Table",
    "TransitionRecord",
    "chart_names",
    "compile",
    "load",
    "paths",
    "read",
    "to_markdown",
    "to_mermaid",
    "to_scxml",
    "to_svg",
    "verify",
]

__getattr__: Callable[[str], object] = lazy_exports(__name__, _HOMES)
