"""The progress lines of one turn on their way to its channel: few, fresh, and gone with a stop.

A tool may say far more than a channel can show.  Of each call only the newest line waits, and a
line that waits is taken back when the turn is to end.
"""

from __future__ import annotations

from collections.abc import Callable

from attrs import define, field

from minamo.shell.delivery.interfaces import PlainMessage
from minamo.shell.delivery.queue import StreamQueue
from minamo.shell.turns.tool_context import Progress

# More lines of progress than this are no help to a reader, and push the conversation away.
LINES_MAX = 20


@define
class LatestLines:
    """A source for a lane: of each call, the newest line that was not sent yet."""

    left: int = LINES_MAX
    limited: bool = field(default=False, init=False)
    _lines: dict[int, str] = field(factory=dict, init=False, repr=False)

    @property
    def waiting(self) -> int:
        """How many characters wait."""
        return sum(map(len, self._lines.values()))

    def put(self, call: int, text: str) -> None:
        """Add a line in place of an older one of the same call."""
        if self.left > len(self._lines) or call in self._lines:
            self._lines.pop(call, None)  # the order is that of the newest
            self._lines[call] = text

    def take(self, most: int | None = None, room: int | None = None) -> list[PlainMessage]:
        """Return the lines that wait, or the first *most* of them."""
        most = room if most is None else most if room is None else min(most, room)
        taken = list(self._lines)[:most]
        self.left -= len(taken)
        return [PlainMessage(self._lines.pop(call)) for call in taken]

    def withdraw(self, reason: str) -> None:
        """Forget what waits."""
        del reason
        self._lines.clear()


@define(eq=False)
class ProgressLines:
    """Sends the lines of one turn, at most one message at a time."""

    _open: Callable[[LatestLines], StreamQueue] = field(repr=False)
    """Gets in line in the channel."""
    _source: LatestLines = field(factory=LatestLines, init=False)
    _dispatch: StreamQueue | None = field(default=None, init=False, repr=False)

    def show(self, progress: Progress, text: str) -> None:
        """Show *text*, which says *progress*, when the lane has time."""
        # A call is not hashable, and lives as long as the turn.
        self._source.put(id(progress.call), text)
        if not self._source.waiting:
            return
        if self._dispatch is None or not self._dispatch.busy:
            self._dispatch = self._open(self._source)
        self._dispatch.deliver()
        self._dispatch.close()

    def withdraw(self) -> None:
        """Take back what has not begun to be sent."""
        if self._dispatch is not None:
            self._dispatch.withdraw("stopped")
