"""One reply that grows in place: what should stand in its messages against what does.

The driver says what the whole text is now, as often as it likes; the lane asks for one call at a
time and gets the one that is due then.  So the latest text wins, however slow the pace is, and
when nothing is due any more the channel shows exactly the last text that was said.
"""

from __future__ import annotations

from attrs import define, field, frozen

from minamo.core.fit import fit
from minamo.core.limits import MESSAGE_LENGTH
from minamo.shell.receipts import Receipt
from minamo.shell.sender import Kind


@frozen(slots=True)
class Change:
    """One page as it should be; `target` is the message to change or remove."""

    text: str
    kind: Kind = "create"
    target: int = 0


@define
class Pages:
    """The messages of one growing reply.  Pass `heard` as, or in, the dispatch's own."""

    limit: int = MESSAGE_LENGTH
    tables: str = "code"
    limited: bool = field(default=False, init=False)
    broken: str = field(default="", init=False)
    """Why no page is changed any more; empty if all is well."""
    _text: str = field(default="", init=False, repr=False)
    _fitted: str | None = field(default=None, init=False, repr=False)
    _wanted: tuple[str, ...] = field(default=(), init=False, repr=False)
    _shown: list[str] = field(factory=list, init=False, repr=False)
    _ids: list[int] = field(factory=list, init=False)

    def show(self, text: str) -> None:
        """The whole reply as it is now; tell the dispatch with `deliver`."""
        self._text = text

    @property
    def ids(self) -> tuple[int, ...]:
        """The messages there are."""
        return tuple(self._ids)

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

    def take(self, most: int | None = None) -> list[Change]:
        """The call that is due."""
        del most
        due = self._due()
        if due is None:
            return []
        if due.kind == "create":
            self._shown.append(due.text)
        elif due.kind == "edit":
            self._shown[self._ids.index(due.target)] = due.text
        else:
            self._shown.pop()
            self._ids.pop()
        return [due]

    def heard(self, receipt: Receipt) -> None:
        """Learn what became of the call."""
        if receipt.delivered and receipt.kind != "create":
            return
        if receipt.delivered and receipt.message_id is not None:
            self._ids.append(receipt.message_id)
        else:
            # Refused, or deleted by somebody: trying again would fail or annoy.
            self.broken = receipt.reason or "deleted"

    def withdraw(self, reason: str) -> None:
        """Leave everything as it stands."""
        self.broken = self.broken or reason

    def _due(self) -> Change | None:
        """What makes the first page right that does not read as it should."""
        if not self._may_ask():
            return None
        wanted = self._pages()
        for number, text in enumerate(wanted):
            if number == len(self._shown):
                return Change(text)
            if self._shown[number] != text:
                return Change(text, "edit", self._ids[number])
        if len(wanted) < len(self._shown) and wanted:
            # What looked like two pages with a block open can be one with the block closed.
            return Change("", "delete", self._ids[-1])
        return None

    def _may_ask(self) -> bool:
        # A page that was asked for and not answered has no id: nothing is due before it has.
        return not self.broken and len(self._shown) == len(self._ids)

    def _pages(self) -> tuple[str, ...]:
        # Fitted when asked for, not when said: of many texts between two calls only one counts.
        if self._fitted != self._text:
            fitted = fit(self._text, limit=self.limit, tables=self.tables)
            self._wanted = tuple(message.text for message in fitted.messages)
            self._fitted = self._text
        return self._wanted
