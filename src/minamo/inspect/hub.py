"""Connection between the bot and the live pages: recorders on one side, pages on the other.

The bot never waits for a page.  Each page has a bounded queue; a page that falls behind loses
its queue and gets a new snapshot.
"""

from __future__ import annotations

import secrets
import time
from collections import OrderedDict, deque
from collections.abc import Callable
from itertools import count
from typing import Any

import anyio
from attrs import define, field

from minamo.core.stream import Stream
from minamo.inspect.feed import Feed
from minamo.inspect.recorder import Recorder
from minamo.machine import TransitionRecord
from minamo.machine.machine import Observer

# Streams kept for inspection; each may hold a megabyte of text.
STREAMS_MAX = 32
# Queue limit of a page: some seconds of the busiest stream.
QUEUE_MAX = 4_000
# A snapshot includes the latest events for this many streams.
RECENT = 2
# States of one chart that a page can go back to.
LIT_MAX = 200
# Pages open on one bot at the same time; more is a mistake or misuse.
PAGES_MAX = 16

Json = dict[str, Any]


@define(eq=False)
class Page:
    """The event queue of one open page; call `take` after `wake` was called."""

    hub: Hub = field(repr=False)
    wake: Callable[[], object] = field(repr=False)
    behind: int = 0
    """Events that were dropped because the page was too slow."""
    _queue: deque[Json] = field(factory=deque, init=False, repr=False)
    _fresh: bool = field(default=True, init=False)  # the next `take` returns a snapshot

    def put(self, event: Json) -> None:
        """Queue an event; if the queue is full, drop it all and schedule a snapshot."""
        if self._fresh:
            return  # the pending snapshot will include this
        if len(self._queue) >= QUEUE_MAX:
            self.behind += len(self._queue)
            self._queue.clear()
            self._fresh = True
        else:
            self._queue.append(event)
        self.wake()

    def take(self) -> list[Json]:
        """Return the events since the last call; a snapshot if the page is new or was too slow."""
        if self._fresh:
            self._fresh = False
            self._queue.clear()
            return [self.hub.snapshot(behind=self.behind)]
        events = list(self._queue)
        self._queue.clear()
        return events


@define(eq=False)
class Hub:
    """Distributor of stream records and channel messages to the live pages.

    Args:
        recording: Record streams even while no page is open, so that they can be inspected later.
        clock: The clock of every `at`; defaults to the event loop's clock.
    """

    recording: bool = False
    clock: Callable[[], float] = field(default=anyio.current_time, repr=False)
    feed: Feed = field(factory=Feed, repr=False)
    dropped: int = field(default=0, init=False)
    """Streams discarded because there were more than `STREAMS_MAX`."""
    _recorders: OrderedDict[str, Recorder] = field(factory=OrderedDict, init=False, repr=False)
    _pages: list[Page] = field(factory=list, init=False, repr=False)
    _lit: dict[str, deque[Json]] = field(factory=dict, init=False, repr=False)
    _id: str = field(factory=lambda: secrets.token_hex(4), init=False, repr=False)
    _numbers: count[int] = field(factory=lambda: count(1), init=False, repr=False)

    def __attrs_post_init__(self) -> None:
        self.feed.tell = self.tell

    # For the bot.

    @property
    def watched(self) -> bool:
        """Whether a page shows what happens now; with `recording` one that is opened later does."""
        return self.recording or bool(self._pages)

    def open_stream(
        self, channel_id: int, stream: Stream, *, at: float | None = None
    ) -> Recorder | None:
        """Return a recorder for *stream*; None if not recording and no page is open.

        Call it before the stream gets its first event.
        """
        if not self.recording and not self._pages:
            return None
        number = str(next(self._numbers))
        began_at = self.clock() if at is None else at
        recorder = Recorder(number, int(channel_id), stream, began_at, self.tell, time.time())
        self._recorders[number] = recorder
        while len(self._recorders) > STREAMS_MAX:
            self._recorders.popitem(last=False)
            self.dropped += 1
        self.tell({"kind": "opened", **self._summary(recorder)})
        return recorder

    def observer(self, chart: str, channel_id: int | None = None) -> Observer:
        """Return an observer for machines of *chart*, so that the page highlights their state."""
        channel = None if channel_id is None else str(channel_id)
        history = self._lit.setdefault(chart, deque(maxlen=LIT_MAX))

        def taken(record: TransitionRecord) -> None:
            if record.row is None:
                return
            # Also without an open page: a page opened later shows these states, and can go back.
            lit: Json = {"chart": chart, "channel": channel, "event": record.event}
            lit |= {"source": record.source, "target": record.target, "row": record.row.index}
            history.append({**lit, "at": self.clock()})
            if self._pages:
                self.tell({"kind": "chart", **lit, "age": 0.0})

        return taken

    def tell(self, event: Json) -> None:
        """Queue *event* for every page."""
        for page in self._pages:
            page.put(event)

    # For pages.

    def join(self, wake: Callable[[], object]) -> Page | None:
        """Register a page; return None if `PAGES_MAX` are open."""
        if len(self._pages) >= PAGES_MAX:
            return None
        page = Page(self, wake)
        self._pages.append(page)
        return page

    def leave(self, page: Page) -> None:
        """Unregister a page."""
        self._pages.remove(page)

    def find(self, number: str) -> Recorder | None:
        """Return the recorder of stream *number*; None if unknown or discarded."""
        return self._recorders.get(number)

    def snapshot(self, *, behind: int = 0) -> Json:
        """Return the complete state that a page begins with."""
        records = list(self._recorders.values())
        recent = records[-RECENT:]
        return {
            "kind": "hello",
            "channels": self.feed.names_now(),
            "people": dict(self.feed.people),
            "messages": self.feed.snapshot(),
            "streams": [self._summary(record, with_latest=record in recent) for record in records],
            "lit": [
                {**lit, "age": self.clock() - lit["at"]}
                for history in self._lit.values()
                for lit in history
            ],
            "bot": self._id,
            "dropped": self.dropped,
            "behind": behind,
        }

    def _summary(self, recorder: Recorder, *, with_latest: bool = True) -> Json:
        return {
            **recorder.summary(with_latest=with_latest),
            "age": self.clock() - recorder.began_at,
            "channel_name": self.feed.names.get(str(recorder.channel_id)),
        }
