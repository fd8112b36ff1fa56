"""The settings of a turn, the result of one tool call, and the result of the turn."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, Literal

from attrs import Attribute, asdict, field, frozen

from minamo.core.checks import shown, whole
from minamo.core.chunks import Call, Usage, as_count, as_length
from minamo.core.limits import MS_MAX
from minamo.core.result import Status, StopReason, StreamResult
from minamo.errors import BadSetting
from minamo.shell.telemetry.metrics import together
from minamo.wire.conversation import ChatMessage

# No real task needs more; this ends a model that loops.
ITERATIONS_MAX = 100
# One failure may be chance and two a misunderstanding; a model that has not corrected itself after
# four error messages will not do so after the fifth.
FAILED_ROUNDS_MAX = 5
# Some models occasionally return an empty reply, and answer when asked again.
EMPTY_RETRIES = 2
# Searching and image generation take minutes; users do not wait longer than five.
TOOL_TIMEOUT_MS = 300_000
# Twice the deadline of one reply (`stream_deadline_ms`), so that a reply reaches its own deadline
# first.  A user in a chat has left after half an hour.
TURN_DEADLINE_MS = 1_800_000
# Time for a tool to finish its current work; a user who pressed Stop hardly notices it.
STOP_GRACE_MS = 1_000
# About 8,000 tokens.  More pushes earlier messages out of the model's context.
TOOL_RESULT_CHARS_MAX = 32_768
# Room for the truncation note, and for every error that minamo writes itself.
TOOL_RESULT_CHARS_MIN = 1_000
# A marker is withheld while it arrives, which delays the reply; a word is enough.
SILENCE_MARKER_CHARS_MAX = 64


def _marker(_: object, attribute: Attribute[Any], value: object) -> None:
    fine = isinstance(value, str) and value == value.strip()
    if not fine or len(value) > SILENCE_MARKER_CHARS_MAX:  # type: ignore[arg-type]
        raise BadSetting(
            f"{attribute.name} must be text of at most {SILENCE_MARKER_CHARS_MAX} characters, "
            f"without blanks around it; it is {shown(value)}"
        )


@frozen(kw_only=True)
class TurnSettings:
    """The limits of a turn.  Times are in milliseconds."""

    iterations_max: int = field(default=ITERATIONS_MAX, validator=whole(1, 1_000))
    """Maximum number of replies in a turn, not counting retries."""
    failed_rounds_max: int = field(default=FAILED_ROUNDS_MAX, validator=whole(1))
    """Number of consecutive rounds without a successful call after which the turn ends."""
    empty_retries: int = field(default=EMPTY_RETRIES, validator=whole(0, 10))
    turn_deadline_ms: int = field(default=TURN_DEADLINE_MS, validator=whole(1, MS_MAX))
    """Maximum duration of the whole turn, with all its replies and tools."""
    tool_timeout_ms: int = field(default=TOOL_TIMEOUT_MS, validator=whole(1, MS_MAX))
    stop_grace_ms: int = field(default=STOP_GRACE_MS, validator=whole(0, MS_MAX))
    """Time running tools may continue after a user's stop, which can be withdrawn meanwhile."""
    tool_result_chars_max: int = field(
        default=TOOL_RESULT_CHARS_MAX, validator=whole(TOOL_RESULT_CHARS_MIN)
    )
    silence_marker: str = field(default="", validator=_marker)
    """A reply that consists of exactly this text is not shown; empty: no marker."""


Problem = Literal[
    "", "unknown_tool", "bad_arguments", "refused", "raised", "timeout", "not_json", "stopped",
    "too_many",
]  # fmt: skip


@frozen(slots=True, kw_only=True)
class ToolResult:
    """The outcome of one tool call."""

    call: Call
    text: str = field(repr=as_length)
    """The text sent to the model: the result, or `{"error": …}`."""
    problem: Problem = ""
    seconds: float = 0.0
    ends_turn: bool = False
    exception: Exception | None = field(default=None, repr=False)
    """The exception that was raised, for the caller's log; the model gets only `text`."""

    @property
    def failed(self) -> bool:
        """Whether the call has no result."""
        return self.problem != ""


@frozen(kw_only=True)
class TurnResult:
    """The outcome of one turn.  The `repr` shows sizes, not text."""

    status: Status
    stop_reason: StopReason | None = None
    data: Any = field(default=None, repr=False)
    """The first call if the status is function_call, the error if it is error."""
    results: tuple[StreamResult, ...] = field(default=(), repr=as_count)
    """One per request to a provider, including failed and empty ones."""
    accumulated_text: str = field(default="", repr=as_length)
    """The shown text of all replies, separated by blank lines."""
    tool_history: tuple[ToolResult, ...] = field(default=(), repr=as_count)
    """Every tool call of the turn with its answer, in call order."""
    iterations: int = 0
    """Number of replies, not counting retries."""
    messages: tuple[ChatMessage, ...] = field(default=(), repr=as_count)
    """The conversation with everything this turn added: store it for the next turn.

    Only after function_call are there calls without answers; the caller has to run those.
    """
    states: tuple[str, ...] = ()
    """The path taken through statecharts/turn.yaml."""
    usage: Usage | None = None
    """Token usage of all replies, as far as the providers report it."""
    error_unshown: bool = False
    """The error that ended the turn was not shown; the caller has to show it."""

    @property
    def last(self) -> StreamResult | None:
        """The result of the last reply; None if no provider was asked."""
        return self.results[-1] if self.results else None

    @property
    def details_content(self) -> str:
        """The details of all replies, separated by blank lines."""
        return joined(result.details_content for result in self.results)

    @property
    def thought_log(self) -> tuple[str, ...]:
        """The thoughts of all replies."""
        return tuple(thought for result in self.results for thought in result.thought_log)

    def as_stream_result(self) -> StreamResult:
        """Return the whole turn as the result of one stream."""
        results, last = self.results, self.last
        calls = last.function_calls if last and self.status == "function_call" else ()
        return StreamResult(
            status=self.status,
            data=self.data,
            accumulated_text=self.accumulated_text,
            details_content=self.details_content,
            stop_reason=self.stop_reason,
            thought_log=self.thought_log,
            continuation_prefill=last.continuation_prefill if last else "",
            function_calls=calls,
            finish_reason=last.finish_reason if last else "",
            raw_finish_reason=last.raw_finish_reason if last else "",
            citations=tuple(source for result in results for source in result.citations),
            usage=self.usage,
            receipts=tuple(receipt for result in results for receipt in result.receipts),
            suppressed=_sum(result.suppressed for result in results),
            additions=_sum(result.additions for result in results),
            states=self.states,
            metrics=_metrics(results, self.tool_history),
        )


def joined(texts: Iterable[str]) -> str:
    """Return the non-empty *texts*, separated by blank lines."""
    return "\n\n".join(text for text in texts if text)


def summed(results: Iterable[StreamResult]) -> Usage | None:
    """Return the total usage of *results*; counts that no provider reports stay None."""
    total: dict[str, int] = {}
    for result in results:
        for name, count in asdict(result.usage).items() if result.usage else ():
            if count is not None:
                total[name] = total.get(name, 0) + count
    return Usage(**total) if total else None


def calls_of(result: StreamResult) -> tuple[Call, ...]:
    """Return the tool calls that a reply requests."""
    return result.function_calls if result.status == "function_call" else ()


def _sum(counts: Iterable[Mapping[str, int]]) -> dict[str, int]:
    total: Counter[str] = Counter()
    for count in counts:
        total.update(count)
    return dict(sorted(total.items()))


def _metrics(
    results: tuple[StreamResult, ...], answers: tuple[ToolResult, ...]
) -> dict[str, float]:
    figures = together(result.metrics for result in results)
    return {**figures, "replies": len(results), "tool_calls": len(answers)}
