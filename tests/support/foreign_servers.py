"""Servers that are not ours, started by a test on a free port: aimock, and litellm's proxy."""

from __future__ import annotations

import json
import os
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from support.node_packages import node_environment
from support.redis_server import free_port
from support.system_parts import report_missing

ROOT = Path(__file__).parents[2]
START_S = 300.0


@contextmanager
def running(
    command: list[str], folder: Path, ready: str, environment: Mapping[str, str]
) -> Iterator[None]:
    """Run a server until the block ends; *ready* is an address that it answers once it is up."""
    with (folder / "server.log").open("wb") as log:
        process = subprocess.Popen(
            command, cwd=folder, env=dict(environment), stdin=subprocess.DEVNULL, stdout=log,
            stderr=subprocess.STDOUT,
        )  # fmt: skip
    try:
        until = time.monotonic() + START_S
        while not _answers(ready):
            if process.poll() is not None or time.monotonic() > until:
                told = (folder / "server.log").read_text(errors="replace")[-2_000:]
                raise AssertionError(f"{command[0]} does not start:\n{told}")
            time.sleep(0.2)
        yield
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=5) as answer:
            return bool(answer.status < 500)
    except urllib.error.HTTPError as error:
        return error.code < 500
    except OSError:
        return False


@contextmanager
def aimock(folder: Path, script: list[dict[str, Any]]) -> Iterator[str]:
    """aimock with this script; the npm package is installed on the first use."""
    environment = node_environment(ROOT / "tests" / "judge" / "aimock")
    program = Path(environment["NODE_PATH"]) / "@copilotkit" / "aimock" / "dist" / "cli.js"
    (folder / "script.json").write_text(json.dumps({"fixtures": script}), encoding="utf-8")
    port = free_port()
    command = ["node", str(program), "-p", str(port), "-f", "script.json", "--strict", "-c", "7"]
    url = f"http://127.0.0.1:{port}"
    with running(command, folder, f"{url}/health", environment):
        yield url


@contextmanager
def litellm(folder: Path, models: Mapping[str, Mapping[str, str]], key: str) -> Iterator[str]:
    """litellm's proxy with these models; `make servers` installs it."""
    program = ROOT / ".venv-servers" / "bin" / "litellm"
    if not program.exists():
        report_missing("servers", "litellm")
    listed = [{"model_name": name, "litellm_params": told} for name, told in models.items()]
    settings = {"model_list": listed, "general_settings": {"master_key": key}}
    # JSON is YAML, too.
    (folder / "litellm.yaml").write_text(json.dumps(settings), encoding="utf-8")
    port = free_port()
    command = [str(program), "--config", "litellm.yaml", "--host", "127.0.0.1", "--port", str(port)]
    environment = {
        **{name: value for name, value in os.environ.items() if not name.endswith("_API_KEY")},
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
        "LITELLM_TELEMETRY": "False",
        "NO_PROXY": "*",
    }
    url = f"http://127.0.0.1:{port}"
    with running(command, folder, f"{url}/health/liveliness", environment):
        yield url
