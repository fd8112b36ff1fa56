"""The context passed to a tool, its progress reports, and the error it may raise on purpose."""

from __future__ import annotations

from collections.abc import Callable

from attrs import field, frozen

from minamo.core.chunks import Call, as_length
from minamo.core.redact import shorten
from minamo.shell.stops.registry import StopSignal

# Progress is one line, such as "Looking it up…"; Discord's own status lines have 128.
PROGRESS_CHARS_MAX = 200


class ToolError(Exception):
    """An error that a tool raises on purpose: its text is sent to the model.

    The text of any other exception is not sent, because it may hold private data.
    """


@frozen(slots=True)
class Progress:
    """A progress report of a running tool, for the users in the channel."""

    call: Call
    text: str = field(repr=as_length)


Show = Callable[[Progress], object]


@frozen(slots=True, kw_only=True)
class ToolContext:
    """Context passed to every parameter annotated with this type; hidden from the model."""

    call: Call
    user_id: int | None = None
    channel_id: int | None = None
    stop_signal: StopSignal = field(factory=StopSignal, repr=False)
    """Stop requests for this turn; a tool may read them and may put one."""
    show: Show | None = field(default=None, repr=False)

    def progress(self, text: str) -> None:
        """Report progress to the users in the channel, in a few words."""
        line = shorten(str(text), PROGRESS_CHARS_MAX, printable=False)
        if self.show is not None and line:
            self.show(Progress(self.call, line))
