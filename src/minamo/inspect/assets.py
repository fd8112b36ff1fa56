"""Static files and charts for the live page.

The page's policy allows no style inside a document, and the page can switch between light and
dark: so charts are served without their style, and the style is a file of its own.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from functools import lru_cache
from importlib.resources import files
from threading import Lock
from typing import Any

from attrs import field, frozen

from minamo.errors import ChartError
from minamo.machine import Row, chart_names, load, to_svg
from minamo.machine.svg.picture import FULL, SQUARE, TALL, WIDE, Sizes
from minamo.machine.svg.render import DARK, LARGE, LIGHT, RULES

_TYPES = {
    ".html": "text/html",
    ".js": "text/javascript",
    ".css": "text/css",
    ".svg": "image/svg+xml",
}


@frozen(slots=True)
class PageFile:
    """One static file and its media type."""

    body: bytes = field(repr=False)
    type: str


def page_files() -> dict[str, PageFile]:
    """Return all files by name; there are no folders."""
    out = {}
    for one in (files("minamo.inspect") / "page").iterdir():
        kind = _TYPES.get(f".{one.name.rpartition('.')[2]}")
        if kind is not None:
            out[one.name] = PageFile(one.read_bytes(), kind)
    return out


_STYLE = re.compile(r"<style>.*?</style>\n", re.DOTALL)


@lru_cache(maxsize=1)
def chart_list() -> list[dict[str, Any]]:
    """Return the charts with the data the page needs; invalid charts are left out."""
    out = []
    for name in chart_names():
        try:
            chart = load(name)
        except ChartError:
            continue
        states = {
            state.id: {"parent": state.parent, "about": " ".join(state.about.split())}
            for state in chart.states.values()
        }
        rows = {
            row.index: {"by": _trigger(row), "about": " ".join(row.about.split()), "line": row.line}
            for row in chart.rows
        }
        out.append({"name": chart.name, "file": chart.file, "states": states, "rows": rows})
    return out


def _trigger(row: Row) -> str:
    guard = f" [{row.guard}]" if row.guard else ""
    return (f"by {', '.join(row.events)}" if row.events else "at once") + guard


#: The pictures of each chart: for reading, and with names only for panes of three shapes.
SIZES: Mapping[str, Sizes] = {"full": FULL, "wide": WIDE, "square": SQUARE, "tall": TALL}


#: One picture at a time: a second request for one that is being drawn waits for it.
_DRAWING = Lock()


def chart_svg(name: str, size: str = "full") -> str | None:
    """Return the picture of a chart, for a page that has `chart_style`; None if unknown."""
    if name not in chart_names() or size not in SIZES:
        return None
    with _DRAWING:
        return _drawn(name, size)


@lru_cache(maxsize=64)
def _drawn(name: str, size: str) -> str:
    return _STYLE.sub("", to_svg(load(name), sizes=SIZES[size]))


def draw_charts() -> None:
    """Draw the pictures that a page shows first, so that its visitor does not wait for them."""
    chart_list()
    first = [("stream", size) for size in SIZES if size != "full"]
    for name, size in (*first, *((name, "square") for name in chart_names())):
        with suppress(ChartError):
            chart_svg(name, size)


@lru_cache(maxsize=1)
def chart_style() -> str:
    """Return the colours of the pictures; the page selects a theme by `data-theme`."""
    lines = [
        _block(":root .chart", LIGHT),
        _block(':root[data-theme="dark"] .chart', DARK),
    ]
    for selectors, rule in (*RULES, LARGE):
        scoped = ",".join(f".chart {selector}" for selector in selectors.split(","))
        lines.append(f"{scoped}{{{rule}}}")
    return "\n".join(lines)


def _block(selector: str, colours: dict[str, str]) -> str:
    inside = ";".join(f"--{name}:{colour}" for name, colour in colours.items())
    return f"{selector}{{{inside}}}"
