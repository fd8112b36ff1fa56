"""The charts of channels and turns, every row of them taken by real turns through real guards."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import anyio

from minamo.core.chunks import DoneChunk, ErrorChunk
from minamo.core.result import StreamResult
from minamo.machine import Coverage, verify
from minamo.shell.providers.scripted import ScriptedProvider
from minamo.shell.stops.registry import StopRequest
from minamo.shell.turns.channel import CHART as CHANNEL
from minamo.shell.turns.tool_job import ToolError
from minamo.shell.turns.tools import Tools, tool
from minamo.shell.turns.turn_actions import CHART as TURN
from minamo.shell.turns.turn_result import TurnSettings
from support.channels import Room, SlowLease, in_room, settle
from support.turns import Dialogue, Stage, asks, at, play


async def policies(room: Room) -> None:
    for name in "abc":
        await room.submit(name, policy="queue")
    await room.submit("d", policy="ignore")
    room.scopes["b"].cancel()
    await anyio.sleep(1)
    await room.submit("e", policy="interrupt")
    await room.submit("f", policy="interrupt")
    room.want(1)
    await anyio.sleep(100)


async def interrupted(room: Room) -> None:
    await room.submit("a", heeds_s=5)
    room.want(1)
    for name in "bcd":
        await room.submit(name, policy="interrupt")
    room.want(1)
    room.scopes["d"].cancel()
    await settle()
    await room.submit("e", policy="interrupt")
    room.channels.kill(1)
    room.channels.kill(1)


async def unbegun(room: Room) -> None:
    await room.submit("a")
    await room.submit("b", policy="queue")
    await room.submit("c")
    room.want(1)
    await settle()
    room.want(1)
    await settle()
    await room.submit("d")
    room.channels.kill(1)


async def closing_unbegun(room: Room) -> None:
    await room.submit("a")
    await room.channels.drain(1)
    await room.submit("b")


async def closing(room: Room) -> None:
    for place in (1, 2):
        await room.submit(f"a{place}", heeds_s=5, place=place)
    await room.submit("next", policy="interrupt")
    for _ in range(2):
        room.tasks.start_soon(room.channels.drain, 30)
    await settle()
    room.want(1)
    room.channels.kill(2)


def test_p09_real_turns_take_every_row_of_the_channel_chart(figure: Callable[[str], None]) -> None:
    seen = Coverage(CHANNEL)
    in_room(policies, queue_max=1, watch=seen)
    in_room(interrupted, watch=seen)
    in_room(unbegun, lease=SlowLease(), watch=seen)
    in_room(closing_unbegun, lease=SlowLease(), watch=seen)
    in_room(closing, watch=seen)
    figure(str(seen))
    assert not seen.missing, str(seen)


SEEN = Coverage(TURN)
USER, KILL, NEWER = StopRequest(), StopRequest(kind="kill"), StopRequest(kind="follow_up")


async def work(seconds: float = 0.0) -> None:
    await anyio.sleep(seconds)


async def fail() -> None:
    raise ToolError("no")


TOOLS = Tools([work, fail, tool(work, name="last", ends_turn=True)])


def status(
    *scripts: Any,
    wish: StopRequest | None = None,
    when: float | None = None,
    then: Callable[[Stage], object] | None = None,
    **options: Any,
) -> str:
    """Play a turn that is watched; a wish comes *when*, or before it, and *then* something else."""
    stage = Stage()
    options.setdefault("tools", TOOLS)

    async def story(on: Stage) -> Any:
        if wish is not None and when is None:
            on.stop_signal.request(wish)
        async with anyio.create_task_group() as tasks:
            if wish is not None and when is not None:
                tasks.start_soon(at, when, lambda: on.stop_signal.request(wish))
            if when is not None and then is not None:
                tasks.start_soon(at, when + 0.5, lambda: then(on))
            return await on.turn(Dialogue(list(scripts)), watch=SEEN, **options)

    return play(story, stage).status


def late(wish: StopRequest, story: Dialogue | None = None, **options: Any) -> str:
    """A wish that comes when the reply has its outcome and the turn does not know it yet."""
    stage = Stage()

    async def stream_pass(source: Any, **how: bool) -> StreamResult:
        result = await Stage().stream_pass(source, **how)
        stage.stop_signal.request(wish)
        return result

    llm = story or Dialogue([asks("work")])
    options |= {"stream_pass": stream_pass, "watch": SEEN}
    return play(lambda on: on.turn(llm, TOOLS, **options), stage).status


def test_p09_real_turns_take_every_row_of_the_turn_chart(figure: Callable[[str], None]) -> None:
    hangs, empty, down = (
        ScriptedProvider([], hangs=True),
        [DoneChunk()],
        [ErrorChunk("api_error", "no")],
    )
    hello, call, long = ["Hi."], asks("work"), asks("work", seconds=9)

    assert status(hello) == "completed"
    assert status(["<silence/>"], settings=TurnSettings(silence_marker="<silence/>")) == "completed"
    assert status(call, hello) == "completed"
    assert status(asks("work", text="Hi."), empty) == "completed"
    assert status(asks("last")) == "completed"
    assert status(call, tools=None) == "function_call"
    assert status(call, settings=TurnSettings(iterations_max=1)) == "error"
    assert status(asks("fail")) == "error"
    assert status(down) == "error"
    assert status(hangs) == "timeout"
    assert status(empty) == "empty_response"
    for reply in (empty, down, hangs):
        assert status(reply, fallbacks=[Dialogue([hello])]) == "completed"
    for wish, outcome in (
        (USER, "stopped_by_user"),
        (KILL, "stopped_by_user"),
        (NEWER, "follow_up_interrupt"),
    ):
        assert status(hello, wish=wish) == outcome
        assert status(hangs, wish=wish, when=3) == outcome
        assert status(long, wish=wish, when=3) == outcome
        assert late(wish) == outcome
        assert late(wish, Dialogue([down]), fallbacks=[Dialogue([hello])]) == outcome
    soon = TurnSettings(turn_deadline_ms=2_000)
    assert status(hangs, settings=soon) == "timeout"
    assert status(long, settings=soon) == "timeout"
    for then, outcome in (
        (lambda on: on.stop_signal.clear(), "completed"),
        (lambda on: on.stop_signal.request(KILL), "stopped_by_user"),
    ):
        assert status(long, hello, wish=USER, when=3, then=then) == outcome
    assert status(long, hello, wish=USER, when=8.5) == "stopped_by_user"
    figure(str(SEEN))
    assert not SEEN.missing, str(SEEN)


def test_the_chart_is_sound() -> None:
    assert not verify(TURN)
