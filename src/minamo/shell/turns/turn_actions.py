"""The state of one turn, the guards and actions of statecharts/turn.yaml, and its reply reader.

Nothing here waits for a provider or a tool, except `Hearing`, which passes a reply through.
"""

from __future__ import annotations

from collections.abc import (
    AsyncGenerator,
    AsyncIterable,
    Callable,
    Mapping,
    Sequence,
)
from typing import Any

import anyio
from attrs import define, field

from minamo.core.chunks import CUT_SHORT, Call, Chunk, DoneChunk, ErrorChunk
from minamo.core.lexing.filters import Silence
from minamo.core.result import StopReason, StreamResult
from minamo.machine import compile, load
from minamo.shell.providers.base import CheckedSource, closing
from minamo.shell.providers.scripted import as_chunks
from minamo.shell.stops.registry import StopRequest
from minamo.shell.turns.tool_runner import failure
from minamo.shell.turns.turn_result import Problem, ToolResult, TurnSettings, calls_of
from minamo.wire.conversation import ChatMessage, assistant, tool_result


class Hearing(CheckedSource):
    """One reply on its way to a pass; records replay data and silence.

    A source that raises ends in an error chunk.
    """

    __slots__ = ("_chunks", "replay", "silence")

    def __init__(self, source: AsyncIterable[str | Chunk], marker: str = "") -> None:
        self.silence: Silence | None = Silence(marker) if marker else None
        """Detector of the silence marker; the stream that reads this withholds the marker."""
        self._chunks = self._through(source)
        self.replay: Mapping[str, Any] = {}
        """Provider data to send back with this reply in the next request."""

    @property
    def silent(self) -> bool:
        """Whether the reply was exactly the silence marker."""
        return self.silence is not None and self.silence.silent

    def __aiter__(self) -> AsyncGenerator[Chunk, None]:
        return self._chunks

    async def aclose(self) -> None:
        """Close the source, even if it was not read to the end."""
        await self._chunks.aclose()

    async def _through(self, source: AsyncIterable[str | Chunk]) -> AsyncGenerator[Chunk, None]:
        async with closing(as_chunks(source)) as chunks:
            async for chunk in chunks:
                if isinstance(chunk, DoneChunk):
                    self.replay = chunk.replay
                yield chunk


@define(eq=False)
class TurnActions:
    """The state of one turn.  Record an outcome here first, then send its event to the chart."""

    settings: TurnSettings
    providers: int
    """Number of providers, including fallbacks."""
    tools_given: bool
    messages: list[ChatMessage]
    stop_reply: Callable[[], object]
    """Ends the reply that is being streamed."""
    provider: int = 0
    iterations: int = 0
    empties: int = 0
    failed_rounds: int = 0
    request: StopRequest | None = None
    results: list[StreamResult] = field(factory=list)
    answers: list[ToolResult] = field(factory=list)
    round: Sequence[ToolResult] = ()
    unanswered: Sequence[Call] = ()
    """The calls of the last reply that have no answers yet."""
    tools_scope: anyio.CancelScope | None = None
    stop_reason: StopReason | None = None
    data: Any = None
    error_told: bool = False
    """Whether the pass that ended in an error was allowed to show it."""

    # Recording.

    def take_reply(
        self, result: StreamResult, replay: Mapping[str, Any], *, silent: bool = False
    ) -> None:
        """Record a reply, and append its shown text and its calls to the conversation."""
        self.results.append(result)
        text, calls = result.accumulated_text, calls_of(result)
        self.unanswered = calls
        if silent and not text:
            text = self.settings.silence_marker
        if text.strip() or calls:
            self.messages.append(assistant(text, calls=calls, replay=replay))

    def take_answers(self, answers: Sequence[ToolResult]) -> None:
        """Record the results of the calls of the last reply."""
        self.round, self.unanswered = answers, ()
        self.answers += answers
        self.messages += [
            tool_result(answer.call, answer.text, failed=answer.failed) for answer in answers
        ]
        works = any(not answer.failed for answer in answers)
        self.failed_rounds = 0 if works else self.failed_rounds + 1

    @property
    def said(self) -> bool:
        """Whether anything was shown in this turn."""
        return any(result.accumulated_text or result.files for result in self.results)

    @property
    def last_provider(self) -> bool:
        """Whether no fallback provider is left."""
        return self.provider + 1 >= self.providers

    # Guards.

    def has_tools(self, _: object) -> bool:
        return self.tools_given

    def stop_noted(self, _: object) -> bool:
        return self.request is not None and self.request.kind != "follow_up"

    def follow_up_noted(self, _: object) -> bool:
        return self.request is not None and self.request.kind == "follow_up"

    def iterations_left(self, _: object) -> bool:
        return self.iterations < self.settings.iterations_max

    def may_ask_again(self, result: StreamResult) -> bool:
        # A reply that spent all its length on thoughts would do so again.
        spent = result.finish_reason in CUT_SHORT
        return self.empties < self.settings.empty_retries and not spent

    def may_fall_back(self, result: StreamResult) -> bool:
        if self.last_provider or result.accumulated_text:
            return False
        # Blocked content must not be requested from another provider, and Discord refuses a
        # message regardless of the provider that wrote it.
        blocked = isinstance(result.data, ErrorChunk) and result.data.kind == "content_blocked"
        return not blocked and result.stop_reason != "delivery_lost"

    def said_something(self, _: object) -> bool:
        return self.said

    def ended_by_tool(self, _: object) -> bool:
        return any(answer.ends_turn for answer in self.round)

    def failing_for_good(self, _: object) -> bool:
        return self.failed_rounds >= self.settings.failed_rounds_max

    # Actions.

    def begin_iteration(self, _: object) -> None:
        self.iterations += 1

    def count_empty(self, _: object) -> None:
        self.empties += 1

    def next_provider(self, _: object) -> None:
        self.provider += 1

    def note_request(self, request: StopRequest) -> None:
        if request.outranks(self.request):
            self.request = request

    def forget_request(self, _: object) -> None:
        self.request = None

    def end_reply(self, _: object) -> None:
        # A stop by the system: the text received so far is still shown.
        self.stop_reply()

    def end_with_deadline(self, _: object) -> None:
        self.stop_reason = "deadline"
        self._refuse("stopped", "not run: the time of the turn is over")

    def end_with_reply(self, result: StreamResult) -> None:
        self.stop_reason, self.data = result.stop_reason, result.data

    def end_as_requested(self, _: object) -> None:
        assert self.request is not None
        self.stop_reason = _reason(self.request)
        self._refuse("stopped", "stopped before it was begun")

    def refuse_iterations(self, _: object) -> None:
        most = self.settings.iterations_max
        self.data = ErrorChunk(
            "model_error", f"the model still asks for tools after {most} replies"
        )
        self._refuse("too_many", "not run: too many replies in one turn")

    def give_up_tools(self, _: object) -> None:
        rounds = self.failed_rounds
        self.data = ErrorChunk("model_error", f"the tools failed {rounds} times in a row")

    def cancel_tools(self, _: object) -> None:
        if self.tools_scope is not None:
            self.tools_scope.cancel()

    def _refuse(self, problem: Problem, why: str) -> None:
        """Answer the calls that will not be run, so that the conversation can continue later."""
        if self.tools_scope is None and self.unanswered:
            self.take_answers([failure(call, problem, why) for call in self.unanswered])


def _reason(request: StopRequest) -> StopReason:
    match request.kind:
        case "kill":
            return "killed"
        case "follow_up":
            return "follow_up"
        case "user":
            return "system_request" if request.requester is None else "user_request"


CHART = load("turn")
TABLE = compile(CHART, TurnActions)
