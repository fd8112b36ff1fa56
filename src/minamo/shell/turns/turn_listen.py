"""A pass without Discord: each message is given to a function.  For the terminal and for tests."""

from __future__ import annotations

from collections.abc import Callable

from attrs import field, frozen

from minamo.core.config import StreamConfig
from minamo.core.result import StreamResult
from minamo.core.stream import Stream
from minamo.shell.drive import Driver
from minamo.shell.idle import Idle
from minamo.shell.outlet import Source
from minamo.shell.stopping.wishes import Wishes


@frozen(slots=True)
class ListeningPass:
    """Streams a reply through the machine, as to a channel that takes every message at once."""

    shown: Callable[[str], object]
    wishes: Wishes = field(factory=Wishes)
    config: StreamConfig = field(factory=StreamConfig)

    async def __call__(self, source: Source, **_: bool) -> StreamResult:
        """Stream one reply; errors are in the result, and shown to nobody."""
        stream = Stream(self.config)
        await Driver(stream, wishes=self.wishes).run(source, Idle(stream, self.shown))
        return stream.result()
