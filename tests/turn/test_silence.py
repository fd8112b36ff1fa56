"""The silence marker: never shown when it is all there is, never eaten when it is not."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minamo.core.chunks import Done, Error, Text
from minamo.core.config import StreamConfig
from minamo.core.stream import Stream
from minamo.shell.idle import Idle
from minamo.shell.turns.silence import Hearing, Hush
from minamo.shell.turns.tools import Tools
from minamo.shell.turns.turn_settings import TurnSettings
from minamo.wire.conversation import assistant
from turning import Dialogue, Stage, asks, calls, play, turn

MARK = "<silence/>"
SILENT = TurnSettings(silence_marker=MARK)


def hushed(text: str, cuts: list[int], marker: str = MARK) -> tuple[str, bool]:
    hush, out = Hush(marker), ""
    places = sorted({0, len(text), *(cut % (len(text) + 1) for cut in cuts)})
    for begin, end in pairwise(places):
        out += hush.feed(text[begin:end])
    return out + hush.finish(), hush.silent


def shown(text: str) -> str:
    """What the real machine would show of a text."""
    stream = Stream(StreamConfig())
    Idle(stream)
    stream.chunk(Text(text))
    stream.end()
    stream.flushed()
    return stream.result().accumulated_text


PARTS = ["<silence/>", "<silence", "<", "/>", " ", "\n", "x", "silence", "<think>", "</think>",
         "<details>", "</details>", "```\n", "`", "<think/>", "word " * 30, "\n" * 70]  # fmt: skip


@given(st.lists(st.sampled_from(PARTS), max_size=8), st.lists(st.integers(0, 400), max_size=9))
def test_nothing_else_is_ever_lost_however_it_is_cut(parts: list[str], cuts: list[int]) -> None:
    text = "".join(parts)
    whole, silent = hushed(text, [])

    assert hushed(text, cuts) == (whole, silent)
    if silent:
        assert shown(text) == MARK
        assert shown(whole) == ""
    else:
        assert whole == text


@pytest.mark.parametrize(
    ("text", "silent"),
    [
        (MARK, True),
        (f"\n {MARK}\n\n", True),
        (f"<think>Nothing to say.</think>{MARK}", True),
        (f"<think>a</think>\n<think>b</think>\n{MARK}", True),
        # A thought that was never opened is text until it closes, so something was said.
        (f"not meant for me</think>{MARK}", False),
        (f"<details>d</details>{MARK}", True),
        ("<think>a</think>", False),
        ("", False),
        ("<silence", False),
        (f"{MARK}{MARK}", False),
        (f"{MARK} but", False),
        (f"Well, {MARK}", False),
        (f"<sil<think>a</think>{MARK}", False),
        (f"{MARK}<think>a</think>", False),
        (f"```\n{MARK}\n```", False),
        (MARK + "\n" * 70, False),
    ],
)
def test_only_the_marker_alone_is_silence(text: str, silent: bool) -> None:
    assert hushed(text, list(range(len(text))))[1] is silent


@pytest.mark.parametrize("reply", [[MARK], [*MARK], ["<think>hm</think>\n", MARK, "\n"]])
def test_a_silent_reply_ends_the_turn_with_nothing_shown(reply: list[str]) -> None:
    stage = Stage()
    result = turn([[*reply, Done("stop")]], settings=SILENT, stage=stage)

    assert (result.status, stage.shown, len(result.results)) == ("completed", [], 1)
    assert result.accumulated_text == ""
    assert result.messages[-1] == assistant(MARK)
    assert result.results[0].thought_log == (("hm",) if len(reply) == 3 else ())


def test_a_silent_reply_after_tools_and_a_call_after_the_marker() -> None:
    async def note() -> None:
        pass

    stage = Stage()
    llm = Dialogue([[MARK, calls("note"), Done()], asks("note", text="Noted."), [MARK]])
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
    result = turn([["<sile", Error("api_error", "gone")]], settings=SILENT)
    assert (result.status, result.accumulated_text) == ("error", "<sile")


@pytest.mark.anyio
async def test_thoughts_and_replay_pass_through() -> None:
    async def source() -> Any:
        yield Text("<si", ("a",))
        yield Done("stop", replay={"k": 1})
        yield "x y"

    hearing = Hearing(MARK)
    heard = [chunk async for chunk in hearing.through(source())]
    done = Done("stop", replay={"k": 1})
    assert heard == [Text("", ("a",)), done, Text("<six y")]
    assert (hearing.replay, hearing.silent) == ({"k": 1}, False)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"
