"""Replies of one client: each waits for its turn in the channel, then is written.

A reply is a single stream, or a turn of several with tools between them.  The user of a command
whose reply was refused or stayed empty gets a short answer instead.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from typing import TypeVar

from attrs import define, evolve

from minamo.core.accounting.outbox import WITHDRAWN
from minamo.core.messages import Receipt
from minamo.core.result import Status, StopReason, StreamResult
from minamo.machine.machine import Observer
from minamo.shell.callbacks import call
from minamo.shell.discord.hooks import Hooks, StreamEnded, StreamStarted
from minamo.shell.discord.reply import ReplyContext
from minamo.shell.driver import ChunkSource
from minamo.shell.stops.registry import StopRequest, Stops, StopSignal
from minamo.shell.telemetry.observer import StreamInspector
from minamo.shell.telemetry.telemetry import Telemetry
from minamo.shell.turns.channel import UNSETTLED
from minamo.shell.turns.channels import Channels, Job, Policy, QueuedTurn, TurnRefused
from minamo.shell.turns.tool_job import Progress
from minamo.shell.turns.tools import Tools
from minamo.shell.turns.turn import Ask, ChatProvider, run_turn
from minamo.shell.turns.turn_result import TurnResult, TurnSettings
from minamo.wire.conversation import ChatMessage

# Phrase for a user who waits for an interaction response, by the reason a turn was refused.
_APOLOGIES: Mapping[str, str] = {
    "queue_full": "queue_full",
    "busy": "busy",
    "unreachable": "unreachable",
    "closing": "closing",
}
# Outcome by the same reason, where it is not the system's own decision.
_REFUSED: Mapping[str, tuple[Status, StopReason]] = {
    "superseded": ("follow_up_interrupt", "follow_up"),
    "killed": ("stopped_by_user", "killed"),
    "stopped": ("stopped_by_user", "user_request"),
}
# Phrase for a user whose command produced no visible reply, by status.  Not after an error, which
# has its own notice or will be retried, nor when the caller has tools to run.
_UNSAID: Mapping[str, str] = {
    "empty_response": "empty_response",
    "stopped_by_user": "stopped",
    "follow_up_interrupt": "stopped",
}

T = TypeVar("T")


@define(eq=False, repr=False)
class Replies:
    """Writer of one client's replies, each when its channel allows it."""

    _channels: Channels
    _stops: Stops
    _policy: Policy
    _is_shared: bool
    """Whether the streams of a channel may run in another process."""
    _inspector: StreamInspector | None
    _telemetry: Telemetry
    _hooks: Hooks

    async def stream(self, reply: ReplyContext, source: ChunkSource) -> StreamResult:
        """Send the text of one source as a reply."""

        async def job(ticket: QueuedTurn) -> StreamResult:
            with self._known(reply, ticket.stop_signal):
                result = ticket.result = await reply.stream(source, ticket)
                added = await reply.send_extras(result)
                if added is not None:
                    result = evolve(result, receipts=(*result.receipts, added))
                    ticket.result = result
            await reply.tell_thoughts(result)
            return result

        outcome = await self._in_turn(reply, job)
        result = await _refused(reply, outcome) if isinstance(outcome, TurnRefused) else outcome
        await _release(reply, result.status, result.receipts)
        return result

    async def turn(
        self,
        reply: ReplyContext,
        llm: Ask | ChatProvider,
        messages: Sequence[ChatMessage],
        *,
        tools: Tools | None,
        fallbacks: Sequence[Ask | ChatProvider],
        settings: TurnSettings | None,
    ) -> TurnResult:
        """Send a provider's reply to *messages*, running the tools that it calls."""
        run = partial(run_turn, llm, messages, tools=tools, settings=settings, fallbacks=fallbacks)
        outcome = await self._in_turn(reply, partial(self._write_turn, reply, run))
        if isinstance(outcome, TurnRefused):
            refused = await _refused(reply, outcome)
            await _release(reply, refused.status)
            return TurnResult(
                status=refused.status,
                stop_reason=refused.stop_reason,
                data=outcome,
                messages=tuple(messages),
            )
        # A turn in which the model chose silence is complete, and its last reply is empty.
        last = outcome.last if outcome.status == "completed" else None
        receipts = () if outcome.last is None else outcome.last.receipts
        await _release(reply, outcome.status if last is None else last.status, receipts)
        return outcome

    async def _write_turn(
        self, reply: ReplyContext, run: Callable[..., Awaitable[TurnResult]], ticket: QueuedTurn
    ) -> TurnResult:
        """Run a turn whose channel is free, and send what follows its text."""
        ended = False
        try:
            with (
                self._known(reply, ticket.stop_signal),
                _showing(reply, ticket.stop_signal) as show,
            ):
                result = await run(
                    stream_pass=partial(reply.stream, ticket=ticket, in_turn=True),
                    stop_signal=ticket.stop_signal,
                    user_id=reply.target.author_id,
                    channel_id=reply.target.channel_id,
                    progress=show,
                    watch=self._observer("turn", reply.channel_id),
                    telemetry=self._telemetry,
                )
            ended = result.status == "completed"
        finally:
            if not ended:
                reply.withdraw_progress()
        ticket.result = result
        whole = result.as_stream_result()
        added = await reply.send_extras(whole)
        if added is not None and (last := result.last) is not None:
            last = evolve(last, receipts=(*last.receipts, added))
            result = ticket.result = evolve(result, results=(*result.results[:-1], last))
        if result.error_unshown:
            with self._known(reply, ticket.stop_signal):
                await reply.tell_error(whole, ticket.stop_signal)
        await reply.tell_thoughts(whole)
        return result

    async def _in_turn(self, reply: ReplyContext, job: Job[T]) -> T | TurnRefused:
        """Run *job* when the channel allows it, with the events of its start and its end."""

        async def announced(ticket: QueuedTurn) -> T:
            self._hooks.dispatch(StreamStarted, reply.info)
            try:
                return await job(ticket)
            finally:
                result = None if ticket.result is UNSETTLED else ticket.result
                self._hooks.dispatch(StreamEnded, reply.info, result)

        policy = reply.options.policy
        if not self._is_shared:
            return await self._channels.run(reply.channel_id, announced, policy)
        if (policy or self._policy) == "interrupt":
            await self._stops.request_follow_up(channel_id=reply.channel_id)
        known = partial(self._known, reply)
        return await self._channels.run(reply.channel_id, announced, policy, known=known)

    def _known(self, reply: ReplyContext, stop_signal: StopSignal) -> AbstractContextManager[None]:
        """Register *reply* for stops until the block exits."""
        return self._stops.register(
            reply.stream_id, reply.channel_id, stop_signal, asker=reply.requester
        )

    def _observer(self, chart: str, channel_id: int) -> Observer | None:
        if self._inspector is None:
            return None
        _, observer = call(self._inspector.observer, chart, channel_id)
        return observer  # type: ignore[no-any-return]  # an inspector that follows its protocol


@contextmanager
def _showing(reply: ReplyContext, signal: StopSignal) -> Iterator[Callable[[Progress], None]]:
    """Yield the function that shows the progress of tools; a stop request withdraws it."""

    def show(progress: Progress) -> None:
        if signal.strongest is None:  # else the turn is about to stop
            reply.show_progress(progress)

    def on_request(_: StopRequest) -> bool:
        reply.withdraw_progress()
        return False  # the turn itself decides when to act on the request

    with signal.listen(on_request):
        yield show


async def _refused(reply: ReplyContext, refused: TurnRefused) -> StreamResult:
    phrase = _APOLOGIES.get(refused.reason)
    # Silence after a mention would look as if the bot were broken, and then it is.
    is_broken = refused.reason == "unreachable" and reply.target.addressed
    if phrase is not None and (is_broken or reply.target.interaction is not None):
        await reply.apologise(phrase)
    status, reason = _REFUSED.get(refused.reason, ("stopped_by_user", "system_request"))
    return StreamResult(status=status, stop_reason=reason, data=refused)


async def _release(reply: ReplyContext, status: Status, receipts: Sequence[Receipt] = ()) -> None:
    """Answer a pending interaction, which would show "thinking…" for fifteen minutes."""
    is_stopped = bool(receipts) and receipts[-1].reason in WITHDRAWN
    # The notice of an error was withdrawn by a stop.
    phrase = _UNSAID.get("stopped_by_user" if is_stopped else status)
    if phrase is not None and await reply.is_waited_for():
        await reply.apologise(phrase)
