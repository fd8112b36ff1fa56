"""A stream whose reply grows in place: what the lane is to show is what the stream holds now.

Segments wait in the outbox until the end; what stands in the channel meanwhile is a look at them
with the text that is not complete yet.  When nothing more will be sent, the look that is known to
have arrived is booked as said, and the rest as for any other reply.
"""

from __future__ import annotations

from attrs import define, field

from minamo.core.looks import Look, Stood
from minamo.core.stream import Stream
from minamo.shell.sending.editing import Change, Pages
from minamo.shell.sending.receipts import Receipt
from minamo.shell.sending.sender import Kind


@define(eq=False)
class Growing:
    """The source of a dispatch, instead of the outbox itself."""

    _stream: Stream = field(repr=False)
    pages: Pages
    _is_stale: bool = field(default=False, init=False)
    _seen: int = field(default=0, init=False)
    """How much there was at the last look."""
    _look: Look = field(default=Look(()), init=False, repr=False)
    """What the pages were told last."""
    _out: Stood | None = field(default=None, init=False, repr=False)
    """What stands if the call that is out arrives."""
    _stood: Stood | None = field(default=None, init=False, repr=False)
    """What certainly stands."""
    _tried: Stood | None = field(default=None, init=False, repr=False)
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

    def take(self, most: int | None = None) -> list[Change]:
        """The call that is due."""
        self._look_again()
        due = self.pages.take(most)
        reach = self.pages.reach
        self._out = None if reach is None else Stood(self._look, *reach)
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
