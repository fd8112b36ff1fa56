"""The command as a whole: help, versions, exit codes."""

from __future__ import annotations

import io
import subprocess
import sys
from pathlib import Path

import pytest

from minamo import __version__
from minamo.cli import bench, colours
from minamo.cli import main as cli
from minamo.cli.main import main


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
    monkeypatch.setattr(bench, "_FOLDER", tmp_path)
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
