"""The words on a picture: one way to write a row, shared by every export."""

from __future__ import annotations

from minamo.machine.chart import Chart, Row


def trigger(row: Row) -> str:
    """What sets the row off: its events and guard."""
    parts = [", ".join(row.events)] if row.events else []
    if row.guard:
        parts.append(f"[{row.guard}]")
    return " ".join(parts)


def label(row: Row) -> str:
    """The row as statecharts write it: ``event [guard] / action, action``."""
    actions = f"/ {', '.join(row.actions)}" if row.actions else ""
    return " ".join(part for part in (trigger(row), actions) if part)


def grouped(chart: Chart) -> dict[tuple[str, str], list[Row]]:
    """The rows that have a target, by source and target, in document order."""
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in chart.rows:
        if row.target is not None:
            groups.setdefault((row.source, row.target), []).append(row)
    return groups


def entered_by_default(chart: Chart) -> frozenset[str]:
    """The compound states whose initial child matters: something leads to them as a whole."""
    targets = {row.target for row in chart.rows} | {chart.initial}
    found = set()
    for state in chart.states.values():  # parents come first
        above = state.parent
        default = above in found and chart.states[above].initial == state.id if above else False
        if state.children and (state.id in targets or default):
            found.add(state.id)
    return frozenset(found)
