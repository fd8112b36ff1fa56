"""An outlet that takes everything at once: for the terminal, and for replies nobody is shown."""

from __future__ import annotations

from collections.abc import Callable

from minamo.core.stream import Stream
from minamo.shell.sending.receipts import Receipt


class Idle:
    """What an idle lane would do, without Discord."""

    __slots__ = ("_shown", "_stream")

    def __init__(self, stream: Stream, shown: Callable[[str], object] | None = None) -> None:
        self._stream = stream
        self._shown = shown
        stream.actions.idle_lane = self._take

    @property
    def held(self) -> int:
        """Nothing ever waits."""
        return 0

    async def room(self) -> None:
        """There always is."""

    def deliver(self) -> None:
        """The segment is gone already, unless the limit cut it off."""
        if self._stream.actions.outbox.limited:
            self._stream.limit_reached()

    def withdraw(self, reason: str) -> None:
        """Nothing waits."""

    def hurry(self) -> None:
        """Nobody pretends to type."""

    async def finish(self) -> tuple[Receipt, ...]:
        """Everything was answered for when it came."""
        return ()

    def give_up(self, reason: str) -> None:
        """Nothing is open."""

    def _take(self) -> None:
        messages = self._stream.actions.outbox.take_segment()
        self._stream.delivered(len(messages))
        if self._shown is not None:
            for message in messages:
                self._shown(message.text)
