"""The silence marker: never shown when it is all there is, never eaten when it is not."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minamo.core.chunks import DoneChunk, ErrorChunk, TextChunk
from minamo.core.config import StreamConfig
from minamo.core.lexing.filters import Silence
from minamo.core.result import StreamResult
from minamo.core.stream import Stream
from minamo.shell.driver import NullSink
from minamo.shell.providers.scripted import ScriptedProvider
from minamo.shell.stops.registry import StopRequest
from minamo.shell.turns.tools import Tools
from minamo.shell.turns.turn_actions import Hearing
from minamo.shell.turns.turn_result import TurnResult, TurnSettings
from minamo.wire.conversation import assistant
from support.turns import Dialogue, Stage, asks, at, calls, play, turn

MARK = "<silence/>"
SILENT = TurnSettings(silence_marker=MARK)


def hushed(text: str, cuts: list[int], marker: str = MARK) -> tuple[StreamResult, bool]:
    """What becomes of a text that is cut at *cuts*, and whether it was the marker alone."""
    stream = Stream(StreamConfig())
    silence = stream.actions.silence = Silence(marker) if marker else None
    NullSink(stream)
    places = sorted({0, len(text), *(cut % (len(text) + 1) for cut in cuts)})
    for begin, end in pairwise(places):
        stream.chunk(TextChunk(text[begin:end]))
    stream.end()
    stream.flushed()
    result = stream.result()
    return result, silence is not None and silence.silent


def said(result: StreamResult) -> tuple[object, ...]:
    return (result.accumulated_text, result.thought_log, result.details_content, result.suppressed)


PARTS = ["<silence/>", "<silence", "<", "/>", " ", "\n", "x", "silence", "<think>", "</think>",
         "<details>", "</details>", "```\n", "`", "<think/>", "word " * 30, "\n" * 70]  # fmt: skip


@given(st.lists(st.sampled_from(PARTS), max_size=8), st.lists(st.integers(0, 400), max_size=9))
def test_nothing_else_is_ever_lost_however_it_is_cut(parts: list[str], cuts: list[int]) -> None:
    text = "".join(parts)
    whole, silent = hushed(text, [])
    other, also = hushed(text, cuts)
    plain, _ = hushed(text, [], marker="")

    assert (said(other), also) == (said(whole), silent)
    alone = plain.accumulated_text.strip() == MARK
    assert silent == alone or (alone and "\n" * 70 in text)
    if silent:
        assert (whole.status, whole.accumulated_text) == ("empty_response", "")
        marks = plain.suppressed.get("marker", 0) + len(MARK)
        assert whole.suppressed["marker"] >= marks
        assert (whole.thought_log, whole.details_content) == (
            plain.thought_log,
            plain.details_content,
        )
    else:
        assert said(whole) == said(plain)


@pytest.mark.parametrize(
    ("text", "silent"),
    [
        (MARK, True),
        (f"\n {MARK}\n\n", True),
        (f"<think>Nothing to say.</think>{MARK}", True),
        (f"<think>a</think>\n<think>b</think>\n{MARK}", True),
        # A thought that was never opened is none of what is shown.
        (f"not meant for me</think>{MARK}", True),
        (f"<silence/></think>{MARK}", True),
        (f"<think>I may write <think> here</think>{MARK}", True),
        (f"<think>a<think>b</think>c</think>{MARK}", True),
        (f"<details>a <details> b</details>\n{MARK}\n", True),
        (f"<details>d</details>{MARK}", True),
        ("<think>a</think>", False),
        ("", False),
        ("<silence", False),
        (f"{MARK}{MARK}", False),
        (f"{MARK} but", False),
        (f"Well, {MARK}", False),
        (f"<sil<think>a</think>{MARK}", False),
        ("<sil<think>a</think>ence/>", True),
        (f"{MARK}<think>a</think>", True),
        (f"```\n{MARK}\n```", False),
        (MARK + "\n" * 70, False),
    ],
)
def test_only_the_marker_alone_is_silence(text: str, silent: bool) -> None:
    assert hushed(text, list(range(len(text))))[1] is silent


@pytest.mark.parametrize("reply", [[MARK], [*MARK], ["<think>hm</think>\n", MARK, "\n"]])
def test_a_silent_reply_ends_the_turn_with_nothing_shown(reply: list[str]) -> None:
    stage = Stage()
    result = turn([[*reply, DoneChunk("stop")]], settings=SILENT, stage=stage)

    assert (result.status, stage.shown, len(result.results)) == ("completed", [], 1)
    assert result.accumulated_text == ""
    assert result.messages[-1] == assistant(MARK)
    assert result.results[0].thought_log == (("hm",) if len(reply) == 3 else ())


def test_a_silent_reply_after_tools_and_a_call_after_the_marker() -> None:
    async def note() -> None:
        pass

    stage = Stage()
    llm = Dialogue([[MARK, calls("note"), DoneChunk()], asks("note", text="Noted."), [MARK]])
    result = play(lambda on: on.turn(llm, Tools([note]), settings=SILENT), stage)

    assert (result.status, stage.shown) == ("completed", ["Noted."])
    assert [message.text for message in result.messages if message.role == "assistant"] == [
        MARK,
        "Noted.",
        MARK,
    ]


@pytest.mark.parametrize("reply", [[f"{MARK} is a tag."], ["<sil", "ly>"], ["<"], ["Hi."]])
def test_a_reply_that_says_more_is_shown_whole(reply: list[str]) -> None:
    stage = Stage()
    result = turn([reply], settings=SILENT, stage=stage)
    assert (result.status, stage.shown) == ("completed", ["".join(reply)])


def test_without_a_setting_there_is_no_marker() -> None:
    stage = Stage()
    turn([[MARK]], stage=stage)
    assert stage.shown == [MARK]


def test_an_error_after_the_marker_is_an_error() -> None:
    result = turn([["<sile", ErrorChunk("api_error", "gone")]], settings=SILENT)
    assert (result.status, result.accumulated_text) == ("error", "<sile")


# What is held back when the end comes from elsewhere: some of the marker, or all of it.
HELD = ["<sil", "<", f"{MARK} ", "<think>hm</think>\n<silence/"]
ENDS: dict[str, tuple[StopRequest | None, str, str]] = {
    "the provider hangs": (None, "timeout", ""),
    "a stop": (StopRequest(kind="user", requester="7"), "stopped_by_user", ""),
    "a follow-up": (StopRequest(kind="follow_up"), "follow_up_interrupt", "follow_up"),
    "a kill": (StopRequest(kind="kill"), "stopped_by_user", "killed"),
}


@pytest.mark.parametrize("done", [False, True])
@pytest.mark.parametrize("held", HELD)
@pytest.mark.parametrize("end", ENDS)
def test_what_is_held_back_comes_out_when_the_reply_is_ended(
    end: str, held: str, done: bool
) -> None:
    wish, status, reason = ENDS[end]
    stage = Stage()
    said = [*held, DoneChunk("stop")] if done else [*held]
    llm = Dialogue([ScriptedProvider(said, hangs=True)])

    async def story(on: Stage) -> TurnResult:
        async with anyio.create_task_group() as tasks:
            if wish is not None:
                tasks.start_soon(at, anyio.current_time() + 5, lambda: on.stop_signal.request(wish))
            return await on.turn(llm, settings=SILENT)

    result = play(story, stage)
    (reply,) = result.results
    visible = held.removeprefix("<think>hm</think>").strip()
    assert (result.status, reply.thought_log) == (status, ("hm",) if "hm" in held else ())
    if visible == MARK:  # the marker, and nobody knows whether more would have come
        assert (stage.shown, reply.accumulated_text) == ([], "")
        assert reply.suppressed[reason or "marker"] >= len(MARK)
    elif reason:
        assert (stage.shown, reply.accumulated_text) == ([], "")
        assert reply.suppressed[reason] >= len(visible)
    else:
        assert (stage.shown, reply.accumulated_text) == ([visible], visible)


def test_nothing_is_said_twice_when_the_provider_goes_on_as_it_is_stopped() -> None:
    stage = Stage()

    async def source() -> Any:
        yield "<sil"
        stage.stop_signal.request(StopRequest(kind="user"))
        yield "ly> me"

    result = play(lambda on: on.turn(lambda *_: source(), settings=SILENT), stage)
    assert (result.status, stage.shown) == ("stopped_by_user", ["<sil"])
    assert dict(result.results[0].suppressed) == {"late": 6}


@pytest.mark.anyio
async def test_thoughts_and_replay_pass_through() -> None:
    async def source() -> Any:
        yield TextChunk("<si", ("a",))
        yield DoneChunk("stop", replay={"k": 1})
        yield "x y"

    hearing = Hearing(source(), MARK)
    heard = [chunk async for chunk in hearing]
    done = DoneChunk("stop", replay={"k": 1})
    assert heard == [TextChunk("<si", ("a",)), done, TextChunk("x y")]
    assert (hearing.replay, hearing.silent) == ({"k": 1}, False)
