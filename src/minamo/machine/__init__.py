"""The state-machine engine: read a chart, compile it, run it, verify it, draw it.

chart = load("stream")                 # or a path to a chart of one's own
assert not verify(chart)
table = compile(chart, MyActions)      # once, at import
machine = Machine(table, MyActions())  # many, and cheap
machine.send("text", "hello")
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from minamo.lazy import lazily

if TYPE_CHECKING:
    from minamo.machine.chart import Chart as Chart
    from minamo.machine.chart import Row as Row
    from minamo.machine.chart import State as State
    from minamo.machine.coverage import Coverage as Coverage
    from minamo.machine.drawing.svg import to_svg as to_svg
    from minamo.machine.find import chart_names as chart_names
    from minamo.machine.find import load as load
    from minamo.machine.graph import Hop as Hop
    from minamo.machine.graph import paths as paths
    from minamo.machine.machine import Machine as Machine
    from minamo.machine.machine import Taken as Taken
    from minamo.machine.markdown import to_markdown as to_markdown
    from minamo.machine.mermaid import to_mermaid as to_mermaid
    from minamo.machine.reader import read as read
    from minamo.machine.scxml import to_scxml as to_scxml
    from minamo.machine.table import Table as Table
    from minamo.machine.table import compile as compile
    from minamo.machine.verifying import Finding as Finding
    from minamo.machine.verifying import verify as verify

_HOMES = {
    "Chart": "minamo.machine.chart",
    "Coverage": "minamo.machine.coverage",
    "Finding": "minamo.machine.verifying",
    "Hop": "minamo.machine.graph",
    "Machine": "minamo.machine.machine",
    "Row": "minamo.machine.chart",
    "State": "minamo.machine.chart",
    "Table": "minamo.machine.table",
    "Taken": "minamo.machine.machine",
    "chart_names": "minamo.machine.find",
    "compile": "minamo.machine.table",
    "load": "minamo.machine.find",
    "paths": "minamo.machine.graph",
    "read": "minamo.machine.reader",
    "to_markdown": "minamo.machine.markdown",
    "to_mermaid": "minamo.machine.mermaid",
    "to_scxml": "minamo.machine.scxml",
    "to_svg": "minamo.machine.drawing.svg",
    "verify": "minamo.machine.verifying",
}

__all__ = [
    "Chart",
    "Coverage",
    "Finding",
    "Hop",
    "Machine",
    "Row",
    "State",
    "Table",
    "Taken",
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

__getattr__ = lazily(__name__, _HOMES)
