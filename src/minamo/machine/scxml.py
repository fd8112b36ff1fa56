"""Write a chart as SCXML: the graph and the guards, for other people's tools.

SCXML has no way to call a method by name, so actions travel as attributes of our own
namespace, which other readers skip.
"""

from __future__ import annotations

from xml.etree import ElementTree as ET

from minamo.machine.chart import Chart, Row, State

_SCXML = "http://www.w3.org/2005/07/scxml"
_OURS = "urn:minamo:actions"


def to_scxml(chart: Chart) -> str:
    """The SCXML document of *chart*."""
    root = ET.Element(
        "scxml",
        {
            "xmlns": _SCXML,
            "xmlns:minamo": _OURS,
            "version": "1.0",
            "name": chart.name,
            "initial": chart.initial,
        },
    )
    for state in chart.top:
        _state(chart, root, state)
    ET.indent(root)
    return ET.tostring(root, encoding="unicode") + "\n"


def _state(chart: Chart, parent: ET.Element, state: State) -> None:
    element = ET.SubElement(parent, "final" if state.final else "state", {"id": state.id})
    if state.initial:
        element.set("initial", state.initial)
    for name, actions in (("entry", state.enter), ("exit", state.exit)):
        if actions:
            element.set(f"minamo:{name}", " ".join(actions))
    for row in state.rows:
        _row(element, row)
    for child in state.children:
        _state(chart, element, chart.states[child])


def _row(parent: ET.Element, row: Row) -> None:
    attributes = {
        "event": " ".join(row.events),
        "cond": row.guard,
        "target": row.target or "",
        "minamo:on": " ".join(row.actions),
    }
    ET.SubElement(parent, "transition", {key: v for key, v in attributes.items() if v})
