"""What is uploaded: a source distribution and a wheel that pass twine, install and work alone."""

from __future__ import annotations

import ast
import json
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

import minamo

ROOT = Path(__file__).resolve().parents[2]


def run(*command: str | Path, cwd: Path) -> str:
    done = subprocess.run(
        [str(part) for part in command], cwd=cwd, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "hatchling", "build", "-d", folder, cwd=ROOT)
    return folder


def test_both_files_pass_twine(dist: Path) -> None:
    files = sorted(dist.iterdir())
    names = [f"hikari_minamo-{minamo.__version__}{end}" for end in ("-py3-none-any.whl", ".tar.gz")]
    assert [file.name for file in files] == names
    assert "PASSED" in run(sys.executable, "-m", "twine", "check", "--strict", *files, cwd=dist)


def test_the_wheel_holds_the_package_and_nothing_else(dist: Path) -> None:
    with zipfile.ZipFile(next(dist.glob("*.whl"))) as wheel:
        names = wheel.namelist()
    assert {name.split("/")[0] for name in names} == {
        "minamo", f"hikari_minamo-{minamo.__version__}.dist-info",
    }  # fmt: skip
    for needed in ("py.typed", "statecharts/stream.yaml", "cli/template/.gitignore.txt"):
        assert f"minamo/{needed}" in names


def test_the_source_distribution_can_be_tested(dist: Path) -> None:
    with tarfile.open(next(dist.glob("*.tar.gz"))) as source:
        folders = {name.split("/")[1] for name in source.getnames()}
    assert {"src", "tests", "docs", "examples", "statecharts", "Makefile", "LICENSE"} <= folders


def test_the_changelog_has_notes_for_this_version() -> None:
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert f"\n## {minamo.__version__}" in text


def test_the_changelog_names_tests_that_exist() -> None:
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    tests = {
        name
        for file in (ROOT / "tests").rglob("test_*.py")
        for name in re.findall(r"def (test_\w+)", file.read_text(encoding="utf-8"))
    }
    named = set(re.findall(r"`(test_\w+)`", text))
    assert named
    assert named <= tests


def test_every_slow_test_is_run_by_a_command() -> None:
    commands = (ROOT / "Makefile").read_text(encoding="utf-8")
    for file in (ROOT / "tests").rglob("test_*.py"):
        for test in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(test, ast.FunctionDef | ast.AsyncFunctionDef):
                slow = any("mark.slow" in ast.unparse(mark) for mark in test.decorator_list)
                # `make promises` runs what has a promise in its name.
                named = re.search(r"_p\d\d_", test.name) or str(file.relative_to(ROOT)) in commands
                assert named or not slow, f"{file.name}: {test.name}"


def test_every_supported_python_is_a_classifier() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    lowest = int(project["requires-python"].removeprefix(">=3."))
    for minor in range(lowest, 15):
        assert f"Programming Language :: Python :: 3.{minor}" in project["classifiers"]


def test_the_workflows_are_safe() -> None:
    zizmor = Path(sys.executable).with_name("zizmor")
    run(zizmor, "--offline", "--persona", "pedantic", "-q", ".github", cwd=ROOT)


@pytest.mark.parametrize("target", ["test", "promises", "audit", "servers"])
def test_every_check_is_in_a_workflow(target: str) -> None:
    workflows = (ROOT / ".github" / "workflows").glob("*.yml")
    assert any(f"- run: make {target}\n" in file.read_text("utf-8") for file in workflows)


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("resolution", ["lowest-direct", "highest"])
def test_the_wheel_works_in_a_clean_environment(
    resolution: str, dist: Path, tmp_path: Path, figure: object
) -> None:
    uv = shutil.which("uv")
    if uv is None:
        pytest.skip("uv is not installed: pip install uv")
    run(uv, "venv", "-q", "--python", sys.executable, "clean", cwd=tmp_path)
    (wheel,) = dist.glob("*.whl")
    bin_ = tmp_path / "clean" / "bin"
    install = (uv, "pip", "install", "-q", "--python", bin_ / "python")
    # From pyproject.toml, where the dependencies are direct; those of a wheel would be indirect.
    run(
        *install,
        "--resolution",
        resolution,
        "--all-extras",
        "-r",
        ROOT / "pyproject.toml",
        cwd=tmp_path,
    )
    run(*install, "--no-deps", wheel, cwd=tmp_path)
    run(*install, "pytest>=9", cwd=tmp_path)
    assert run(bin_ / "minamo", "--version", cwd=tmp_path) == f"minamo {minamo.__version__}\n"
    assert "hikari-minamo" in run(bin_ / "python", "-W", "error", "-m", "minamo", cwd=tmp_path)
    shutil.copy(ROOT / "docs" / "example.jsonl", tmp_path)
    told = json.loads(run(bin_ / "minamo", "replay", "example.jsonl", "--json", cwd=tmp_path))
    assert (told["status"], len(told["thoughts"])) == ("completed", 1)
    run(bin_ / "minamo", "charts", "--check", cwd=tmp_path)
    # The tests of a new bot: the client, hikari and the twin, with exactly these versions.
    run(bin_ / "minamo", "new", "lamp", cwd=tmp_path)
    tests = run(bin_ / "python", "-m", "pytest", "-q", cwd=tmp_path / "lamp")
    assert "6 passed" in tests
    versions = run(uv, "pip", "freeze", "--python", bin_ / "python", cwd=tmp_path).split()
    direct = ("aiohttp=", "anyio=", "attrs=", "hikari=", "msgspec=", "pyyaml=", "wcwidth=")
    shown = " ".join(one for one in versions if one.startswith(direct))
    figure(f"{resolution}: {shown}")  # type: ignore[operator]
