"""The contents of the live page: its files and charts, and one stream as plain JSON.

The policy of the page allows no style inside a document, and the page can switch between light and
dark: so charts are served without their style, and the style is a file of its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from importlib.resources import files
from threading import Lock
from typing import Any, Protocol

from attrs import field, frozen

from minamo.core.accounting.pending import FittedBatch
from minamo.core.captures import Capture
from minamo.core.chunks import Chunk, ErrorChunk, FileChunk, FunctionCall, TextChunk
from minamo.core.stream import clock_lengths
from minamo.core.trace import Trace, read_trace
from minamo.errors import ChartError
from minamo.inspect import explain as why
from minamo.inspect.explain import ADDITIONS, HIDDEN, PLACES
from minamo.inspect.replay import ReplayStep, step_through
from minamo.machine import Row, chart_names, load, to_svg
from minamo.machine.svg.picture import FULL, SQUARE, TALL, WIDE, Sizes
from minamo.machine.svg.render import DARK, LARGE, LIGHT, RULES


@frozen(slots=True)
class Prompt:
    """A suggested message that a button of the page sends."""

    title: str
    text: str


class Actions(Protocol):
    """The actions a page may take; without this object the page is read-only.

    A `MinamoError` raised by one of these is shown to the user who pressed the button.
    """

    @property
    def prompts(self) -> Sequence[Prompt]:
        """The suggested messages."""

    async def say(self, text: str) -> None:
        """Send *text* to the channel as a user."""

    async def stop(self) -> None:
        """Stop the current reply as a user."""

    async def press(self, message_id: str, button_id: str) -> None:
        """Press a button of a message as a user."""


# One line of the log; the raw view has the whole text.
EXCERPT_MAX = 160

# Steps without a line in the trace: a timeout expired.
_CLOCKS = ("silent", "overran")
# Closing and the outcome: the last two states of every stream.
_ENDING = 2

Json = dict[str, Any]


def look_at_lines(lines: Iterable[str], *, unfinished: bool = False) -> Json:
    """Return the analysis of a trace given as JSON lines.

    Raises:
        BadTrace: naming the line and what is wrong.
    """
    return look_at(read_trace(lines), unfinished=unfinished)


def look_at(trace: Trace, *, unfinished: bool = False) -> Json:
    """Replay *trace* with an idle lane and return the analysis.

    A replay treats a trace without an end as a provider that went silent.  Pass
    *unfinished* if it did not: the stream is still running, or was cancelled.
    """
    replayed, steps, tracks = step_through(trace)
    summary = replayed.summary()
    if unfinished and steps[-1].event in _CLOCKS:
        steps.pop()
        shown = summary["messages"][: steps[-1].messages]
        states = summary["states"][:-_ENDING]
        summary |= {"status": "unfinished", "stop_reason": None}
        summary |= {"messages": shown, "states": states}
    return {
        **audit_record(why.AuditSnapshot.of(tracks)),
        "summary": summary,
        "clocks": clock_lengths(trace.config),
        "steps": [_step(step) for step in steps],
        "said": said(trace),
    }


def audit_record(audit: why.AuditSnapshot) -> Json:
    """Return the place of every character."""
    return {
        "text": audit.text,
        "fates": [_fate(fate) for fate in why.fates(audit)],
        "messages": _messages(audit.batches),
        "blocks": _blocks(audit.blocks),
    }


def words() -> Json:
    """Return the explanation of every reason; the page fetches them once."""
    return {"hidden": dict(HIDDEN), "added": dict(ADDITIONS), "places": dict(PLACES)}


def excerpt(chunk: Chunk) -> str:
    """Return the content of a chunk, shortened to one line of the log."""
    match chunk:
        case TextChunk():
            text = chunk.content or "".join(chunk.thoughts)
        case FunctionCall():
            text = ", ".join(call.name for call in chunk.calls) or chunk.finish_reason
        case FileChunk():
            text = chunk.name
        case ErrorChunk():
            text = chunk.message
        case _:
            text = chunk.finish_reason
    return text[:EXCERPT_MAX]


def said(trace: Trace) -> list[str]:
    """Return an excerpt for each step after the first; timeouts have none."""
    return [excerpt(moment.chunk) if moment.chunk is not None else "" for moment in trace.moments]


def _fate(fate: why.CharacterFate) -> list[Any]:
    place = fate.place
    return [
        fate.start, fate.end, fate.chunk, fate.state,
        place.kind, place.index, place.offset, place.reason,
    ]  # fmt: skip


def _step(step: ReplayStep) -> Json:
    return {
        "t": round(step.at, 3),
        "event": step.event,
        "state": step.state,
        "moves": [[move.event, move.source, move.target, move.row] for move in step.moves],
        "more": step.more,
        "read": step.read,
        "messages": step.messages,
        "blocks": step.thoughts,
        "buffered": step.buffered,
        "undecided": step.undecided,
    }


def _messages(batches: Sequence[FittedBatch]) -> list[Json]:
    texts = [message.text for batch in batches for message in batch.fitted.messages[: batch.sent]]
    return [
        {"text": text, "runs": [[run.offset, run.size, run.start, run.reason] for run in runs]}
        for text, runs in zip(texts, why.messages(batches), strict=True)
    ]


def _blocks(blocks: Iterable[Capture]) -> list[Json]:
    return [
        {"kind": "thought" if block.kind == "think" else "details", "text": block.text}
        for block in blocks
    ]


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
    for file in (files("minamo.inspect") / "page").iterdir():
        kind = _TYPES.get(f".{file.name.rpartition('.')[2]}")
        if kind is not None:
            out[file.name] = PageFile(file.read_bytes(), kind)
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
