"""Write a chart as a Mermaid state diagram, with guards, actions and nothing left out."""

from __future__ import annotations

from collections.abc import Iterator

from minamo.machine.chart import Chart, State
from minamo.machine.labels import entered_by_default, grouped, label

_BREAK = "<br/>"


def to_mermaid(chart: Chart, *, lit: str | None = None) -> str:
    """The Mermaid source of *chart*; *lit* names a leaf to highlight."""
    lines = ["stateDiagram-v2", f"  [*] --> {chart.initial}"]
    for state in chart.top:
        lines += _state(chart, state, "  ")
    for (source, target), rows in grouped(chart).items():
        # Most labels are short; stacked on one arrow they read better than as a bundle.
        words = _BREAK.join(label(row) for row in rows)
        lines.append(f"  {source} --> {target}" + (f" : {words}" if words else ""))
    if lit is not None:
        lines += ["  classDef lit fill:#1d9bf0,color:#ffffff,stroke:#0b5f99", f"  class {lit} lit"]
    return "\n".join(lines) + "\n"


def _state(chart: Chart, state: State, indent: str) -> Iterator[str]:
    stays = [label(row) for row in state.rows if row.target is None]
    if state.children:
        yield f"{indent}state {state.id} {{"
        if state.id in entered_by_default(chart):
            yield f"{indent}  [*] --> {state.initial}"
        for child in state.children:
            yield from _state(chart, chart.states[child], indent + "  ")
        yield f"{indent}}}"
        # A box has no room for text of its own, so what leaves it where it is becomes a note.
        for kind, actions in (("entry", state.enter), ("exit", state.exit)):
            stays += [f"{kind} / {action}" for action in actions]
        if stays:
            yield f"{indent}note right of {state.id}"
            yield from (f"{indent}  {words}" for words in stays)
            yield f"{indent}end note"
        return
    # The first description takes the place of the name, so the name goes first.
    yield f"{indent}{state.id} : {state.id}"
    for kind, actions in (("entry", state.enter), ("exit", state.exit)):
        yield from (f"{indent}{state.id} : {kind} / {action}" for action in actions)
    yield from (f"{indent}{state.id} : {words}" for words in stays)
    if state.final:
        yield f"{indent}{state.id} --> [*]"
