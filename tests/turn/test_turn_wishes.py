"""Stops, follow-ups and kills at every moment of a turn."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from minamo.core.chunks import Done
from minamo.core.result import StreamResult
from minamo.shell.stopping.wishes import Wish
from minamo.shell.turns.tool_context import ToolContext
from minamo.shell.turns.tools import Tools
from minamo.shell.turns.turn_result import TurnResult
from minamo.wire.conversation import paired
from senders import virtually
from turning import Dialogue, Stage, asks, at, calls, play

# When the turn below does what, in seconds.
CALLED, FIRST_DONE, ANSWERED, SPOKE, ENDED = 2, 5, 7, 8, 10
WISHES = {
    "user": (Wish(requester="7"), "stopped_by_user", "user_request"),
    "system": (Wish(), "stopped_by_user", "system_request"),
    "kill": (Wish(kind="kill"), "stopped_by_user", "killed"),
    "follow_up": (Wish(kind="follow_up"), "follow_up_interrupt", "follow_up"),
}


class Counted:
    """Tools that know how many of them are running."""

    def __init__(self) -> None:
        self.running = self.begun = 0

    async def wait(self, seconds: float) -> str:
        self.begun += 1
        self.running += 1
        try:
            await anyio.sleep(seconds)
        finally:
            self.running -= 1
        return f"waited {seconds}"


def script() -> Dialogue:
    return Dialogue(
        [
            [
                (1, "Wait.\n\n"),
                (1, calls(asks_for(3), asks_for(5))),
                Done(),
            ],
            [(1, "Thank you.\n\n"), (1, "And good"), (1, "bye."), Done("stop")],
        ]
    )


def asks_for(seconds: int) -> Any:
    (call,) = calls("wait", seconds=seconds).calls
    return call


def checked(result: TurnResult, tools: Counted) -> None:
    assert tools.running == 0
    wanted = [call for message in result.messages for call in message.calls]
    assert [one.call for one in result.tool_history] == wanted
    assert paired(result.messages)


@pytest.mark.parametrize("kind", WISHES)
@pytest.mark.parametrize("half_seconds", range(23))
def test_a_wish_ends_the_turn_at_once_whenever_it_comes(kind: str, half_seconds: int) -> None:
    moment = half_seconds / 2
    wish, status, reason = WISHES[kind]
    tools, stage, llm = Counted(), Stage(), script()

    async def story(on: Stage) -> TurnResult:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(at, moment, lambda: on.wishes.put(wish))
            result = await on.turn(llm, Tools([tools.wait]))
            assert anyio.current_time() == min(moment, ENDED)
        return result

    result = play(story, stage)
    checked(result, tools)
    outcomes = {(status, reason)} if moment <= ENDED else set()
    if moment >= ENDED:
        outcomes.add(("completed", None))
    assert (result.status, result.stop_reason) in outcomes
    if moment < CALLED:
        assert (tools.begun, result.tool_history) == (0, ())
    elif CALLED < moment < ANSWERED:
        first = "" if moment > FIRST_DONE else "stopped"
        problems = [one.problem for one in result.tool_history]
        assert problems[1] == "stopped"
        assert moment == FIRST_DONE or problems[0] == first
        assert len(llm.asked) == 1
    elif moment > ANSWERED:
        assert [one.problem for one in result.tool_history] == ["", ""]
    if 9 < moment < ENDED:
        # A stop keeps what was written; the others do not.
        kept = ["And good"] if kind in ("user", "system") else []
        assert stage.shown == ["Wait.", "Thank you.", *kept]


@pytest.mark.parametrize("kind", WISHES)
def test_a_wish_from_before_the_turn_ends_it_before_anything_is_asked(kind: str) -> None:
    wish, status, reason = WISHES[kind]
    stage, llm = Stage(), script()
    stage.wishes.put(wish)
    result = play(lambda on: on.turn(llm, Tools([Counted().wait])), stage)

    assert (result.status, result.stop_reason) == (status, reason)
    assert (llm.asked, result.results, result.iterations) == ([], (), 0)
    assert result.last is None
    assert result.states[-1] == status
    assert result.as_stream_result().status == status


@pytest.mark.parametrize("kind", WISHES)
def test_no_tool_is_begun_after_a_wish_that_came_while_the_reply_ended(kind: str) -> None:
    """A reply that has its outcome keeps it; the wish counts for the turn all the same."""
    wish, status, reason = WISHES[kind]
    tools, stage = Counted(), Stage()

    async def late(source: Any, **how: bool) -> StreamResult:
        result = await Stage().stream_pass(source, **how)
        stage.wishes.put(wish)
        return result

    result = play(lambda on: on.turn(script(), Tools([tools.wait]), stream_pass=late), stage)
    checked(result, tools)
    assert (result.status, result.stop_reason, tools.begun) == (status, reason, 0)
    assert [one.problem for one in result.tool_history] == ["stopped", "stopped"]


@pytest.mark.parametrize("reply", [[Done()], ["x"]])
def test_a_wish_ends_retries_and_fallbacks(reply: list[Any]) -> None:
    stage = Stage()

    async def late(source: Any, **_: bool) -> StreamResult:
        stage.wishes.put(Wish())
        return StreamResult(status="empty_response" if reply[0] == Done() else "error")

    one, two = Dialogue([reply]), Dialogue([["Hi."]])
    result = play(lambda on: on.turn(one, fallbacks=[two], stream_pass=late), stage)
    assert result.status in ("empty_response", "error")
    assert (len(result.results), two.asked) == (1, [])


def test_a_follow_up_does_not_override_a_stop() -> None:
    stage = Stage()

    async def late(source: Any, **how: bool) -> StreamResult:
        result = await Stage().stream_pass(source, **how)
        for kind in ("user", "follow_up"):
            stage.wishes.put(WISHES[kind][0])
        return result

    result = play(lambda on: on.turn(script(), Tools([Counted().wait]), stream_pass=late), stage)
    assert (result.status, result.stop_reason) == ("stopped_by_user", "user_request")


def test_a_tool_may_wish_itself() -> None:
    tools = Counted()

    async def leave(context: ToolContext) -> str:
        context.wishes.put(Wish(requester="tool"))
        await anyio.sleep_forever()
        return "never"

    leave.__annotations__["context"] = ToolContext

    async def main() -> None:
        result = await Stage().turn(
            Dialogue([[calls(asks_for(9), *calls("leave").calls), Done()]]),
            Tools([tools.wait, leave]),
        )
        checked(result, tools)
        assert (result.status, result.stop_reason) == ("stopped_by_user", "user_request")
        assert anyio.current_time() == 0

    virtually(main)


def test_a_tool_cleans_up_before_the_turn_ends() -> None:
    cleaned: list[float] = []

    async def tidy() -> None:
        try:
            await anyio.sleep_forever()
        finally:
            with anyio.CancelScope(shield=True):
                await anyio.sleep(2)
            cleaned.append(anyio.current_time())

    async def story(on: Stage) -> TurnResult:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(at, 3, lambda: on.wishes.put(Wish(kind="kill")))
            return await on.turn(Dialogue([asks("tidy")]), Tools([tidy]))

    assert play(story).stop_reason == "killed"
    assert cleaned == [5]
