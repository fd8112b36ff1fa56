"""Random providers, tools and wishes, through which a turn keeps its promises; and what providers are sent next."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import Any, get_args

import anyio
import msgspec
import pytest
from aiohttp import web
from hypothesis import event, given
from hypothesis import strategies as st

from minamo.core.chunks import Call, DoneChunk, ErrorChunk, FunctionCall, TextChunk, Usage
from minamo.core.result import Status, StreamResult
from minamo.machine import Coverage
from minamo.shell.providers.scripted import ScriptedProvider
from minamo.shell.stops.registry import StopRequest
from minamo.shell.turns.tool_job import ToolError
from minamo.shell.turns.tools import Tools, tool
from minamo.shell.turns.turn_actions import CHART
from minamo.shell.turns.turn_result import TurnResult, TurnSettings
from minamo.wire.conversation import match_tool_results, system, user
from support.provider_server import serving, streamed
from support.recordings import adapter, recording
from support.turns import Dialogue, Stage, at, play

MARK = "<silence/>"
SEEN = Coverage(CHART)


class Shop:
    """Tools of every temper, which count who is at work."""

    def __init__(self) -> None:
        self.running = self.begun = 0

    async def work(self, seconds: int = 0) -> str:
        self.begun += 1
        self.running += 1
        try:
            await anyio.sleep(seconds)
        finally:
            self.running -= 1
        return "fine"

    async def refuse(self, seconds: int = 0) -> None:
        await self.work(seconds)
        raise ToolError("no")

    async def crash(self, seconds: int = 0) -> None:
        await self.work(seconds)
        raise OSError("sk-secret")

    async def spill(self, seconds: int = 0) -> Any:
        await self.work(seconds)
        return object()

    @property
    def tools(self) -> Tools:
        last = tool(self.work, name="last", ends_turn=True)
        return Tools([self.work, self.refuse, self.crash, self.spill, last])


def often(usual: Any, *rare: Any) -> st.SearchStrategy[Any]:
    """Mostly *usual*, now and then something else."""
    return st.sampled_from([usual] * 4 + list(rare))


a_call = st.builds(
    Call,
    often("work", "refuse", "crash", "spill", "last", "unknown"),
    often({"seconds": 3}, {}, {"seconds": 1}, {"seconds": 40}, {"seconds": "soon"}),
    st.sampled_from(["", "a", "b"]),
)
some_calls = st.lists(a_call, min_size=1, max_size=3).map(lambda some: FunctionCall(tuple(some)))
spoken = st.sampled_from(["Hi. ", "Well.\n\n", " ", "<think>hm</think>", MARK, "<sil"])
says = st.lists(st.tuples(st.sampled_from([0, 1]), spoken), max_size=2)
last_words = often(
    some_calls,
    st.builds(lambda n: DoneChunk("stop", Usage(n)), st.integers(0, 9)),
    st.just(ErrorChunk("api_error", "no")),
    st.sampled_from([ErrorChunk("content_blocked", "no"), FunctionCall(())]),
).flatmap(lambda one: one)
replies = often(
    st.builds(lambda said, end: ScriptedProvider([*said, (1, end)]), says, last_words),
    st.builds(lambda said: ScriptedProvider(said, hangs=True), says),
    st.sampled_from([ScriptedProvider([MARK]), ScriptedProvider([DoneChunk("stop")])]),
).flatmap(lambda one: one)
dialogues = st.lists(replies, min_size=3, max_size=5)
kinds = st.sampled_from(["user", "user", "follow_up", "kill", "taken back"])
# While something goes on, before the turn, or long after.
moments = st.sampled_from([0.5, 1, 1.5, 2.5, 3.5, 4.5, 5.5, 7.5, 0, -1, 200])
stop_signal = often(1, 0, 2).flatmap(
    lambda size: st.lists(st.tuples(moments, kinds), min_size=size, max_size=size)
)
settings = st.builds(
    TurnSettings,
    iterations_max=often(6, 1, 2),
    failed_rounds_max=often(3, 1, 2),
    empty_retries=often(2, 0, 1),
    tool_timeout_ms=st.sampled_from([2_000, 300_000]),
    turn_deadline_ms=often(1_800_000, 4_200),
    stop_grace_ms=often(2_000, 0),
    silence_marker=st.sampled_from(["", MARK]),
)


@given(
    often(1, 2, 3).flatmap(lambda size: st.lists(dialogues, min_size=size, max_size=size)),
    stop_signal,
    often(None, "user", "follow_up", "kill"),
    settings,
    often(True, False),
)
def a_turn_keeps_its_promises(
    scripts: list[list[ScriptedProvider]],
    wanted: list[tuple[float, Any]],
    late: Any,
    how: TurnSettings,
    with_tools: bool,
) -> None:
    llms = [Dialogue(list(one)) for one in scripts]
    shop, stage = Shop(), Stage()
    began, over = user("Go"), 0.0

    async def stream_pass(source: Any, **options: bool) -> StreamResult:
        result = await stage.stream_pass(source, **options)
        if late is not None and len(stage.passes) == 2:
            stage.stop_signal.request(
                StopRequest(kind=late)
            )  # the reply has ended, and nobody knows yet
        return result

    async def story(on: Stage) -> TurnResult:
        nonlocal over
        async with anyio.create_task_group() as tasks:
            for when, kind in wanted:
                do = (
                    on.stop_signal.clear
                    if kind == "taken back"
                    else partial(on.stop_signal.request, StopRequest(kind=kind))
                )
                if when < 0:
                    do()
                else:
                    tasks.start_soon(at, when, do)
            result = await on.turn(
                llms[0],
                shop.tools if with_tools else None,
                messages=[began],
                stream_pass=stream_pass,
                settings=how,
                fallbacks=llms[1:],
                watch=SEEN,
            )
            over = anyio.current_time()
        return result

    result = play(story, stage)
    event(result.status)

    # One outcome.
    assert result.status in get_args(Status)
    assert result.states[-1] == result.status
    assert sum(state in get_args(Status) for state in result.states) == 1
    # Nobody waits for a turn that was told to end, and no tool outlives it.
    grace = how.stop_grace_ms / 1000
    if all(kind != "taken back" for _, kind in wanted):
        assert all(max(when, 0) + (grace if kind == "user" else 0) >= over for when, kind in wanted)
    assert over <= how.turn_deadline_ms / 1000
    assert late is None or len(result.results) <= 2
    assert shop.running == 0
    # Every loop is bounded.
    assert result.iterations <= how.iterations_max
    assert len(result.results) <= how.iterations_max + how.empty_retries + len(llms) - 1
    assert _longest_failure(result) <= how.failed_rounds_max
    # Every call is answered exactly once, in order; unless it is the caller's to run.
    mine = [call for one in result.results for call in one.function_calls]
    unanswered = len(result.results[-1].function_calls) if result.status == "function_call" else 0
    assert [one.call for one in result.tool_history] == mine[: len(mine) - unanswered]
    # The conversation goes on from where it was, each time.
    asked = [messages for one in llms for messages in one.asked]
    for before, after in pairwise(sorted(asked, key=len)):
        assert after[: len(before)] == before
    assert result.messages[0] is began
    assert all(messages == result.messages[: len(messages)] for messages in asked)
    if result.status != "function_call":
        match_tool_results(result.messages)
    # What was shown is what is told, and nothing that is nobody's business.
    assert "".join("".join(stage.shown).split()) == "".join(result.accumulated_text.split())
    assert "sk-secret" not in str([message.text for message in result.messages])


def _longest_failure(result: TurnResult) -> int:
    """How many rounds in a row had no call that worked; the one that was stopped is none."""
    longest = run = 0
    answers = list(result.tool_history)
    for one in result.results:
        number = len(one.function_calls) if one.status == "function_call" else 0
        mine, answers = answers[:number], answers[number:]
        if mine and not any(a.problem in ("stopped", "too_many") for a in mine):
            run = 0 if any(not a.failed for a in mine) else run + 1
            longest = max(longest, run)
    return longest


def test_random_turns_keep_their_promises(figure: Callable[[str], None]) -> None:
    a_turn_keeps_its_promises()
    total, missing = len(CHART.rows), len(SEEN.missing)
    figure(f"random turns: {total - missing} of {total} rows of the turn chart taken")
    # Turns that never get anywhere would prove nothing.  The rarest rows need several unlikely
    # things in one turn; test_charts.py takes every one.
    assert missing <= total // 2, str(SEEN)


def test_a_text_that_was_shown_is_never_said_by_another() -> None:
    one, two = Dialogue([[TextChunk("Hi.\n\n"), ErrorChunk("api_error", "x")]]), Dialogue([["Hi."]])
    stage = Stage()
    play(lambda on: on.turn(one, fallbacks=[two]), stage)
    assert (stage.shown, two.asked) == (["Hi."], [])


pytestmark = pytest.mark.anyio
FAILED = '{"error":"no coins left"}'


async def roll(sides: int) -> list[int]:
    """Roll a die."""
    return [sides]


async def flip(coins: int) -> None:
    """Flip coins."""
    raise ToolError("no coins left")


async def second_body(calls: str, text: str) -> tuple[Any, TurnResult, Stage]:
    """Play a turn whose first answer is one recording and whose second is another."""

    async def answer(request: web.Request) -> web.StreamResponse:
        return await streamed(request, recording(calls if server.count == 1 else text))

    stage = Stage()
    async with serving(answer) as server, adapter(calls, server.url) as llm:
        begin = [system("Be kind."), user("Play!", name="Ann")]
        result = await stage.turn(llm, Tools([roll, flip]), messages=begin)
    assert server.count == 2
    assert result.status == "completed"
    bodies = [msgspec.json.decode(one["body"]) for one in server.requests]
    assert bodies[0].keys() == bodies[1].keys()
    return bodies[1], result, stage


async def test_openai() -> None:
    body, _, stage = await second_body("openai-05-parallel", "openai-text")

    assert body["messages"] == [
        {"role": "system", "content": "Be kind."},
        {"role": "user", "content": "Ann: Play!"},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {
                    "id": "a",
                    "type": "function",
                    "function": {"name": "roll", "arguments": '{"sides":6}'},
                },
                {
                    "id": "b",
                    "type": "function",
                    "function": {"name": "flip", "arguments": '{"coins":2}'},
                },
            ],
        },
        {"role": "tool", "tool_call_id": "a", "content": "[6]"},
        {"role": "tool", "tool_call_id": "b", "content": FAILED},
    ]
    assert [one["function"]["name"] for one in body["tools"]] == ["roll", "flip"]
    assert len(stage.shown) == 1


async def test_gemini_sees_its_thought_signatures_again() -> None:
    body, result, _ = await second_body("google-14-signature-on-call", "google-text")

    assert body["contents"] == [
        {"role": "user", "parts": [{"text": "Ann: Play!"}]},
        {
            "role": "model",
            "parts": [
                {"text": "I roll."},
                {
                    "functionCall": {"name": "roll", "args": {"sides": 6}},
                    "thoughtSignature": "c2ln",
                },
                {"functionCall": {"id": "f2", "name": "flip", "args": {"coins": 2}}},
            ],
        },
        {
            "role": "user",
            "parts": [
                {"functionResponse": {"name": "roll", "response": {"output": "[6]"}}},
                {
                    "functionResponse": {
                        "id": "f2",
                        "name": "flip",
                        "response": {"error": FAILED},
                    }
                },
            ],
        },
    ]
    assert [one["name"] for one in body["tools"][0]["functionDeclarations"]] == ["roll", "flip"]
    assert result.usage is not None


async def test_anthropic_sees_its_thinking_again() -> None:
    body, _, stage = await second_body("anthropic-thinking", "anthropic-text")

    assert body["system"] == "Be kind."
    assert body["messages"] == [
        {"role": "user", "content": [{"type": "text", "text": "Ann: Play!"}]},
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "Let me think.", "signature": "c2ln"},
                {"type": "redacted_thinking", "data": "b3BhcXVl"},
                {"type": "text", "text": "I roll."},
                {"type": "tool_use", "id": "t1", "name": "roll", "input": {"sides": 6}},
                {"type": "tool_use", "id": "t2", "name": "flip", "input": {"coins": 2}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "t1", "content": "[6]"},
                {
                    "type": "tool_result",
                    "tool_use_id": "t2",
                    "content": FAILED,
                    "is_error": True,
                },
            ],
        },
    ]
    assert stage.shown[0] == "I roll."


@pytest.mark.parametrize("name", ["google-14-signature-empty-part", "anthropic-text"])
async def test_a_finished_turn_can_be_gone_on_with(name: str) -> None:
    """What is remembered is a conversation that the provider takes, signatures included."""

    async def answer(request: web.Request) -> web.StreamResponse:
        return await streamed(request, recording(name))

    async with serving(answer) as server, adapter(name, server.url) as llm:
        stage = Stage()
        first = await stage.turn(llm)
        await stage.turn(llm, messages=[*first.messages, user("And now?")])
    body = msgspec.json.decode(server.requests[-1]["body"])
    if name.startswith("google"):
        (reply,) = (one for one in body["contents"] if one["role"] == "model")
        assert "thoughtSignature" in reply["parts"][0]
    else:
        assert [one["role"] for one in body["messages"]] == ["user", "assistant", "user"]
