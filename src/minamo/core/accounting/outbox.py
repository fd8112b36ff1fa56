"""The outbox of a stream: cleans, humanises and fits pending segments at the moment of sending.

A lane that is behind takes several segments, which are fitted as one text; an idle lane takes them
one by one.  Both use this module, so text and order are the same either way.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

from attrs import define, field

from minamo.core.accounting.pending import (
    FittedBatch,
    PendingSegment,
    RenderedPrefix,
    Snapshot,
    merge_segments,
    spans_after,
)
from minamo.core.accounting.spans import (
    ADDED,
    DroppedSpan,
    Ledger,
    Rewritten,
    SourceIndex,
    SourceMap,
    TextSpan,
    Trail,
    inserted_spans,
    map_insertions,
    map_spans,
    split_source_map,
    unchanged,
)
from minamo.core.chunks import FileChunk
from minamo.core.cleaning.clean import clean
from minamo.core.cleaning.humanize import humanize
from minamo.core.config import HumanizerDegree, StreamConfig
from minamo.core.fitting.fit import NOTHING, Fitted, FittedMessage, OpenFormatting, fit_front
from minamo.core.lexing.segmenter import Run, Segment
from minamo.core.limits import FIT_MAX, FIT_SEGMENTS_MAX
from minamo.core.messages import Kind, MessageSource, OutgoingFile


@define
class Said:
    """Accumulated text as handed out: cleaned, whitespace between segments as written."""

    size: int = 0
    """Number of characters handed out."""
    texts: list[str] = field(factory=list)
    """The segments handed out."""
    _lost: list[tuple[int, int]] = field(factory=list)
    """Ranges that were not delivered."""

    @property
    def text(self) -> str:
        """The text that was delivered, or still may be."""
        text, at, kept = "".join(self.texts), 0, []
        for low, high in sorted(self._lost):
            kept.append(text[at:low])
            at = high
        return "".join([*kept, text[at:]]).strip()

    def add(self, text: str) -> tuple[int, int]:
        """Append a segment; return its offset and size."""
        start = self.size
        self.texts.append(text)
        self.size += len(text)
        return start, len(text)

    def lose(self, since: int, until: int) -> None:
        """Mark a range as not delivered."""
        self._lost.append((since, until))


def clean_segment(segment: Segment, config: StreamConfig, *, first: bool) -> PendingSegment:
    """Return the segment cleaned for fitting; *first*: no text precedes it."""
    made = clean(
        segment.text,
        off=config.clean_off,
        bot_name=config.bot_name,
        mentions=config.mentions,
        first=first,
        fence=segment.fence,
        torn=segment.torn,
        mid_line=segment.mid_line,
        uncensor_unicode_space=config.uncensor_unicode_space,
    )
    source = segment.trail
    added = inserted_spans(source) if config.prefill else []
    if made.untouched:
        return PendingSegment(segment, made, segment.text, source, added)
    trail, added = map_spans(source, made.pieces), map_insertions(added, made.pieces)
    return PendingSegment(segment, made, made.text, trail, added)


# A file among the pending segments counts as one character, which is never shown.
_FILE = Segment("\n", (Run(0, ADDED),))
# Its place in a reply that is edited in place.
_NO_TEXT = Segment("", (Run(0, 0),))
_BREAK = Rewritten((TextSpan("\n\n", None, "file"),))

#: Reasons for which the stream itself withdraws text.  A lane that closes has its own.
WITHDRAWN = frozenset({"stop", "follow_up", "killed", "limit"})


@define
class Outbox(MessageSource):
    """Segments pending delivery, and the messages made of them."""

    can_split: ClassVar[bool] = True
    config: StreamConfig
    ledger: Ledger
    watch: Callable[[FittedBatch], object] | None = None
    """Called with every batch; if None, no batch is kept."""
    count: int = 0
    """Messages handed out so far."""
    limited: bool = False
    """Whether the message limit was reached with text left over."""
    spoke: bool = False
    """Whether any segment had visible text."""
    kind: Kind = field(default="create", init=False)
    """The kind of the next call: a message is only ever created."""
    waiting: int = field(default=0, init=False)
    """Number of pending characters."""
    grows: bool = field(default=False, init=False)
    """Whether the reply is edited in place: all pending until `settle` gets what was shown."""
    beginning: int = field(default=0, init=False)
    """Number of times the text so far turned out to be no part of the reply."""
    files: list[FileChunk] = field(factory=list, init=False)
    """The files that were delivered."""
    after: list[FileChunk] = field(factory=list, init=False)
    """The files that follow the text of a reply that is edited in place."""
    _waiting: list[PendingSegment] = field(factory=list)
    _said: Said = field(factory=Said)
    _out: dict[int, SourceMap] = field(factory=dict)
    _files_out: dict[int, FileChunk] = field(factory=dict)
    """The files among the messages handed out."""
    _carry: OpenFormatting = NOTHING
    _rest: Segment | None = None
    """The segment that `take_rest` returned last."""
    _joined: int = 0
    """Number of the segments in `_joined_text`."""
    _joined_text: str = field(default="", repr=False)
    """The beginning of the pending text of an edit-in-place reply."""
    _taken_back: str = ""
    """Suppression reason for the undelivered tail of an edit-in-place reply."""

    @property
    def text(self) -> str:
        """The text handed out, cleaned, with the whitespace between segments as written."""
        return self._said.text

    def put(self, segment: Segment) -> None:
        """Queue a segment; it is cleaned at once and fitted when its turn comes."""
        pending = clean_segment(segment, self.config, first=not self.spoke)
        self._waiting.append(pending)
        self.waiting += len(segment.text)
        self.spoke = self.spoke or bool(pending.text.strip())
        if pending.cleaned.dropped and not self.grows:
            self._drop(segment.trail, pending.cleaned.dropped)

    def put_file(self, file: FileChunk) -> None:
        """Queue a file, behind the text before it."""
        self.spoke = True
        if self.grows:
            self.after.append(file)
            trail, added = [(ADDED, 2)], [(0, 2, "file")]
            self._waiting.append(PendingSegment(_NO_TEXT, _BREAK, _BREAK.text, trail, added))
        else:
            self._waiting.append(PendingSegment(_FILE, unchanged(""), "", [], [], file=file))
            self.waiting += len(_FILE.text)

    def snapshot(self, pending: Segment) -> Snapshot:
        """Return a snapshot of the pending text and *pending*; for an edit-in-place reply."""
        last = clean_segment(pending, self.config, first=not self.spoke)
        # All segments stay pending until `settle`, so those joined before are not joined again.
        self._joined_text += "".join([new.text for new in self._waiting[self._joined :]])
        self._joined = len(self._waiting)
        text = self._joined_text + last.text
        return Snapshot(text, self._waiting, self._joined, last, self.beginning)

    def take(self, most: int | None = None, room: int | None = None) -> list[FittedMessage]:
        """Return the messages of the pending text, or of its first *most* segments.

        An idle lane takes one segment at a time; one that is behind takes them all.  At most *room*
        messages are returned, and of a long text at most those that can be made at once; the
        remaining text stays pending.
        """
        waiting = self._first(most)
        if not waiting:
            return []
        if waiting[0].file is not None:
            return self._take_file(waiting[0].file)
        text, batch = self._say(waiting)
        if self.config.suppress_text_output:
            return []
        first, last = waiting[0].segment, waiting[-1].segment
        fitted, start = fit_front(
            text,
            room=room,
            limit=self.config.max_message_length,
            tables=self.config.tables,
            carry=self._carry,
            last=not last.torn,
            cut_off=last.cut_off,
            ahead=last.ahead,
            mid_line=first.mid_line,
            masked_links="masked_link" in self.config.clean_off,
        )
        if start < len(text):
            mid_line = text[start - 1] != "\n"
            marker = fitted.carry.fence.marker if fitted.carry.fence else ""
            rest = merge_segments(text[start:], marker, last, mid_line=mid_line)
            pieces = TextSpan(text[:start], 0), TextSpan(text[start:], start)
            batch, left = split_source_map(batch, [(piece,) for piece in pieces])
            self._put_back(rest, left)
        self._carry = fitted.carry
        return self._account(batch, fitted)

    def _take_file(self, file: FileChunk) -> list[FittedMessage]:
        if self.config.suppress_text_output:
            self.files.append(file)
            return []
        start, size = self._said.add("\n\n")  # a file is a paragraph of its own
        message = FittedMessage("", (), OutgoingFile(file.name, file.data))
        sent = self._account(SourceMap([], [], [], start, start + size), Fitted((message,), ()))
        if sent:
            self._files_out[self.count - 1] = file
        return sent

    def take_segment(self) -> list[FittedMessage]:
        """Return all messages of the first segment, however long it is; for an idle lane."""
        left = self.waiting - len(self._waiting[0].segment.text)
        messages = self.take(1)
        while self.waiting > left:
            messages += self.take(1)
        return messages

    def _first(self, most: int | None) -> list[PendingSegment]:
        """Remove and return the first *most* segments, or as many as are fitted at once."""
        count = size = 0
        for pending in self._waiting[:most]:
            size += len(pending.segment.text)
            if count and (size > FIT_MAX or pending.file is not None):
                break
            if count == FIT_SEGMENTS_MAX:
                break
            count += 1
            self.waiting -= len(pending.segment.text)
            if pending.file is not None:
                break
        first, self._waiting = self._waiting[:count], self._waiting[count:]
        return first

    def take_rest(self) -> str:
        """Return all pending text, cleaned and otherwise as written, to be sent as one message."""
        waiting = [pending for pending in self._waiting if pending.file is None]
        self._waiting = [pending for pending in self._waiting if pending.file is not None]
        self.waiting = sum(len(pending.segment.text) for pending in self._waiting)
        text, batch = self._say(waiting, plainly=True)
        if self.config.suppress_text_output:
            return ""
        if not text.strip():
            self._drop(batch.trail, [DroppedSpan(0, len(text), "blank")])
            return ""
        first, last = waiting[0].segment, waiting[-1].segment
        self._rest = merge_segments(text, first.fence, last, mid_line=first.mid_line)
        # The message limit may leave nothing of it.
        sent = self._account(batch, Fitted((FittedMessage(text, (TextSpan(text, 0),)),), ()))
        return sent[0].text if sent else ""

    def put_rest_back(self) -> None:
        """Queue the unsent text of the last `take_rest` again, to be fitted."""
        self.count -= 1
        given = self._out.pop(self.count)
        self.ledger.add(given.added, times=-1)
        assert self._rest is not None
        self._put_back(self._rest, given)

    def delivered(self, number: int | None = None) -> None:
        """Record delivery of message *number*, from 0; None: the first unacknowledged one."""
        if self._out:
            number = next(iter(self._out)) if number is None else number
            self._out.pop(number, None)
            if self._files_out and (file := self._files_out.pop(number, None)) is not None:
                self.files.append(file)

    def drop_file(self, index: int) -> None:
        """Note that message *index* goes without its file, which could not be attached."""
        self._files_out.pop(index, None)

    def lose(self, number: int, reason: str) -> None:
        """Suppress message *number*, which was handed out and not delivered."""
        self._files_out.pop(number, None)
        if (given := self._out.pop(number, None)) is not None:
            self.ledger.add(given.added, times=-1)
            self._forget(given, reason)

    def retract(self) -> None:
        """Record that the text of all snapshots is no part of the reply; none of it is pending."""
        self.beginning += 1

    def settle(self, shown: RenderedPrefix | None, tried: RenderedPrefix | None = None) -> bool:
        """Account for an edit-in-place reply: shown, tried but undelivered, and remaining text.

        Return whether text that would have been shown was withdrawn.
        """
        waiting, self._waiting, self.waiting = self._waiting, [], 0
        self._joined, self._joined_text = 0, ""
        size = reached = 0
        if shown is not None and shown.snapshot.beginning == self.beginning:
            size = reached = shown.size
            for trail, dropped in shown.dropped:
                self._drop(trail, dropped)
            _, batch = self._say(shown.front, plainly=True)
            if not self._account(batch, shown.portion.whole):
                self._said.lose(batch.since, batch.until)
        if tried is not None and tried.snapshot.beginning == self.beginning:
            reached = max(size, tried.size)
        self.ledger.suppress_trail(spans_after(waiting, size, reached), "undelivered")
        self.ledger.suppress_trail(spans_after(waiting, reached), self._taken_back or "undelivered")
        unsent = "".join([pending.segment.text for pending in waiting])[reached:]
        return self._taken_back in WITHDRAWN and bool(unsent.strip() or self.after)

    def withdraw(self, reason: str) -> bool:
        """Suppress all pending text; return whether any of it would have been shown.

        For an edit-in-place reply `settle` reports that: part of it is in the channel.
        """
        booked = reason if reason in WITHDRAWN else "undelivered"
        if self.grows:
            self._taken_back = self._taken_back or booked
            return False
        waiting, self._waiting, self.waiting = self._waiting, [], 0
        for pending in waiting:
            if pending.back is not None:
                self._forget(pending.back, booked)
            else:
                self._drop(pending.trail, [DroppedSpan(0, len(pending.text), booked)])
        return any(pending.file or pending.text.strip() for pending in waiting)

    def _put_back(self, segment: Segment, given: SourceMap) -> None:
        """Queue taken text again, in front of everything else."""
        shaped = unchanged(segment.text)
        self._waiting.insert(
            0, PendingSegment(segment, shaped, segment.text, given.trail, given.added, given)
        )
        self.waiting += len(segment.text)

    def _say(
        self, waiting: Sequence[PendingSegment], *, plainly: bool = False
    ) -> tuple[str, SourceMap]:
        """Record taken text, humanised unless *plainly*; return it and its source map."""
        first, last = (waiting[0].back, waiting[-1].back) if waiting else (None, None)
        since = self._said.size if first is None else first.since
        batch = SourceMap([], [], [], since)
        texts: list[str] = []
        size = 0
        for pending in waiting:
            texts.append(self._shape(pending, batch, size, plainly=plainly))
            size += len(texts[-1])
        text = "".join(texts)
        until = self._said.size if last is None else last.until
        return text, SourceMap(batch.trail, batch.said, batch.added, since, until)

    def _shape(self, segment: PendingSegment, batch: SourceMap, at: int, *, plainly: bool) -> str:
        """Record a segment and add it to *batch* at offset *at*; return its text."""
        text, back = segment.text, segment.back
        seed = self.config.humanize_seed + len(self._said.texts)
        said = [self._said.add(text)] if back is None else back.said
        if self.config.suppress_text_output:
            return text
        trail, added = segment.trail, segment.added
        humanizes = self.config.humanize and self.config.degree >= HumanizerDegree.HEAVY
        if humanizes and not plainly and back is None:
            made = humanize(text, seed, fence=segment.segment.fence)
            self._drop(trail, made.dropped)
            trail, said = map_spans(trail, made.pieces), map_spans(said, made.pieces)
            added, text = map_insertions(added, made.pieces), made.text
        batch.trail.extend(trail)
        batch.said.extend(said)
        for offset, size, reason in added:
            batch.added.append((at + offset, size, reason))
        return text

    def _account(self, batch: SourceMap, fitted: Fitted) -> list[FittedMessage]:
        messages = list(fitted.messages)
        held = split_source_map(batch, [message.pieces for message in messages])
        limit = self.config.send_message_limit
        if limit and self.count + len(messages) > limit:
            self.limited = True
            for given in held[limit - self.count :]:
                self._forget(given, "limit")
            messages = messages[: limit - self.count]
        self._drop(batch.trail, fitted.dropped)
        for given in held[: len(messages)]:
            self.ledger.add(given.added)
            self._out[self.count] = given
            self.count += 1
        if self.watch is not None:
            self.watch(FittedBatch(batch.trail, fitted, len(messages)))
        return messages

    def _forget(self, given: SourceMap, reason: str) -> None:
        """Suppress the text of a message that was not delivered."""
        self.ledger.suppress_trail(given.trail, reason)
        self._said.lose(given.since, given.until)

    def _drop(self, trail: Trail, dropped: Sequence[DroppedSpan]) -> None:
        if not dropped:
            return
        origin = SourceIndex(trail)
        for lost in dropped:
            self.ledger.suppress_trail(origin.cut(lost.start, lost.end - lost.start), lost.reason)
