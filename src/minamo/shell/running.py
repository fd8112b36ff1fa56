"""What runs in this process, and who asked for it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from attrs import define, field

from minamo.shell.stopping.stops import Stops
from minamo.shell.stopping.wishes import Wishes


class Asked(Protocol):
    """A reply that somebody asked for."""

    @property
    def stream_id(self) -> str:
        """What stops are addressed to."""

    @property
    def channel_id(self) -> int:
        """Where it is written."""

    @property
    def requester(self) -> str | None:
        """Who asked."""


@define(eq=False)
class Running:
    """The replies that are being written; each is in the registry of stops as long as it runs."""

    _stops: Stops = field(repr=False)
    _askers: dict[str, tuple[int, str | None]] = field(factory=dict, repr=False)

    @contextmanager
    def noted(self, reply: Asked, wishes: Wishes) -> Iterator[None]:
        """Make *reply* known until the block is left."""
        self._askers[reply.stream_id] = (reply.channel_id, reply.requester)
        try:
            with self._stops.register(reply.stream_id, reply.channel_id, wishes):
                yield
        finally:
            del self._askers[reply.stream_id]

    def asker(self, *, channel_id: int, stream_id: str | None) -> tuple[bool, str | None]:
        """Whether something runs there, and who asked for it."""
        if stream_id is not None:
            found = self._askers.get(stream_id)
            return (True, found[1]) if found is not None else (False, None)
        for place, asker in self._askers.values():
            if place == channel_id:
                return True, asker
        return False, None

    async def stop(self, *, channel_id: int, stream_id: str | None, requester: str) -> bool:
        """Stop it; whether it was reached."""
        if stream_id is not None:
            return bool(await self._stops.request_stop(stream_id=stream_id, requester=requester))
        return bool(await self._stops.request_stop(channel_id=channel_id, requester=requester))
