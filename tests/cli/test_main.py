"""The command as a whole: help, exit codes, wrong arguments, pipes; and the project that `minamo new` writes."""

from __future__ import annotations

import asyncio
import io
import os
import signal
import subprocess
import sys
import tomllib
from pathlib import Path

import anyio
import hikari
import pytest

from minamo import __version__
from minamo.cli import colours
from minamo.cli import main as cli
from minamo.cli.main import main, parser
from support.provider_server import saying, serving

pytestmark = pytest.mark.anyio


def test_help_names_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--help"])
    assert ended.value.code == 0
    assert "charts" in capsys.readouterr().out


def test_without_a_command_there_is_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    assert "see it in the browser" in capsys.readouterr().err


def test_a_file_that_cannot_be_written_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "none" / "x.jsonl"
    asked = ["ask", "Hi", "--base-url", "http://127.0.0.1:1", "--model", "m", "--trace", str(path)]
    assert main(asked) == 2
    assert capsys.readouterr().err == f"minamo: {path}: No such file or directory\n"


@pytest.mark.parametrize("arguments", [["nonsense"], ["charts", "--format", "pdf"]])
def test_nonsense_ends_with_two(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    assert "usage:" in capsys.readouterr().err


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--version"])
    assert capsys.readouterr().out == f"minamo {__version__}\n"


def test_python_m_minamo_prints_versions() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "minamo"], capture_output=True, text=True, check=True
    )
    first, second, *packages = done.stdout.splitlines()
    assert first.startswith(f"hikari-minamo {__version__}")
    assert second.startswith("CPython 3.")
    assert any(line.startswith("hikari ") for line in packages)


def test_a_closed_pipe_is_not_an_error() -> None:
    done = subprocess.run(
        f"{sys.executable} -m minamo.cli.main charts stream | head -1",
        shell=True, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout == "# stream\n"
    assert done.stderr == ""


def test_bench_lists_what_can_be_measured(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench"]) == 0
    assert "machine" in capsys.readouterr().out.split()


def test_bench_refuses_what_it_does_not_know(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "nothing"]) == 2
    assert "nothing to measure called 'nothing'; there is" in capsys.readouterr().err


def test_bench_needs_a_checkout(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("minamo.cli.main._FOLDER", tmp_path)
    assert main(["bench", "machine"]) == 1
    assert "run this in a checkout" in capsys.readouterr().err


def test_ctrl_c_ends_without_a_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted() -> object:
        raise KeyboardInterrupt

    monkeypatch.setattr(cli, "parser", interrupted)
    assert main(["charts"]) == 130


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("setting", "value", "wanted"),
    [("NO_COLOR", "1", False), ("NO_COLOR", "", True), ("TERM", "dumb", False)],
)
def test_who_wants_no_colours_gets_none(
    monkeypatch: pytest.MonkeyPatch, setting: str, value: str, wanted: bool
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    assert colours.wanted(Terminal())
    assert not colours.wanted(io.StringIO())
    monkeypatch.setenv(setting, value)
    assert colours.wanted(Terminal()) is wanted
    assert colours.painted("x", colours.BOLD, on=wanted) == ("\x1b[1mx\x1b[0m" if wanted else "x")


def test_replay_says_in_words_why_something_is_hidden(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    trace = tmp_path / "a.jsonl"
    trace.write_text('{"chunk": {"type": "text", "content": "a <think>b</think>c"}}\n')
    assert main(["replay", str(trace)]) == 0
    assert "15 characters: marker. A tag such as <think>." in capsys.readouterr().out


def test_replay_names_the_line_that_is_no_text(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    trace = tmp_path / "a.jsonl"
    trace.write_bytes(b'{"end": true}\n\xff\n')
    assert main(["replay", str(trace)]) == 2
    assert capsys.readouterr().err == f"{trace}: line 2: not UTF-8 text\n"


MINAMO = [sys.executable, "-m", "minamo.cli.main"]
LONG = b"".join(
    b'data: {"choices": [{"delta": {"content": "word %d "}}]}\n\n' % number for number in range(400)
)


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


def test_a_measurement_is_run_by_the_checkout(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    suites = tmp_path / "benchmarks" / "suites"
    suites.mkdir(parents=True)
    (suites / "nap.py").touch()
    (tmp_path / "benchmarks" / "__main__.py").write_text("import sys; print(sys.argv[1:])\n")
    monkeypatch.setattr("minamo.cli.main._FOLDER", tmp_path / "benchmarks")
    assert main(["bench", "nap", "--json"]) == 0
    assert capfd.readouterr().out == "['nap', '--json']\n"


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


ROOT = Path(__file__).resolve().parents[2]


def run(folder: Path, *command: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", *command],
        cwd=folder, capture_output=True, text=True, check=False, timeout=110,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.timeout(240)
def test_the_project_passes_its_own_tests_types_and_format(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "Lamp-Keeper"
    assert main(["new", str(folder)]) == 0
    assert capsys.readouterr().out.startswith("Lamp-Keeper is written to ")
    words = "".join(file.read_text() for file in folder.rglob("*") if file.is_file())
    assert "my_bot" not in words
    assert "my-bot" not in words
    assert (folder / "src" / "lamp_keeper" / "bot.py").is_file()
    # With what `make check` has found out about hikari and minamo, under the same settings.
    codes = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["mypy"][
        "enable_error_code"
    ]
    enabled = [word for code in codes for word in ("--enable-error-code", code)]
    run(folder, "mypy", "--cache-dir", str(ROOT / ".mypy_cache"), *enabled)
    run(folder, "ruff", "format", "--check", "--diff")
    run(folder, "ruff", "check")
    assert "6 passed" in run(folder, "pytest", "-q", "-p", "no:cacheprovider")


def test_the_program_says_what_is_missing(tmp_path: Path) -> None:
    assert main(["new", str(tmp_path / "lamp")]) == 0

    def start(**environment: str) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "lamp"],
            cwd=tmp_path / "lamp", capture_output=True, text=True, check=False, timeout=50,
            env={"PYTHONPATH": "src", **environment},
        )  # fmt: skip
        assert done.returncode == 1
        return done.stderr

    assert start() == "DISCORD_TOKEN is not set; README.md says where it comes from\n"
    toml = tmp_path / "lamp" / "bot.toml"
    toml.write_text("[provider]\nbase_url = 'http://localhost:1'\n")
    assert start(DISCORD_TOKEN="x") == "bot.toml: model is missing\n"
    toml.write_text("[provider]\nbase_url = 'http://localhost:1'\nmodel = 'm'\n[stream]\nx = 1\n")
    assert "bot.toml: [stream]:" in start(DISCORD_TOKEN="x")


@pytest.mark.parametrize(
    ("arguments", "wrong"),
    [
        (["1bot"], "'1bot' cannot name a project"),
        (["class"], "'class' cannot name a project"),
        (["bot", "--name", "a--b"], "'a--b' cannot name a project"),
        (["bot", "--name", "hikari"], "'hikari' would hide the package hikari"),
    ],
)
def test_a_name_that_cannot_be_used_is_refused(
    arguments: list[str],
    wrong: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["new", *arguments]) == 2
    assert wrong in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_overwritten(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "bot"
    folder.mkdir()
    (folder / "notes").write_text("mine")
    assert main(["new", str(folder)]) == 2
    assert "is not empty, and nothing is overwritten" in capsys.readouterr().err
    assert [path.name for path in folder.iterdir()] == ["notes"]
    assert main(["new", str(folder / "notes")]) == 2
    assert "notes is a file; name a new folder" in capsys.readouterr().err


def test_an_empty_folder_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "bot").mkdir()
    monkeypatch.chdir(tmp_path / "bot")
    assert main(["new", "."]) == 0
    assert (tmp_path / "bot" / "src" / "bot" / "bot.py").is_file()
