"""`minamo new` writes a project whose own tests, types and format are fine; it overwrites nothing."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from minamo.cli.main import main

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
