"""Explanation of each character: where it ended up, its chunk, and the state that read it.

The data is the core's own: the ledger's spans, the captured blocks, and the trail of every fitted
batch.  This file only combines them and must not decide anything itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal, TypeVar

from attrs import frozen

from minamo.core.accounting.pending import FittedBatch
from minamo.core.accounting.spans import ADDED, DroppedSpan, SourceIndex
from minamo.core.captures import Capture
from minamo.core.limits import SPANS_MAX
from minamo.inspect.tracks import Read, Tracks

#: Reasons why a character of the reply is not in the channel, by their names in the ledger.
HIDDEN: Mapping[str, str] = {
    "marker": "A tag such as <think>. It says where text goes and is not text itself.",
    "summary": "The title of a details block. Only what is inside is kept.",
    "seam": "White space at the edge of a message. Discord would trim it too.",
    "blank": "Nothing but white space, and Discord takes no blank message.",
    "prefill_echo": "The model repeated its prefill, which is shown once.",
    "speaker_guard": "The model began to speak for another person; the reply ends before that.",
    "overlap": "The provider repeated the end of its last chunk.",
    "surrogate": "Half a character whose other half never came.",
    "humanize": "Left out for a human touch (degree 3).",
    "stop": "A user stopped the reply before this was sent.",
    "follow_up": "A newer message took this reply's place before this was sent.",
    "killed": "An operator ended the reply at once.",
    "limit": "The reply had used up what it may send or keep.",
    "undelivered": "Discord refused a message, so there was nowhere left to send this.",
    "late": "It came after the outcome was decided.",
    "clean.line_end": "CR and CRLF are written as a line feed.",
    "clean.invisible": "An invisible character, which can hide things.",
    "clean.template": "A mark of the model's chat template that leaked.",
    "clean.system_leak": "A leaked instruction in brackets.",
    "clean.own_name": "The bot's own name as a label in front of the reply.",
    "clean.blank_lines": "One blank line is enough.",
    "clean.masked_link": "Rewritten so that the reader sees where a link leads.",
    "clean.mention": "Replaced by a real mention.",
    "clean.fence": "Written as Discord's own three backticks, or an empty fence at the end.",
    "clean.table": "Discord draws no tables; this one was redrawn.",
    "suppress_text_output": "This stream shows nothing on purpose; the text is in its result.",
    "cancelled": "The program around the stream was cancelled.",
    "closed": "The bot was shutting down.",
    "spans": "The ledger of this stream is full; only the counts went on.",
    "unknown": "The ledger does not say. That would be a fault: please report it with the trace.",
}

#: Reasons why a character that the model did not write is in the channel.
ADDITIONS: Mapping[str, str] = {
    "closer": "Closes formatting that would run into the next message.",
    "reopened": "Opens again what the message before had to close.",
    "header": "The head of a table, repeated because it was cut in two.",
    "fence": "Discord's own three backticks, in place of another fence.",
    "table": "Part of the drawing of a table.",
    "escape": "Keeps the end of earlier formatting from pairing with what is behind it.",
    "break": "A zero-width break, so that backticks inside code do not end it.",
    "reworded": "Put in by cleaning, by the prefill, or for a human touch.",
    "clean.line_end": "A line feed in place of a CR.",
    "clean.masked_link": "So that the reader sees where a link leads.",
    "clean.mention": "A real mention, from the map of names.",
}

#: Explanations of the places that need no further reason.
PLACES: Mapping[str, str] = {
    "message": "It is part of the reply.",
    "thought": "Kept as a thought; thoughts are never shown in the channel.",
    "details": "Kept as details, for memory; they are not shown in the channel.",
    "held": "Not decided yet: it waits for the characters that follow.",
    "growing": "Not final yet: this reply grows in place, and the channel may show this already.",
    "open": "Inside a block that is still open.",
    "future": "It had not come yet at this step.",
}


T = TypeVar("T")
Kind = Literal["message", "thought", "details", "suppressed", "kept", "held", "unlisted"]


@frozen(slots=True)
class Location:
    """The place of a run of characters."""

    kind: Kind
    """``kept``: nothing is shown on purpose; ``held``: not decided yet; ``unlisted``: the ledger
    of this stream is full."""
    index: int = 0
    """Zero-based index of the message, thought or details block."""
    offset: int = 0
    """Offset of the run's first character within it."""
    reason: str = ""
    """Why the run is suppressed, kept or unlisted."""


@frozen(slots=True)
class CharacterFate:
    """The outcome of the characters `start` to `end`: one place, one chunk, one state."""

    start: int
    end: int
    place: Location
    chunk: int
    """Zero-based index of the chunk that contained them."""
    state: str
    """The leaf state in which they were read; empty if they never were."""


@frozen(slots=True)
class MessageRun:
    """A run of one message's characters: their source offset, or why they were added."""

    offset: int
    size: int
    start: int
    """Source offset in the stream; `ADDED` if the characters are not from the stream."""
    reason: str = ""


@frozen(slots=True)
class AuditSnapshot:
    """A copy of everything `fates` needs, so that another thread may read it."""

    text: str
    reads: tuple[Read, ...]
    ends: tuple[int, ...]
    batches: tuple[FittedBatch, ...]
    blocks: tuple[Capture, ...]
    spans: tuple[DroppedSpan, ...]
    ended: bool
    keeps_all: bool
    """Whether nothing is shown at all: `suppress_text_output`."""

    @classmethod
    def of(cls, tracks: Tracks) -> AuditSnapshot:
        """Return a copy of the current records of a stream."""
        actions = tracks.stream.actions
        return cls(
            text=tracks.text,
            reads=tuple(tracks.reads),
            ends=tuple(tracks.ends),
            batches=tuple(tracks.batches),
            blocks=tuple(actions.captures.blocks),
            spans=tuple(actions.ledger.spans),
            ended=tracks.stream.ended,
            keeps_all=actions.config.suppress_text_output,
        )


def messages(batches: Iterable[FittedBatch]) -> list[list[MessageRun]]:
    """Return the source runs of every message that was handed out."""
    out: list[list[MessageRun]] = []
    for batch in batches:
        source = SourceIndex(batch.trail)
        for message in batch.fitted.messages[: batch.sent]:
            runs: list[MessageRun] = []
            at = 0
            for piece in message.pieces:
                if piece.start is None:
                    runs.append(MessageRun(at, len(piece.text), ADDED, piece.reason))
                    at += len(piece.text)
                    continue
                for start, size in source.cut(piece.start, len(piece.text)):
                    runs.append(MessageRun(at, size, start, "reworded" if start == ADDED else ""))
                    at += size
            out.append(runs)
    return out


def fates(audit: AuditSnapshot) -> list[CharacterFate]:
    """Return the outcome of every character, in order and without gaps."""
    size = len(audit.text)
    # A message handed out and then lost is also recorded as suppressed; that is later and wins.
    booked = _filled(sorted(_booked(audit), key=_start), size, None)
    given = _filled(sorted(_given(audit), key=_start), size, None)
    reads = _filled([(read.start, read.end, read.state) for read in audit.reads], size, "")
    chunks = _filled(list(_chunks(audit.ends)), size, max(len(audit.ends) - 1, 0))
    rest = _rest(audit)
    out: list[CharacterFate] = []
    at = next_booked = next_given = next_read = next_chunk = 0
    while at < size:
        low, booked_end, place = booked[next_booked]
        start, given_end, message = given[next_given]
        _, read_end, state = reads[next_read]
        _, chunk_end, chunk = chunks[next_chunk]
        end = min(booked_end, given_end, read_end, chunk_end)
        if place is None:
            low, place = (at, rest) if message is None else (start, message)
        out.append(CharacterFate(at, end, _moved(place, at - low), chunk, state))
        next_booked += end == booked_end
        next_given += end == given_end
        next_read += end == read_end
        next_chunk += end == chunk_end
        at = end
    return _joined(out)


def _joined(runs: Iterable[CharacterFate]) -> list[CharacterFate]:
    """Return *runs* with equivalent neighbours merged."""
    out: list[CharacterFate] = []
    for run in runs:
        last = out[-1] if out else run
        same = out and (last.chunk, last.state) == (run.chunk, run.state)
        if same and _moved(last.place, run.start - last.start) == run.place:
            out[-1] = CharacterFate(last.start, run.end, last.place, last.chunk, last.state)
            continue
        out.append(run)
    return out


def _start(run: tuple[int, int, Location | None]) -> int:
    return run[0]


def _moved(place: Location, by: int) -> Location:
    if by == 0 or place.kind in ("suppressed", "kept", "held", "unlisted"):
        return place
    return Location(place.kind, place.index, place.offset + by, place.reason)


def _rest(audit: AuditSnapshot) -> Location:
    if not audit.ended:
        return Location("held")
    if audit.keeps_all:
        return Location("kept", reason="suppress_text_output")
    return Location("unlisted", reason="spans" if len(audit.spans) >= SPANS_MAX else "unknown")


def _given(audit: AuditSnapshot) -> Iterator[tuple[int, int, Location | None]]:
    for index, runs in enumerate(messages(audit.batches)):
        for run in runs:
            if run.start != ADDED:
                yield run.start, run.start + run.size, Location("message", index, run.offset)


def _booked(audit: AuditSnapshot) -> Iterator[tuple[int, int, Location | None]]:
    counts = {"think": 0, "details": 0}
    for block in audit.blocks:
        index = counts[block.kind]
        counts[block.kind] += 1
        kind: Kind = "thought" if block.kind == "think" else "details"
        at = 0
        for start, size in block.trail:
            yield start, start + size, Location(kind, index, at)
            at += size
    for span in audit.spans:
        yield span.start, span.end, Location("suppressed", reason=span.reason)


def _chunks(ends: Sequence[int]) -> Iterator[tuple[int, int, int]]:
    at = 0
    for number, end in enumerate(ends):
        if end > at:
            yield at, end, number
            at = end


def _filled(runs: Sequence[tuple[int, int, T]], size: int, missing: T) -> list[tuple[int, int, T]]:
    """Return *runs* with gaps from 0 to *size* filled; they are sorted and do not overlap."""
    out: list[tuple[int, int, T]] = []
    at = 0
    for start, end, value in runs:
        if start > at:
            out.append((at, start, missing))
        if end > at:
            out.append((max(start, at), end, value))
            at = end
    if at < size:
        out.append((at, size, missing))
    return out
