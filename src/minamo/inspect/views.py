"""Views of one stream for the live page, as plain JSON; and the actions the page may offer."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Protocol

from attrs import frozen

from minamo.core.accounting.pending import FittedBatch
from minamo.core.captures import Capture
from minamo.core.chunks import Chunk, ErrorChunk, FileChunk, FunctionCall, TextChunk
from minamo.core.stream import clock_lengths
from minamo.core.trace import Trace, read_trace
from minamo.inspect import explain as why
from minamo.inspect.explain import ADDITIONS, HIDDEN, PLACES
from minamo.inspect.replay import ReplayStep, step_through


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
        **of_books(why.AuditSnapshot.of(tracks)),
        "summary": summary,
        "clocks": clock_lengths(trace.config),
        "steps": [_step(step) for step in steps],
        "said": said(trace),
    }


def of_books(books: why.AuditSnapshot) -> Json:
    """Return the place of every character."""
    return {
        "text": books.text,
        "fates": [_fate(fate) for fate in why.fates(books)],
        "messages": _messages(books.batches),
        "blocks": _blocks(books.blocks),
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
        "moves": [[m.event, m.source, m.target, m.row] for m in step.moves],
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
        {"text": text, "runs": [[r.offset, r.size, r.start, r.reason] for r in runs]}
        for text, runs in zip(texts, why.messages(batches), strict=True)
    ]


def _blocks(blocks: Iterable[Capture]) -> list[Json]:
    return [
        {"kind": "thought" if block.kind == "think" else "details", "text": block.text}
        for block in blocks
    ]
