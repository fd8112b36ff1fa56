"""The interfaces of stream inspectors, wrappers that contain their failures, and `inspect=`.

An inspector provides a recorder for each stream and an observer for each machine.  It must not
affect what it inspects.
"""

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
    """A recorder of every event of one stream."""

    def happened(self, at: float, event: str, payload: object = None) -> object:
        """Record an event that occurred at time *at*."""


class ChannelFeed(Protocol):
    """A receiver of channel events."""

    def gateway(self, name: str, data: Mapping[str, Any]) -> object:
        """Handle an unmodified event of Discord's gateway."""


class StreamInspector(Protocol):
    """An observer of streams and channels, such as `minamo.inspect.hub.Hub`."""

    @property
    def watched(self) -> bool:
        """Whether channel events are wanted right now."""

    @property
    def feed(self) -> ChannelFeed:
        """The receiver of channel events."""

    def open_stream(self, channel_id: int, stream: Stream) -> StreamRecorder | None:
        """Return a recorder for a stream that begins; None if it is not to be recorded."""

    def observer(self, chart: str, channel_id: int | None = None) -> Observer:
        """Return an observer to subscribe to machines of *chart*."""


class GuardedInspector:
    """A wrapper around an inspector: its exceptions are logged and do not propagate."""

    __slots__ = ("_inspector", "feed")

    def __init__(self, inspector: StreamInspector) -> None:
        self._inspector = inspector
        self.feed: _GuardedFeed = _GuardedFeed(inspector)

    @property
    def watched(self) -> bool:
        """Whether channel events are wanted right now."""
        return self._inspector.watched

    def open_stream(self, channel_id: int, stream: Stream) -> StreamRecorder | None:
        """Return a recorder for a stream that begins; None if it is not to be recorded."""
        recorder = guarded(self._inspector.open_stream)(channel_id, stream)
        return None if recorder is None else _GuardedRecorder(recorder)  # type: ignore[arg-type]

    def observer(self, chart: str, channel_id: int | None = None) -> Observer:
        """Return an observer to subscribe to machines of *chart*."""
        found = guarded(self._inspector.observer)(chart, channel_id)
        return guarded(found) if callable(found) else _nothing


def guarded_inspector(inspector: StreamInspector | None) -> GuardedInspector | None:
    """Return *inspector* wrapped in `GuardedInspector`; None stays None."""
    if inspector is None or isinstance(inspector, GuardedInspector):
        return inspector
    return GuardedInspector(inspector)


class _GuardedRecorder:
    __slots__ = ("happened",)

    def __init__(self, recorder: StreamRecorder) -> None:
        self.happened = guarded(recorder.happened)


class _GuardedFeed:
    __slots__ = ("gateway",)

    def __init__(self, inspector: StreamInspector) -> None:
        self.gateway: Callable[..., object] = guarded(
            lambda name, data: inspector.feed.gateway(name, data)
        )


def _nothing(_: object) -> None:
    pass


def guarded(look: Callable[..., object]) -> Callable[..., object]:
    """Wrap *look* so that its exceptions are logged once and do not propagate."""
    return Guarded(getattr(look, "__qualname__", "an observer"), look, _LOG)


@define(eq=False)
class InspectSetting:
    """The resolved `inspect=` setting: the inspector, and its page if minamo serves one."""

    inspector: StreamInspector | None = None
    page: Callable[[], AbstractAsyncContextManager[Any]] | None = field(default=None, repr=False)
    """Serves the page; None if there is no page or the caller serves it."""
    address: str | None = field(default=None, repr=False)


def resolve_inspect(wanted: bool | StreamInspector) -> InspectSetting:
    """Resolve `inspect=`: False disables it, True serves a page, an object is used as is."""
    if not isinstance(wanted, bool):
        if not hasattr(wanted, "open_stream"):
            raise BadSetting(
                f"inspect must be True, False or an inspector, such as Hub(); it is {wanted!r}"
            )
        return InspectSetting(GuardedInspector(wanted))
    if not wanted:
        return InspectSetting()
    # Imported lazily: only users of the page pay for it.
    from minamo.inspect.hub import Hub
    from minamo.inspect.server import serve

    hub = Hub(recording=True)  # a page that is opened later shows the replies before it too
    made = InspectSetting(GuardedInspector(hub))

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

    It contains the key, which is for users at this machine and must not be logged.
    """
    with suppress(OSError, ValueError):  # stderr was closed
        if sys.stderr is not None and sys.stderr.isatty():
            sys.stderr.write(f"the live page, for this machine only: {address}\n")
