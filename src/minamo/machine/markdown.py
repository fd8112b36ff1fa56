"""Write a chart as a page: the picture, every row, and every pair of state and event."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from minamo.machine.chart import Chart, Row, State
from minamo.machine.mermaid import to_mermaid


def to_markdown(chart: Chart) -> str:
    """The diagrams page of *chart*."""
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
    yield from _table(head, map(_row, chart.rows))
    entries = [state for state in chart.states.values() if state.enter or state.exit]
    if entries:
        yield from _table(
            ("state", "on entry", "on exit"),
            ((s.id, _code(s.enter), _code(s.exit)) for s in entries),
        )


def _row(row: Row) -> tuple[str, ...]:
    return (
        str(row.index),
        row.source,
        _code(row.events) or "*at once*",
        f"`{row.guard}`" if row.guard else "",
        _code(row.actions),
        row.target or "*stays*",
        row.about,
    )


def _matrix(chart: Chart) -> Iterator[str]:
    """One line per event, one column per leaf: handled by which rows, or ignored why."""
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
    """The leaves, those that treat every event alike in one column."""
    columns: dict[str, list[State]] = {}
    for leaf in chart.leaves:
        for first in columns:
            if all(_same(chart, first, leaf.id, event) for event in chart.events):
                columns[first].append(leaf)
                break
        else:
            columns[leaf.id] = [leaf]
    return columns


def _same(chart: Chart, one: str, other: str, event: str) -> bool:
    return chart.rows_for(one, event) == chart.rows_for(other, event) and (
        chart.reason_ignored(one, event) == chart.reason_ignored(other, event)
    )


def _heading(leaves: list[State]) -> str:
    return "<br>".join(leaf.id for leaf in leaves)


def _cell(chart: Chart, leaf: str, event: str, reasons: dict[str, str]) -> str:
    rows = [] if chart.states[leaf].transient else chart.rows_for(leaf, event)
    parts = []
    for row in rows:
        parts.append(str(row.index))
        if not row.guard:
            return " ".join(parts)  # what stands behind an open row is never tried
    reason = chart.reason_ignored(leaf, event)
    return " ".join([*parts, reasons.setdefault(reason, _letters(len(reasons)))])


def _letters(number: int) -> str:
    """a, b, ... z, aa, ab, ..."""
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
