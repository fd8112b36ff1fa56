"""Tables for Discord, which renders none: as aligned code, or as bullets.

Every cell is shown as written; pipes, blanks and dashes are redrawn.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import chain, repeat, zip_longest
from typing import Literal, NamedTuple

from attrs import frozen

from minamo.core.cleaning.characters import columns
from minamo.core.fitting.draft import Block, MessageDraft, code_enclosure
from minamo.core.fitting.fences import LINE_START
from minamo.core.limits import TABLE_ADDED_MIN, TABLE_COLUMNS_MAX, TABLE_GROWTH_MAX, TABLE_LABEL_MAX

Side = Literal["left", "centre", "right"]

# Possessive, because the blanks around a pipe could otherwise be divided in many ways.
_DASHES = r"[ \t]*+:?-++:?[ \t]*+"
_SEPARATOR = re.compile(
    LINE_START
    + r" {0,3}+(?=[^\r\n]*\|)\|?"
    + _DASHES
    + rf"(?:\|{_DASHES})*\|?[ \t]*+(\r\n|\r|\n|\Z)"
)
_LINE = re.compile(r"([^\r\n]*)(\r\n|\r|\n|\Z)")
_CELL = re.compile(r"(?:\\.|[^\\|])*\\?", re.DOTALL)


class Cell(NamedTuple):
    """A cell's text: `start:end` in the source, blanks trimmed."""

    start: int
    end: int


class TableRow(NamedTuple):
    """A row: its cells, the span of its line, and the span of the line end."""

    cells: tuple[Cell, ...]
    start: int
    end: int
    line_end: int


@frozen(slots=True)
class MarkdownTable:
    """A table's position and rows.  The head is `rows[0]`; `gap` spans the separator row."""

    rows: tuple[TableRow, ...]
    sides: tuple[Side, ...]
    """Alignment of each column, from the colons of the separator row."""
    gap: tuple[int, int]
    start: int
    end: int


def next_table(text: str, at: int, end: int) -> MarkdownTable | None:
    """Return the first table that starts at or after *at*."""
    for separator in _SEPARATOR.finditer(text, at, end):
        head = _line_before(text, at, separator.start())
        if head is None or "|" not in text[head.start : head.end]:
            continue
        dashes = _row(text, separator.start(), separator.start(1), separator.end())
        if len(dashes.cells) == len(head.cells):
            rows = (head, *table_rows(text, separator.end(), end))
            sides = tuple(_side(text[cell.start : cell.end]) for cell in dashes.cells)
            last = max(rows[-1].end, separator.start(1))
            return MarkdownTable(rows, sides, separator.span(), head.start, last)
    return None


def _side(dashes: str) -> Side:
    if not dashes.endswith(":"):
        return "left"
    return "centre" if dashes.startswith(":") else "right"


def _line_before(text: str, low: int, at: int) -> TableRow | None:
    line_end = at
    at -= text.endswith("\n", low, at)
    at -= text.endswith("\r", low, at)
    start = max(text.rfind("\n", low, at), text.rfind("\r", low, at), low - 1) + 1
    if line_end == at or (start and text[start - 1] not in "\r\n"):
        return None
    if re.match(r" {0,3}[^ \t>]", text[start:at]) is None:
        return None
    return _row(text, start, at, line_end)


def table_rows(text: str, at: int, end: int) -> list[TableRow]:
    """Return the lines from *at* on that can be rows of a table."""
    rows: list[TableRow] = []
    while at < end:
        line = _LINE.match(text, at, end)
        if line is None or "|" not in line[1] or line[1].lstrip(" ").startswith((">", "```")):
            break
        rows.append(_row(text, at, line.end(1), line.end()))
        at = line.end()
    return rows


def _row(text: str, start: int, end: int, line_end: int) -> TableRow:
    low = end - len(text[start:end].lstrip(" \t"))
    high = low + len(text[low:end].rstrip(" \t"))
    low += text.startswith("|", low, high)
    if high - low > 1 and text[high - 1] == "|" and text[high - 2] != "\\":
        high -= 1
    cells: list[Cell] = []
    escapes = text.find("\\", low, high) >= 0
    while True:
        stop = _cell_end(text, low, high, escapes=escapes)
        first = stop - len(text[low:stop].lstrip())
        cells.append(Cell(first, first + len(text[first:stop].rstrip())))
        if stop >= high:
            return TableRow(tuple(cells), start, end, line_end)
        low = stop + 1


def _cell_end(text: str, low: int, high: int, *, escapes: bool) -> int:
    if escapes:
        body = _CELL.match(text, low, high)
        return body.end() if body else high
    stop = text.find("|", low, high)
    return stop if stop >= 0 else high


def head_of(text: str, table: MarkdownTable) -> str:
    """Return the source of the header and separator rows, to continue in a later text."""
    return text[table.start : table.rows[0].end] + "\n" + text[slice(*table.gap)].strip()


_PIPE_ESCAPE = "\\|"
_MARKUP = re.compile(r"[*_~|`\\<>\[\]]")
_BULLET = "\n  - "

_Columns = list[tuple[int, Side]]
_LEFT: Side = "left"


def write_table(draft: MessageDraft, table: MarkdownTable, style: str) -> None:
    """Write *table* as an aligned code block, or as bullets if it is too wide for one."""
    widths = _widths(draft.source, table.rows)
    if style == "code" and _drawable(widths, table.rows):
        _write_code(draft, table, widths)
    else:
        _write_bullets(draft, table)


def continue_table(draft: MessageDraft, at: int, head: str, style: str) -> int:
    """Write rows at *at* that continue a table of an earlier text; return where they end."""
    text = draft.source
    rows = table_rows(text, at, len(text.rstrip()))
    table = next_table(head, 0, len(head))
    if not rows or table is None or next_table(text, at, rows[-1].end):
        return at  # no rows, or a table of its own
    widths = _wider(_widths(head, table.rows), _widths(text, rows))
    if style == "code" and _drawable(widths, rows):
        drawn = MessageDraft(head)
        _write_code(drawn, table, widths)
        start = draft.length
        header = drawn.text.removeprefix("```\n").removesuffix("```")
        draft.add("```\n", "table")
        body = draft.length
        draft.add(header, "header")
        _write_rows(draft, rows, _columns(widths, table), start, body, header)
    else:
        _write_bullet_rows(draft, rows, _repeated(_labels(head, table), rows))
    return rows[-1].end


def _drawable(widths: list[int], rows: Sequence[TableRow]) -> bool:
    """Return whether the aligned table is narrow enough, and its padding not out of proportion."""
    width = sum(widths) + 3 * (len(widths) - 1)
    return width <= TABLE_COLUMNS_MAX and _affordable(width * len(rows), rows)


def _affordable(added: int, rows: Sequence[TableRow]) -> bool:
    return added <= max(TABLE_ADDED_MIN, TABLE_GROWTH_MAX * (rows[-1].end - rows[0].start))


def _wider(left: list[int], right: list[int]) -> list[int]:
    return [max(pair) for pair in zip_longest(left, right, fillvalue=1)]


def _shown(text: str) -> str:
    return text.replace(_PIPE_ESCAPE, "|")


def _widths(text: str, rows: Sequence[TableRow]) -> list[int]:
    widths = [1] * max(len(row.cells) for row in rows)
    for row in rows:
        for at, cell in enumerate(row.cells):
            widths[at] = max(widths[at], columns(_shown(text[cell.start : cell.end])))
    return widths


def _columns(widths: list[int], table: MarkdownTable) -> _Columns:
    """Return each column's width and side; rows may have more columns than the header."""
    return list(zip(widths, chain(table.sides, repeat(_LEFT)), strict=False))


def _write_code(draft: MessageDraft, table: MarkdownTable, widths: list[int]) -> None:
    start, drawn = draft.length, _columns(widths, table)
    draft.add("```\n", "table")
    body = draft.length
    first = len(draft.pieces)
    head = table.rows[0]
    _write_row(draft, head, drawn)
    draft.add("\n" + "-+-".join("-" * width for width in widths) + "\n", "table")
    header = "".join(piece.text for piece in draft.pieces[first:])
    draft.drop(head.end, table.gap[1] if table.rows[1:] else table.end, "clean.table")
    _write_rows(draft, table.rows[1:], drawn, start, body, header)


def _write_rows(
    draft: MessageDraft,
    rows: Sequence[TableRow],
    drawn: _Columns,
    start: int,
    body: int,
    header: str,
) -> None:
    """Write *rows* and the end of their code block, which began at *start*."""
    for row in rows:
        _write_row(draft, row, drawn)
        if row is not rows[-1]:
            draft.copy(row.end, row.line_end)
    if rows:
        draft.add("\n", "table")
    tail = draft.length
    draft.add("```", "table")
    draft.blocks.append(Block(start, body, tail, draft.length, code_enclosure("", header)))


def _write_row(draft: MessageDraft, row: TableRow, drawn: _Columns) -> None:
    at, gap = row.start, ""
    for cell, (width, side) in zip(row.cells, drawn, strict=False):
        free = width - columns(_shown(draft.source[cell.start : cell.end]))
        # An empty cell is blank in any case; aligned left, it adds no blanks at the end of a row.
        before = _before(side, free) if cell.start < cell.end else 0
        draft.drop(at, cell.start, "clean.table")
        draft.add(gap + " " * before, "table")
        _write_cell(draft, cell, code=True)
        gap, at = " " * (free - before) + " | ", cell.end
    draft.drop(at, row.end, "clean.table")


def _before(side: Side, free: int) -> int:
    """Return how many of a cell's *free* columns precede its text."""
    return {"left": 0, "centre": free // 2, "right": free}[side]


def _write_cell(draft: MessageDraft, cell: Cell, *, code: bool) -> None:
    copy = draft.copy_code if code else draft.copy
    at = cell.start
    while (escape := draft.source.find(_PIPE_ESCAPE, at, cell.end)) >= 0:
        copy(at, escape)
        draft.drop(escape, escape + 1, "clean.table")
        at = escape + 1
    copy(at, cell.end)


def _write_bullets(draft: MessageDraft, table: MarkdownTable) -> None:
    head = table.rows[0]
    if len(table.rows) == 1:
        _write_bullet_row(draft, head, [""] * len(head.cells))
        draft.drop(head.end, table.end, "clean.table")
        return
    draft.drop(head.start, table.gap[1], "clean.table")
    _write_bullet_rows(draft, table.rows[1:], _labels(draft.source, table))


def _write_bullet_rows(draft: MessageDraft, rows: Sequence[TableRow], labels: list[str]) -> None:
    """Write *rows*; the first has all *labels*, the others only those worth repeating."""
    for row in rows:
        _write_bullet_row(draft, row, labels)
        if row is rows[0]:
            labels = _repeated(labels, rows)
        if row is not rows[-1]:
            draft.copy(row.end, row.line_end)


def _labels(text: str, table: MarkdownTable) -> list[str]:
    return [_label(text[cell.start : cell.end]) for cell in table.rows[0].cells]


def _write_bullet_row(draft: MessageDraft, row: TableRow, labels: list[str]) -> None:
    at, bullet = row.start, "- "
    for place, cell in enumerate(row.cells):
        if cell.start == cell.end:
            continue
        draft.drop(at, cell.start, "clean.table")
        label = labels[place] if place < len(labels) else ""
        draft.add(bullet + label, "table")
        _write_cell(draft, cell, code=False)
        at, bullet = cell.end, _BULLET
    draft.drop(at, row.end, "clean.table")


def _repeated(labels: list[str], rows: Sequence[TableRow]) -> list[str]:
    """Return the *labels* to write in each row: none that is long, none if all are too much."""
    short = ["" if len(label) > TABLE_LABEL_MAX else label for label in labels]
    cells = sum(len(row.cells) for row in rows)
    added = sum(map(len, short)) * len(rows) + len(_BULLET) * cells
    return short if _affordable(added, rows) else [""] * len(labels)


def _label(head: str) -> str:
    if not head:
        return ""
    # Bold around markup of its own would not render as bold.
    return f"{head}: " if _MARKUP.search(head) else f"**{head}**: "
