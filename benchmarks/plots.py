"""Plots as SVG: bars and growth curves on logarithmic axes, lines over time, in light and dark.

A picture is a grid of panels, byte for byte the same each time.  Colours follow the reader's
scheme, as in the pictures of the charts; text is text, so that it can be read aloud and searched.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape
from typing import NamedTuple

_STYLE = """
.plot{--canvas:#ffffff;--ink:#152b3a;--soft:#4d6474;--grid:#dde7ee;--ours:#1f7a8c;--peer:#9db4c3;
--c0:#1f7a8c;--c1:#4ba3b5;--c2:#86c5d0;--c3:#bb6f58;--c4:#b97700;--c5:#6d4fa1;--c6:#4f9468}
@media (prefers-color-scheme:dark){.plot{--canvas:#0e171f;--ink:#e4eff6;--soft:#a3b9c7;
--grid:#22323f;--ours:#58c4d8;--peer:#4d6a7d;--c0:#58c4d8;--c1:#3b93a5;--c2:#2a6978;--c3:#d88d76;
--c4:#ffc445;--c5:#c3a9f0;--c6:#67b483}}
.plot .canvas{fill:var(--canvas)}
.plot text{font:12px system-ui,-apple-system,"Segoe UI","DejaVu Sans",sans-serif;fill:var(--ink)}
.plot .heading{font-size:17px;font-weight:700}
.plot .title{font-size:13px;font-weight:700}
.plot .soft{fill:var(--soft);font-size:11px}
.plot .ours{fill:var(--ours)}
.plot .peer{fill:var(--peer)}
.plot .strong{font-weight:700}
.plot .grid{stroke:var(--grid)}
.plot .spread{stroke:var(--ink);stroke-width:1.2}
.plot .curve{fill:none;stroke-width:2}
"""
_WIDTH, _GAP, _TOP = 440, 24, 56
_LABEL, _VALUE = 150, 120


class Bar(NamedTuple):
    """One contestant."""

    label: str
    value: float
    low: float
    high: float
    text: str
    """The value in words, beside the bar."""


class Bars(NamedTuple):
    """A panel of bars on a logarithmic axis that begins at the smallest value or at 1."""

    title: str
    about: str
    bars: Sequence[Bar]

    @property
    def height(self) -> int:
        """Pixels."""
        return 52 + 24 * len(self.bars)


class Curves(NamedTuple):
    """A panel of growth curves: both axes are logarithmic."""

    title: str
    about: str
    curves: dict[str, Sequence[tuple[float, float]]]

    @property
    def height(self) -> int:
        """Pixels."""
        return 270 + 16 * len(self.curves)


class Lines(NamedTuple):
    """A panel of lines over time: both axes are linear, and the upright one begins at 0."""

    title: str
    about: str
    lines: Mapping[str, Sequence[tuple[float, float]]]
    marks: Sequence[float] = ()
    """Times at which something happened, drawn as upright lines."""
    limit: float | None = None
    """What no line should go above, drawn as a level line."""

    @property
    def height(self) -> int:
        """Pixels."""
        return 270 + 16 * len(self.lines)


Panel = Bars | Curves | Lines


def picture(heading: str, about: str, panels: Sequence[Panel], columns: int = 2) -> str:
    """Return an SVG document."""
    rows = [panels[at : at + columns] for at in range(0, len(panels), columns)]
    across = min(columns, len(panels))
    width = across * _WIDTH + (across + 1) * _GAP
    parts, y = [], _TOP
    for row in rows:
        for number, panel in enumerate(row):
            x = _GAP + number * (_WIDTH + _GAP)
            parts.append(f'<g transform="translate({x},{y})">\n{_draw(panel)}\n</g>')
        y += max(panel.height for panel in row) + _GAP
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{y}" '
            f'viewBox="0 0 {width} {y}" class="plot" role="img">',
            f"<title>{escape(heading)}</title>",
            f"<desc>{escape(about)}</desc>",
            f"<style>{_STYLE}</style>",
            f'<rect class="canvas" width="{width}" height="{y}"/>',
            f'<text class="heading" x="{_GAP}" y="28">{escape(heading)}</text>',
            f'<text class="soft" x="{_GAP}" y="46">{escape(about)}</text>',
            *parts,
            "</svg>\n",
        ]
    )


def _draw(panel: Panel) -> str:
    if isinstance(panel, Bars):
        return _bars(panel)
    return _curves(panel) if isinstance(panel, Curves) else _lines(panel)


def _heading(panel: Panel) -> list[str]:
    return [
        f'<text class="title" x="0" y="14">{escape(panel.title)}</text>',
        f'<text class="soft" x="0" y="30">{escape(panel.about)}</text>',
    ]


def _is_ours(label: str) -> bool:
    return label.startswith("minamo")


def _bars(panel: Bars) -> str:
    least = min(bar.low for bar in panel.bars)
    most = max(bar.high for bar in panel.bars)
    start = math.log10(least) - 0.12
    scale = (_WIDTH - _LABEL - _VALUE) / max(math.log10(most) - start, 0.3)

    def at(value: float) -> float:
        return round(_LABEL + (math.log10(value) - start) * scale, 1)

    out = _heading(panel)
    for power in range(math.ceil(start), math.floor(math.log10(most)) + 1):
        x, bottom = at(10.0**power), panel.height - 8
        out.append(f'<line class="grid" x1="{x}" y1="38" x2="{x}" y2="{bottom}"/>')
    for number, bar in enumerate(panel.bars):
        y = 40 + 24 * number
        kind = "ours" if _is_ours(bar.label) else "peer"
        weight = " strong" if _is_ours(bar.label) else ""
        width = max(2.0, round(at(bar.value) - _LABEL, 1))
        out += [
            f'<text class="label{weight}" x="{_LABEL - 8}" y="{y + 14}" text-anchor="end">'
            f"{escape(bar.label)}</text>",
            f'<rect class="{kind}" x="{_LABEL}" y="{y + 2}" width="{width}" height="16" rx="2"/>',
            f'<text class="soft" x="{max(at(bar.high), _LABEL) + 8:.1f}" y="{y + 14}">'
            f"{escape(bar.text)}</text>",
        ]
        if bar.low < bar.high:
            out.append(
                f'<path class="spread" d="M{at(bar.low)} {y + 10}H{at(bar.high)}'
                f'M{at(bar.low)} {y + 7}v6M{at(bar.high)} {y + 7}v6"/>'
            )
    return "\n".join(out)


_LEFT, _TALL = 52, 190


def _curves(panel: Curves) -> str:
    points = [point for curve in panel.curves.values() for point in curve]
    xs = [math.log10(x) for x, _ in points]
    ys = [math.log10(y) for _, y in points]
    x0, x1, y0, y1 = min(xs), max(xs), math.floor(min(ys)), math.ceil(max(ys))
    wide = _WIDTH - _LEFT - 12

    def place(x: float, y: float) -> tuple[float, float]:
        return (
            round(_LEFT + (math.log10(x) - x0) / max(x1 - x0, 1e-9) * wide, 1),
            round(40 + _TALL - (math.log10(y) - y0) / max(y1 - y0, 1) * _TALL, 1),
        )

    out = _heading(panel)
    for power in range(y0, y1 + 1):
        _, y = place(10**x0, 10.0**power)
        out.append(f'<line class="grid" x1="{_LEFT}" y1="{y}" x2="{_LEFT + wide}" y2="{y}"/>')
        out.append(
            f'<text class="soft" x="{_LEFT - 6}" y="{y + 4}" text-anchor="end">'
            f"{_seconds(10.0**power)}</text>"
        )
    for size in sorted({x for x, _ in points}):
        x, _ = place(size, 10.0**y0)
        out.append(
            f'<text class="soft" x="{x}" y="{40 + _TALL + 16}" text-anchor="middle">'
            f"{_count(size)}</text>"
        )
    out += _legend({label: [place(*p) for p in curve] for label, curve in panel.curves.items()})
    return "\n".join(out)


def _legend(curves: Mapping[str, Sequence[tuple[float, float]]]) -> list[str]:
    """Return the curves, given in pixels, and their names below."""
    out = []
    for number, (label, points) in enumerate(curves.items()):
        path = " ".join(f"{x} {y}" for x, y in points)
        colour, y = f"var(--c{number % 7})", 40 + _TALL + 36 + 16 * number
        weight = "title" if _is_ours(label) else "soft"
        out += [
            f'<polyline class="curve" stroke="{colour}" points="{path}"/>',
            f'<rect fill="{colour}" x="{_LEFT}" y="{y - 8}" width="18" height="3"/>',
            f'<text class="{weight}" x="{_LEFT + 26}" y="{y - 2}">{escape(label)}</text>',
        ]
    return out


def _lines(panel: Lines) -> str:
    points = [point for line in panel.lines.values() for point in line]
    across, up = (
        _step(max(x for x, _ in points)),
        _step(max(panel.limit or 0, *(y for _, y in points))),
    )
    wide = _WIDTH - _LEFT - 12

    def place(x: float, y: float) -> tuple[float, float]:
        return (
            round(_LEFT + x / (across * 5) * wide, 1),
            round(40 + _TALL - y / (up * 5) * _TALL, 1),
        )

    out = _heading(panel)
    for number in range(6):
        x, y = place(across * number, up * number)
        out += [
            f'<line class="grid" x1="{_LEFT}" y1="{y}" x2="{_LEFT + wide}" y2="{y}"/>',
            f'<text class="soft" x="{_LEFT - 6}" y="{y + 4}" text-anchor="end">'
            f"{up * number:g}</text>",
            f'<text class="soft" x="{x}" y="{40 + _TALL + 16}" text-anchor="middle">'
            f"{across * number:g}</text>",
        ]
    for mark in panel.marks:
        x, _ = place(mark, 0)
        out.append(f'<path stroke="var(--soft)" stroke-dasharray="1 3" d="M{x} 40v{_TALL}"/>')
    if panel.limit is not None:
        _, y = place(0, panel.limit)
        out.append(f'<path stroke="var(--c3)" stroke-dasharray="6 3" d="M{_LEFT} {y}h{wide}"/>')
    out += _legend({label: [place(*p) for p in line] for label, line in panel.lines.items()})
    return "\n".join(out)


_ROUND = (1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10)


def _step(most: float) -> float:
    """Return a round number, five of which are at least *most*."""
    size = 10.0 ** math.floor(math.log10(max(most, 1e-9) / 5))
    return next(size * times for times in _ROUND if size * times * 5 >= most)


def _seconds(value: float) -> str:
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if value >= size * 0.999:
            return f"{value / size:g} {unit}"
    return f"{value * 1e9:g} ns"


def _count(value: float) -> str:
    return f"{value / 1000:g}k" if value >= 1000 else f"{value:g}"
