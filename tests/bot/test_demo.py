"""`minamo demo` in a terminal, in a pipe, and for programs."""

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

from minamo.bot.demo.script import PIECES
from minamo.cli.main import main

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
        f"{sys.executable} -m minamo.cli.main demo table | head -1",
        shell=True, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout == "you\n"
    assert done.stderr == ""
