"""The exceptions of minamo, raised only for mistakes in a program or a chart.

    MinamoError
    ├── BadRequest      a request that no provider could accept; found before it is sent
    ├── BadSetting      an invalid setting; found when it is made
    ├── BadTrace        a trace that cannot be read
    ├── ClientClosed    a client was used before its bot had started, or after it had stopped
    ├── ChartError      a chart or its actions are wrong; found when it is read or compiled
    ├── UnknownEvent    a machine was sent an event that its chart does not declare
    └── Stuck           a chart looped inside one step

A failure outside the program (provider, network, Discord, users) is never an exception:
it becomes the outcome of a stream.
"""

from __future__ import annotations


class MinamoError(Exception):
    """Base class: misuse of minamo, or a bug in it."""


class BadRequest(MinamoError):
    """A request that no provider could accept, found before anything was sent."""


class BadTrace(MinamoError):
    """A trace that cannot be read; the message begins with the line number."""


class BadSetting(MinamoError):
    """An invalid setting; the message names it and its valid values."""


class ClientClosed(MinamoError):
    """A client that was used before its bot had started, or after it had stopped."""


class ChartError(MinamoError):
    """A chart that cannot be used; the message has the place and the remedy.

    `str()` is one line such as
    ``stream.yaml:12: state 'a', event 'go': unknown target 'b'; ...``.
    """

    def __init__(
        self, message: str, *, file: str = "", line: int = 0, state: str = "", event: str = ""
    ) -> None:
        context = [f"state {state!r}"] if state else []
        if event:
            context.append(f"event {event!r}")
        place = f"{file}:{line}" if line else file
        super().__init__(": ".join(part for part in (place, ", ".join(context), message) if part))
        self.message = message
        self.file = file
        self.line = line
        self.state = state
        self.event = event


class UnknownEvent(MinamoError):
    """An event that the chart does not declare, most likely a spelling mistake."""


class Stuck(MinamoError):
    """A chart in which one event triggered more steps than any valid chart needs."""
