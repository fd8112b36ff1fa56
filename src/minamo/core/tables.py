"""Tables in a text: where they are, and their cells.

A table is what GitHub's markdown takes for one: a header row and a separator row with as many
columns, then rows.  Only lines with a pipe are rows here, so that prose right under a table
stays prose.
"""

from __future__ import annotations

import re
from typing import Literal

from attrs import frozen

from minamo.core.fences import LINE_START

Side = Literal["left", "centre", "right"]

_SEPARATOR = re.compile(
    LINE_START + r" {0,3}(?=[^\r\n]*\|)\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*"
    r"(\r\n|\r|\n|\Z)"
)
_LINE = re.compile(r"([^\r\n]*)(\r\n|\r|\n|\Z)")
_CELL = re.compile(r"(?:\\.|[^\\|])*\\?", re.DOTALL)


@frozen(slots=True)
class Cell:
    """A cell's text: `start:end` in the source, blanks trimmed."""

    start: int
    end: int


@frozen(slots=True)
class Row:
    """A row: its cells, the span of its line, and the span of the line end."""

    cells: tuple[Cell, ...]
    start: int
    end: int
    line_end: int


@frozen(slots=True)
class Table:
    """Where a table is, and its rows.  The head is `rows[0]`; `gap` spans the separator row."""

    rows: tuple[Row, ...]
    sides: tuple[Side, ...]
    """To which side each column goes; the colons of the separator row say so."""
    gap: tuple[int, int]
    start: int
    end: int


def next_table(text: str, at: int, end: int) -> Table | None:
    """The first table that starts at or after *at*."""
    for separator in _SEPARATOR.finditer(text, at, end):
        head = _line_before(text, at, separator.start())
        if head is None or "|" not in text[head.start : head.end]:
            continue
        dashes = _row(text, separator.start(), separator.start(1), separator.end())
        if len(dashes.cells) == len(head.cells):
            rows = (head, *table_rows(text, separator.end(), end))
            sides = tuple(_side(text[cell.start : cell.end]) for cell in dashes.cells)
            last = max(rows[-1].end, separator.start(1))
            return Table(rows, sides, separator.span(), head.start, last)
    return None


def _side(dashes: str) -> Side:
    if not dashes.endswith(":"):
        return "left"
    return "centre" if dashes.startswith(":") else "right"


def _line_before(text: str, low: int, at: int) -> Row | None:
    line_end = at
    at -= text.endswith("\n", low, at)
    at -= text.endswith("\r", low, at)
    start = max(text.rfind("\n", low, at), text.rfind("\r", low, at), low - 1) + 1
    if line_end == at or (start and text[start - 1] not in "\r\n"):
        return None
    if re.match(r" {0,3}[^ \t>]", text[start:at]) is None:
        return None
    return _row(text, start, at, line_end)


def table_rows(text: str, at: int, end: int) -> list[Row]:
    """The lines from *at* on that can be rows of a table."""
    rows: list[Row] = []
    while at < end:
        line = _LINE.match(text, at, end)
        if line is None or "|" not in line[1] or line[1].lstrip(" ").startswith((">", "```")):
            break
        rows.append(_row(text, at, line.end(1), line.end()))
        at = line.end()
    return rows


def _row(text: str, start: int, end: int, line_end: int) -> Row:
    low = end - len(text[start:end].lstrip(" \t"))
    high = low + len(text[low:end].rstrip(" \t"))
    low += text.startswith("|", low, high)
    if high - low > 1 and text[high - 1] == "|" and text[high - 2] != "\\":
        high -= 1
    cells: list[Cell] = []
    while True:
        body = _CELL.match(text, low, high)
        stop = body.end() if body else high
        first = stop - len(text[low:stop].lstrip())
        cells.append(Cell(first, first + len(text[first:stop].rstrip())))
        if stop >= high:
            return Row(tuple(cells), start, end, line_end)
        low = stop + 1


def head_of(text: str, table: Table) -> str:
    """The source of the header and separator rows, to go on with in a later text."""
    return text[table.start : table.rows[0].end] + "\n" + text[slice(*table.gap)].strip()
