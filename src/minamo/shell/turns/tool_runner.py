"""Runner for the tool calls of one reply: all run concurrently, and each gets exactly one answer.

If the tool does not exist, gets invalid arguments, raises, hangs or returns too much, the model
receives a short error or note and can try something else.  A tool that cannot be stopped, because
it runs in a thread, is left behind, and its call is answered without it.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

import anyio
import anyio.from_thread
import msgspec
from attrs import define, field, frozen

from minamo.core.chunks import Call
from minamo.core.redact import redact
from minamo.shell.callbacks import call as call_guarded
from minamo.shell.callbacks import place_of
from minamo.shell.stops.registry import StopSignal
from minamo.shell.telemetry.telemetry import TelemetryFanOut
from minamo.shell.turns.tool_job import Progress, Show, ToolContext, ToolError, ToolJob
from minamo.shell.turns.tools import FunctionTool, Tools
from minamo.shell.turns.turn_result import Problem, ToolResult, TurnSettings
from minamo.wire.limits import CALLS_MAX

_LOG = logging.getLogger("minamo.tools")


_STOPPED = "stopped before it was done"
_STILL_RUNS = "it could not be ended and still runs"

# A sentence or two, or a list of the valid choices.
_PROBLEM_CHARS_MAX = 1_000
# Calls of one tool that were left behind and still run.  Each may hold a thread, of which a program
# has some 40; at this number the tool is not called until one of them has ended.
LEFT_BEHIND_MAX = 4
# Below this limit a float represents every integer exactly.
_EXACT = 2**53


@frozen(slots=True, kw_only=True)
class ToolRunner:
    """The runner for the tool calls of one turn."""

    tools: Tools
    settings: TurnSettings
    stop_signal: StopSignal
    user_id: int | None = None
    channel_id: int | None = None
    show: Show | None = None
    telemetry: TelemetryFanOut = field(factory=TelemetryFanOut)

    async def run(self, calls: Sequence[Call], scope: anyio.CancelScope) -> tuple[ToolResult, ...]:
        """Run *calls* and return their answers in order; cancelling *scope* ends the rest."""
        answers: dict[int, ToolResult] = {}
        left: set[int] = set()
        began = anyio.current_time()

        async def run_one(number: int, call: Call) -> None:
            answers[number] = await self._answer(call, lambda: left.add(number))

        with scope:
            async with anyio.create_task_group() as tasks:
                for number, call in enumerate(calls[:CALLS_MAX]):
                    tasks.start_soon(run_one, number, call)
        for number, call in enumerate(calls):
            if number >= CALLS_MAX:
                answers[number] = failure(call, "too_many", f"more than {CALLS_MAX} calls at once")
            elif number not in answers:
                # Cancelled by a stop request; there is no result.
                since = anyio.current_time() - began
                why = _STOPPED if number not in left else f"{_STOPPED}; {_STILL_RUNS}"
                answers[number] = failure(call, "stopped", why, since)
        return tuple(answers[number] for number in range(len(calls)))

    async def _answer(self, call: Call, left: Callable[[], object]) -> ToolResult:
        tool = self.tools.get(call.name)
        if tool is None:
            there = ", ".join(self.tools) or "none"
            return failure(call, "unknown_tool", f"there is no such tool; there are: {there}")
        try:
            given = _arguments(tool, call.arguments)
        except ToolError as error:
            return failure(call, "refused", str(error), exception=error)
        except Exception as error:  # noqa: BLE001 - a type's own check may raise anything
            return failure(call, "bad_arguments", _problem(error), exception=error)
        stuck = sum(not job.ended for job in tool.left_behind)
        if stuck >= LEFT_BEHIND_MAX:
            why = f"{stuck} earlier calls of it could not be stopped and still run"
            return failure(call, "too_many", why)
        line = _Line(self.show)
        context = ToolContext(
            call=call,
            user_id=self.user_id,
            channel_id=self.channel_id,
            stop_signal=self.stop_signal,
            show=line,
        )
        given.update(dict.fromkeys(tool.described.contexts, context))
        job = ToolJob(tool.name, partial(tool.function, **given))
        span = self.telemetry.tool_started(tool.name, call.id)
        problem: Problem = "stopped"
        try:
            answer = await self._run(tool, call, job)
            problem = answer.problem
            return answer
        finally:
            span.ended(problem)
            line.show = None  # progress after the answer is ignored
            if job.left_behind:
                tool.left_behind[:] = [earlier for earlier in tool.left_behind if not earlier.ended]
                tool.left_behind.append(job)
                left()

    async def _run(self, tool: FunctionTool, call: Call, job: ToolJob) -> ToolResult:
        limit = tool.timeout_ms or self.settings.tool_timeout_ms
        began = anyio.current_time()
        job.start()
        in_time = await job.wait(limit / 1000)
        seconds = anyio.current_time() - began
        if not in_time:
            why = f"not done after {limit / 1000:g} seconds"
            why = f"{why}; {_STILL_RUNS}" if job.left_behind else why
            return failure(call, "timeout", why, seconds)
        problem = job.error
        if problem is not None and not isinstance(problem, Exception):
            raise problem
        if problem is None and not job.returned:  # the tool cancelled itself
            return failure(call, "stopped", _STOPPED, seconds)
        if isinstance(problem, ToolError):
            return failure(call, "refused", str(problem), seconds, problem)
        if problem is not None:
            # Only the name and the location: messages, and so tracebacks, can hold secrets.
            kind = type(problem).__name__
            _LOG.warning("tool %s raised %s at %s", tool.name, kind, place_of(problem))
            return failure(call, "raised", f"the tool failed ({kind})", seconds, problem)
        try:
            text = _as_text(job.result)
        except (TypeError, ValueError, RecursionError):
            kind = type(job.result).__name__
            _LOG.warning("tool %s returned a %s that is not JSON", tool.name, kind)
            return failure(call, "not_json", f"the result ({kind}) is not JSON", seconds)
        most = self.settings.tool_result_chars_max
        return ToolResult(
            call=call, text=_cut(text, most), seconds=seconds, ends_turn=tool.ends_turn
        )


def _loop_of_asyncio() -> asyncio.AbstractEventLoop | None:
    """Return the running asyncio loop; None under trio, which has its own thread support."""
    is_asyncio = anyio.get_cancelled_exc_class() is asyncio.CancelledError
    return asyncio.get_running_loop() if is_asyncio else None


@define(eq=False)
class _Line:
    """The progress callback of one call; disabled when the call is answered."""

    show: Show | None
    _thread: int = field(factory=threading.get_ident, init=False, repr=False)
    _loop: asyncio.AbstractEventLoop | None = field(
        factory=_loop_of_asyncio, init=False, repr=False
    )

    def __call__(self, progress: Progress) -> None:
        """Show *progress*; from a worker thread, schedule it on the event loop's thread."""
        if self._thread == threading.get_ident():
            self._show(progress)
        elif self._loop is None:
            anyio.from_thread.run_sync(self._show, progress)
        else:
            with suppress(RuntimeError):  # the loop is closed
                self._loop.call_soon_threadsafe(self._show, progress)

    def _show(self, progress: Progress) -> None:
        if self.show is None:
            return
        failed, _ = call_guarded(self.show, progress)
        if failed:
            _LOG.warning("showing progress %s", failed)


def failure(
    call: Call,
    problem: Problem,
    why: str,
    seconds: float = 0.0,
    exception: Exception | None = None,
) -> ToolResult:
    """Return the answer to a call that has no result."""
    why = redact(why)[:_PROBLEM_CHARS_MAX].encode("utf-8", "replace").decode()
    text = msgspec.json.encode({"error": why or "failed"}).decode()
    return ToolResult(call=call, text=text, problem=problem, seconds=seconds, exception=exception)


def _arguments(tool: FunctionTool, given: Mapping[str, Any]) -> dict[str, Any]:
    if tool.described.arguments is None:
        return {"arguments": _by_schema(tool.described.spec.parameters, _whole(given))}
    read = msgspec.convert(_whole(given), tool.described.arguments)
    found = {name: getattr(read, name) for name in read.__struct_fields__}
    return {name: value for name, value in found.items() if value is not msgspec.UNSET}


def _by_schema(schema: Mapping[str, Any], given: Any) -> Any:
    # Imported late: it takes longer than all of minamo.
    from jsonschema import Draft202012Validator

    for error in Draft202012Validator(schema).iter_errors(given):
        raise msgspec.ValidationError(f"{error.json_path}: {error.message}")
    return given


def _whole(value: Any) -> Any:
    """Convert floats such as 5.0 to int: JSON does not distinguish them, and Gemini sends 5.0."""
    if isinstance(value, float) and value.is_integer() and abs(value) < _EXACT:
        return int(value)
    if isinstance(value, Mapping):
        return {key: _whole(item) for key, item in value.items()}
    return [_whole(item) for item in value] if isinstance(value, list) else value


def _problem(error: Exception) -> str:
    """Describe invalid arguments: in full for msgspec, which names only types and paths.

    Of any other error only the exception name is used: its text may contain anything.
    """
    if isinstance(error, msgspec.ValidationError) and error.__cause__ is None:
        return f"bad arguments: {error}"
    return f"bad arguments ({type(error.__cause__ or error).__name__})"


def _as_text(result: Any) -> str:
    """Return a result as text: as is if it is a string, otherwise as JSON."""
    if result is None:
        return "done"
    if isinstance(result, str):
        return result
    return msgspec.json.encode(result).decode()


def _cut(text: str, most: int) -> str:
    if len(text) <= most:
        return text
    note = f"\n[cut off: {len(text)} characters, tool_result_chars_max is {most}]"
    return text[: most - len(note)] + note
