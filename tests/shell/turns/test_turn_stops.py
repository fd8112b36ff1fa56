"""Stops, follow-ups and kills at every moment of a turn."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from minamo.core.chunks import DoneChunk
from minamo.core.result import StreamResult
from minamo.shell.stops.registry import StopRequest
from minamo.shell.turns.tool_job import ToolContext
from minamo.shell.turns.tools import Tools
from minamo.shell.turns.turn_result import STOP_GRACE_MS, TurnResult, TurnSettings
from minamo.wire.conversation import match_tool_results
from support.fake_discord import run_with_virtual_clock
from support.turns import Dialogue, Stage, asks, at, calls, play

# When the turn below does what, in seconds.
CALLED, FIRST_DONE, ANSWERED, SPOKE, ENDED = 2, 5, 7, 8, 10
WISHES = {
    "user": (StopRequest(requester="7"), "stopped_by_user", "user_request"),
    "system": (StopRequest(), "stopped_by_user", "system_request"),
    "kill": (StopRequest(kind="kill"), "stopped_by_user", "killed"),
    "follow_up": (StopRequest(kind="follow_up"), "follow_up_interrupt", "follow_up"),
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
                DoneChunk(),
            ],
            [(1, "Thank you.\n\n"), (1, "And good"), (1, "bye."), DoneChunk("stop")],
        ]
    )


def asks_for(seconds: int) -> Any:
    (call,) = calls("wait", seconds=seconds).calls
    return call


#: What a user's stop gives running tools to finish, in seconds.
GRACE = STOP_GRACE_MS / 1000


def over_after(kind: str, moment: float) -> float:
    """When the turn of the script has ended, if a wish comes at *moment*."""
    if kind in ("user", "system") and CALLED <= moment <= ANSWERED:
        return min(moment + GRACE, ANSWERED)
    return min(moment, ENDED)


def checked(result: TurnResult, tools: Counted) -> None:
    assert tools.running == 0
    wanted = [call for message in result.messages for call in message.calls]
    assert [one.call for one in result.tool_history] == wanted
    assert match_tool_results(result.messages)


@pytest.mark.parametrize("kind", WISHES)
@pytest.mark.parametrize("half_seconds", range(23))
def test_a_wish_ends_the_turn_at_once_whenever_it_comes(kind: str, half_seconds: int) -> None:
    moment = half_seconds / 2
    wish, status, reason = WISHES[kind]
    tools, stage, llm = Counted(), Stage(), script()

    async def story(on: Stage) -> TurnResult:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(at, moment, lambda: on.stop_signal.request(wish))
            result = await on.turn(llm, Tools([tools.wait]))
            # At the very moment of a change either may come first.
            assert anyio.current_time() in (over_after(kind, moment), moment)
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
        over = over_after(kind, moment)
        for one, done_at in zip(result.tool_history, (FIRST_DONE, ANSWERED), strict=True):
            assert over == done_at or one.problem == ("stopped" if over < done_at else "")
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
    stage.stop_signal.request(wish)
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
        stage.stop_signal.request(wish)
        return result

    result = play(lambda on: on.turn(script(), Tools([tools.wait]), stream_pass=late), stage)
    checked(result, tools)
    assert (result.status, result.stop_reason, tools.begun) == (status, reason, 0)
    assert [one.problem for one in result.tool_history] == ["stopped", "stopped"]


@pytest.mark.parametrize("kind", WISHES)
@pytest.mark.parametrize("ends", ["empty_response", "error", "timeout"])
def test_a_wish_ends_retries_and_fallbacks(ends: Any, kind: str) -> None:
    """What would have followed is what the wish ended, so the wish is the outcome."""
    wish, status, reason = WISHES[kind]
    stage = Stage()

    async def late(source: Any, **_: bool) -> StreamResult:
        stage.stop_signal.request(wish)
        return StreamResult(status=ends)

    one, two = Dialogue([[DoneChunk()]]), Dialogue([["Hi."]])
    result = play(lambda on: on.turn(one, fallbacks=[two], stream_pass=late), stage)
    assert (result.status, result.stop_reason) == (status, reason)
    assert (len(result.results), two.asked) == (1, [])


@pytest.mark.parametrize("kind", WISHES)
@pytest.mark.parametrize("ends", ["completed", "error", "timeout"])
def test_a_reply_that_was_the_last_keeps_its_outcome(ends: Any, kind: str) -> None:
    stage = Stage()

    async def late(source: Any, **_: bool) -> StreamResult:
        stage.stop_signal.request(WISHES[kind][0])
        return StreamResult(status=ends, accumulated_text="Hi.")

    assert play(lambda on: on.turn(Dialogue([["Hi."]]), stream_pass=late), stage).status == ends


@pytest.mark.parametrize("kind", WISHES)
@pytest.mark.parametrize("tools", [None, Tools()])
def test_a_kill_is_no_empty_response_and_leaves_no_calls(kind: str, tools: Tools | None) -> None:
    """Whatever state the turn is in; without tools the calls would be the caller's to run."""
    wish, status, reason = WISHES[kind]
    stage = Stage()

    async def late(source: Any, **how: bool) -> StreamResult:
        result = await Stage().stream_pass(source, **how)
        stage.stop_signal.request(wish)
        return result

    result = play(lambda on: on.turn(script(), tools, stream_pass=late), stage)
    assert (result.status, result.stop_reason) == (status, reason)
    assert match_tool_results(result.messages)
    how = TurnSettings(empty_retries=0)
    stage = Stage()
    empty = Dialogue([[DoneChunk()]])
    result = play(lambda on: on.turn(empty, tools, stream_pass=late, settings=how), stage)
    assert (result.status, result.stop_reason) == (status, reason)


@pytest.mark.parametrize(("back_at", "taken_back"), [(3.5, True), (4.5, False)])
def test_a_stop_during_a_tool_can_be_taken_back_before_it_is_acted_on(
    back_at: float, taken_back: bool
) -> None:
    tools, stage, heard = Counted(), Stage(), []

    async def story(on: Stage) -> TurnResult:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(at, 3, lambda: on.stop_signal.request(StopRequest(requester="7")))
            tasks.start_soon(at, back_at, lambda: heard.append(on.stop_signal.clear()))
            return await on.turn(script(), Tools([tools.wait]))

    result = play(story, stage)
    checked(result, tools)
    assert heard == [taken_back]
    if taken_back:
        assert (result.status, stage.stop_signal.strongest) == ("completed", None)
        assert [one.problem for one in result.tool_history] == ["", ""]
        assert "finishing_tools" in result.states
    else:
        assert (result.status, result.stop_reason) == ("stopped_by_user", "user_request")


def test_a_stop_that_was_taken_back_can_be_made_again() -> None:
    tools, stage, times = Counted(), Stage(), []

    async def story(on: Stage) -> TurnResult:
        async with anyio.create_task_group() as tasks:
            for second in (2.5, 4.5):
                tasks.start_soon(
                    at, second, lambda: on.stop_signal.request(StopRequest(requester="7"))
                )
            tasks.start_soon(at, 3, on.stop_signal.clear)
            result = await on.turn(script(), Tools([tools.wait]))
            times.append(anyio.current_time())
            return result

    assert play(story, stage).stop_reason == "user_request"
    assert times == [4.5 + GRACE]


@pytest.mark.parametrize("second", ["user", "kill", "follow_up"])
def test_what_follows_a_stop_during_a_tool_ends_it_at_once(second: str) -> None:
    async def story(on: Stage) -> TurnResult:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(at, 3, lambda: on.stop_signal.request(StopRequest(requester="7")))
            tasks.start_soon(at, 3.25, lambda: on.stop_signal.request(WISHES[second][0]))
            result = await on.turn(script(), Tools([Counted().wait]))
            assert anyio.current_time() == 3.25
            return result

    result = play(story)
    reason = "killed" if second == "kill" else "user_request"
    assert (result.status, result.stop_reason) == ("stopped_by_user", reason)


@pytest.mark.parametrize(
    ("grace_ms", "by", "over_at"), [(0, 99, 3), (2_000, 99, 5), (2_000, 3.5, 3.5)]
)
def test_how_long_a_stop_waits_for_tools(grace_ms: int, by: float, over_at: float) -> None:
    async def story(on: Stage) -> TurnResult:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(at, 3, lambda: on.stop_signal.request(StopRequest(deadline=by)))
            how = TurnSettings(stop_grace_ms=grace_ms)
            result = await on.turn(script(), Tools([Counted().wait]), settings=how)
            assert anyio.current_time() == over_at
            return result

    assert play(story).stop_reason == "system_request"


def test_a_follow_up_does_not_override_a_stop() -> None:
    stage = Stage()

    async def late(source: Any, **how: bool) -> StreamResult:
        result = await Stage().stream_pass(source, **how)
        for kind in ("user", "follow_up"):
            stage.stop_signal.request(WISHES[kind][0])
        return result

    result = play(lambda on: on.turn(script(), Tools([Counted().wait]), stream_pass=late), stage)
    assert (result.status, result.stop_reason) == ("stopped_by_user", "user_request")


def test_a_tool_may_wish_itself() -> None:
    tools = Counted()

    async def leave(context: ToolContext) -> str:
        context.stop_signal.request(StopRequest(requester="tool"))
        await anyio.sleep_forever()
        return "never"

    leave.__annotations__["context"] = ToolContext

    async def main() -> None:
        result = await Stage().turn(
            Dialogue([[calls(asks_for(9), *calls("leave").calls), DoneChunk()]]),
            Tools([tools.wait, leave]),
        )
        checked(result, tools)
        assert (result.status, result.stop_reason) == ("stopped_by_user", "user_request")
        assert anyio.current_time() == GRACE

    run_with_virtual_clock(main)


@pytest.mark.parametrize(("takes_s", "ended_at"), [(0.5, 3.5), (2, 4)])
def test_a_tool_cleans_up_before_the_turn_ends_unless_it_takes_long(
    takes_s: float, ended_at: float
) -> None:
    cleaned: list[float] = []

    async def tidy() -> None:
        try:
            await anyio.sleep_forever()
        finally:
            with anyio.CancelScope(shield=True):
                await anyio.sleep(takes_s)
            cleaned.append(anyio.current_time())

    async def story(on: Stage) -> TurnResult:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(at, 3, lambda: on.stop_signal.request(StopRequest(kind="kill")))
            result = await on.turn(Dialogue([asks("tidy")]), Tools([tidy]))
            assert anyio.current_time() == ended_at
            return result

    assert play(story).stop_reason == "killed"
    assert cleaned == [3 + takes_s]
