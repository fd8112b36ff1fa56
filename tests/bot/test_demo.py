"""The demo: its world and its script, and `minamo demo` in a terminal, in a pipe, and for programs."""

from __future__ import annotations

import asyncio
import json
import os
import pty
import signal
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

from minamo.bot.demo.demo import Demo, demo_world
from minamo.bot.demo.provider import PIECES, DemoProvider
from minamo.cli.main import main
from minamo.errors import BadRequest
from minamo.inspect.hub import Hub
from minamo.shell.turns.turn_result import TurnResult
from support.waiting import until

pytestmark = pytest.mark.anyio


def test_the_list(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", "--list"]) == 0
    names = [line.split()[0] for line in capsys.readouterr().out.splitlines()]
    assert names == [one.name for one in PIECES]


def test_too_much_to_say(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", "x" * 3000]) == 2
    assert main(["demo", "  "]) == 2
    assert "say 1 to" in capsys.readouterr().err


async def test_a_tool_for_programs(run_command: Callable[..., Any]) -> None:
    code, out, err = await run_command("demo", "roll", "--json")
    assert (code, err) == (0, "")
    lines = [json.loads(line) for line in out.splitlines()]
    result = lines[-1]["result"]
    assert result["status"] == "completed"
    assert result["tools"] == ["roll"]
    assert result["turn"] == ["starting", "streaming", "running_tools", "streaming", "completed"]
    texts = [one["message"]["text"] for one in lines if "message" in one]
    assert texts[0] == "@minamo Roll three dice with 20 sides."
    assert {"typing": True} in lines
    states = [one["state"] for one in lines if "state" in one]
    assert states[0] == "opening"
    assert states[-1] == "completed"
    assert "function_call" in states


async def test_an_error_in_a_pipe(run_command: Callable[..., Any]) -> None:
    code, out, err = await run_command("demo", "let it go wrong")
    assert (code, err) == (1, "")
    assert "\x1b" not in out
    assert "[Part of the answer is missing]" in out
    assert out.splitlines()[-1] == "error"
    assert "opening > streaming > failing > error" in out


async def test_ctrl_c_is_a_stop(command: Callable[..., Any]) -> None:
    async with command("demo", "slow", "--json") as one:
        await one.says('"typing"')
        await asyncio.sleep(1.0)
        one.process.send_signal(signal.SIGINT)
        code, out, err = await one.ended()
    assert (code, err) == (0, "")
    result = json.loads(out.splitlines()[-1])["result"]
    assert (result["status"], result["stop_reason"]) == ("stopped_by_user", "user_request")
    assert result["text"].startswith("1. I")


async def test_the_state_in_the_bottom_line_of_a_terminal() -> None:
    terminal, its = pty.openpty()
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "minamo.cli.main", "demo", "details", stdout=its, stderr=its
    )
    os.close(its)
    shown = b""
    async with asyncio.timeout(40):
        while True:
            try:
                data = await asyncio.to_thread(os.read, terminal, 65_536)
            except OSError:  # the other end was closed
                break
            shown += data
        assert await process.wait() == 0
    os.close(terminal)
    assert b"\x1b[2min_details" in shown
    assert "minamo is typing…".encode() in shown
    assert b"opening > streaming > in_details > streaming" in shown


def test_a_pipe_that_is_closed_is_not_an_error() -> None:
    done = subprocess.run(
        f"{sys.executable} -m minamo.cli.main demo error | head -1",
        shell=True, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout == "you\n"
    assert done.stderr == ""


def shown(world: Demo) -> list[str]:
    return [
        one.content
        for one in world.twin.messages()
        if one.author.is_bot and not one.is_ephemeral and one.content
    ]


ENDS = {
    "roll": ("completed", None),
    "error": ("error", None),
}


@pytest.mark.parametrize(
    "piece", [one for one in PIECES if not one.hangs], ids=lambda one: one.name
)
async def test_every_piece_ends_as_it_says(piece: Any) -> None:
    turns: list[TurnResult] = []
    async with demo_world(provider=DemoProvider(pace=0), on_result=turns.append) as world:
        await world.say(piece.prompt)
        await until(lambda: turns)
        assert (turns[0].status, turns[0].stop_reason) == ENDS.get(piece.name, ("completed", None))
        assert shown(world)
        assert all(len(text) <= 2000 for text in shown(world))
        together = "\n".join(shown(world))
        assert "<think>The" not in together
        assert "The sums are" not in together  # that was said between the tags of details


async def test_what_discord_would_not_take_is_told_and_not_swallowed() -> None:
    async with demo_world(provider=DemoProvider(pace=0)) as world:
        with pytest.raises(BadRequest, match="takes no such message"):
            await world.say("a" * 1_990)  # with the mention it is too long
        assert world.twin.messages() == []


async def test_what_was_hidden_is_kept() -> None:
    turns: list[TurnResult] = []
    async with demo_world(provider=DemoProvider(pace=0), on_result=turns.append) as world:
        for number, name in enumerate(("think", "details"), 1):
            await world.say(name)
            await until(lambda number=number: len(turns) == number)
        think, details = (one.as_stream_result() for one in turns)
        assert think.thought_log[0].startswith("The question is about colour.")
        assert "The sums are in the result" in details.details_content


async def test_the_hub_hears_of_streams_and_of_the_channel_once() -> None:
    turns: list[TurnResult] = []
    hub = Hub(recording=True)
    async with demo_world(hub=hub, provider=DemoProvider(pace=0), on_result=turns.append) as world:
        events: list[Any] = []
        page = hub.join(lambda: events.extend(page.take() if page else ()))
        assert page is not None
        page.take()
        await world.say("hello")
        await until(lambda: turns)
        hub.leave(page)
        kinds = [one["kind"] for one in events]
        assert {"opened", "moves", "ended", "message", "typing", "chart"} <= set(kinds)
        assert {one["chart"] for one in events if one["kind"] == "chart"} >= {"turn", "channel"}
        asked = [one for one in events if one["kind"] == "message" and "hello" in one["text"]]
        assert len(asked) == 1
        assert "general" in hub.feed.names.values()


async def test_the_buttons_of_the_page() -> None:
    turns: list[TurnResult] = []
    async with demo_world(on_result=turns.append) as world:
        assert [one.text for one in world.prompts] == [one.prompt for one in PIECES]
        with pytest.raises(BadRequest, match="no such message"):
            await world.say("x" * 3000)  # more than Discord takes
        await world.press("1", "nothing")
        await world.say("count slowly")
        await until(lambda: any(one.components for one in world.twin.messages()))
        (message,) = [one for one in world.twin.messages() if one.components]
        (button,) = [part for row in message.components for part in row["components"]]
        await world.press(str(message.id), "no such button")
        await world.press(str(message.id), button["custom_id"])
        await until(lambda: turns)
        assert (turns[0].status, turns[0].stop_reason) == ("stopped_by_user", "user_request")


async def test_another_question_interrupts() -> None:
    turns: list[TurnResult] = []
    async with demo_world(on_result=turns.append) as world:
        await world.say("count slowly")
        await until(lambda: world.twin.is_typing())
        await world.say("let it go wrong")
        await until(lambda: len(turns) == 2)
        assert [one.status for one in turns] == ["follow_up_interrupt", "error"]


async def test_stop_with_nothing_to_stop() -> None:
    async with demo_world() as world:
        await world.stop()
        await until(lambda: any(one.is_ephemeral for one in world.twin.messages()))
