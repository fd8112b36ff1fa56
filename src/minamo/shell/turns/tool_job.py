"""A running call of a tool: its context, its task, and the lines that show its progress."""

from __future__ import annotations

import asyncio
import contextvars
import logging
from collections.abc import Awaitable, Callable
from typing import Any

import anyio
from attrs import define, field, frozen

from minamo.core.chunks import Call, as_length
from minamo.core.messages import MessageSource
from minamo.core.redact import shorten
from minamo.shell.callbacks import place_of
from minamo.shell.delivery.interfaces import PlainMessage
from minamo.shell.delivery.queue import StreamQueue
from minamo.shell.stops.registry import StopSignal

# Progress is one line, such as "Looking it up…"; Discord's own status lines have 128.
PROGRESS_CHARS_MAX = 200


class ToolError(Exception):
    """An error that a tool raises on purpose: its text is sent to the model.

    The text of any other exception is not sent, because it may hold private data.
    """


@frozen(slots=True)
class Progress:
    """A progress report of a running tool, for the users in the channel."""

    call: Call
    text: str = field(repr=as_length)


Show = Callable[[Progress], object]


@frozen(slots=True, kw_only=True)
class ToolContext:
    """Context passed to every parameter annotated with this type; hidden from the model."""

    call: Call
    user_id: int | None = None
    channel_id: int | None = None
    stop_signal: StopSignal = field(factory=StopSignal, repr=False)
    """Stop requests for this turn; a tool may read them and may put one."""
    show: Show | None = field(default=None, repr=False)

    def progress(self, text: str) -> None:
        """Report progress to the users in the channel, in a few words."""
        line = shorten(str(text), PROGRESS_CHARS_MAX, printable=False)
        if self.show is not None and line:
            self.show(Progress(self.call, line))


# More progress lines do not help a reader, and push the conversation off the screen.
LINES_MAX = 20


@define
class LatestLines(MessageSource):
    """A source for a lane: the newest unsent line of each call."""

    left: int = LINES_MAX
    _lines: dict[int, str] = field(factory=dict, init=False, repr=False)

    @property
    def waiting(self) -> int:
        """Number of queued characters."""
        return sum(map(len, self._lines.values()))

    def put(self, call: int, text: str) -> None:
        """Queue a line, replacing an older one of the same call."""
        if self.left > len(self._lines) or call in self._lines:
            self._lines.pop(call, None)  # ordered by the newest line
            self._lines[call] = text

    def take(self, most: int | None = None, room: int | None = None) -> list[PlainMessage]:
        """Remove and return the queued lines, at most *most* and *room* of them."""
        most = room if most is None else most if room is None else min(most, room)
        taken = list(self._lines)[:most]
        self.left -= len(taken)
        return [PlainMessage(self._lines.pop(call)) for call in taken]

    def withdraw(self, reason: str) -> None:
        """Discard the queued lines."""
        del reason
        self._lines.clear()


@define(eq=False)
class ProgressLines:
    """The sender of the progress lines of one turn, at most one message at a time."""

    _open: Callable[[LatestLines], StreamQueue] = field(repr=False)
    """Opens a queue in the channel's lane."""
    _source: LatestLines = field(factory=LatestLines, init=False)
    _dispatch: StreamQueue | None = field(default=None, init=False, repr=False)

    def show(self, progress: Progress, text: str) -> None:
        """Queue *text*, the rendered *progress*, and send it when the lane is free."""
        # Keyed by id: a call is not hashable, and lives as long as the turn.
        self._source.put(id(progress.call), text)
        if not self._source.waiting:
            return
        if self._dispatch is None or not self._dispatch.busy:
            self._dispatch = self._open(self._source)
        self._dispatch.deliver()
        self._dispatch.close()

    def withdraw(self) -> None:
        """Withdraw the lines whose sending has not begun."""
        if self._dispatch is not None:
            self._dispatch.withdraw("stopped")


_LOG = logging.getLogger("minamo.tools")

# A tool that takes longer to clean up continues in parallel with the turn.
CLEAN_UP_S = 1.0

# asyncio holds only weak references to tasks.
_TASKS: set[asyncio.Task[None]] = set()


@define(eq=False)
class ToolJob:
    """One running tool call."""

    name: str
    _work: Callable[[], Awaitable[Any]] = field(repr=False)
    result: Any = field(default=None, init=False, repr=False)
    error: BaseException | None = field(default=None, init=False, repr=False)
    returned: bool = field(default=False, init=False)
    """Whether the tool returned, so that `result` is valid (it may be None)."""
    left_behind: bool = field(default=False, init=False)
    _ended: anyio.Event = field(factory=anyio.Event, init=False, repr=False)
    _scope: anyio.CancelScope = field(factory=anyio.CancelScope, init=False, repr=False)

    @property
    def ended(self) -> bool:
        """Whether the tool has returned or raised."""
        return self._ended.is_set()

    def start(self) -> None:
        """Start the tool in a task that no task group waits for."""
        if anyio.get_cancelled_exc_class() is asyncio.CancelledError:
            task = asyncio.get_running_loop().create_task(self._run())
            _TASKS.add(task)
            task.add_done_callback(_TASKS.discard)
        else:
            from trio.lowlevel import spawn_system_task

            spawn_system_task(self._run, context=contextvars.copy_context())

    async def wait(self, seconds: float) -> bool:
        """Wait up to *seconds* for the tool; on timeout or cancellation, cancel the tool.

        Return whether it ended by itself.
        """
        in_time = False
        try:
            with anyio.move_on_after(seconds):
                await self._ended.wait()
            in_time = self.ended
        finally:
            if not self.ended:
                await self._end()
        return in_time

    async def _end(self) -> None:
        self._scope.cancel()
        with anyio.move_on_after(CLEAN_UP_S, shield=True):
            await self._ended.wait()
        if not self.ended:
            self.left_behind = True
            _stop_asking(self._scope)
            _LOG.warning("tool %s cannot be stopped, and is left behind", self.name)

    async def _run(self) -> None:
        try:
            with self._scope:
                self.result = await self._work()
                self.returned = True
        except Exception as error:  # noqa: BLE001 - a failure is an answer, no crash
            self.error = error
        except anyio.get_cancelled_exc_class():
            raise  # cancelled by the tool itself, or because the program ends
        except BaseException as error:  # such as `SystemExit`: raised by the turn
            if self.left_behind:
                raise
            self.error = error
        finally:
            self._ended.set()
            if self.left_behind:
                kind = "" if self.error is None else f" with {type(self.error).__name__}"
                place = "" if self.error is None else f" at {place_of(self.error)}"
                _LOG.info("tool %s, left behind, has ended%s%s", self.name, kind, place)


def _stop_asking(scope: anyio.CancelScope) -> None:
    """Stop anyio from repeating the cancellation.

    On asyncio, anyio cancels a task that swallows its cancellation again in every iteration of the
    event loop, which keeps one CPU busy for as long as the task lives.
    """
    again = getattr(scope, "_cancel_handle", None)
    if again is not None:
        again.cancel()
