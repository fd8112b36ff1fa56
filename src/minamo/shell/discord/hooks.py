"""Hooks of a client: callbacks for results and errors, and events for hikari's listeners.

A callback is a plain function and runs before `Client.stream` returns.  A listener of an event may
be an `async def`: hikari runs it in a task of its own.  Neither can change a reply.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, TypeVar

import hikari
from attrs import define, field, frozen

from minamo.core.result import StreamResult
from minamo.shell.callbacks import call, refuse_async
from minamo.shell.turns.turn_result import TurnResult

_LOG = logging.getLogger("minamo.client")

AnyResult = StreamResult | TurnResult
ResultHook = Callable[["ReplyInfo", AnyResult], object]
F = TypeVar("F", bound=ResultHook)

_FAILED = ("error", "timeout")


@frozen(kw_only=True)
class ReplyInfo:
    """One reply of a client, as hooks and events see it."""

    stream_id: str
    """The id that `client.request_stop(stream_id=…)` takes."""
    channel_id: int
    guild_id: int | None = None
    """None in direct messages, or if unknown."""
    user_id: int | None = None
    """The user who asked; None if unknown, as for a reply to a bare channel."""
    message_id: int | None = None
    """The message that is answered; None if there is none."""


@define(eq=False)
class StreamStarted(hikari.Event):
    """A reply begins: its channel is free, and its source is about to be read."""

    app: hikari.RESTAware = field(repr=False)
    reply: ReplyInfo


@define(eq=False)
class StreamEnded(hikari.Event):
    """A reply that had begun has ended."""

    app: hikari.RESTAware = field(repr=False)
    reply: ReplyInfo
    result: AnyResult | None
    """Its result; None if the task that streamed it was cancelled."""


@define(eq=False)
class Hooks:
    """The callbacks of one client, and the bot whose listeners receive the events."""

    _bot: hikari.RESTAware = field(repr=False)
    _on_result: list[ResultHook] = field(factory=list, init=False)
    _on_error: list[ResultHook] = field(factory=list, init=False)

    def add_result(self, callback: F) -> F:
        """Call *callback* for every result from now on."""
        refuse_async("on_result", callback)
        self._on_result.append(callback)
        return callback

    def add_error(self, callback: F) -> F:
        """Call *callback* for every result whose status is error or timeout."""
        refuse_async("on_error", callback)
        self._on_error.append(callback)
        return callback

    def returned(self, reply: ReplyInfo, result: AnyResult) -> None:
        """Call the callbacks that want *result*; one that fails is called again next time."""
        failed = self._on_error if result.status in _FAILED else []
        for name, callbacks in (("on_result", self._on_result), ("on_error", failed)):
            for callback in callbacks:
                problem, _ = call(callback, reply, result)
                if problem:
                    _LOG.warning("%s: a callback %s", name, problem)

    def dispatch(self, event: type[StreamStarted | StreamEnded], *parts: Any) -> None:
        """Dispatch an event made of *parts* to the listeners of the bot, if there are any."""
        if isinstance(self._bot, hikari.GatewayBotAware):
            # No listener means no event: then dispatching would be wasted work.
            manager = self._bot.event_manager
            if manager.get_listeners(event):
                # hikari awaits the listeners in tasks of their own and reports their exceptions.
                manager.dispatch(event(self._bot, *parts))
