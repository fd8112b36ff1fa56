"""Replies edited in place: the difference between the wanted pages and the pages shown.

The driver sets the whole current text as often as it likes; the lane takes one call at a time and
gets the one due at that moment.  So the latest text wins at any pace, and when no call is due the
channel shows exactly the last text set.

A long text is fitted in portions.  The messages of a portion are settled: they are not fitted
again while the text only grows, and the next portion waits until they are shown.  A reply that
turns out to be short is fitted once more as a whole when it is final.

An edit does not mark a channel as unread.  So a reply may end *fresh*: the final text is sent as
new messages, and once all of them exist, the edited ones are removed.

When the pages follow the text, and when they no longer do, is decided by statecharts/edit.yaml.
"""

from __future__ import annotations

from typing import cast
from weakref import proxy

from attrs import define, field, frozen

from minamo.core.accounting.pending import RenderedPrefix, Snapshot
from minamo.core.chunks import FileChunk
from minamo.core.fitting.fit import NO_TEXT, Portion, fit_front
from minamo.core.limits import FIT_MAX, MESSAGE_LENGTH
from minamo.core.messages import Kind, MessageSource, OutgoingFile, Receipt
from minamo.core.stream import Stream
from minamo.machine import Machine, compile, load
from minamo.machine.machine import Observer


@frozen(slots=True)
class PageEdit:
    """The wanted state of one page; `target` is the message to edit or delete."""

    text: str
    kind: Kind = "create"
    target: int = 0
    file: OutgoingFile | None = None


@define(eq=False)
class PageSet(MessageSource):
    """The messages of one reply edited in place.  Its `on_receipt` must get every receipt.

    The methods under "Guards" and "Actions" are those of the chart, which decides when they run.
    """

    limit: int = MESSAGE_LENGTH
    tables: str = "code"
    masked_links: bool = False
    """Whether masked links that cleaning left are not laid open."""
    fresh: bool = False
    """At the end, if any page was edited, send the text as new messages and delete the old ones."""
    most: int = 0
    """Maximum number of messages; 0 means no limit."""
    watch: Observer | None = field(default=None, repr=False)
    """Observer of the chart's transitions."""
    limited: bool = field(default=False, init=False)
    broken: str = field(default="", init=False)
    """Why pages are no longer edited; empty while they are."""
    _machine: Machine = field(init=False)
    _text: str = field(default="", init=False, repr=False)
    _fitted: str | None = field(default="", init=False, repr=False)
    """The part of the text that was fitted; None if it must be fitted again."""
    _made: Portion = field(default=NO_TEXT, init=False, repr=False)
    """The fitted form of `_fitted`, with the messages beyond the limit."""
    _settled: tuple[str, Portion] = field(default=("", NO_TEXT), init=False, repr=False)
    """The settled text and its messages; only the text after it is fitted again."""
    _cut_off: bool = field(default=True, init=False)
    """The text is incomplete: the reply continues, or was cut off."""
    _wanted: tuple[str, ...] = field(default=(), init=False, repr=False)
    _shown: list[str] = field(factory=list, init=False, repr=False)
    _sound: list[str] = field(factory=list, init=False, repr=False)
    """The page texts when they were last consistent with each other."""
    _out: PageEdit | None = field(default=None, init=False, repr=False)
    """The call in flight, or the last one."""
    _doubtful: int = field(default=0, init=False, repr=False)
    """The message whose edit failed."""
    _ids: list[int] = field(factory=list, init=False)
    _edits: int = field(default=0, init=False)
    _spare: list[int] = field(factory=list, init=False)
    """Messages to delete once all pages are shown."""
    _grown: tuple[list[str], list[int]] | None = field(default=None, init=False, repr=False)
    """Texts and ids of the edited messages while the fresh pages are being created."""

    def __attrs_post_init__(self) -> None:
        self._machine = Machine(TABLE, proxy(self), watch=self.watch)  # no reference cycle

    @property
    def state(self) -> str:
        """The current leaf state of the chart."""
        return self._machine.state

    @property
    def frozen(self) -> bool:
        """Whether the pages no longer follow the text."""
        return self._machine.state not in _LIVE

    @property
    def final(self) -> bool:
        """Whether the text is final and the pages follow it."""
        return self._machine.state in _ENDING

    def show(self, text: str) -> None:
        """Set the whole current text; the caller then calls the stream queue's `deliver`."""
        self._text = text

    def finish(self, *, cut_off: bool = False) -> None:
        """Mark the text as final, or as *cut_off*; called when the stream queue is closed."""
        self._machine.send("finished", cut_off)

    def settle(self) -> None:
        """Record that delivery is over."""
        self._machine.send("settled")

    @property
    def ids(self) -> tuple[int, ...]:
        """Ids of the existing messages."""
        return tuple(self._ids)

    @property
    def reach(self) -> tuple[Portion, int] | None:
        """The part of the fitted text shown once the call in flight succeeds, and its end offset.

        None while fresh pages are being created, which may still have to be deleted, and while
        later pages still show their previous text.
        """
        standing = self._standing()
        is_whole = standing == len(self._wanted) and bool(self._wanted or not self._shown)
        is_whole = is_whole and self._fitted == self._text
        if is_whole and not self.limited:
            return self._made, len(self._fitted or "")  # text dropped by fit is not lost
        if not is_whole and (self._grown is not None or standing < len(self._shown)):
            return None
        return self._made.first(standing)

    @property
    def waiting(self) -> int:
        """Characters the next call would carry, as far as known."""
        if self._fitted != self._text and not self.frozen and not self.page_out(None):
            return 1  # fitting is expensive, and this is read on every chunk
        due = self._due()
        return 0 if due is None else max(len(due.text), 1)

    @property
    def kind(self) -> Kind:
        """The kind of the next call."""
        due = self._due()
        return "create" if due is None else due.kind

    def take(self, most: int | None = None, room: int | None = None) -> list[PageEdit]:
        """Take and return the call that is due, or an empty list."""
        del most, room
        due = self._due()
        if due is None:
            return []
        if due.kind == "create":
            self._shown.append(due.text)
        elif due.kind == "edit":
            self._shown[self._ids.index(due.target)] = due.text
            self._edits += 1
        elif due.target in self._spare:
            self._spare.remove(due.target)
        else:
            self._shown.pop()
            self._ids.pop()
        self._out = due
        return [due]

    def on_receipt(self, receipt: Receipt) -> None:
        """Record the outcome of the call."""
        if receipt.kind == "create":
            made = receipt.delivered and receipt.message_id is not None
            self._machine.send("page_made" if made else "page_failed", receipt)
        else:
            self._machine.send("page_changed" if receipt.delivered else "change_failed", receipt)

    def withdraw(self, reason: str, *, remove: bool = False) -> None:
        """Stop editing and keep the messages, or *remove* them; duplicate pages are deleted."""
        self._machine.send("retracted" if remove else "withdrawn", reason)

    # Guards.

    def renews(self, _: object) -> bool:
        grew = bool(self._edits) or tuple(self._shown) != self._wanted[: len(self._shown)]
        return self.fresh and bool(self._wanted) and grew and bool(self._ids)

    def has_text(self, _: object) -> bool:
        return bool(self._wanted)

    def all_made(self, _: object) -> bool:
        return self._fitted == self._text and len(self._ids) >= len(self._wanted)

    def page_out(self, _: object) -> bool:
        # A page whose create call is in flight has no id yet.
        return len(self._shown) > len(self._ids)

    def whole(self, _: object) -> bool:
        return (
            self._fitted == self._text and not self.limited and self._wanted == tuple(self._shown)
        )

    # Actions.

    def note_end(self, cut_off: bool) -> None:
        if self._cut_off != cut_off or self._settled[0]:
            self._cut_off, self._fitted = cut_off, None

    def begin_anew(self, _: object) -> None:
        self._grown = self._shown, self._ids
        self._spare = list(self._ids)
        self._shown, self._ids = [], []

    def go_back(self, _: object) -> None:
        assert self._grown is not None
        self._spare = list(self._ids)
        (self._shown, self._ids), self._grown = self._grown, None

    def keep_page(self, receipt: Receipt) -> None:
        self._ids.append(cast(int, receipt.message_id))

    def drop_page(self, receipt: Receipt) -> None:
        self._spare.append(cast(int, receipt.message_id))

    def drop_pages(self, _: object) -> None:
        self._spare += self._ids
        self._shown, self._ids = [], []

    def note_texts(self, _: object) -> None:
        if self._shown == list(self._wanted[: len(self._shown)]):
            self._sound = list(self._shown)

    def note_reason(self, reason: str) -> None:
        self.broken = reason

    def note_failure(self, receipt: Receipt) -> None:
        self.broken = receipt.reason or "deleted"
        if self._out is not None and receipt.outcome != "not_sent":
            self._doubtful = self._out.target

    # The next call.

    def _due(self) -> PageEdit | None:
        """Return the call that corrects the first page with a wrong text, or None."""
        if self.frozen:
            return self._mended() or self._spared()
        if self.page_out(None):
            return None
        wanted = self._pages()
        self._machine.send("asked")
        number = self._standing()
        if number < len(wanted):
            if number == len(self._shown):
                return PageEdit(wanted[number])
            return PageEdit(wanted[number], "edit", self._ids[number])
        is_whole = self._fitted == self._text
        is_final = self._machine.state != "growing"
        if is_whole and len(wanted) < len(self._shown) and (wanted or is_final):
            # Two pages with an open block can become one when the block is closed; and the start of
            # a reply can turn out to be a thought, or marks around nothing.
            return PageEdit("", "delete", self._ids[-1])
        return self._spared()

    def _standing(self) -> int:
        """Return how many pages show their wanted text, up to the first that does not."""
        count = min(len(self._shown), len(self._wanted))
        # Usually only the last one differs, and all others are compared at once.
        at = max(count - 1, 0)
        if self._shown[:at] == list(self._wanted[:at]):
            self._shown[:at] = self._wanted[:at]  # the same objects: the next comparison is short
        else:
            at = 0
        while at < count and self._shown[at] == self._wanted[at]:
            at += 1
        return at

    def _mended(self) -> PageEdit | None:
        """Return the edit that reverts a page whose following pages were not updated, or None.

        The end of a page moves with the text after it: text that moved to one page is also on the
        next until that is edited, too.
        """
        together = len(self._ids) == len(self._shown) == len(self._sound)
        if not together or self._shown[:-1] == self._sound[:-1]:
            return None
        for shown, sound, target in zip(self._shown, self._sound, self._ids, strict=True):
            if shown != sound and target != self._doubtful:
                return PageEdit(sound, "edit", target)
        return None

    def _spared(self) -> PageEdit | None:
        return PageEdit("", "delete", self._spare[0]) if self._spare else None

    def _pages(self) -> tuple[str, ...]:
        # Fitted on demand, not in `show`: of many texts between two calls only the last counts.
        if self._fitted != self._text and not self._is_behind():
            self._made, end = self._fit()
            self.limited = bool(self.most) and len(self._made.texts) > self.most
            self._wanted = self._made.texts[: self.most] if self.limited else self._made.texts
            self._fitted = self._text if self.limited else self._text[:end]
        return self._wanted

    def _is_behind(self) -> bool:
        """Return whether settled pages are not all shown yet."""
        if self._fitted is None or self._fitted != self._settled[0]:
            return False
        return self._shown[: len(self._wanted)] != list(self._wanted)

    def _fit(self) -> tuple[Portion, int]:
        """Fit the text after the settled portions; return the result and its end offset."""
        is_short = self.final and len(self._text) <= FIT_MAX
        if is_short or not self._text.startswith(self._settled[0]):
            self._settled = "", NO_TEXT
        front, before = self._settled
        made, end = fit_front(
            self._text[len(front) :],
            limit=self.limit,
            tables=self.tables,
            carry=before.fitted.carry,
            cut_off=self._cut_off,
            mid_line=bool(front) and front[-1] != "\n",
            masked_links=self.masked_links,
            grows=not self.final,
        )
        end += len(front)
        portion = Portion(made, len(front), before)
        if end < len(self._text):
            self._settled = self._text[:end], portion
        return portion, end


CHART = load("edit")
TABLE = compile(CHART, PageSet)
_LIVE, _ENDING = (
    {leaf.id for leaf in CHART.leaves if CHART.states[name] in CHART.lineage(leaf.id)}
    for name in ("live", "ending")
)


@define(eq=False)
class EditInPlace(MessageSource):
    """The message source of a stream queue for a reply edited in place, instead of the outbox."""

    _stream: Stream = field(repr=False)
    pages: PageSet
    _is_stale: bool = field(default=False, init=False)
    _seen: tuple[int, int] | None = field(default=(0, 0), init=False)
    """The value of `_visible` at the last snapshot; None if a snapshot is due in any case."""
    _snapshot: Snapshot | None = field(default=None, init=False, repr=False)
    """The snapshot last passed to the pages."""
    _out: RenderedPrefix | None = field(default=None, init=False, repr=False)
    """The prefix shown if the call in flight succeeds."""
    _shown: RenderedPrefix | None = field(default=None, init=False, repr=False)
    """The prefix known to be shown."""
    _tried: RenderedPrefix | None = field(default=None, init=False, repr=False)
    """The prefix that a failed call would have shown."""
    _sent: int = field(default=0, init=False)
    """Number of files sent."""
    _file: FileChunk | None = field(default=None, init=False, repr=False)
    """The file whose call is in flight: the files of a reply follow its text."""

    def __attrs_post_init__(self) -> None:
        self._stream.actions.outbox.grows = True

    def touch(self) -> None:
        """Mark the snapshot as stale; the caller then calls the stream queue's `deliver`."""
        self._is_stale = True

    @property
    def waiting(self) -> int:
        """Characters to be shown; the text itself is assembled only in `kind` and `take`.

        None while the model thinks: an attempt to send would use up a permit for nothing.
        """
        if self._is_stale and not self.pages.frozen and self._visible != self._seen:
            return max(self._visible[1] - (self._seen or (0, 0))[1], 1)
        return self.pages.waiting or (len(self._files) if self.pages.final else 0)

    @property
    def _files(self) -> list[FileChunk]:
        """The files that follow the text."""
        return self._stream.actions.outbox.after

    @property
    def _visible(self) -> tuple[int, int]:
        """The outbox's `beginning`, and the characters in outbox and buffer."""
        outbox = self._stream.actions.outbox
        return outbox.beginning, outbox.waiting + len(self._stream.actions.buffer)

    @property
    def limited(self) -> bool:
        """Whether the message limit cut text off and the pages within it are shown."""
        limit = self._stream.actions.config.send_message_limit
        is_full = self.pages.final and bool(limit) and len(self.pages.ids) + self._sent >= limit
        return (self.pages.limited or (is_full and bool(self._files))) and not self.pages.waiting

    @property
    def kind(self) -> Kind:
        """The kind of the next call."""
        self._refresh()
        return self.pages.kind

    def take(self, most: int | None = None, room: int | None = None) -> list[PageEdit]:
        """Take and return the call that is due, or an empty list."""
        self._refresh()
        if self.pages.final and self._files and not self.pages.waiting:
            if self.limited:
                return []
            self._sent += 1
            self._file = self._files.pop(0)
            return [PageEdit("", file=OutgoingFile(self._file.name, self._file.data))]
        due = self.pages.take(most, room)
        reach = self.pages.reach
        snapshot = self._snapshot
        self._out = RenderedPrefix(snapshot, *reach) if snapshot and reach else None
        if not due and not self.pages.frozen:
            self._arrive()  # the pages are unchanged, or the difference is invisible
        return due

    def finish(self) -> None:
        """Mark the text as final, or as cut off if the stream is not completing."""
        self._seen = None  # the last segment is cleaned in another way than an incomplete one
        self.pages.finish(cut_off=self._stream.state != "completing")

    def withdraw(self, reason: str) -> None:
        """Stop editing; delete the messages if their text is no longer part of the reply."""
        self._is_stale = False
        now = self._stream.actions.outbox.beginning
        shown = [
            prefix.snapshot.beginning for prefix in (self._shown, self._out) if prefix is not None
        ]
        self.pages.withdraw(reason, remove=bool(shown) and now not in shown)
        if self.pages.state == "recalling":
            self._out = None

    def on_receipt(self, receipt: Receipt) -> None:
        """Record the outcome of a call."""
        if self._file is not None:
            if receipt.delivered and receipt.file:
                self._stream.actions.outbox.files.append(self._file)
            self._file = None
            return
        self.pages.on_receipt(receipt)
        if receipt.outcome == "not_sent":
            return  # may concern text never taken, while a call is in flight
        if receipt.delivered:
            self._arrive()
        else:
            self._tried = self._out or self._tried
        self._out = None

    def settle(self) -> None:
        """Record which text was shown and which was not; call it when sending is over."""
        self.pages.settle()
        self._stream.settle_in_place(self._shown, self._tried)

    def _arrive(self) -> None:
        """Record that the prefix of the call in flight is shown."""
        self._shown = self._out or self._shown

    def _refresh(self) -> None:
        if self._is_stale:
            self._is_stale = False
            self._seen = self._visible
            self._snapshot = self._stream.actions.outbox.snapshot(
                self._stream.actions.buffer.pending
            )
            self.pages.show(self._snapshot.text)
