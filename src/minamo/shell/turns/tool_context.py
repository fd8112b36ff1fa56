"""What a tool is given and may say besides its result."""

from __future__ import annotations

from collections.abc import Callable

from attrs import field, frozen

from minamo.core.chunks import Call, as_length
from minamo.core.redact import shorten
from minamo.shell.stops.requests import StopSignal

# Progress is a line under a name, such as "Looking it up…"; Discord's own status lines have 128.
PROGRESS_CHARS_MAX = 200


class ToolError(Exception):
    """Raised by a tool on purpose: the model is shown its text.

    The text of any other exception stays with you, because it may hold what is nobody's business.
    """


@frozen(slots=True)
class Progress:
    """What a running tool tells the people who wait."""

    call: Call
    text: str = field(repr=as_length)


Show = Callable[[Progress], object]


@frozen(slots=True, kw_only=True)
class ToolContext:
    """Given to every parameter annotated with it; the model does not see that parameter."""

    call: Call
    user_id: int | None = None
    channel_id: int | None = None
    wishes: StopSignal = field(factory=StopSignal, repr=False)
    """What people want of this turn; a tool may look, and may wish."""
    show: Show | None = field(default=None, repr=False)

    def progress(self, text: str) -> None:
        """Tell the people who wait what is going on, in a few words."""
        line = shorten(str(text), PROGRESS_CHARS_MAX, printable=False)
        if self.show is not None and line:
            self.show(Progress(self.call, line))
