"""One stream as the page wants it: everything that can be looked at, as plain JSON."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Protocol

from attrs import frozen

from minamo.core.accounting.pending import FittedBatch
from minamo.core.captures import Block
from minamo.core.chunks import Chunk
from minamo.core.trace import Trace, read_trace
from minamo.inspect import explain as why
from minamo.inspect.explain import ADDITIONS, HIDDEN, PLACES
from minamo.inspect.replay import Step, step_through


@frozen(slots=True)
class Prompt:
    """Something to say with one press of a button."""

    title: str
    text: str


class Actions(Protocol):
    """What the page may do; without one it only looks.

    A `MinamoError` that one of these raises is told to whoever pressed.
    """

    @property
    def prompts(self) -> Sequence[Prompt]:
        """What to offer."""

    async def say(self, text: str) -> None:
        """Somebody writes into the channel."""

    async def stop(self) -> None:
        """Somebody wants the reply to end here."""

    async def press(self, message_id: str, button_id: str) -> None:
        """Somebody presses a button of a message."""


# One line of the log; the whole text is in the raw view.
EXCERPT_MAX = 160

# The steps that no line of a trace brings: a clock ran out.
_CLOCKS = ("silent", "overran")
# Closing and the outcome: the last states of every stream.
_ENDING = 2

Json = dict[str, Any]


def look_at_lines(lines: Iterable[str], *, unfinished: bool = False) -> Json:
    """Everything about a trace.

    Raises:
        BadTrace: naming the line and what is wrong.
    """
    return look_at(read_trace(lines), unfinished=unfinished)


def look_at(trace: Trace, *, unfinished: bool = False) -> Json:
    """Replay *trace* with an idle lane and tell everything about it.

    To a replay a trace without an end is a provider that fell silent.  *unfinished* says that it
    is not: the stream still runs, or was cancelled.
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
        "steps": [_step(one) for one in steps],
        "said": said(trace),
    }


def of_books(books: why.AuditSnapshot) -> Json:
    """Where every character is."""
    return {
        "text": books.text,
        "fates": [_fate(one) for one in why.fates(books)],
        "messages": _messages(books.batches),
        "blocks": _blocks(books.blocks),
    }


def words() -> Json:
    """The sentences for every reason; the page fetches them once."""
    return {"hidden": dict(HIDDEN), "added": dict(ADDITIONS), "places": dict(PLACES)}


def excerpt(chunk: Chunk) -> str:
    """What a chunk says, in a line."""
    text = getattr(chunk, "content", None)
    if text is None:
        calls = ", ".join(call.name for call in getattr(chunk, "calls", ()))
        text = calls or getattr(chunk, "message", "") or getattr(chunk, "finish_reason", "")
    elif not text and chunk.thoughts:
        text = "".join(chunk.thoughts)
    return str(text)[:EXCERPT_MAX]


def said(trace: Trace) -> list[str]:
    """For each step after the first, what it brought, in a line; a clock brings nothing."""
    return [excerpt(one.chunk) if one.chunk is not None else "" for one in trace.moments]


def _fate(fate: why.CharacterFate) -> list[Any]:
    place = fate.place
    return [
        fate.start, fate.end, fate.chunk, fate.state,
        place.kind, place.index, place.offset, place.reason,
    ]  # fmt: skip


def _step(step: Step) -> Json:
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
    texts = [one.text for batch in batches for one in batch.fitted.messages[: batch.sent]]
    return [
        {"text": text, "runs": [[r.offset, r.size, r.start, r.reason] for r in runs]}
        for text, runs in zip(texts, why.messages(batches), strict=True)
    ]


def _blocks(blocks: Iterable[Block]) -> list[Json]:
    return [
        {"kind": "thought" if one.kind == "think" else "details", "text": one.text}
        for one in blocks
    ]
