"""Turns in virtual time: providers that follow a script, and a pass through the real machine."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import anyio
from attrs import define, field

from minamo.core.chunks import Call, Chunk, DoneChunk, FunctionCall
from minamo.core.config import StreamConfig
from minamo.core.result import StreamResult
from minamo.shell.providers.scripted import ScriptedProvider
from minamo.shell.stops.registry import StopSignal
from minamo.shell.turns.tools import Tools
from minamo.shell.turns.turn import TextPass, run_turn
from minamo.shell.turns.turn_result import TurnResult
from minamo.wire.conversation import ChatMessage, user
from minamo.wire.options import Tool
from support.fake_discord import run_with_virtual_clock

Script = Sequence[Any] | ScriptedProvider


@define(eq=False)
class Dialogue:
    """A provider that says something else each time; the last script is said for ever."""

    scripts: list[Script]
    asked: list[tuple[ChatMessage, ...]] = field(factory=list)
    offered: list[tuple[str, ...]] = field(factory=list)

    def __call__(self, messages: Sequence[ChatMessage], specs: Sequence[Tool]) -> ScriptedProvider:
        assert isinstance(messages, tuple)  # whoever keeps it may do so
        self.asked.append(messages)
        self.offered.append(tuple(one.name for one in specs))
        script = self.scripts[min(len(self.asked), len(self.scripts)) - 1]
        return script if isinstance(script, ScriptedProvider) else ScriptedProvider(script)


@define(eq=False)
class Stage:
    """Everything a turn has around it."""

    stop_signal: StopSignal = field(factory=StopSignal)
    config: StreamConfig = field(factory=StreamConfig)
    shown: list[str] = field(factory=list)
    passes: list[dict[str, bool]] = field(factory=list)

    async def stream_pass(self, source: Any, **how: bool) -> StreamResult:
        self.passes.append(how)
        return await TextPass(self.shown.append, self.stop_signal, self.config)(source, **how)

    async def turn(self, llm: Any, tools: Tools | None = None, **options: Any) -> TurnResult:
        options.setdefault("messages", [user("Hello?")])
        options.setdefault("stream_pass", self.stream_pass)
        return await run_turn(llm, tools=tools, stop_signal=self.stop_signal, **options)


def calls(*names: str | Call, **arguments: Any) -> FunctionCall:
    """A chunk that calls tools."""
    return FunctionCall(
        tuple(one if isinstance(one, Call) else Call(one, arguments) for one in names)
    )


def asks(*names: str | Call, text: str = "", after: float = 0.0, **arguments: Any) -> list[Any]:
    """A whole reply that ends in calls."""
    said: list[str | Chunk] = [text] if text else []
    return [*said, (after, calls(*names, **arguments)), DoneChunk("tool_calls")]


def play(story: Callable[[Stage], Awaitable[TurnResult]], stage: Stage | None = None) -> TurnResult:
    """Run one turn in virtual time."""
    results: list[TurnResult] = []

    async def main() -> None:
        results.append(await story(stage if stage is not None else Stage()))

    run_with_virtual_clock(main)
    return results[0]


def turn(
    scripts: Sequence[Script],
    tools: Tools | None = None,
    *,
    stage: Stage | None = None,
    **options: Any,
) -> TurnResult:
    """Play a turn with a provider that follows *scripts*."""
    return play(lambda on: on.turn(Dialogue(list(scripts)), tools, **options), stage)


async def at(seconds: float, do: Callable[[], object]) -> None:
    """Do something at a time."""
    await anyio.sleep_until(seconds)
    do()
