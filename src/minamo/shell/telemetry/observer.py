"""What somebody who looks on needs: a recorder for each stream, an observer for each machine."""

from __future__ import annotations

import logging
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from typing import Any, Protocol

from attrs import define, field

from minamo.core.stream import Stream
from minamo.errors import BadSetting
from minamo.machine.machine import Observer
from minamo.shell.callbacks import Guarded

_LOG = logging.getLogger("minamo.page")


class StreamRecorder(Protocol):
    """Is told everything that happens to one stream."""

    def happened(self, at: float, event: str, payload: object = None) -> object:
        """Something happened."""


class ChannelFeed(Protocol):
    """Is told what happens in channels."""

    def gateway(self, name: str, data: Mapping[str, Any]) -> object:
        """An event of Discord's gateway, as it came."""


class StreamInspector(Protocol):
    """Somebody who may look on; `minamo.inspect.hub.Hub` is one."""

    @property
    def watched(self) -> bool:
        """Whether anybody looks right now."""

    @property
    def feed(self) -> ChannelFeed:
        """What is told of channels."""

    def open_stream(self, channel_id: int, stream: Stream) -> StreamRecorder | None:
        """A recorder for a stream that begins; None if nobody wants one."""

    def observer(self, chart: str, channel_id: int | None = None) -> Observer:
        """Something to subscribe to machines of that chart."""


class HarmlessLooker:
    """A looker whose failures are logged and change nothing."""

    __slots__ = ("_looker", "feed")

    def __init__(self, looker: StreamInspector) -> None:
        self._looker = looker
        self.feed = _HarmlessFeed(looker)

    @property
    def watched(self) -> bool:
        """Whether anybody looks right now."""
        return self._looker.watched

    def open_stream(self, channel_id: int, stream: Stream) -> StreamRecorder | None:
        """A recorder for a stream that begins; None if nobody wants one."""
        recorder = harmless(self._looker.open_stream)(channel_id, stream)
        return None if recorder is None else _HarmlessRecorder(recorder)  # type: ignore[arg-type]

    def observer(self, chart: str, channel_id: int | None = None) -> Observer:
        """Something to subscribe to machines of that chart."""
        found = harmless(self._looker.observer)(chart, channel_id)
        return harmless(found) if callable(found) else _nothing


def harmless_looker(looker: StreamInspector | None) -> HarmlessLooker | None:
    """Return *looker*, if there is one, in a form whose failures change nothing."""
    if looker is None or isinstance(looker, HarmlessLooker):
        return looker
    return HarmlessLooker(looker)


class _HarmlessRecorder:
    __slots__ = ("happened",)

    def __init__(self, recorder: StreamRecorder) -> None:
        self.happened = harmless(recorder.happened)


class _HarmlessFeed:
    __slots__ = ("gateway",)

    def __init__(self, looker: StreamInspector) -> None:
        self.gateway = harmless(lambda name, data: looker.feed.gateway(name, data))


def _nothing(_: object) -> None:
    pass


def harmless(look: Callable[..., object]) -> Callable[..., object]:
    """Wrap *look* so that what it raises is logged once and changes nothing."""
    return Guarded(getattr(look, "__qualname__", "an observer"), look, _LOG)


@define(eq=False)
class Inspector:
    """Who looks on, and where."""

    looker: StreamInspector | None = None
    page: Callable[[], AbstractAsyncContextManager[Any]] | None = field(default=None, repr=False)
    """Serves the page; None if somebody else does, or nobody."""
    address: str | None = field(default=None, repr=False)


def inspector(wanted: bool | StreamInspector) -> Inspector:
    """Nobody; somebody who is there already; or, for True, a page of the client's own."""
    if not isinstance(wanted, bool):
        if not hasattr(wanted, "open_stream"):
            raise BadSetting(f"inspect must be True, False or a looker; it is {wanted!r}")
        return Inspector(HarmlessLooker(wanted))
    if not wanted:
        return Inspector()
    # Only who looks pays for it.
    from minamo.inspect.hub import Hub
    from minamo.inspect.server import serve

    hub = Hub()
    made = Inspector(HarmlessLooker(hub))

    @asynccontextmanager
    async def page() -> AsyncIterator[None]:
        async with serve(hub) as served:
            made.address = served.address
            _LOG.info("the live page is served on port %d, to this machine only", served.port)
            _show(served.address)
            try:
                yield
            finally:
                made.address = None

    made.page = page
    return made


def _show(address: str) -> None:
    """Write *address* to the terminal, if there is one.

    It holds the key, which is for people who sit at this machine and not for a log.
    """
    with suppress(OSError, ValueError):  # it was closed
        if sys.stderr is not None and sys.stderr.isatty():
            sys.stderr.write(f"the live page, for this machine only: {address}\n")
