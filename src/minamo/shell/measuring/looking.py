"""What somebody who looks on needs: a recorder for each stream, an observer for each machine."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from minamo.core.stream import Stream
from minamo.machine.machine import Observer
from minamo.shell.callbacks import Guarded

_LOG = logging.getLogger("minamo.page")


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


class HarmlessLooker:
    """A looker whose failures are logged and change nothing."""

    __slots__ = ("_looker", "feed")

    def __init__(self, looker: Looker) -> None:
        self._looker = looker
        self.feed = _HarmlessFeed(looker)

    @property
    def watched(self) -> bool:
        """Whether anybody looks right now."""
        return self._looker.watched

    def open_stream(self, channel_id: int, stream: Stream) -> Recorder | None:
        """A recorder for a stream that begins; None if nobody wants one."""
        recorder = harmless(self._looker.open_stream)(channel_id, stream)
        return None if recorder is None else _HarmlessRecorder(recorder)  # type: ignore[arg-type]

    def observer(self, chart: str, channel_id: int | None = None) -> Observer:
        """Something to subscribe to machines of that chart."""
        found = harmless(self._looker.observer)(chart, channel_id)
        return harmless(found) if callable(found) else _nothing


def harmless_looker(looker: Looker | None) -> HarmlessLooker | None:
    """Return *looker*, if there is one, in a form whose failures change nothing."""
    if looker is None or isinstance(looker, HarmlessLooker):
        return looker
    return HarmlessLooker(looker)


class _HarmlessRecorder:
    __slots__ = ("happened",)

    def __init__(self, recorder: Recorder) -> None:
        self.happened = harmless(recorder.happened)


class _HarmlessFeed:
    __slots__ = ("gateway",)

    def __init__(self, looker: Looker) -> None:
        self.gateway = harmless(lambda name, data: looker.feed.gateway(name, data))


def _nothing(_: object) -> None:
    pass


def harmless(look: Callable[..., object]) -> Callable[..., object]:
    """Wrap *look* so that what it raises is logged once and changes nothing."""
    return Guarded(getattr(look, "__qualname__", "an observer"), look, _LOG)
