"""What somebody who looks on needs: a recorder for each stream, an observer for each machine."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from minamo.core.stream import Stream
from minamo.machine.machine import Observer


class Recorder(Protocol):
    """Is told everything that happens to one stream."""

    def happened(self, at: float, event: str, payload: object = None) -> object:
        """Something happened."""


class Feed(Protocol):
    """Is told what happens in channels."""

    def gateway(self, name: str, data: Mapping[str, Any]) -> object:
        """An event of Discord's gateway, as it came."""


class Looker(Protocol):
    """Somebody who may look on; `minamo.inspect.hub.Hub` is one."""

    @property
    def watched(self) -> bool:
        """Whether anybody looks right now."""

    @property
    def feed(self) -> Feed:
        """What is told of channels."""

    def open_stream(self, channel_id: int, stream: Stream) -> Recorder | None:
        """A recorder for a stream that begins; None if nobody wants one."""

    def observer(self, chart: str, channel_id: int | None = None) -> Observer:
        """Something to subscribe to machines of that chart."""
