"""The files to deploy with: read by another parser, and run as far as no container is needed."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import pytest
import yaml
from dockerfile_parse import DockerfileParser

ROOT = Path(__file__).parents[2]


@pytest.fixture
def steps(tmp_path: Path) -> list[dict[str, Any]]:
    """The instructions of the Dockerfile, in order."""
    parser = DockerfileParser(path=str(tmp_path))
    parser.content = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    return [step for step in parser.structure if step["instruction"] != "COMMENT"]


def last(steps: list[dict[str, Any]], name: str) -> str:
    return next(step["value"] for step in reversed(steps) if step["instruction"] == name)


def test_the_image_has_two_stages_and_no_root(steps: list[dict[str, Any]]) -> None:
    known = {"FROM", "WORKDIR", "RUN", "COPY", "ENV", "USER", "STOPSIGNAL", "HEALTHCHECK",
             "ENTRYPOINT", "CMD"}  # fmt: skip
    assert {step["instruction"] for step in steps} == known
    froms = [number for number, step in enumerate(steps) if step["instruction"] == "FROM"]
    assert len(froms) == 2
    final = [step["instruction"] for step in steps[froms[1] :]]
    assert "RUN" not in final  # tools to build with stay in the first stage
    user = last(steps, "USER").split(":")[0]
    assert int(user) > 0
    assert final.index("USER") < final.index("ENTRYPOINT")


def test_everything_copied_is_there_and_not_ignored(steps: list[dict[str, Any]]) -> None:
    kept = [
        line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line[:1] == "!"
    ]
    copied = [
        source
        for step in steps
        if step["instruction"] == "COPY" and "--from" not in step["value"]
        for source in shlex.split(step["value"])[:-1]
    ]
    assert copied
    for source in copied:
        assert (ROOT / source).exists(), source
        assert any(fnmatch(source, pattern) for pattern in kept), source


def test_its_commands_are_lists_of_words(steps: list[dict[str, Any]]) -> None:
    for name in ("ENTRYPOINT", "CMD"):
        assert all(isinstance(word, str) for word in json.loads(last(steps, name)))
    check = last(steps, "HEALTHCHECK")
    program = json.loads(check.partition("CMD")[2])
    compile(program[-1], "HEALTHCHECK", "exec")
    address = re.search(r"127\.0\.0\.1:\d+", last(steps, "ENV"))
    assert address is not None
    assert address[0] in program[-1]


def test_the_composition_is_whole() -> None:
    services = yaml.safe_load((ROOT / "compose.yaml").read_text(encoding="utf-8"))["services"]
    assert set(services) == {"bot", "redis"}
    bot = services["bot"]
    assert bot["read_only"] is True
    assert bot["cap_drop"] == ["ALL"]
    assert "ports" not in bot
    assert set(bot["depends_on"]) <= set(services)
    assert "healthcheck" in services["redis"]
    for name, value in bot["environment"].items():
        assert re.fullmatch(r"[A-Z_]+", name)
        assert "$" not in value or re.fullmatch(r"\$\{[A-Z_]+:[-?][^}]*\}", value), value
    needed = ["DISCORD_TOKEN", "MINAMO_MODEL"]
    assert [name for name, value in bot["environment"].items() if ":?" in value] == needed


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_its_steps_make_a_bot_that_starts(steps: list[dict[str, Any]], tmp_path: Path) -> None:
    """Run the first stage in a folder instead of an image, and then the entry point."""
    build, home = tmp_path / "build", tmp_path / "minamo"
    build.mkdir()
    environ = {name: value for name, value in os.environ.items() if "TOKEN" not in name}
    for step in steps[: next(n for n, s in enumerate(steps[1:], 1) if s["instruction"] == "FROM")]:
        if step["instruction"] == "COPY":
            *sources, target = shlex.split(step["value"])
            for source in sources:
                subprocess.run(["cp", "-r", ROOT / source, build / target], check=True)
        elif step["instruction"] == "RUN":
            words = [word.replace("/opt/minamo", str(home)) for word in json.loads(step["value"])]
            words = [sys.executable, *words[1:]] if words[0] == "python" else words
            subprocess.run(words, cwd=build, env=environ, check=True)
    entry = json.loads(last(steps, "ENTRYPOINT"))[0]
    done = subprocess.run(
        [home / "bin" / entry, *json.loads(last(steps, "CMD")), "--config", "none.toml"],
        cwd=tmp_path, env=environ, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (2, "minamo: none.toml cannot be read: No such file or directory\n")  # fmt: skip
    doctor = subprocess.run(
        [home / "bin" / entry, "doctor"], cwd=tmp_path, env=environ,
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert "packages" in doctor.stdout
    assert (
        "redis"
        in subprocess.run(
            [home / "bin" / "pip", "list"], capture_output=True, text=True, check=True
        ).stdout
    )
