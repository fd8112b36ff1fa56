"""A stream whose reply grows in place: what the lane is to show is what the stream holds now.

Segments wait in the outbox until the end; what stands in the channel meanwhile is a preview of
them with the text that is not complete yet.  At the end they are fitted as one text, which is what
the messages then say, so the books are those of any other reply.
"""

from __future__ import annotations

from attrs import define, field

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
    _sure: int = field(default=0, init=False)
    """How many characters certainly stand in the channel."""

    def touch(self) -> None:
        """The stream has heard something; the dispatch is to be told with `deliver`."""
        self._is_stale = True

    @property
    def waiting(self) -> int:
        """How much is to be shown; putting it together waits until somebody asks for it."""
        if self._is_stale and not self.pages.broken:
            return 1
        return self.pages.waiting

    @property
    def limited(self) -> bool:
        """Whether the message limit cut something off."""
        return self.pages.limited

    @property
    def kind(self) -> Kind:
        """What the next call will be."""
        self._look()
        return self.pages.kind

    def take(self, most: int | None = None) -> list[Change]:
        """The call that is due."""
        self._look()
        due = self.pages.take(most)
        # A call that is out cannot be taken back: what it says counts as said.
        self._stream.actions.outbox.shown = self.pages.reach
        return due

    def finish(self) -> None:
        """The text is final."""
        self.pages.finish()

    def withdraw(self, reason: str) -> None:
        """Leave everything as it stands."""
        self._is_stale = False
        self.pages.withdraw(reason)

    def heard(self, receipt: Receipt) -> None:
        """Learn what became of a call."""
        self.pages.heard(receipt)
        if receipt.delivered:
            self._sure = self._stream.actions.outbox.shown
        else:
            self._stream.actions.outbox.shown = self._sure

    def settle(self) -> None:
        """Book what was shown, and what was not; when nothing more will be sent."""
        outbox = self._stream.actions.outbox
        if self.pages.broken:
            outbox.withdraw("undelivered")
        else:
            outbox.keep()

    def _look(self) -> None:
        if self._is_stale:
            self._is_stale = False
            pending, fence = self._stream.actions.buffer.pending
            self.pages.show(self._stream.actions.outbox.preview(pending, fence=fence))
