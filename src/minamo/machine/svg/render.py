"""SVG rendering of a chart's picture: one file, no scripts, the same bytes every time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from xml.sax.saxutils import escape, quoteattr

from attrs import evolve

from minamo.machine.model import Chart, State
from minamo.machine.svg.layout import layout
from minamo.machine.svg.picture import (
    FULL,
    LABEL_INSET,
    LEADING,
    WIDE,
    Arrow,
    Box,
    Dot,
    Label,
    Line,
    Picture,
    Point,
    Rect,
    Sizes,
    width,
)
from minamo.machine.svg.routing import draw

LIGHT = {
    "canvas": "#ffffff",
    "tint": "#f1f6fa",
    "tint2": "#e5eef5",
    "edge": "#a9c0d0",
    "leaf": "#ffffff",
    "leaf-edge": "#5b86a5",
    "ink": "#152b3a",
    "soft": "#4d6474",
    "line": "#5f7f95",
    "guard": "#6d4fa1",
    "action": "#2d6f73",
    "good": "#e3f3e8",
    "good-edge": "#4f9468",
    "calm": "#e6eff9",
    "calm-edge": "#5d84b3",
    "bad": "#faeae5",
    "bad-edge": "#bb6f58",
    "lit": "#ffe9ad",
    "lit-edge": "#b97700",
}
DARK = {
    "canvas": "#0e171f",
    "tint": "#14212c",
    "tint2": "#1a2b38",
    "edge": "#3f607a",
    "leaf": "#0f1c26",
    "leaf-edge": "#6f9dbd",
    "ink": "#e4eff6",
    "soft": "#a3b9c7",
    "line": "#7fa0b6",
    "guard": "#c3a9f0",
    "action": "#85cfcf",
    "good": "#15301f",
    "good-edge": "#67b483",
    "calm": "#172a41",
    "calm-edge": "#7aa3d6",
    "bad": "#381f19",
    "bad-edge": "#d88d76",
    "lit": "#55400a",
    "lit-edge": "#ffc445",
}
# Every selector is scoped to `.chart`, so that an embedded picture does not style the page.
RULES = (
    (".canvas", "fill:var(--canvas)"),
    (
        "text",
        'font:12px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;'
        "fill:var(--ink);white-space:pre",
    ),
    (".name", "font-size:13px;font-weight:700"),
    (".heading", "font-size:18px;font-weight:700"),
    (".about,.key", "fill:var(--soft)"),
    (".guard", "fill:var(--guard)"),
    (".action", "fill:var(--action)"),
    (".frame", "fill:var(--tint);stroke:var(--edge)"),
    (".even>.frame", "fill:var(--tint2)"),
    (".tab", "fill:var(--edge)"),
    (".leaf", "fill:var(--leaf);stroke:var(--leaf-edge);stroke-width:1.4"),
    (".rule", "stroke:var(--leaf-edge);stroke-opacity:.35"),
    (".transient>.leaf", "stroke-dasharray:5 4"),
    (".inner", "fill:none;stroke:var(--leaf-edge)"),
    (".good>.leaf", "fill:var(--good)"),
    (".calm>.leaf", "fill:var(--calm)"),
    (".bad>.leaf", "fill:var(--bad)"),
    (".good>.leaf,.good>.inner,.good>.rule", "stroke:var(--good-edge)"),
    (".calm>.leaf,.calm>.inner,.calm>.rule", "stroke:var(--calm-edge)"),
    (".bad>.leaf,.bad>.inner,.bad>.rule", "stroke:var(--bad-edge)"),
    (".line", "fill:none;stroke:var(--line);stroke-width:1.4"),
    (".tip,.dot", "fill:var(--line)"),
    (".patch", "fill:var(--canvas)"),
    (".patch1", "fill:var(--tint)"),
    (".patch2", "fill:var(--tint2)"),
    (".lit-path>.frame", "stroke:var(--lit-edge);stroke-width:2"),
    (".lit-path>.tab", "fill:var(--lit)"),
    (".lit>.leaf", "fill:var(--lit);stroke:var(--lit-edge);stroke-width:3"),
    (".lit>.inner,.lit>.rule", "stroke:var(--lit-edge)"),
    (".row.lit>.line", "stroke:var(--lit-edge);stroke-width:2.6"),
    (".row.lit>.tip", "fill:var(--lit-edge)"),
)


#: Of pictures with names only.
LARGE = (".large", f"font-size:{WIDE.title_px}px")


def style(sizes: Sizes) -> str:
    """Return the whole style sheet of a picture."""
    light = ";".join(f"--{name}:{colour}" for name, colour in LIGHT.items())
    dark = ";".join(f"--{name}:{colour}" for name, colour in DARK.items())
    lines = [f".chart{{{light}}}", f"@media (prefers-color-scheme:dark){{.chart{{{dark}}}}}"]
    for selectors, rule in (*RULES, LARGE) if sizes.names_only else RULES:
        scoped = ",".join(f".chart {selector}" for selector in selectors.split(","))
        lines.append(f"{scoped}{{{rule}}}")
    return "\n".join(lines)


HEADING_PX = 18
SIDE = 30
ROUND = 8
CURVE = 5
"""Half a step of the grid, so that two consecutive bends just meet."""
# The tint of an outcome depends on its name; one in neither list, or negated, is calm.
_GOOD = ("completed", "delivered", "done", "finished", "ok", "passed", "sent", "succeeded")
_BAD = ("error", "expired", "failed", "killed", "lost", "refused", "rejected", "timeout", "unknown")


def to_svg(chart: Chart, *, lit: str | None = None, sizes: Sizes = FULL) -> str:
    """Return *chart* as SVG, with the leaf *lit* and the states around it highlighted.

    `WIDE`, `SQUARE` and `TALL` of `minamo.machine.svg.picture` are for small panes: names only.
    """
    leaves = [state.id for state in chart.leaves]
    if lit is not None and lit not in leaves:
        raise ValueError(f"no leaf {lit!r} in chart {chart.name!r}; it has {', '.join(leaves)}")
    path = [state.id for state in chart.lineage(lit)] if lit is not None else []
    shown = names_only(chart) if sizes.names_only else chart
    picture = draw(shown, layout(shown, sizes))
    return "".join(f"{line}\n" for line in _document(shown, picture, path, sizes))


def names_only(chart: Chart) -> Chart:
    """Return *chart* without the text of rows, entries and exits; rows keep their numbers."""
    states = {
        state.id: evolve(
            state,
            clocks=(),
            enter=(),
            exit=(),
            rows=tuple(
                evolve(row, events=(), guard="", actions=())
                for row in state.rows
                if row.target is not None
            ),
        )
        for state in chart.states.values()
    }
    return evolve(chart, states=states)


def _document(chart: Chart, picture: Picture, path: Sequence[str], sizes: Sizes) -> Iterator[str]:
    w, h = picture.width, picture.height
    about = " ".join(chart.about.split())
    yield (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{w}" height="{h}" '
        f'viewBox="0 0 {w} {h}" class="chart" role="img">'
    )
    yield f"<title>{escape(chart.name)}: statechart</title>"
    yield f"<desc>{escape(about or chart.name)}</desc>"
    yield f"<style>\n{style(sizes)}\n</style>"
    yield f'<rect class="canvas" width="{w}" height="{h}" rx="12"/>'
    if sizes.heading:
        yield from _heading(chart.name, about, w, sizes)
    for box in picture.boxes:
        yield from _state(chart.states[box.id], box, path, sizes)
    for dot in picture.dots:
        yield from _dot(dot)
    for arrow in picture.arrows:
        yield from _arrow(arrow)
    yield "</svg>"


def _heading(name: str, about: str, room: int, sizes: Sizes) -> Iterator[str]:
    yield f'<text class="heading" x="{SIDE}" y="36">{escape(name)}</text>'
    first = about.partition(". ")[0].rstrip(".")
    x = SIDE + width(name, HEADING_PX) + 2 * sizes.inset
    if first and x + width(first) <= room - SIDE:
        yield f'<text class="about" x="{x}" y="36">{escape(first)}</text>'


def _state(state: State, box: Box, path: Sequence[str], sizes: Sizes) -> Iterator[str]:
    names = ["state", *_kinds(state, box)]
    if state.id in path:
        names.append("lit" if state.id == path[0] else "lit-path")
    yield f'<g id={quoteattr(f"state-{state.id}")} class="{" ".join(names)}">'
    if state.about:
        yield f"<title>{escape(' '.join(state.about.split()))}</title>"
    yield from _frame(state, box, sizes) if box.head else _leaf(state, box, sizes)
    y = box.rect.y + sizes.title_band + 15
    for note in box.notes:
        attrs = ""
        if note.row is not None:
            attrs = f' class="row" data-source={quoteattr(state.id)} data-rows="{note.row}"'
        yield f"<g{attrs}>{_text(note.lines, box.rect.x + sizes.inset, y)}</g>"
        y += LEADING * len(note.lines)
    yield "</g>"


def _kinds(state: State, box: Box) -> Iterator[str]:
    if box.head and box.depth % 2 == 0:
        yield "even"
    if state.transient:
        yield "transient"
    if state.final:
        yield "final"
        yield _tint(state.id.split("_"))


def _tint(words: Sequence[str]) -> str:
    if "not" in words:
        return "calm"
    if any(word in _BAD for word in words):
        return "bad"
    return "good" if any(word in _GOOD for word in words) else "calm"


def _frame(state: State, box: Box, sizes: Sizes) -> Iterator[str]:
    x, y = box.rect.x, box.rect.y
    tab, low = width(state.id, sizes.title_px) + 2 * sizes.inset, sizes.title_band - 2
    yield _rect("frame", box.rect, ROUND + 2)
    yield (
        f'<path class="tab" d="M{x} {y + low}V{y + 10}Q{x} {y} {x + 10} {y}H{x + tab}'
        f'V{y + low - 8}Q{x + tab} {y + low} {x + tab - 8} {y + low}Z"/>'
    )
    baseline = y + _baseline(low, sizes)
    yield (
        f'<text class="{_title(sizes)}" x="{x + sizes.inset}" y="{baseline}">'
        f"{escape(state.id)}</text>"
    )


def _leaf(state: State, box: Box, sizes: Sizes) -> Iterator[str]:
    x, y, w, h = box.rect.x, box.rect.y, box.rect.w, box.rect.h
    yield _rect("leaf", box.rect, ROUND)
    if state.final:
        yield _rect("inner", Rect(x + 3, y + 3, w - 6, h - 6), ROUND - 3)
    if box.notes:
        yield f'<path class="rule" d="M{x + 4} {y + sizes.title_band}H{x + w - 4}"/>'
    baseline = y + _baseline(sizes.title_band if box.notes else h, sizes)
    yield (
        f'<text class="{_title(sizes)}" x="{x + w // 2}" y="{baseline}" text-anchor="middle">'
        f"{escape(state.id)}</text>"
    )


def _title(sizes: Sizes) -> str:
    return "name large" if sizes.names_only else "name"


def _baseline(height: int, sizes: Sizes) -> int:
    """Return the y of a title's baseline in a band of *height*, so that it is in the middle."""
    return (2 * height + sizes.title_px + 10) // 4


def _rect(kind: str, rect: Rect, radius: int) -> str:
    return (
        f'<rect class="{kind}" x="{rect.x}" y="{rect.y}" width="{rect.w}" height="{rect.h}" '
        f'rx="{radius}"/>'
    )


def _text(lines: Iterable[Line], x: int, y: int) -> str:
    out = []
    for n, line in enumerate(lines):
        spans = "".join(f'<tspan class="{s.kind}">{escape(s.text)}</tspan>' for s in line)
        out.append(f'<text x="{x}" y="{y + n * LEADING}">{spans}</text>')
    return "".join(out)


def _dot(dot: Dot) -> Iterator[str]:
    x, y = dot.rect.x + dot.rect.w // 2, dot.rect.y + dot.rect.h // 2
    yield f'<g class="initial" data-target={quoteattr(dot.target)}>'
    yield _line(((x, y), *dot.leg[1:]), tip=True)
    yield f'<circle class="dot" cx="{x}" cy="{y}" r="6"/></g>'


def _arrow(arrow: Arrow) -> Iterator[str]:
    yield (
        f'<g class="row" data-source={quoteattr(arrow.source)} '
        f'data-target={quoteattr(arrow.target)} data-rows="{" ".join(map(str, arrow.rows))}">'
    )
    for n, leg in enumerate(arrow.legs):
        yield _line(leg, tip=n == len(arrow.legs) - 1)
    if arrow.label:
        yield from _label(arrow.label)
    yield "</g>"


def _label(label: Label) -> Iterator[str]:
    patch = "patch" if label.depth == 0 else f"patch{2 - label.depth % 2}"
    rect = label.rect
    yield _rect(patch, rect, 4)
    pad = (rect.h - len(label.lines) * LEADING) // 2
    yield _text(label.lines, rect.x + LABEL_INSET // 2, rect.y + pad + 12)


def _line(points: Sequence[Point], *, tip: bool) -> str:
    """Return a line with rounded corners, and the head of an arrow if *tip*."""
    d = f"M{points[0][0]} {points[0][1]}"
    for before, at, after in zip(points, points[1:], points[2:], strict=False):
        near, far = _towards(at, before, CURVE), _towards(at, after, CURVE)
        d += f"L{near[0]} {near[1]}Q{at[0]} {at[1]} {far[0]} {far[1]}"
    end, last = points[-1], points[-2]
    stop = _towards(end, last, CURVE) if tip else end
    line = f'<path class="line" d="{d}L{stop[0]} {stop[1]}"/>'
    return line + _tip(end, last) if tip else line


def _tip(end: Point, last: Point) -> str:
    (x, y), (bx, by) = end, _towards(end, last, 8)
    sx, sy = (by - y) // 2, (bx - x) // 2
    return f'<path class="tip" d="M{x} {y}L{bx + sx} {by + sy}L{bx - sx} {by - sy}Z"/>'


def _towards(at: Point, other: Point, px: int) -> Point:
    """Return the point *px* from *at* towards *other*, which shares its row or column."""
    (x, y), (ox, oy) = at, other
    return x + max(-px, min(px, ox - x)), y + max(-px, min(px, oy - y))
