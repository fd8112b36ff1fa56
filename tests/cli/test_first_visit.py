"""Commands as a newcomer types them: wrong arguments, pipes, and what is printed."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

import anyio
import hikari
import pytest

from minamo.cli import bench
from minamo.cli.main import main, parser
from support.provider_server import saying, serving

pytestmark = pytest.mark.anyio

MINAMO = [sys.executable, "-m", "minamo.cli.main"]
LONG = b"".join(
    b'data: {"choices": [{"delta": {"content": "word %d "}}]}\n\n' % number for number in range(400)
)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(autouse=True)
def _no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "MINAMO_MODEL"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["ask", "", "--base-url", "http://localhost:1/v1", "--model", "m"], "the prompt is empty"),
        (["ask", "  ", "--base-url", "http://localhost:1/v1", "--model", "m"], "prompt is empty"),
        (["ask", "hi", "--base-url", "nonsense", "--model", "m"], "--base-url must be an address"),
        (["ask", "hi", "--base-url", "http://[", "--model", "m"], "--base-url must be an address"),
        (["ask", "hi", "--model", "m"], "no key for openai: set OPENAI_API_KEY"),
    ],
)
def test_a_wrong_argument_is_one_line_and_exit_code_2(
    arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    [line] = capsys.readouterr().err.splitlines()
    assert words in line


def test_plain_http_names_the_option_that_allows_it(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k" * 20)
    assert main(["ask", "hi", "--base-url", "http://example.invalid/v1", "--model", "m"]) == 2
    said = capsys.readouterr().err
    assert "--allow-http" in said
    assert "allow_http=True" not in said


@pytest.mark.parametrize("extra", [["--json"], []])
async def test_a_reader_that_leaves_ends_it_quietly(extra: list[str]) -> None:
    async with serving(saying(LONG, b"data: [DONE]\n\n")) as server:
        words = [*MINAMO, "ask", "hi", "--base-url", server.url, "--model", "m", *extra]
        process = subprocess.Popen(  # noqa: ASYNC220 - its pipe has to be closed while it writes
            words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=dict(os.environ)
        )
        assert process.stdout is not None
        await asyncio.to_thread(process.stdout.read, 1)
        process.stdout.close()
        code = await asyncio.to_thread(process.wait, 30)
        assert process.stderr is not None
        errors = process.stderr.read()
        process.stderr.close()
    assert (code, errors) == (0, b"")


def test_charts_of_ones_own_are_counted_and_drawn_by_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    own = tmp_path / "my charts"
    own.mkdir()
    (own / "door.yaml").write_text(
        "statemachine:\n  name: door\n  about: A door.\n", encoding="utf-8"
    )
    main(["charts", "--charts", str(own), "--check"])
    assert "1 chart checked" in capsys.readouterr().out


def test_a_measurement_says_what_it_does_and_that_it_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "bench_sleep.py").write_text(
        '"""Measure a nap."""\nimport time\n'
        "def main(*, as_json):\n    time.sleep(0.3)\n    print('{}')\n    return 0\n"
    )
    monkeypatch.setattr(bench, "_FOLDER", tmp_path)
    monkeypatch.setattr(bench, "_TELL_EVERY_S", 0.05)
    assert main(["bench", "sleep", "--json"]) == 0
    out, err = capsys.readouterr()
    assert out == "{}\n"  # what programs read is not disturbed
    assert err.startswith("Measure a nap.\n")
    assert "measuring for 0 s …" in err


async def test_the_twin_prints_what_is_said() -> None:
    words = [*MINAMO, "twin", "--say", "@bot hello"]
    process = await asyncio.create_subprocess_exec(
        *words, stdout=asyncio.subprocess.PIPE, env={**os.environ, "PYTHONUNBUFFERED": "1"}
    )
    assert process.stdout is not None
    lines: list[str] = []

    async def until(part: str) -> str:
        assert process.stdout is not None
        with anyio.fail_after(20):
            while True:
                lines.append((await process.stdout.readline()).decode().rstrip())
                if part in lines[-1]:
                    return lines[-1]

    url = (await until("address")).split()[1]
    token = (await until("token")).split()[1]
    bot = hikari.GatewayBot(token, rest_url=url, banner=None, logs=None)

    @bot.listen()
    async def answer(event: hikari.GuildMessageCreateEvent) -> None:
        if event.is_human:
            await event.message.respond("Hello,\nyou.")

    await bot.start(check_for_updates=False)
    try:
        assert (await until("ann:")).strip() == "#general  ann: @bot hello"
        assert (await until("twin-bot:")).strip() == "#general  twin-bot: Hello,"
        assert (await until("you.")).strip() == "you."
    finally:
        await bot.close()
        process.send_signal(signal.SIGINT)
        await process.communicate()
    assert process.returncode == 0


def test_a_taken_port_has_one_exit_code(capsys: pytest.CaptureFixture[str]) -> None:
    import socket

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        assert main(["twin", "--port", port]) == 2
        assert main(["run", "--demo", "--no-browser", "--port", port]) == 2
    assert f"port {port}" in capsys.readouterr().err


def test_help_is_plain() -> None:
    top = parser()
    commands = next(action for action in top._actions if hasattr(action, "_name_parser_map"))
    for command in commands._name_parser_map.values():  # type: ignore[attr-defined]
        text = command.format_help().lower()
        for word in ("somebody", "nobody", "whoever", "makes no sense"):
            assert word not in text, (command.prog, word)
