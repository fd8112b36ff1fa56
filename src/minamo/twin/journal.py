"""The journal: requests and gateway payloads in order, with times and without secrets."""

from __future__ import annotations

import asyncio
import re
from collections import deque
from collections.abc import Callable
from typing import Any

from attrs import define, field

from minamo.twin.faults import close

# Enough for the longest soak test; the oldest entries are dropped first.
_ENTRIES_MAX = 200_000
HIDDEN = "***"
_SECRET_KEYS = frozenset({"token", "Authorization"})
_WEBHOOK_URL = re.compile(r"(/webhooks/\d+/)[\w-]+")


@define(eq=False)
class RequestEntry:
    """One REST call and its answer."""

    at: float
    method: str
    route: str  # the pattern, as "/channels/{channel}/messages"
    path: str
    params: dict[str, str] = field(factory=dict)
    query: dict[str, str] = field(factory=dict)
    body: Any = None
    files: list[str] = field(factory=list)
    status: int | None = None  # None: no answer was given, or none yet
    answer: Any = None
    headers: dict[str, str] = field(factory=dict)
    fault: str | None = None
    took_s: float | None = None  # None: it is not over

    @property
    def is_over(self) -> bool:
        """Whether the request was answered, or will never be."""
        return self.took_s is not None

    @property
    def outcome(self) -> str:
        """The status of the answer, or why there is none."""
        return str(self.status or ("no answer" if self.is_over else "no answer yet"))

    @property
    def name(self) -> str:
        """Method and pattern, the name that faults and queries use."""
        return f"{self.method} {self.route}"

    @property
    def channel(self) -> int | None:
        """The channel id in the path, if any."""
        found = self.params.get("channel")
        return int(found) if found and found.isdigit() else None

    @property
    def scope(self) -> str | None:
        """The scope of the limit that caused a 429."""
        return self.headers.get("X-RateLimit-Scope")


@define(eq=False)
class GatewayEntry:
    """One gateway payload; `sent` is true for the twin's own, false for the bot's."""

    at: float
    name: str
    data: Any = None
    sent: bool = True


@define(eq=False)
class Journal:
    """The recorded requests and gateway events, with queries."""

    now: Callable[[], float]
    #: The supported routes: a query for another is an error, not an empty result.
    known: frozenset[str] = frozenset()
    requests_made: deque[RequestEntry] = field(factory=lambda: deque(maxlen=_ENTRIES_MAX))
    events_seen: deque[GatewayEntry] = field(factory=lambda: deque(maxlen=_ENTRIES_MAX))
    _changed: asyncio.Event = field(factory=asyncio.Event)

    def request(self, entry: RequestEntry) -> RequestEntry:
        """Record a request; its answer is filled in later."""
        self.requests_made.append(entry)
        self.changed()
        return entry

    def event(self, name: str, data: Any = None, *, sent: bool = True) -> None:
        """Record a gateway payload."""
        self.events_seen.append(GatewayEntry(self.now(), name, redacted(data), sent))
        self.changed()

    def changed(self) -> None:
        """Wake the callers of `until`."""
        self._changed.set()

    def requests(
        self, name: str | None = None, *, status: int | None = None, channel: int | None = None
    ) -> list[RequestEntry]:
        """Return the requests that match all arguments; *name* as ``POST /channels/…``."""
        if name is not None and self.known and name not in self.known:
            raise ValueError(f"no route is called {name!r}{close(name, self.known)}")
        return [
            request
            for request in self.requests_made
            if (name is None or request.name == name)
            and (status is None or request.status == status)
            and (channel is None or request.channel == channel)
        ]

    def count(self, name: str | None = None, **wanted: Any) -> int:
        """Return the number of matching `requests()`."""
        return len(self.requests(name, **wanted))

    def events(self, name: str | None = None, *, sent: bool | None = None) -> list[GatewayEntry]:
        """Return the matching gateway payloads."""
        return [
            event
            for event in self.events_seen
            if (name is None or event.name == name) and (sent is None or event.sent == sent)
        ]

    async def until(self, true: Callable[[], Any], timeout_s: float = 5.0) -> Any:
        """Wait until *true* returns a true value, checked after every entry; return that value."""

        async def wait() -> Any:
            while not (found := true()):
                self._changed.clear()
                await self._changed.wait()
            return found

        try:
            return await asyncio.wait_for(wait(), timeout_s)
        except TimeoutError:
            raise TimeoutError(f"waited {timeout_s} s in vain\n{self.transcript()}") from None

    def transcript(self, last: int = 50) -> str:
        """Return the latest entries as readable lines."""
        lines = [(request.at, _request_line(request)) for request in self.requests_made]
        lines += [(event.at, _event_line(event)) for event in self.events_seen]
        lines.sort(key=lambda line: line[0])
        start = lines[0][0] if lines else 0.0
        return "\n".join(f"{at - start:8.3f}  {text}" for at, text in lines[-last:])


def _request_line(entry: RequestEntry) -> str:
    content = entry.body.get("content") if isinstance(entry.body, dict) else None
    words = f" {str(content)[:60]!r}" if content else ""
    fault = f" [{entry.fault}]" if entry.fault else ""
    return f"{entry.method:6} {entry.path}{words} -> {entry.outcome}{fault}"


def _event_line(entry: GatewayEntry) -> str:
    return f"{'<-' if entry.sent else '->'}     gateway {entry.name}"


def redacted(value: Any) -> Any:
    """Return a copy with the tokens hidden, at any depth."""
    if isinstance(value, dict):
        return {
            key: HIDDEN if key in _SECRET_KEYS and item is not None else redacted(item)
            for key, item in value.items()
        }
    if isinstance(value, list):
        return [redacted(item) for item in value]
    if isinstance(value, str) and "/webhooks/" in value:
        return _WEBHOOK_URL.sub(rf"\g<1>{HIDDEN}", value)
    return value
