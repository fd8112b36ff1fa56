"""Text exports of a chart: Mermaid, SCXML, and a Markdown page with all rows and pairs."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from xml.etree import ElementTree as ET

from minamo.machine.model import Chart, Clock, Row, State
from minamo.machine.syntax import guard_in_javascript


def trigger(row: Row) -> str:
    """Return the events and guard of a row as text."""
    parts = [", ".join(row.events)] if row.events else []
    if row.guard:
        parts.append(f"[{row.guard}]")
    return " ".join(parts)


def label(row: Row) -> str:
    """Return the row in statechart notation: ``event [guard] / action, action``."""
    actions = f"/ {', '.join(row.actions)}" if row.actions else ""
    return " ".join(part for part in (trigger(row), actions) if part)


def grouped(chart: Chart) -> dict[tuple[str, str], list[Row]]:
    """Return the rows that have a target, by source and target, in document order."""
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in chart.rows:
        if row.target is not None:
            groups.setdefault((row.source, row.target), []).append(row)
    return groups


def entered_by_default(chart: Chart) -> frozenset[str]:
    """Return the compound states that are entered as a whole, so their initial child matters."""
    targets = {row.target for row in chart.rows} | {chart.initial}
    found = set()
    for state in chart.states.values():  # parents come first
        above = state.parent
        default = above in found and chart.states[above].initial == state.id if above else False
        if state.children and (state.id in targets or default):
            found.add(state.id)
    return frozenset(found)


_BREAK = "<br/>"


def to_mermaid(chart: Chart, *, lit: str | None = None) -> str:
    """Return the Mermaid source of *chart*; *lit* names a leaf to highlight."""
    lines = ["stateDiagram-v2", f"  [*] --> {chart.initial}"]
    for state in chart.top:
        lines += _mermaid_state(chart, state, "  ")
    for (source, target), rows in grouped(chart).items():
        # Most labels are short; stacked on one arrow they read better than as several arrows.
        words = _BREAK.join(label(row) for row in rows)
        lines.append(f"  {source} --> {target}" + (f" : {words}" if words else ""))
    if lit is not None:
        lines += ["  classDef lit fill:#1d9bf0,color:#ffffff,stroke:#0b5f99", f"  class {lit} lit"]
    return "\n".join(lines) + "\n"


def _mermaid_state(chart: Chart, state: State, indent: str) -> Iterator[str]:
    stays = [label(row) for row in state.rows if row.target is None]
    if state.children:
        yield f"{indent}state {state.id} {{"
        if state.id in entered_by_default(chart):
            yield f"{indent}  [*] --> {state.initial}"
        for child in state.children:
            yield from _mermaid_state(chart, chart.states[child], indent + "  ")
        yield f"{indent}}}"
        # A compound state has no text in Mermaid, so its targetless rows become a note.
        stays += [f"{kind} / {name}" for kind, names in _own(state) for name in names]
        if stays:
            yield f"{indent}note right of {state.id}"
            yield from (f"{indent}  {words}" for words in stays)
            yield f"{indent}end note"
        return
    # The first description replaces the name, so the name goes first.
    yield f"{indent}{state.id} : {state.id}"
    for kind, names in _own(state):
        yield from (f"{indent}{state.id} : {kind} / {name}" for name in names)
    yield from (f"{indent}{state.id} : {words}" for words in stays)
    if state.final:
        yield f"{indent}{state.id} --> [*]"


def _own(state: State) -> tuple[tuple[str, tuple[str, ...]], ...]:
    return ("clock", state.clocks), ("entry", state.enter), ("exit", state.exit)


def to_markdown(chart: Chart) -> str:
    """Return the diagrams page of *chart*."""
    lines = [
        f"# {chart.name}",
        "",
        f"Generated from `statecharts/{chart.file}` by `make diagrams`; not edited by hand.",
        "",
        chart.about,
        "",
        f"![{chart.name}]({chart.name}.svg)",
        "",
        *_states(chart),
        *_rows(chart),
        *_clocks(chart),
        *_matrix(chart),
        *_glossary("Events", chart.events),
        *_glossary("Guards", chart.guards),
        *_glossary("Actions", chart.actions),
        "## The same as Mermaid",
        "",
        "```mermaid",
        to_mermaid(chart).rstrip("\n"),
        "```",
    ]
    return "\n".join(lines) + "\n"


def _states(chart: Chart) -> Iterator[str]:
    yield from ("## States", "")
    for state in chart.states.values():
        depth = sum(1 for _ in chart.lineage(state.id)) - 1
        marks = [
            mark for mark, on in (("final", state.final), ("transient", state.transient)) if on
        ]
        kind = f" ({', '.join(marks)})" if marks else ""
        words = f": {state.about}" if state.about else ""
        yield f"{'  ' * depth}- **{state.id}**{kind}{words}"
    yield ""


def _rows(chart: Chart) -> Iterator[str]:
    yield from ("## Rows", "", "Tried from the inside out, and from top to bottom.", "")
    head = ("#", "in", "event", "guard", "actions", "to", "why")
    yield from _table(head, map(_markdown_row, chart.rows))
    entries = [state for state in chart.states.values() if state.enter or state.exit]
    if entries:
        yield from _table(
            ("state", "on entry", "on exit"),
            ((s.id, _code(s.enter), _code(s.exit)) for s in entries),
        )


def _markdown_row(row: Row) -> tuple[str, ...]:
    return (
        str(row.index),
        row.source,
        _code(row.events) or "*at once*",
        f"`{row.guard}`" if row.guard else "",
        _code(row.actions),
        row.target or "*stays*",
        row.about,
    )


def _clocks(chart: Chart) -> Iterator[str]:
    if not chart.clocks:
        return
    yield from (
        "## Clocks",
        "",
        "A clock runs in the states that list it and in their children.",
        "",
    )
    places = {
        name: [state.id for state in chart.states.values() if name in state.clocks]
        for name in chart.clocks
    }
    yield from _table(
        ("clock", "runs in", "started by", "ended by", "length", "raises", "meaning"),
        (
            (c.name, ", ".join(places[c.name]), ", ".join(c.since), c.until,
             f"`{c.length}`", f"`{c.event}`", c.about)
            for c in chart.clocks.values()
        ),
    )  # fmt: skip


def _matrix(chart: Chart) -> Iterator[str]:
    """Yield one line per event, one column per leaf: the handling rows, or why it is ignored."""
    yield from ("## Every state and every event", "")
    yield "A number is the row that is tried; a letter the reason why nothing happens."
    yield ""
    leaves = _columns(chart)
    reasons: dict[str, str] = {}
    cells = [
        [f"`{event}`", *(_cell(chart, leaf, event, reasons) for leaf in leaves)]
        for event in chart.events
    ]
    yield from _table(("event", *(_heading(column) for column in leaves.values())), cells)
    yield from (f"- **{mark}** {reason}" for reason, mark in reasons.items())
    yield ""


def _columns(chart: Chart) -> dict[str, list[State]]:
    """Return the leaves; those that treat every event alike share a column."""
    columns: dict[str, list[State]] = {}
    for leaf in chart.leaves:
        for first in columns:
            if all(_same(chart, first, leaf.id, event) for event in chart.events):
                columns[first].append(leaf)
                break
        else:
            columns[leaf.id] = [leaf]
    return columns


def _same(chart: Chart, first: str, second: str, event: str) -> bool:
    return chart.rows_for(first, event) == chart.rows_for(second, event) and (
        chart.reason_ignored(first, event) == chart.reason_ignored(second, event)
    )


def _heading(leaves: list[State]) -> str:
    return "<br>".join(leaf.id for leaf in leaves)


def _cell(chart: Chart, leaf: str, event: str, reasons: dict[str, str]) -> str:
    rows = [] if chart.states[leaf].transient else chart.rows_for(leaf, event)
    parts = []
    for row in rows:
        parts.append(str(row.index))
        if not row.guard:
            return " ".join(parts)  # rows after an unguarded one are never tried
    reason = chart.reason_ignored(leaf, event)
    return " ".join([*parts, reasons.setdefault(reason, _letters(len(reasons)))])


def _letters(number: int) -> str:
    """Return a, b, ... z, aa, ab, ... for 0, 1, ..."""
    head, tail = divmod(number, 26)
    return (_letters(head - 1) if head else "") + chr(ord("a") + tail)


def _glossary(title: str, words: Mapping[str, str]) -> Iterator[str]:
    if words:
        yield from (f"## {title}", "")
        prose = ((f"`{name}`", meaning.replace("<", "&lt;")) for name, meaning in words.items())
        yield from _table(("name", "meaning"), prose)


def _code(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _table(head: tuple[str, ...], rows: Iterable[Iterable[str]]) -> Iterator[str]:
    yield "| " + " | ".join(head) + " |"
    yield "|" + "---|" * len(head)
    for row in rows:
        yield "| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |"
    yield ""


_SCXML = "http://www.w3.org/2005/07/scxml"
_OURS = "urn:minamo:clocks"


def to_scxml(chart: Chart) -> str:
    """Return the SCXML document of *chart*.

    Guards are names that the host must define.  An action is a `<log>` with its name: every engine
    has that element, and the order of the lines is the order of the actions.  Clocks are in the
    datamodel, and in an attribute of the states they run in; what starts them is the host's to say.
    """
    attributes = {
        "xmlns": _SCXML,
        "xmlns:minamo": _OURS,
        "version": "1.0",
        "datamodel": "ecmascript",
        "name": chart.name,
        "initial": chart.initial,
    }
    root = ET.Element("scxml", attributes)
    if chart.clocks:
        data = ET.SubElement(ET.SubElement(root, "datamodel"), "data", {"id": "clocks"})
        data.set("expr", json.dumps({c.name: _clock_record(c) for c in chart.clocks.values()}))
    for state in chart.top:
        _scxml_state(chart, root, state)
    ET.indent(root)
    return ET.tostring(root, encoding="unicode") + "\n"


def _clock_record(clock: Clock) -> dict[str, object]:
    return {
        "event": clock.event,
        "length": clock.length,
        "since": list(clock.since),
        "until": clock.until,
    }


def _scxml_state(chart: Chart, parent: ET.Element, state: State) -> None:
    element = ET.SubElement(parent, "final" if state.final else "state", {"id": state.id})
    if state.initial:
        element.set("initial", state.initial)
    if state.clocks:
        element.set("minamo:clocks", " ".join(state.clocks))
    for tag, actions in (("onentry", state.enter), ("onexit", state.exit)):
        if actions:
            _scxml_actions(ET.SubElement(element, tag), actions)
    for row in state.rows:
        attributes = {
            "event": " ".join(row.events),
            "cond": guard_in_javascript(row.guard) if row.guard else "",
            "target": row.target or "",
        }
        kept = {key: value for key, value in attributes.items() if value}
        _scxml_actions(ET.SubElement(element, "transition", kept), row.actions)
    for child in state.children:
        _scxml_state(chart, element, chart.states[child])


def _scxml_actions(parent: ET.Element, actions: Iterable[str]) -> None:
    for action in actions:
        ET.SubElement(parent, "log", {"label": "action", "expr": f"'{action}'"})
