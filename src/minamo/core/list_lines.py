"""How far a code fence may be indented here: more than three blanks only inside a list.

CommonMark counts from where the text of the list item begins.  Models write such fences all the
time, below a numbered step; outside of lists as many blanks make a line that is no fence.
"""

from __future__ import annotations

import re

from minamo.core.limits import FENCE_INDENT_MAX, LIST_LEAD_MAX

_TAB = 4
OUTSIDE = 3
_ITEM = re.compile(r" *(?:[-*+]|\d{1,9}[.)])(?: {1,4}(?=\S)|\s*\Z)")


class ListLines:
    """A fold over the lines one sees; it keeps the beginning of the last until that is told."""

    __slots__ = ("_lead", "room")

    def __init__(self) -> None:
        self._lead: str | None = ""
        self.room = OUTSIDE
        """The indent of a fence at most."""

    def add(self, text: str) -> None:
        """Take text as it is shown, in pieces of any size."""
        lead = self._lead
        if lead is None:
            end = text.find("\n") + 1
            if not end:
                return
            lead, text = "", text[end:]
        *lines, last = text.split("\n")
        for line in lines:
            self._judge(lead + line)
            lead = ""
        lead += last
        if len(lead) > LIST_LEAD_MAX or lead[:1].isalpha():
            self._judge(lead)
            self._lead = None
        else:
            self._lead = lead

    def _judge(self, line: str) -> None:
        line = line[:LIST_LEAD_MAX].expandtabs(_TAB)
        item = _ITEM.match(line)
        if item is not None:
            self.room = min(item.end() + OUTSIDE, FENCE_INDENT_MAX)
        elif line and not line[0].isspace():
            self.room = OUTSIDE  # a paragraph of its own


def width(indent: str) -> int:
    """How many columns blanks and tabs take up."""
    return len(indent.expandtabs(_TAB))
