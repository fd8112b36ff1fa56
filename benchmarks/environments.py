"""The peers' own environments: made on demand from the package indexes, outside git.

A peer never shares packages with minamo or with a peer that pins other versions.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
BUILD = ROOT / "build" / "bench"

#: Packages of each Python environment.
PYTHON = {
    "sdks": (
        "openai", "anthropic", "google-genai", "litellm", "httpx-sse",
        "pydantic-ai-slim[openai,anthropic,google]",
    ),
    "machines": ("transitions", "python-statemachine", "sismic"),
    "hermes": ("hermes-agent",),
    "nanobot": ("nanobot-ai",),
    "red": ("red-discordbot",),
}  # fmt: skip
INSTALL_S = 300


class Unavailable(Exception):
    """A peer cannot be run here; the message says why."""


def python(name: str) -> str:
    """Return the interpreter of a Python environment, which is made if it is not there."""
    folder = BUILD / name
    program = folder / "bin" / "python"
    done = folder / "packages.json"
    if not done.exists() or json.loads(done.read_text()) != list(PYTHON[name]):
        shutil.rmtree(folder, ignore_errors=True)
        if uv := shutil.which("uv"):
            _run(uv, "venv", "-q", "--python", sys.executable, str(folder))
            _run(uv, "pip", "install", "-q", "--python", str(program), *PYTHON[name])
        else:
            _run(sys.executable, "-m", "venv", str(folder))
            _run(str(program), "-m", "pip", "install", "-qq", *PYTHON[name])
        done.write_text(json.dumps(PYTHON[name]))
    return str(program)


def node() -> str:
    """Return the folder from which node finds the packages of benchmarks/node/package.json."""
    if shutil.which("node") is None or (npm := shutil.which("npm")) is None:
        raise Unavailable("node and npm are not installed")
    folder, wanted = BUILD / "node", HERE / "node" / "package.json"
    folder.mkdir(parents=True, exist_ok=True)
    done = folder / "installed.json"
    if not done.exists() or done.read_text() != wanted.read_text():
        shutil.copy(wanted, folder / "package.json")
        _run(npm, "install", "--no-package-lock", "--no-audit", "--no-fund", cwd=folder)
        shutil.copy(wanted, done)
    for program in (HERE / "node").glob("*.mjs"):  # imports are looked up beside the program
        shutil.copy(program, folder)
    return str(folder)


def node_versions() -> dict[str, str]:
    """Return node's version and those of the packages that benchmarks/node asks for."""
    folder = Path(node())
    wanted = json.loads((folder / "package.json").read_text())["dependencies"]
    found = subprocess.run(
        ["node", "--version"], capture_output=True, text=True, check=True
    ).stdout.strip()
    packages = {
        name: json.loads((folder / "node_modules" / name / "package.json").read_text())["version"]
        for name in wanted
    }
    return {"node": found.removeprefix("v"), **packages}


def _run(*command: str, cwd: Path | None = None) -> None:
    try:
        subprocess.run(
            command, cwd=cwd, check=True, capture_output=True, text=True, timeout=INSTALL_S
        )
    except subprocess.CalledProcessError as error:
        lines = (error.stderr or error.stdout or "").strip().splitlines()
        raise Unavailable(f"it cannot be installed: {lines[-1] if lines else error}") from error
    except subprocess.TimeoutExpired as error:
        raise Unavailable(f"it was not installed within {INSTALL_S} s") from error
