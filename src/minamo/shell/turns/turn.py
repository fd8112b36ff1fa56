"""The tool loop: stream a reply, run the tools it calls, stream again.

statecharts/turn.yaml alone decides which step comes next; this module executes the steps.  A turn
has one outcome and never raises, except for a cancellation from outside, which propagates and
also cancels the tools.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterable, Callable, Sequence
from contextlib import aclosing
from typing import Any, Protocol, runtime_checkable

import anyio
from attrs import field, frozen

from minamo.core.chunks import Chunk, ErrorChunk
from minamo.core.config import StreamConfig
from minamo.core.result import Status, StreamResult
from minamo.core.stream import Stream
from minamo.errors import BadRequest
from minamo.machine import Machine, RunningClocks
from minamo.machine.machine import Observer
from minamo.shell.callbacks import Guarded, first_of, refuse_async
from minamo.shell.driver import ChunkSource, Driver, NullSink
from minamo.shell.stops.registry import StopRequest, StopSignal
from minamo.shell.telemetry.telemetry import Telemetry, TelemetryFanOut, safely
from minamo.shell.turns.tool_job import Show
from minamo.shell.turns.tool_runner import ToolRunner
from minamo.shell.turns.tools import Tools
from minamo.shell.turns.turn_actions import CHART, TABLE, Hearing, TurnActions
from minamo.shell.turns.turn_result import TurnResult, TurnSettings, calls_of, joined, summed
from minamo.wire.conversation import ChatMessage
from minamo.wire.options import Tool

_LOG = logging.getLogger("minamo.turn")

Ask = Callable[[Sequence[ChatMessage], Sequence[Tool]], AsyncIterable[str | Chunk]]
"""Sends a provider the conversation so far and the tools it may call; returns the reply."""

_STOP_EVENTS = {"user": "stop_requested", "follow_up": "follow_up_requested", "kill": "killed"}
_REPLIES: dict[Status, str] = {
    "completed": "reply_completed",
    "function_call": "tools_called",
    "error": "reply_failed",
    "timeout": "reply_timed_out",
    "stopped_by_user": "reply_stopped",
    "empty_response": "reply_empty",
    "follow_up_interrupt": "reply_interrupted",
}


@runtime_checkable
class ChatProvider(Protocol):
    """A provider such as `OpenAICompatible`, `Gemini`, `Anthropic` or `ScriptedProvider`."""

    def chat(
        self, messages: Sequence[ChatMessage], /, *, tools: Sequence[Tool] = ...
    ) -> AsyncIterable[str | Chunk]:
        """Return the reply to a conversation; the request is sent when it is iterated."""


class StreamPass(Protocol):
    """A function that displays one reply, obeys the turn's stop requests and never raises."""

    async def __call__(
        self, source: AsyncIterable[Chunk], *, first: bool, suppress_user_errors: bool
    ) -> StreamResult:
        """Stream *source*.

        Args:
            source: the reply.
            first: nothing was shown in this turn yet, so this may be a reply to a message.
            suppress_user_errors: show no error, because another provider may succeed.
        """


async def run_turn(
    llm: Ask | ChatProvider,
    messages: Sequence[ChatMessage],
    *,
    stream_pass: StreamPass,
    tools: Tools | None = None,
    stop_signal: StopSignal | None = None,
    settings: TurnSettings | None = None,
    fallbacks: Sequence[Ask | ChatProvider] = (),
    user_id: int | None = None,
    channel_id: int | None = None,
    progress: Show | None = None,
    watch: Observer | None = None,
    telemetry: Telemetry | None = None,
) -> TurnResult:
    """Answer *messages* with as many replies and rounds of tools as needed.

    *progress* receives the progress reports of running tools, *watch* every step of the machine,
    *telemetry* the start and end of every tool.

    Raises:
        BadRequest: an argument has the wrong type, such as a provider or tools.
    """
    _check_providers(llm, fallbacks)
    tools = tools if tools is not None else Tools()
    if not isinstance(tools, Tools):
        raise BadRequest(f"the tools of a turn are Tools(…), not a {type(tools).__name__}")
    _check_messages(messages)
    refuse_async("progress", progress)
    refuse_async("watch", watch)
    if not isinstance(settings, TurnSettings | None):
        raise BadRequest(f"the settings of a turn are TurnSettings(…), not {settings!r}")
    stop_signal = stop_signal if stop_signal is not None else StopSignal()
    settings = settings if settings is not None else TurnSettings()
    runner = ToolRunner(
        tools=tools,
        settings=settings,
        stop_signal=stop_signal,
        user_id=user_id,
        channel_id=channel_id,
        show=None if progress is None else Guarded("progress", progress, _LOG),
        telemetry=TelemetryFanOut() if telemetry is None else safely(telemetry),
    )
    turn = _Turn((llm, *fallbacks), list(messages), stream_pass, runner, watch)
    with stop_signal.listen(turn.on_request, turn.on_cleared):
        await turn.run()
    return turn.result()


def _check_providers(llm: object, fallbacks: object) -> None:
    if not isinstance(fallbacks, Sequence):
        raise BadRequest(f"fallbacks are a list of providers, not a {type(fallbacks).__name__}")
    for provider in (llm, *fallbacks):
        if not callable(provider) and not isinstance(provider, ChatProvider):
            raise BadRequest(
                f"a turn asks a provider, such as OpenAICompatible(…), or a function of messages "
                f"and tools, several times; a {type(provider).__name__} is neither"
            )


def _check_messages(messages: object) -> None:
    if not isinstance(messages, Sequence) or isinstance(messages, str):
        raise BadRequest(f"the messages of a turn are a list, not a {type(messages).__name__}")
    for number, message in enumerate(messages):
        if not isinstance(message, ChatMessage):
            raise BadRequest(f"message {number} is a {type(message).__name__}, not a ChatMessage")


class _Turn:
    """One running turn."""

    def __init__(
        self,
        providers: Sequence[Ask | ChatProvider],
        messages: list[ChatMessage],
        stream_pass: StreamPass,
        runner: ToolRunner,
        watch: Observer | None,
    ) -> None:
        self._providers = providers
        self._pass = stream_pass
        self._runner = runner
        self._specs = runner.tools.specs
        self._signal = runner.stop_signal
        self._actions = TurnActions(
            runner.settings,
            len(providers),
            len(runner.tools) > 0,
            messages,
            stop_reply=lambda: runner.stop_signal.request(StopRequest()),
        )
        self._path: list[str] = []
        self._broken = False
        self._machine = Machine(TABLE, self._actions, path=self._path)
        settings = runner.settings
        self._lengths = {
            clock.name: getattr(settings, clock.length) / 1000 for clock in CHART.clocks.values()
        }
        self._clocks = RunningClocks(
            CHART, self._lengths, self._machine.state, anyio.current_time()
        )
        self._changed = anyio.Event()
        if watch is not None:
            self._machine.subscribe(Guarded("watch", watch, _LOG))

    def on_request(self, request: StopRequest) -> bool:
        """Handle a stop request; return whether it took effect and cannot be withdrawn."""
        grace_s = self._runner.settings.stop_grace_ms / 1000
        self._lengths["grace"] = min(grace_s, request.deadline - anyio.current_time())
        self._send(_STOP_EVENTS[request.kind], request)
        if self._machine.state != "finishing_tools":
            return True
        if self._lengths["grace"] <= 0:
            self._send(CHART.clocks["grace"].event)
        return self._machine.ended

    def on_cleared(self) -> None:
        """Withdraw the pending stop request."""
        self._send("stop_withdrawn")

    def _send(self, event: str, payload: object = None) -> None:
        self._machine.send(event, payload)
        if self._actions.request is not None and self._machine.state != "finishing_tools":
            self._signal.accept()
        self._clocks.moved(self._machine.state, anyio.current_time())
        self._changed.set()

    async def run(self) -> None:
        """Run the turn to its outcome, or until its deadline."""
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._keep_time)
                await self._go()
                tasks.cancel_scope.cancel()
        except BaseExceptionGroup as group:
            # Only exceptions that must not be caught arrive here, such as `SystemExit`: unwrap.
            raise first_of(group) from None

    async def _keep_time(self) -> None:
        """Raise the event of each clock that runs out."""
        while True:
            clock, deadline = self._clocks.first()
            with anyio.CancelScope(deadline=deadline):
                await self._changed.wait()
                self._changed = anyio.Event()
                continue
            self._send(CHART.clocks[clock].event)

    async def _go(self) -> None:
        """Execute the current state of the machine until it has an outcome."""
        try:
            self._send("begun")
            while not self._machine.ended:
                if self._machine.state == "streaming":
                    await self._stream()
                else:
                    await self._run_tools()
        except Exception as error:  # noqa: BLE001 - our own bug fails the turn, no crash
            _LOG.exception("the turn failed")
            self._actions.stop_reason = None
            self._actions.data = ErrorChunk("api_error", f"internal error ({type(error).__name__})")
            self._broken = True

    async def _stream(self) -> None:
        actions = self._actions
        hearing = Hearing(self._ask(), actions.settings.silence_marker)
        actions.error_told = actions.last_provider
        try:
            # Closed here as well: a pass may stop reading early, or not read at all.
            async with aclosing(hearing) as reply:
                result = await self._pass(
                    reply, first=not actions.said, suppress_user_errors=not actions.error_told
                )
            if not isinstance(result, StreamResult):
                raise TypeError("stream_pass must return a StreamResult")  # noqa: TRY301 - see below
        except Exception as error:  # noqa: BLE001 - our own bug fails the reply, no crash
            _LOG.exception("a reply could not be shown")
            actions.error_told = False
            problem = ErrorChunk(
                "api_error", f"the reply could not be shown ({type(error).__name__})"
            )
            result = StreamResult(status="error", data=problem)
        actions.take_reply(result, hearing.replay, silent=hearing.silent)
        self._send(_event(result, silent=hearing.silent), result)

    def _ask(self) -> AsyncIterable[str | Chunk]:
        """Return the provider's reply; a request that cannot be made yields an error chunk."""
        llm = self._providers[self._actions.provider]
        messages = tuple(self._actions.messages)
        try:
            if not isinstance(llm, ChatProvider):
                return llm(messages, self._specs)
            if not self._specs:
                return llm.chat(messages)
            return llm.chat(messages, tools=self._specs)
        except BadRequest as error:
            return _Failed(ErrorChunk("api_error", str(error)))
        except Exception as error:  # noqa: BLE001 - third-party provider
            # Only the exception name: its message can hold secrets.
            return _Failed(ErrorChunk("api_error", f"asking failed ({type(error).__name__})"))

    async def _run_tools(self) -> None:
        actions = self._actions
        actions.tools_scope = anyio.CancelScope()
        answers = await self._runner.run(calls_of(actions.results[-1]), actions.tools_scope)
        actions.tools_scope = None
        actions.take_answers(answers)
        self._send("answered")

    def result(self) -> TurnResult:
        """Return the result of the turn."""
        actions = self._actions
        # The chart's final states are named like the statuses.
        status: Status = "error" if self._broken else self._machine.state  # type: ignore[assignment]
        return TurnResult(
            status=status,
            stop_reason=actions.stop_reason,
            data=actions.data,
            results=tuple(actions.results),
            accumulated_text=joined(result.accumulated_text for result in actions.results),
            tool_history=tuple(actions.answers),
            iterations=actions.iterations,
            messages=tuple(actions.messages),
            states=tuple(self._path),
            usage=summed(actions.results),
            error_unshown=status in ("error", "timeout") and not self._was_shown(status),
        )

    def _was_shown(self, status: Status) -> bool:
        """Return whether the pass showed the error; False for errors found by the turn itself."""
        actions = self._actions
        if self._broken:
            return False
        return actions.error_told and bool(actions.results) and actions.results[-1].status == status


def _event(result: StreamResult, *, silent: bool) -> str:
    if result.status == "empty_response" and silent:
        return "reply_silent"
    if result.status == "function_call" and not result.function_calls:
        return "reply_completed" if result.accumulated_text else "reply_empty"
    return _REPLIES[result.status]


class _Failed:
    """A reply that consists of one error chunk."""

    def __init__(self, error: ErrorChunk) -> None:
        self._error = error

    async def __aiter__(self) -> Any:
        yield self._error


@frozen(slots=True)
class TextPass:
    """A pass into a function instead of Discord: every message is accepted immediately."""

    shown: Callable[[str], object]
    stop_signal: StopSignal = field(factory=StopSignal)
    config: StreamConfig = field(factory=StreamConfig)

    async def __call__(self, source: ChunkSource, **_: bool) -> StreamResult:
        """Stream one reply; errors are only in the result, and are not shown."""
        stream = Stream(self.config)
        await Driver(stream, stop_signal=self.stop_signal).run(source, NullSink(stream, self.shown))
        return stream.result()
