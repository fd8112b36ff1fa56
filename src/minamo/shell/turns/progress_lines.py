"""Delivery of the tool progress lines of one turn to its channel.

A tool may report far more than a channel can show.  Only the newest line of each call is queued,
and queued lines are withdrawn when the turn is stopped.
"""

from __future__ import annotations

from collections.abc import Callable

from attrs import define, field

from minamo.core.messages import MessageSource
from minamo.shell.delivery.interfaces import PlainMessage
from minamo.shell.delivery.queue import StreamQueue
from minamo.shell.turns.tool_context import Progress

# More progress lines do not help a reader, and push the conversation off the screen.
LINES_MAX = 20


@define
class LatestLines(MessageSource):
    """A source for a lane: the newest unsent line of each call."""

    left: int = LINES_MAX
    _lines: dict[int, str] = field(factory=dict, init=False, repr=False)

    @property
    def waiting(self) -> int:
        """Number of queued characters."""
        return sum(map(len, self._lines.values()))

    def put(self, call: int, text: str) -> None:
        """Queue a line, replacing an older one of the same call."""
        if self.left > len(self._lines) or call in self._lines:
            self._lines.pop(call, None)  # ordered by the newest line
            self._lines[call] = text

    def take(self, most: int | None = None, room: int | None = None) -> list[PlainMessage]:
        """Remove and return the queued lines, at most *most* and *room* of them."""
        most = room if most is None else most if room is None else min(most, room)
        taken = list(self._lines)[:most]
        self.left -= len(taken)
        return [PlainMessage(self._lines.pop(call)) for call in taken]

    def withdraw(self, reason: str) -> None:
        """Discard the queued lines."""
        del reason
        self._lines.clear()


@define(eq=False)
class ProgressLines:
    """The sender of the progress lines of one turn, at most one message at a time."""

    _open: Callable[[LatestLines], StreamQueue] = field(repr=False)
    """Opens a queue in the channel's lane."""
    _source: LatestLines = field(factory=LatestLines, init=False)
    _dispatch: StreamQueue | None = field(default=None, init=False, repr=False)

    def show(self, progress: Progress, text: str) -> None:
        """Queue *text*, the rendered *progress*, and send it when the lane is free."""
        # Keyed by id: a call is not hashable, and lives as long as the turn.
        self._source.put(id(progress.call), text)
        if not self._source.waiting:
            return
        if self._dispatch is None or not self._dispatch.busy:
            self._dispatch = self._open(self._source)
        self._dispatch.deliver()
        self._dispatch.close()

    def withdraw(self) -> None:
        """Withdraw the lines whose sending has not begun."""
        if self._dispatch is not None:
            self._dispatch.withdraw("stopped")
