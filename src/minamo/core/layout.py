"""A text with its cutting places, and what a message between two of them costs."""

from __future__ import annotations

import re
from array import array

from attrs import Factory, define

from minamo.core.enclosures import Enclosure
from minamo.core.limits import UTF16_MAX
from minamo.core.scan import Scan

# How good a cut is.  Ends of code lines come after prose: a fence that fits is kept whole.
ANYWHERE, SPACE, CODE_LINE, SENTENCE, LINE_END, PARAGRAPH = range(1, 7)

# Next to these a marker would be read as a longer one, or as escaped.
TOUCHY = frozenset("*_~|`\\")

_SPACES = re.compile(r"\s+")


@define(slots=True)
class Layout:
    """A text with its cutting places; positions are offsets in it."""

    text: str
    found: Scan
    limit: int
    kept: list[tuple[Enclosure, ...]]  # per stack, the enclosures that are reopened
    open_costs: list[int]  # per stack, the characters it takes to reopen it
    close_costs: list[int]
    verbatims: list[bool]  # per stack, whether it is code
    marks: list[bool]  # per stack, whether a quote in it marks its lines one by one
    hold: bytearray
    rank: bytearray = Factory(bytearray)
    starters: set[int] = Factory(set)
    units: array[int] | None = None  # UTF-16 units before each position, if that differs

    def enclosures(self, at: int) -> tuple[Enclosure, ...]:
        """What has to be closed and reopened around a cut at *at*."""
        return self.kept[self.found.inside[at]]

    def verbatim(self, at: int) -> bool:
        """Whether whitespace counts at *at*."""
        return self.verbatims[self.found.inside[at]]

    def marked(self, at: int) -> bool:
        """Whether *at* is in a quote whose lines are marked one by one."""
        return self.marks[self.found.inside[at]]

    def after(self, at: int) -> int:
        """Where the next message begins after a cut at *at*."""
        if at < len(self.text) and not self.verbatim(at):
            spaces = _SPACES.match(self.text, at)
            return spaces.end() if spaces else at
        return at

    def opening(self, at: int) -> int:
        """How many characters a message that begins at *at* may have to add in front."""
        added = self.open_costs[self.found.inside[at]]
        # A zero-width break may have to part what is added from the text.
        added += (at in self.starters) or (added > 0 and self.text[at : at + 1] in TOUCHY)
        if added and self.marked(at):
            # Code in a quote: the opener gets a quoted line of its own.  Else the mark of the
            # line, if the text has one here, is the opener.
            given = at in self.found.prefixes
            if self.verbatim(at):
                return added if given else added + 2
            return added - 2 if given else added
        return added

    def closing(self, at: int) -> int:
        """How many characters a message that ends at *at* may have to add behind."""
        added = self.close_costs[self.found.inside[at]]
        if not added:
            return 0
        if self.verbatim(at):
            line_end = self.text[at - 1] in "\r\n"
            return added - (line_end and self.enclosures(at)[-1].closer.startswith("\n"))
        return added + (self.text[at - 1] in TOUCHY)

    def unit(self, at: int) -> int:
        """UTF-16 units before *at*."""
        return self.units[at] if self.units else at

    def fits(self, start: int, end: int) -> bool:
        """Whether the text between two cuts fits one message."""
        added = self.opening(start) + self.closing(end)
        return (
            end - start + added <= self.limit
            and self.unit(end) - self.unit(start) + added <= UTF16_MAX
        )
