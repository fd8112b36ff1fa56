"""How a turn ended: the one value it returns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from attrs import asdict, field, frozen

from minamo.core.chunks import Call, Usage, as_count, as_length
from minamo.core.result import Status, StopReason, StreamResult
from minamo.shell.telemetry.metrics import together
from minamo.shell.turns.tool_runner import ToolResult
from minamo.wire.conversation import ChatMessage


@frozen(kw_only=True)
class TurnResult:
    """What became of one turn.  The `repr` shows sizes, not words."""

    status: Status
    stop_reason: StopReason | None = None
    data: Any = field(default=None, repr=False)
    """The first call of a function_call, the error of an error."""
    results: tuple[StreamResult, ...] = field(default=(), repr=as_count)
    """One for each time a provider was asked, failed and empty ones too."""
    accumulated_text: str = field(default="", repr=as_length)
    """What all replies showed, with a blank line between two."""
    tool_history: tuple[ToolResult, ...] = field(default=(), repr=as_count)
    """Every call of the turn with its answer, in the order of the calls."""
    iterations: int = 0
    """How many replies there were, retries not counted."""
    messages: tuple[ChatMessage, ...] = field(default=(), repr=as_count)
    """The conversation with all that was added: what a bot remembers for the next turn.

    Only after function_call are there calls without answers: those you have to run.
    """
    states: tuple[str, ...] = ()
    """The way through statecharts/turn.yaml."""
    usage: Usage | None = None
    """What all replies cost, as far as the providers say."""
    error_unshown: bool = False
    """The error that ended the turn was shown to nobody yet, and is the caller's to show."""

    @property
    def last(self) -> StreamResult | None:
        """The result of the last reply; None if nothing was asked."""
        return self.results[-1] if self.results else None

    @property
    def details_content(self) -> str:
        """The details of all replies, with a blank line between two."""
        return joined(one.details_content for one in self.results)

    @property
    def thought_log(self) -> tuple[str, ...]:
        """The thoughts of all replies."""
        return tuple(thought for one in self.results for thought in one.thought_log)

    def as_stream_result(self) -> StreamResult:
        """The whole turn as if it had been one stream."""
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
            usage=self.usage,
            receipts=tuple(receipt for one in results for receipt in one.receipts),
            suppressed=_sum(one.suppressed for one in results),
            additions=_sum(one.additions for one in results),
            states=self.states,
            metrics=_metrics(results, self.tool_history),
        )


def joined(texts: Iterable[str]) -> str:
    """Texts of several replies, with a blank line between two."""
    return "\n\n".join(text for text in texts if text)


def summed(results: Iterable[StreamResult]) -> Usage | None:
    """What several replies cost together; what no provider tells stays unknown."""
    total: dict[str, int] = {}
    for one in results:
        for name, count in asdict(one.usage).items() if one.usage else ():
            if count is not None:
                total[name] = total.get(name, 0) + count
    return Usage(**total) if total else None


def calls_of(result: StreamResult) -> tuple[Call, ...]:
    """What a reply asks for."""
    return result.function_calls if result.status == "function_call" else ()


def _sum(counts: Iterable[Mapping[str, int]]) -> dict[str, int]:
    total: Counter[str] = Counter()
    for one in counts:
        total.update(one)
    return dict(sorted(total.items()))


def _metrics(
    results: tuple[StreamResult, ...], answers: tuple[ToolResult, ...]
) -> dict[str, float]:
    figures = together(one.metrics for one in results)
    return {**figures, "replies": len(results), "tool_calls": len(answers)}
