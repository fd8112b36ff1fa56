"""`minamo ask` against real local servers of each dialect, as a person or a program runs it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import anyio
import pytest
from aiohttp import web

from minamo.bot.factory import HOMES
from minamo.cli.ask import _adapter
from minamo.cli.main import main, parser
from support.commands import minamo_command
from support.provider_server import refusing, saying, serving, streamed

pytestmark = pytest.mark.anyio
RECORDINGS = Path(__file__).resolve().parents[1] / "wire" / "recordings"
KEYS = {"openai": "OPENAI_API_KEY", "google": "GEMINI_API_KEY", "anthropic": "ANTHROPIC_API_KEY"}
CANARY = "sk-canary-0123456789"

HELLO = b"".join(
    b"data: " + json.dumps({"choices": [{"delta": {"content": piece}}]}).encode() + b"\n\n"
    for piece in ("<think>pl", "an</think>Hello ", "there.\n\nSecond ", "paragraph.")
)
END = b'data: {"choices": [{"delta": {}, "finish_reason": "stop"}], "usage": {"prompt_tokens": 3, "completion_tokens": 5}}\n\ndata: [DONE]\n\n'


async def ask(
    url: str, *options: str, provider: str = "openai"
) -> subprocess.CompletedProcess[bytes]:
    return await anyio.run_process(
        [*minamo_command(), "ask", "Hi?", "--provider", provider,
         "--base-url", url, "--model", "m", *options],
        check=False, env={**os.environ, KEYS[provider]: CANARY},
    )  # fmt: skip


async def test_a_reply_is_shown_with_its_way() -> None:
    async with serving(saying(HELLO, END)) as server:
        done = await ask(server.url)
    out = done.stdout.decode()
    assert done.returncode == 0
    assert out.startswith("Hello there.\n\nSecond paragraph.\n")
    assert "thought: plan" in out
    assert "completed  ·  opening > in_think > streaming" in out
    assert "\x1b" not in out
    assert CANARY not in out + done.stderr.decode()
    assert json.loads(server.requests[0]["body"])["messages"][-1]["content"] == "Hi?"


@pytest.mark.parametrize(
    ("key", "kind"),
    [
        ("OPENAI_API_KEY", "openai"),
        ("GEMINI_API_KEY", "gemini"),
        ("ANTHROPIC_API_KEY", "anthropic"),
    ],
)
def test_the_key_that_is_set_tells_who_answers(
    monkeypatch: pytest.MonkeyPatch, key: str, kind: str
) -> None:
    for name in (*KEYS.values(), "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv(key, CANARY)
    monkeypatch.setenv("MINAMO_MODEL", "m")
    adapter = _adapter(parser().parse_args(["ask", "Hi?"]))
    assert (adapter.host, adapter.model) == (urlsplit(HOMES[kind]).hostname, "m")


async def test_the_environment_says_where_to_ask() -> None:
    async with serving(saying(HELLO, END)) as server:
        done = await anyio.run_process(
            [*minamo_command(), "ask", "Hi?"],
            check=False,
            env={**os.environ, "OPENAI_BASE_URL": server.url, "MINAMO_MODEL": "m"},
        )
    assert done.returncode == 0, done.stderr
    assert json.loads(server.requests[0]["body"])["model"] == "m"


async def test_without_a_model_it_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MINAMO_MODEL", raising=False)
    done = await anyio.run_process([*minamo_command(), "ask", "Hi?"], check=False)
    assert done.returncode == 2
    assert done.stderr == b"minamo: no model to ask: name it with --model, or set MINAMO_MODEL\n"


async def test_json_lines_and_a_trace_that_replays_the_same(tmp_path: Path) -> None:
    trace = tmp_path / "one.jsonl"
    async with serving(saying(HELLO, END)) as server:
        done = await ask(server.url, "--json", "--trace", str(trace))
    *chunks, last = [json.loads(line) for line in done.stdout.splitlines()]
    assert [line["chunk"]["type"] for line in chunks] == ["text"] * 4 + ["done"]
    result = last["result"]
    assert result.pop("usage") == {"input_tokens": 3, "output_tokens": 5}
    assert result["messages"] == ["Hello there.", "Second paragraph."]
    again = await anyio.run_process([*minamo_command(), "replay", "--json", str(trace)])
    assert json.loads(again.stdout) == result


@pytest.mark.parametrize("name", ["anthropic-text", "google-text", "openai-text"])
async def test_every_dialect_is_spoken(name: str) -> None:
    recording = RECORDINGS / f"{name}.sse"
    async with serving(saying(recording.read_bytes())) as server:
        done = await ask(server.url, "--json", provider=name.split("-")[0])
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout.splitlines()[-1])["result"]
    assert result["status"] == "completed"
    assert result["messages"]


async def test_a_call_is_shown() -> None:
    frame = {"choices": [{"delta": {"tool_calls": [
        {"index": 0, "id": "c", "function": {"name": "roll", "arguments": '{"n": 6}'}}]},
        "finish_reason": "tool_calls"}]}  # fmt: skip
    body = b"data: " + json.dumps(frame).encode() + b"\n\ndata: [DONE]\n\n"
    async with serving(saying(body)) as server:
        done = await ask(server.url)
    assert done.returncode == 0
    assert b'call: roll({"n": 6})' in done.stdout


async def test_a_refusal_is_one_line_and_exit_one() -> None:
    async with serving(
        refusing(401, b'{"error": {"message": "bad key ' + CANARY.encode() + b'"}}')
    ) as server:
        done = await ask(server.url)
    assert done.returncode == 1
    assert done.stdout.startswith(b"error: api_error, ")
    assert CANARY.encode() not in done.stdout + done.stderr
    assert b"Traceback" not in done.stderr


async def test_silence_ends_it() -> None:
    async def hang(request: web.Request) -> web.StreamResponse:
        response = await streamed(request, HELLO)
        await anyio.sleep(30)
        return response

    async with serving(hang) as server:
        done = await ask(server.url, "--timeout", "0.5")
    assert done.returncode == 1
    assert b"Second paragraph." in done.stdout
    assert b"timeout (inactivity)" in done.stdout


async def test_ctrl_c_is_a_stop_and_keeps_what_was_said() -> None:
    async def hang(request: web.Request) -> web.StreamResponse:
        response = await streamed(request, HELLO)
        await anyio.sleep(30)
        return response

    command = [*minamo_command(), "ask", "Hi?", "--model", "m", "--json"]
    async with (
        serving(hang) as server,
        await anyio.open_process([*command, "--base-url", server.url]) as process,
    ):
        assert process.stdout is not None
        seen = b""
        while b"paragraph" not in seen:
            seen += await process.stdout.receive()
        process.send_signal(signal.SIGINT)
        async for more in process.stdout:
            seen += more
        code = await process.wait()
    assert code == 1
    result = json.loads(seen.splitlines()[-1])["result"]
    assert (result["status"], result["stop_reason"]) == ("stopped_by_user", "user_request")
    assert result["messages"] == ["Hello there.", "Second paragraph."]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--provider", "anthropic"], "no key for anthropic: set ANTHROPIC_API_KEY"),
        ([], "no key for openai: set OPENAI_API_KEY"),
        (["--base-url", "ftp://x"], ""),
        (
            ["--base-url", "http://127.0.0.1:1", "--timeout", "0"],
            "--timeout is a number of seconds",
        ),
    ],
)
def test_nonsense_is_refused_before_any_request(
    options: list[str], message: str, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    for name in KEYS.values():
        monkeypatch.delenv(name, raising=False)
    assert main(["ask", "Hi", "--model", "m", *options]) == 2
    err = capsys.readouterr().err
    assert err.startswith("minamo: ")
    assert err.count("\n") == 1
    assert message in err
