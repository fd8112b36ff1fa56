"""What is uploaded and installed: two files that pass twine, the public names, a quick import, charts in the wheel."""

from __future__ import annotations

import ast
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import venv
import zipfile
from pathlib import Path
from types import ModuleType
from typing import get_args, get_type_hints

import attrs
import pytest

import minamo
import minamo.machine
import minamo.testing
from support.system_parts import report_missing

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


def test_the_public_names_are_pinned() -> None:
    assert minamo.__all__ == [
        "Adapter", "AddressArguments", "AllowedMentions", "Anthropic", "Ask", "BadRequest",
        "BadSetting", "BadTrace", "BotSender", "Button", "Call", "ChartError", "ChatMessage",
        "ChatProvider", "ChatRequest", "ChatStream", "Chunk", "ChunkSource", "Citation", "Client",
        "ClientClosed", "DoneChunk", "Embed", "ErrorChunk", "Extras", "File", "FileChunk", "Frame", "FunctionCall", "Gemini",
        "HistoryLimits", "HumanizerDegree", "Image", "Languages", "Lease", "LeaseStatus",
        "McpServer", "MemoryStops", "MinamoError", "NoticeSettings", "OpenAI", "OpenAICompatible",
        "OpenTelemetry", "Overflow", "Pacer", "Persona", "Policy", "Receipt", "RedisLease",
        "RedisStops", "ReplyInfo", "ReplyTarget", "RequestArguments", "RequestOutcome",
        "ScriptedProvider", "SendOptions", "Sender", "StopArguments", "StopRequest", "StopSignal",
        "Stops", "StreamConfig", "StreamContext", "StreamEnded", "StreamInfo", "StreamInspector",
        "StreamOptions", "StreamOrchestrator", "StreamResult", "StreamStarted", "Telemetry",
        "TextChunk", "ThoughtDisplay", "Timeouts", "Tool", "ToolContext", "ToolError", "Tools",
        "TurnResult", "TurnSettings", "Usage", "WireLimits", "Wording", "__version__", "as_chunks",
        "assistant", "fallback", "read_trace", "replay", "retry", "system", "tool", "tool_result",
        "user",
    ]  # fmt: skip
    assert dir(minamo) == sorted(minamo.__all__)
    assert minamo.machine.__all__ == [
        "Chart", "Clock", "Coverage", "Finding", "Machine", "Row", "RunningClocks", "State", "Step", "Table", "TransitionRecord",
        "chart_names", "compile", "declare", "load", "paths", "read", "to_markdown", "to_mermaid",
        "to_scxml", "to_svg", "verify",
    ]  # fmt: skip


def _read_by_checkers(package: str) -> set[str]:
    """The names that a type checker finds in a package."""
    tree = ast.parse((ROOT / "src" / package / "__init__.py").read_text())
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    return {name.asname for node in imports for name in node.names if name.asname}


@pytest.mark.parametrize("package", [minamo, minamo.machine, minamo.testing])
def test_a_type_checker_finds_the_names_that_a_program_finds(package: ModuleType) -> None:
    found = _read_by_checkers(package.__name__.replace(".", "/"))
    assert found == set(package.__all__) - {"__version__"}


def _named(kind: object) -> set[type]:
    """The classes of ours that an annotation names."""
    inner = set().union(*(_named(one) for one in get_args(kind)), set())
    ours = isinstance(kind, type) and kind.__module__.startswith("minamo.")
    return inner | ({kind} if ours else set())  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["StreamContext", "StreamResult", "TurnResult", "SendOptions"])
def test_what_a_public_record_is_made_of_is_public(name: str) -> None:
    homes = {"StreamOrchestrator": minamo.StreamOrchestrator}
    kinds = get_type_hints(getattr(minamo, name), localns=homes)
    fields = [one.name for one in attrs.fields(getattr(minamo, name))]
    needed = set().union(*(_named(kinds[field]) for field in fields))
    assert not {one.__name__ for one in needed} - set(minamo.__all__) - {"ToolResult"}


@pytest.mark.parametrize("package", [minamo, minamo.machine])
def test_every_public_name_is_there(package: object) -> None:
    for name in package.__all__:  # type: ignore[attr-defined]
        assert getattr(package, name) is not None
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        package.nothing  # type: ignore[attr-defined]  # noqa: B018


def test_importing_minamo_imports_nothing_heavy(tmp_path: Path) -> None:
    program = (
        "import sys; before = set(sys.modules); import minamo;"
        "print(*sorted(m for m in set(sys.modules) - before if '.' not in m))"
    )
    loaded = set(run(sys.executable, "-c", program, cwd=tmp_path).split())
    assert "minamo" in loaded
    assert not loaded & {"hikari", "statemachine", "yaml", "aiohttp", "anyio", "attr", "attrs"}


def test_importing_minamo_is_quick(tmp_path: Path, figure: object) -> None:
    # The best of several: one slow start of a busy machine says nothing about the import.
    times = []
    for _ in range(5):
        done = subprocess.run(
            [sys.executable, "-X", "importtime", "-c", "import minamo"],
            cwd=tmp_path, capture_output=True, text=True, check=True,
        )  # fmt: skip
        line = next(row for row in done.stderr.splitlines() if row.endswith("| minamo"))
        times.append(int(line.split("|")[1]))
    figure(f"import minamo: {min(times) / 1000:.1f} ms (best of 5)")  # type: ignore[operator]
    assert min(times) < 100_000


def test_a_wheel_finds_its_charts_far_from_the_checkout(dist: Path, tmp_path: Path) -> None:
    (wheel,) = dist.glob("*.whl")
    venv.create(tmp_path / "clean")
    python = str(tmp_path / "clean" / "bin" / "python")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    packages = Path(next(p for p in sys.path if p.endswith("site-packages")))
    clean = next((tmp_path / "clean" / "lib").glob("python3*")) / "site-packages"
    # A wheel is installed by unpacking it; another test has an installer do it.
    with zipfile.ZipFile(wheel) as files:
        files.extractall(clean)
    # Without dependencies: charts need only these three, and the test no network for the rest.
    for name in ("yaml", "attr", "attrs", "statemachine"):
        (clean / name).symlink_to(packages / name)

    program = (
        "import minamo.machine as m, minamo; c = m.load('stream');"
        "print(minamo.__file__, len(c.rows));"
        "from minamo.machine.compiler import declare; declare(c)"
    )
    where, rows = run(python, "-I", "-c", program, cwd=elsewhere).split()
    assert Path(where).is_relative_to(clean)
    assert rows == str(len(minamo.machine.load("stream").rows))
    command = (python, "-I", "-m", "minamo.cli.main", "charts")
    assert "nothing wrong" in run(*command, "--check", cwd=elsewhere)
    assert run(*command, "stream", "--format", "svg", cwd=elsewhere).startswith("<svg")


def run_pyright(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run pyright with this interpreter's packages; skip the test where node is missing."""
    if shutil.which("node") is None:
        report_missing("npm")
    # `--verifytypes` ignores --pythonpath: it asks the `python` of PATH where packages are.
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        [sys.executable, "-m", "pyright", *arguments],
        env={**os.environ, "PATH": path, "PYRIGHT_PYTHON_IGNORE_WARNINGS": "1"},
        capture_output=True, text=True, check=False,
    )  # fmt: skip


@pytest.mark.timeout(300)
def test_every_public_name_has_a_known_type() -> None:
    done = run_pyright("--verifytypes", "minamo", "--ignoreexternal")
    problems = "\n".join(line for line in done.stdout.splitlines() if "error:" in line)
    assert "Type completeness score: 100%" in done.stdout, problems or done.stdout + done.stderr
