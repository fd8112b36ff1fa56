"""The exceptions of minamo: few, and only for mistakes in a program or a chart.

    MinamoError
    ├── BadRequest      something that no provider could take, found before it is sent
    ├── BadSetting      a setting that makes no sense, found when it is made
    ├── BadTrace        a trace that cannot be read
    ├── ClientClosed    a client was used before its bot had started, or after it had stopped
    ├── ChartError      a chart or its actions are wrong; found when it is read or compiled
    ├── UnknownEvent    a machine was sent an event that its chart does not declare
    └── Stuck           a chart went round in circles inside one step

What the world does wrong (provider, network, Discord, people) is never an exception:
it becomes the outcome of a stream.
"""

from __future__ import annotations


class MinamoError(Exception):
    """Misuse, or a promise broken by our own code."""


class BadRequest(MinamoError):
    """Something that no provider could take, found before anything was sent."""


class BadTrace(MinamoError):
    """A trace that cannot be read; the message begins with the line's number."""


class BadSetting(MinamoError):
    """A setting that makes no sense; the message names it and what it may be."""


class ClientClosed(MinamoError):
    """A client that was used before its bot had started, or after it had stopped."""


class ChartError(MinamoError):
    """A chart that cannot be used, with where and what to do about it.

    `str()` is one line such as
    ``stream.yaml:12: state 'a', event 'go': unknown target 'b'; ...``.
    """

    def __init__(
        self, message: str, *, file: str = "", line: int = 0, state: str = "", event: str = ""
    ) -> None:
        where = [f"state {state!r}"] if state else []
        if event:
            where.append(f"event {event!r}")
        place = f"{file}:{line}" if line else file
        super().__init__(": ".join(part for part in (place, ", ".join(where), message) if part))
        self.message = message
        self.file = file
        self.line = line
        self.state = state
        self.event = event


class UnknownEvent(MinamoError):
    """An event that the chart does not declare: a spelling mistake, most likely."""


class Stuck(MinamoError):
    """One event set off more steps than any honest chart needs."""
