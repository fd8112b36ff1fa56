"""The tool loop: what is asked, shown, remembered, and where it ends."""

from __future__ import annotations

import logging
from typing import Any

import anyio
import pytest

from minamo.core.chunks import Call, DoneChunk, ErrorChunk, FunctionCall, TextChunk, Usage
from minamo.core.config import StreamConfig
from minamo.core.result import StreamResult
from minamo.errors import BadRequest, BadSetting
from minamo.shell.providers.adapters import OpenAICompatible
from minamo.shell.providers.scripted import ScriptedProvider
from minamo.shell.stops.registry import StopRequest
from minamo.shell.turns.tool_job import Progress, ToolContext, ToolError
from minamo.shell.turns.tool_runner import ToolRunner
from minamo.shell.turns.tools import Tools, tool
from minamo.shell.turns.turn_result import TurnResult, TurnSettings
from minamo.wire.conversation import (
    ChatMessage,
    assistant,
    match_tool_results,
    system,
    tool_result,
    user,
)
from support.fake_discord import run_with_virtual_clock
from support.turns import Dialogue, Stage, asks, calls, play, turn

DOWN = ErrorChunk("provider_overloaded", "busy", retryable=True)
WRONG = ErrorChunk("api_error", "no such model")
BLOCKED = ErrorChunk("content_blocked", "no")


async def roll(sides: int = 6) -> int:
    """Roll a die."""
    return sides


async def slow(seconds: float = 10.0) -> str:
    await anyio.sleep(seconds)
    return "slept"


async def broken() -> None:
    raise ToolError("out of order")


async def finish() -> None:
    pass


TOOLS = Tools([roll, slow, broken, tool(finish, ends_turn=True)])


def test_a_reply_without_calls_is_the_whole_turn() -> None:
    stage = Stage()
    result = turn([["Hello ", "there.", DoneChunk("stop", Usage(5, 2))]], TOOLS, stage=stage)

    assert (result.status, result.stop_reason, result.data) == ("completed", None, None)
    assert result.accumulated_text == "Hello there."
    assert stage.shown == ["Hello there."]
    assert stage.passes == [{"first": True, "suppress_user_errors": False}]
    assert result.states == ("starting", "streaming", "completed")
    assert (result.iterations, result.usage) == (1, Usage(5, 2))
    assert result.messages == (user("Hello?"), assistant("Hello there."))
    assert not result.error_unshown


def test_the_next_reply_knows_what_was_shown_called_and_answered() -> None:
    stage = Stage()
    first, second = Call("roll", {"sides": 20}, "a"), Call("broken", {}, "b")
    llm = Dialogue(
        [
            ["Rolling.", FunctionCall((first, second), usage=Usage(1, 2)), DoneChunk()],
            ["It is 20.", DoneChunk("stop", Usage(10, None, 3), replay={"thought_signature": "s"})],
        ]
    )
    result = play(lambda on: on.turn(llm, TOOLS, messages=[system("Be kind."), user("Go")]), stage)

    begin = (system("Be kind."), user("Go"))
    added = (
        assistant("Rolling.", calls=[first, second]),
        tool_result(first, "20"),
        tool_result(second, '{"error":"out of order"}', failed=True),
    )
    assert llm.asked == [begin, begin + added]
    assert llm.offered == [("roll", "slow", "broken", "finish")] * 2
    assert result.messages == (
        *begin,
        *added,
        assistant("It is 20.", replay={"thought_signature": "s"}),
    )
    assert stage.shown == ["Rolling.", "It is 20."]
    assert [one["first"] for one in stage.passes] == [True, False]
    assert result.accumulated_text == "Rolling.\n\nIt is 20."
    assert [(one.call.name, one.problem) for one in result.tool_history] == [
        ("roll", ""),
        ("broken", "refused"),
    ]
    assert result.states == ("starting", "streaming", "running_tools", "streaming", "completed")
    assert result.usage == Usage(11, 2, 3)
    assert result.iterations == len(result.results) == 2


def test_calls_of_one_reply_run_at_the_same_time() -> None:
    async def story(on: Stage) -> Any:
        result = await on.turn(Dialogue([asks("slow", "slow", "slow"), ["Done."]]), TOOLS)
        assert anyio.current_time() == 10
        return result

    assert [one.seconds for one in play(story).tool_history] == [10, 10, 10]


def test_without_tools_the_calls_are_the_callers() -> None:
    for tools in (None, Tools(), TOOLS.only()):
        llm = Dialogue([asks("roll", "slow", text="Well…")])
        result = play(lambda on, tools=tools, llm=llm: on.turn(llm, tools))

        assert result.status == "function_call"
        assert result.data == Call("roll")
        assert llm.offered == [()]
        assert result.messages[-1] == assistant("Well…", calls=[Call("roll"), Call("slow")])
        assert result.tool_history == ()
        assert len(result.as_stream_result().function_calls) == 2


def test_a_tool_that_is_not_allowed_is_unknown() -> None:
    result = turn([asks("slow"), ["Then not."]], TOOLS.only("roll"))

    assert result.status == "completed"
    assert result.tool_history[0].problem == "unknown_tool"


def test_a_tool_may_end_the_turn_unless_it_fails() -> None:
    llm = Dialogue([asks("roll", "finish", text="Bye."), ["Never."]])
    result = play(lambda on: on.turn(llm, TOOLS))

    assert (result.status, result.stop_reason, len(llm.asked)) == ("completed", None, 1)
    assert [message.role for message in result.messages] == ["user", "assistant", "tool", "tool"]

    late = Tools([tool(broken, ends_turn=True)])
    assert turn([asks("broken"), ["Sorry."]], late).accumulated_text == "Sorry."


def test_the_same_failing_call_for_ever_is_ended() -> None:
    llm = Dialogue([asks("broken")])
    result = play(lambda on: on.turn(llm, TOOLS))

    assert (result.status, len(llm.asked), len(result.tool_history)) == ("error", 5, 5)
    assert result.data == ErrorChunk("model_error", "the tools failed 5 times in a row")
    assert result.error_unshown


def test_one_call_that_works_is_no_failing_round() -> None:
    failing, mixed = asks("broken"), asks("broken", "roll")
    llm = Dialogue([failing] * 4 + [mixed] + [failing] * 4 + [["Done."]])

    assert play(lambda on: on.turn(llm, TOOLS)).status == "completed"
    assert len(llm.asked) == 10


@pytest.mark.parametrize("most", [1, 3, 100])
def test_a_model_that_never_stops_calling_is_ended(most: int) -> None:
    llm = Dialogue([asks("roll", "slow")])
    settings = TurnSettings(iterations_max=most)
    result = play(lambda on: on.turn(llm, TOOLS, settings=settings))

    assert (result.status, result.iterations, len(llm.asked)) == ("error", most, most)
    assert result.data == ErrorChunk(
        "model_error", f"the model still asks for tools after {most} replies"
    )
    assert [one.problem for one in result.tool_history[-2:]] == ["too_many"] * 2
    assert len(result.tool_history) == 2 * most
    assert result.error_unshown


def test_an_empty_reply_is_asked_for_again() -> None:
    empty: list[Any] = [TextChunk("", ("Hm.",)), DoneChunk("stop")]
    llm, stage = Dialogue([empty, empty, ["Here."]]), Stage()
    result = play(lambda on: on.turn(llm, TOOLS), stage)
    assert (result.status, len(result.results), result.iterations) == ("completed", 3, 1)
    assert [one["first"] for one in stage.passes] == [True] * 3

    llm = Dialogue([empty])
    result = play(lambda on: on.turn(llm, TOOLS))
    assert (result.status, len(llm.asked)) == ("empty_response", 3)
    assert result.messages == (user("Hello?"),)

    llm = Dialogue([empty])
    settings = TurnSettings(empty_retries=0)
    assert play(lambda on: on.turn(llm, settings=settings)).status == "empty_response"
    assert len(llm.asked) == 1


def test_a_reply_that_spent_its_length_is_not_asked_for_again() -> None:
    llm = Dialogue([[TextChunk("", ("Hm.",)), DoneChunk("max_tokens")]])
    result = play(lambda on: on.turn(llm))
    assert (result.status, len(llm.asked)) == ("empty_response", 1)


def test_what_was_said_before_the_tools_is_an_answer() -> None:
    result = turn([asks("roll", text="It is cast."), [DoneChunk()]], TOOLS)

    assert (result.status, len(result.results)) == ("completed", 4)
    assert [message.role for message in result.messages] == ["user", "assistant", "tool"]


def test_a_call_chunk_without_calls_is_an_error() -> None:
    told = turn([["Hi.", FunctionCall(())]], TOOLS)
    assert (told.status, told.accumulated_text) == ("error", "Hi.")
    assert "there are no calls" in told.data.message


@pytest.mark.parametrize(
    ("first", "others", "status", "asked", "unshown"),
    [
        ([DOWN], [["Hi."]], "completed", [1, 1], False),
        ([WRONG], [["Hi."]], "completed", [1, 1], False),
        ([WRONG], [[WRONG], [DOWN], ["Hi."]], "completed", [1, 1, 1, 1], False),
        ([TextChunk("", ("Hm.",)), DOWN], [["Hi."]], "completed", [1, 1], False),
        ([WRONG], [[DOWN]], "error", [1, 1], False),
        (ScriptedProvider([], hangs=True), [["Hi."]], "completed", [1, 1], False),
        (
            ScriptedProvider([], hangs=True),
            [ScriptedProvider([], hangs=True)],
            "timeout",
            [1, 1],
            False,
        ),
        ([DoneChunk()], [["Hi."]], "completed", [3, 1], False),
        ([DoneChunk()], [[DoneChunk()]], "empty_response", [3, 1], False),
        # Not what another provider could mend: what was said would be said twice.
        (["Hel", DOWN], [["Hi."]], "error", [1, 0], True),
        (ScriptedProvider(["Hel"], hangs=True), [["Hi."]], "timeout", [1, 0], True),
        ([BLOCKED], [["Hi."]], "error", [1, 0], True),
        ([DOWN], [], "error", [1], False),
    ],
)
def test_another_provider_is_asked_before_anything_is_shown(
    first: Any, others: list[Any], status: str, asked: list[int], unshown: bool
) -> None:
    stage = Stage()
    llms = [Dialogue([first]), *(Dialogue([one]) for one in others)]
    result = play(lambda on: on.turn(llms[0], TOOLS, fallbacks=llms[1:]), stage)

    assert result.status == status
    assert [len(one.asked) for one in llms] == asked
    assert result.error_unshown == unshown
    last = len(llms) - 1
    suppressed = [number < last for number, times in enumerate(asked) for _ in range(times)]
    assert [one["suppress_user_errors"] for one in stage.passes] == suppressed
    assert result.results[-1].status == result.status


def test_a_fallback_stays_for_the_rest_of_the_turn() -> None:
    one, two = Dialogue([asks("roll"), [DOWN]]), Dialogue([asks("roll"), ["Hi."]])
    result = play(lambda on: on.turn(one, TOOLS, fallbacks=[two]))

    assert (result.status, len(one.asked), len(two.asked)) == ("completed", 2, 2)
    assert [message.role for message in two.asked[0]] == ["user", "assistant", "tool"]


def test_what_discord_refuses_is_refused_from_any_provider() -> None:
    async def refused(source: Any, **_: bool) -> StreamResult:
        return StreamResult(status="error", stop_reason="delivery_lost")

    llm = Dialogue([["Hi."]])
    result = play(lambda on: on.turn(Dialogue([["Hi."]]), fallbacks=[llm], stream_pass=refused))

    assert (result.status, result.stop_reason, llm.asked) == ("error", "delivery_lost", [])


def test_nothing_that_a_provider_or_a_pass_does_is_raised(caplog: Any, monkeypatch: Any) -> None:
    def impossible(*_: Any) -> Any:
        raise BadRequest("a tool's message answers nothing")

    def faulty(*_: Any) -> Any:
        raise OSError("sk-secret")

    async def raises(*_: Any, **__: bool) -> Any:
        raise OSError("sk-secret")

    async def returns_nothing(source: Any, **_: bool) -> Any:
        return None

    def watching(_: Any) -> None:
        raise OSError("oops")

    caplog.set_level(logging.CRITICAL)
    told = play(lambda on: on.turn(impossible))
    assert (told.status, told.data) == (
        "error",
        ErrorChunk("api_error", "a tool's message answers nothing"),
    )
    told = play(lambda on: on.turn(faulty))
    assert told.data == ErrorChunk("api_error", "asking failed (OSError)")
    told = play(lambda on: on.turn(ScriptedProvider(["Hi"]), stream_pass=raises))
    assert told.data == ErrorChunk("api_error", "the reply could not be shown (OSError)")
    assert told.error_unshown
    told = play(lambda on: on.turn(ScriptedProvider(["Hi"]), stream_pass=returns_nothing))
    assert told.data == ErrorChunk("api_error", "the reply could not be shown (TypeError)")
    caplog.clear()
    caplog.set_level(logging.WARNING)
    told = play(lambda on: on.turn(ScriptedProvider(["Hi"]), watch=watching))
    assert (told.status, told.accumulated_text) == ("completed", "Hi")
    (line,) = [record.getMessage() for record in caplog.records if record.name == "minamo.turn"]
    assert line.startswith("watch raised OSError at test_turn.py:")
    monkeypatch.setattr(ToolRunner, "run", raises)
    told = play(lambda on: on.turn(Dialogue([asks("roll")]), Tools([roll])))
    assert told.data == ErrorChunk("api_error", "internal error (OSError)")
    assert (told.status, told.error_unshown) == ("error", True)


def test_what_is_no_provider_or_no_tools_is_refused() -> None:
    prepared = OpenAICompatible("http://127.0.0.1:1", model="m").ask("Hi")
    for llm, others in ((prepared, []), (ScriptedProvider(["Hi"]), [prepared])):
        with pytest.raises(BadRequest, match=r"provider.*ChatStream is neither"):
            play(lambda on, llm=llm, others=others: on.turn(llm, fallbacks=others))
    with pytest.raises(BadRequest, match=r"Tools\(…\), not a list"):
        play(lambda on: on.turn(ScriptedProvider(["Hi"]), [roll]))  # type: ignore[arg-type]


def test_a_provider_that_chats_needs_no_function() -> None:
    asked: list[dict[str, Any]] = []

    class Chatty:
        def chat(self, messages: Any, **options: Any) -> ScriptedProvider:
            asked.append(options)
            return ScriptedProvider(["Hi."])

    play(lambda on: on.turn(Chatty(), TOOLS.only("roll")))
    play(lambda on: on.turn(Chatty()))
    assert [one.name for one in asked[0]["tools"]] == ["roll"]
    assert asked[1] == {}


def test_cancelling_from_outside_takes_the_tools_with_it() -> None:
    ended: list[float] = []

    async def careful() -> None:
        try:
            await anyio.sleep_forever()
        finally:
            ended.append(anyio.current_time())

    async def main() -> None:
        with anyio.move_on_after(5) as scope:
            await Stage().turn(Dialogue([asks("careful")]), Tools([careful]))
        assert scope.cancelled_caught

    run_with_virtual_clock(main)
    assert ended == [5]


def test_progress_and_ids_reach_their_places() -> None:
    said: list[Progress] = []

    async def look(context: ToolContext) -> str:
        context.progress("Looking…")
        return f"{context.user_id} {context.channel_id}"

    look.__annotations__["context"] = ToolContext
    result = turn(
        [asks("look"), ["Done."]],
        Tools([look]),
        progress=said.append,
        user_id=7,
        channel_id=8,
    )
    assert [one.text for one in said] == ["Looking…"]
    assert result.tool_history[0].text == "7 8"


def test_the_turn_as_one_stream_adds_up() -> None:
    stage = Stage(config=StreamConfig())
    result = turn(
        [
            ["<think>a</think>One.<details>d</details>", calls("roll"), DoneChunk()],
            ["<think>b</think>Two.", DoneChunk("stop")],
        ],
        TOOLS,
        stage=stage,
    )
    one = result.as_stream_result()

    assert (one.status, one.accumulated_text) == ("completed", "One.\n\nTwo.")
    assert one.thought_log == ("a", "b")
    assert one.details_content == "d"
    assert (result.thought_log, result.details_content) == (one.thought_log, one.details_content)
    assert one.finish_reason == "stop"
    assert one.suppressed == {"marker": 2 * len("<think></think>") + len("<details></details>")}
    assert (one.metrics["replies"], one.metrics["tool_calls"]) == (2, 1)
    assert one.metrics["total_chunks"] == 5
    assert result.last is result.results[-1]
    assert "One" not in repr(result)


@pytest.mark.parametrize(
    "wrong",
    [
        {"iterations_max": 0}, {"iterations_max": 1_001}, {"iterations_max": True},
        {"failed_rounds_max": 0}, {"empty_retries": -1}, {"empty_retries": 11},
        {"tool_timeout_ms": 0}, {"tool_timeout_ms": 1.5}, {"tool_result_chars_max": 10},
        {"silence_marker": " x"}, {"silence_marker": "x" * 65}, {"silence_marker": None},
    ],
)  # fmt: skip
def test_a_setting_that_makes_no_sense_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(BadSetting, match=next(iter(wrong))):
        TurnSettings(**wrong)


SLOW = ScriptedProvider([(40, "Once more.\n\n"), (40, "And again.\n\n")], hangs=True)


@pytest.mark.parametrize(
    ("replies", "over_at", "shown", "problems"),
    [
        ([SLOW], 60, ["Once more."], []),
        ([asks("sleep", seconds=100)], 60, [], ["stopped"]),
        ([asks("sleep", seconds=50), SLOW], 60, [], [""]),
        ([asks("sleep", seconds=25)], 60, [], ["", "", "stopped"]),
        # The call comes while the reply is told to end.
        (
            [["Let me see. ", (60, calls("sleep", seconds=1)), DoneChunk()]],
            60,
            ["Let me see."],
            None,
        ),
        ([[DoneChunk()]], 0, [], []),
    ],
)
def test_a_turn_has_a_deadline(
    replies: list[Any], over_at: float, shown: list[str], problems: list[str] | None
) -> None:
    async def sleep(seconds: float) -> None:
        await anyio.sleep(seconds)

    stage, times = Stage(), []

    async def story(on: Stage) -> TurnResult:
        result = await on.turn(
            Dialogue(replies), Tools([sleep]), settings=TurnSettings(turn_deadline_ms=60_000)
        )
        times.append(anyio.current_time())
        return result

    result = play(story, stage)
    assert times == [over_at]
    assert stage.shown == shown
    if over_at:
        assert (result.status, result.stop_reason) == ("timeout", "deadline")
        assert result.error_unshown
    if problems is not None:
        assert [one.problem for one in result.tool_history] == problems
    assert match_tool_results(result.messages)


@pytest.mark.parametrize("kind", ["user", "follow_up", "kill"])
def test_a_wish_after_the_deadline_changes_nothing(kind: Any) -> None:
    """The pass needs a while to end, and a wish comes meanwhile."""
    stage = Stage()

    async def slow_to_end(source: Any, **how: bool) -> StreamResult:
        result = await stage.stream_pass(source, **how)
        await anyio.sleep(2)
        stage.stop_signal.request(StopRequest(kind=kind))
        return result

    how = TurnSettings(turn_deadline_ms=60_000)
    told = play(lambda on: on.turn(SLOW, settings=how, stream_pass=slow_to_end), stage)
    assert (told.status, told.stop_reason) == ("timeout", "deadline")


def test_messages_are_not_changed() -> None:
    mine: list[ChatMessage] = [user("Go")]
    turn([asks("roll"), ["Hi."]], TOOLS, messages=mine)
    assert mine == [user("Go")]
