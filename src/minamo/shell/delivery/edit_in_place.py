"""One reply that grows in place: what should stand in its messages against what does.

The driver says what the whole text is now, as often as it likes; the lane asks for one call at a
time and gets the one that is due then.  So the latest text wins, however slow the pace is, and
when nothing is due any more the channel shows exactly the last text that was said.

A long text is fitted by portions.  The messages of a portion are settled: they are not fitted
again while the text only grows, and the next portion waits until they stand.

A message that grew does not make its channel unread.  So the end may be *fresh*: the final text
as new messages, and when they are all there, the ones that grew are removed.
"""

from __future__ import annotations

from attrs import define, evolve, field, frozen

from minamo.core.accounting.pending import RenderedPrefix, Snapshot
from minamo.core.fitting.fit import Fitted, Message, fit_front, followed, truncate
from minamo.core.limits import MESSAGE_LENGTH
from minamo.core.stream import Stream
from minamo.shell.delivery.interfaces import Kind
from minamo.shell.delivery.receipts import Receipt


@frozen(slots=True)
class PageEdit:
    """One page as it should be; `target` is the message to change or remove."""

    text: str
    kind: Kind = "create"
    target: int = 0


@define
class PageSet:
    """The messages of one growing reply.  Pass `heard` as, or in, the dispatch's own."""

    limit: int = MESSAGE_LENGTH
    tables: str = "code"
    fresh: bool = False
    """At the end send the text anew, if it was ever changed in place, and remove what grew."""
    most: int = 0
    """The most messages it may take; 0: as many as it needs."""
    limited: bool = field(default=False, init=False)
    broken: str = field(default="", init=False)
    """Why no page is changed any more; empty if all is well."""
    _text: str = field(default="", init=False, repr=False)
    _fitted: str | None = field(default=None, init=False, repr=False)
    """The text, or so much of it as was fitted."""
    _made: Fitted = field(default=Fitted((), ()), init=False, repr=False)
    """That text fitted, without the messages that the limit cuts off."""
    _settled: tuple[str, Fitted] = field(default=("", Fitted((), ())), init=False, repr=False)
    """The text before the portion that is fitted anew when the text grows."""
    _cut_off: bool = field(default=True, init=False)
    """The text ends here, but the reply goes on or should have."""
    _wanted: tuple[str, ...] = field(default=(), init=False, repr=False)
    _shown: list[str] = field(factory=list, init=False, repr=False)
    _sound: list[str] = field(factory=list, init=False, repr=False)
    """The pages as they read when they last went together."""
    _out: PageEdit | None = field(default=None, init=False, repr=False)
    """The call that is out, or was last."""
    _doubtful: int = field(default=0, init=False, repr=False)
    """The message whose change failed."""
    _ids: list[int] = field(factory=list, init=False)
    _edited: bool = field(default=False, init=False)
    _ending: bool = field(default=False, init=False)
    _spare: list[int] = field(factory=list, init=False)
    """Messages to be removed when the pages stand."""
    stray: bool = field(default=False, init=False)
    """A page that nobody wants any more is on its way."""
    _grown: tuple[list[str], list[int]] | None = field(default=None, init=False, repr=False)
    """What stands while the fresh pages are being made."""

    def show(self, text: str) -> None:
        """The whole reply as it is now; tell the dispatch with `deliver`."""
        self._text = text

    def finish(self, *, cut_off: bool = False) -> None:
        """The text is final, or was *cut_off*; called when the dispatch is closed."""
        self._ending = True
        if self._cut_off != cut_off:
            self._cut_off, self._fitted = cut_off, None

    @property
    def ids(self) -> tuple[int, ...]:
        """The messages there are."""
        return tuple(self._ids)

    @property
    def reach(self) -> tuple[Fitted, int] | None:
        """What of the text last fitted stands when the call that is out arrives, and its end.

        None while fresh pages are being made, which may yet have to go, and while pages behind
        those still read as they did.
        """
        standing = 0
        for shown, wanted in zip(self._shown, self._wanted, strict=False):
            if shown != wanted:
                break
            standing += 1
        is_whole = standing == len(self._wanted) and bool(self._wanted or not self._shown)
        is_whole = is_whole and self._fitted == self._text
        if is_whole and not self.limited:
            return self._made, len(self._fitted or "")  # what fit dropped at the end is no loss
        if not is_whole and (self._grown is not None or standing < len(self._shown)):
            return None
        end = _end(self._made.messages[standing - 1]) if standing else 0
        return truncate(self._made, standing, end), end

    @property
    def waiting(self) -> int:
        """How many characters the next call would carry, as far as that is known."""
        if self._may_ask() and self._fitted != self._text:
            return 1  # fitting is not cheap, and this is asked on every chunk
        due = self._due()
        return 0 if due is None else max(len(due.text), 1)

    @property
    def kind(self) -> Kind:
        """What the next call will be."""
        due = self._due()
        return "create" if due is None else due.kind

    def take(self, most: int | None = None) -> list[PageEdit]:
        """The call that is due."""
        del most
        due = self._due()
        if due is None:
            return []
        if due.kind == "create":
            self._shown.append(due.text)
        elif due.kind == "edit":
            self._shown[self._ids.index(due.target)] = due.text
            self._edited = True
        elif due.target in self._spare:
            self._spare.remove(due.target)
        else:
            self._shown.pop()
            self._ids.pop()
        self._out = due
        return [due]

    def heard(self, receipt: Receipt) -> None:
        """Learn what became of the call."""
        if receipt.delivered and self._shown == list(self._wanted[: len(self._shown)]):
            self._sound = list(self._shown)
        if receipt.delivered and receipt.kind != "create":
            return
        if receipt.delivered and receipt.message_id is not None:
            (self._spare if self.stray else self._ids).append(receipt.message_id)
            self.stray = False
        elif self._grown is not None and receipt.kind == "create":
            self._grow_on()
        else:
            # Refused, or deleted by somebody: trying again would fail or annoy.
            self.broken = receipt.reason or "deleted"
            if self._out is not None and receipt.outcome != "not_sent":
                self._doubtful = self._out.target

    def withdraw(self, reason: str, *, remove: bool = False) -> None:
        """Leave everything as it stands, or *remove* it; what stands twice stands once again."""
        if remove:
            self.stray = len(self._shown) > len(self._ids)
            self._spare += self._ids
            self._shown, self._ids = [], []
        elif self._grown is not None and not self._is_complete():
            self.stray = len(self._shown) > len(self._ids)  # it is out, and comes too late
            self._grow_on()
        self.broken = self.broken or reason

    def _due(self) -> PageEdit | None:
        """What makes the first page right that does not read as it should."""
        if not self._may_ask():
            return self._mended() or self._spared() if self.broken else None
        wanted = self._pages()
        if self._ending and self.fresh and wanted:
            self._start_fresh(wanted)
        for number, text in enumerate(wanted):
            if number == len(self._shown):
                return PageEdit(text)
            if self._shown[number] != text:
                return PageEdit(text, "edit", self._ids[number])
        is_whole = self._fitted == self._text
        if is_whole and len(wanted) < len(self._shown) and (wanted or self._ending):
            # What looked like two pages with a block open can be one with the block closed; and
            # what looked like a reply can be a thought, or marks around nothing.
            return PageEdit("", "delete", self._ids[-1])
        return self._spared()

    def _mended(self) -> PageEdit | None:
        """Take back the change of a page that the ones behind it did not follow.

        Where a page ends moves with what comes after it: what one page has taken over still stands
        on the next until that is changed, too.
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

    def _start_fresh(self, wanted: tuple[str, ...]) -> None:
        """Make all pages anew; what grew stays until they stand."""
        self.fresh = False
        grew = self._edited or tuple(self._shown) != wanted[: len(self._shown)]
        if grew and self._ids:
            self._grown = self._shown, self._ids
            self._spare = list(self._ids)
            self._shown, self._ids = [], []

    def _grow_on(self) -> None:
        """A fresh page failed: what grew is brought up to date, and the fresh ones are removed."""
        assert self._grown is not None
        self._spare = list(self._ids)
        (self._shown, self._ids), self._grown = self._grown, None

    def _may_ask(self) -> bool:
        # A page that was asked for and not answered has no id: nothing is due before it has.
        return not self.broken and len(self._shown) == len(self._ids)

    def _is_complete(self) -> bool:
        """Whether the whole text was fitted, and there is a message for each page."""
        return self._fitted == self._text and len(self._ids) >= len(self._wanted)

    def _pages(self) -> tuple[str, ...]:
        # Fitted when asked for, not when said: of many texts between two calls only one counts.
        if self._fitted != self._text and not self._is_behind():
            fitted, end = self._fit()
            self.limited = bool(self.most) and len(fitted.messages) > self.most
            messages = fitted.messages[: self.most] if self.limited else fitted.messages
            self._made = evolve(fitted, messages=messages)
            self._wanted = tuple(message.text for message in messages)
            self._fitted = self._text if self.limited else self._text[:end]
        return self._wanted

    def _is_behind(self) -> bool:
        """Whether pages of the text that was fitted do not stand yet, and will stay as they are."""
        if self._fitted is None or self._fitted != self._settled[0]:
            return False
        return self._shown[: len(self._wanted)] != list(self._wanted)

    def _fit(self) -> tuple[Fitted, int]:
        """Fit the text from the last portion on; tell also how far."""
        if not self._text.startswith(self._settled[0]):
            self._settled = "", Fitted((), ())
        front, before = self._settled
        made, end = fit_front(
            self._text[len(front) :],
            limit=self.limit,
            tables=self.tables,
            carry=before.carry,
            cut_off=self._cut_off,
            mid_line=bool(front) and front[-1] != "\n",
        )
        end += len(front)
        fitted = followed(before, made, len(front))
        if end < len(self._text):
            self._settled = self._text[:end], fitted
        return fitted, end


def _end(message: Message) -> int:
    """Where in the text that was fitted the message ends."""
    ends = [one.start + len(one.text) for one in message.pieces if one.start is not None]
    return max(ends, default=0)


@define(eq=False)
class EditInPlace:
    """The source of a dispatch, instead of the outbox itself."""

    _stream: Stream = field(repr=False)
    pages: PageSet
    _is_stale: bool = field(default=False, init=False)
    _seen: int = field(default=0, init=False)
    """How much there was at the last look."""
    _look: Snapshot = field(default=Snapshot(()), init=False, repr=False)
    """What the pages were told last."""
    _out: RenderedPrefix | None = field(default=None, init=False, repr=False)
    """What stands if the call that is out arrives."""
    _stood: RenderedPrefix | None = field(default=None, init=False, repr=False)
    """What certainly stands."""
    _tried: RenderedPrefix | None = field(default=None, init=False, repr=False)
    """What a call would have shown that failed."""

    def __attrs_post_init__(self) -> None:
        self._stream.actions.outbox.grows = True

    def touch(self) -> None:
        """The stream has heard something; the dispatch is to be told with `deliver`."""
        self._is_stale = True

    @property
    def waiting(self) -> int:
        """How much is to be shown; putting it together waits until somebody asks for it."""
        if self._is_stale and not self.pages.broken:
            return max(self._size - self._seen, 1)
        return self.pages.waiting

    @property
    def _size(self) -> int:
        """How much there is by now."""
        return self._stream.actions.outbox.waiting + len(self._stream.actions.buffer)

    @property
    def limited(self) -> bool:
        """Whether the message limit cut something off, and the pages within it stand."""
        return self.pages.limited and not self.pages.waiting

    @property
    def kind(self) -> Kind:
        """What the next call will be."""
        self._look_again()
        return self.pages.kind

    def take(self, most: int | None = None) -> list[PageEdit]:
        """The call that is due."""
        self._look_again()
        due = self.pages.take(most)
        reach = self.pages.reach
        self._out = None if reach is None else RenderedPrefix(self._look, *reach)
        if not due and not self.pages.broken:
            self._arrive()  # it reads as it did, or nobody sees the difference
        return due

    def finish(self) -> None:
        """The text is final."""
        self.pages.finish(cut_off=self._stream.state != "completing")

    def withdraw(self, reason: str) -> None:
        """Leave everything as it stands, unless it is no part of the reply any more."""
        self._is_stale = False
        now = self._stream.actions.outbox.beginning
        shown = [one.look.beginning for one in (self._stood, self._out) if one is not None]
        self.pages.withdraw(reason, remove=bool(shown) and now not in shown)
        if self.pages.stray:
            self._out = None

    def heard(self, receipt: Receipt) -> None:
        """Learn what became of a call."""
        self.pages.heard(receipt)
        if receipt.outcome == "not_sent":
            return  # it may be of what was never taken, while a call is out
        if receipt.delivered:
            self._arrive()
        else:
            self._tried = self._out or self._tried
        self._out = None

    def settle(self) -> None:
        """Book what was shown, and what was not; when nothing more will be sent."""
        self._stream.settle_in_place(self._stood, self._tried)

    def _arrive(self) -> None:
        """What was out stands."""
        self._stood = self._out or self._stood

    def _look_again(self) -> None:
        if self._is_stale:
            self._is_stale = False
            self._seen = self._size
            self._look = self._stream.actions.outbox.look(self._stream.actions.buffer.pending)
            self.pages.show(self._look.text)
