"""How others use the twin: the program in its page, the command, the fixture."""

from __future__ import annotations

import argparse
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import hikari
import pytest

from minamo.cli import twin as command
from minamo.errors import MinamoError
from minamo.twin import Rules, Twin

PAGE = Path(__file__).resolve().parents[2] / "docs" / "twin.md"
COMMAND = """
import argparse, sys
from minamo.cli import twin
parser = argparse.ArgumentParser()
twin.add(parser.add_subparsers())
options = parser.parse_args(sys.argv[1:])
sys.exit(options.run(options))
"""


def test_the_program_of_the_page_runs(capsys: pytest.CaptureFixture[str]) -> None:
    program, _ = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    exec(compile(program, str(PAGE), "exec"), {"__name__": "__main__"})
    assert "'pong' -> 200" in capsys.readouterr().out


def test_the_page_names_every_rule_and_fault() -> None:
    from minamo.twin import Faults

    page = PAGE.read_text(encoding="utf-8")
    planned = ("status", "drop", "stall", "delay", "limited", "html")
    settings = ("clock_skew_s", "latency_s", "gateway_deaf")
    for name in (*planned, *settings):
        assert hasattr(Faults(), name)
        assert re.search(rf"`(faults\.)?{name}\b", page), name


@pytest.mark.anyio
async def test_the_command_runs_alone_and_ends_cleanly(tmp_path: Path) -> None:
    process = subprocess.Popen(  # noqa: ASYNC220 - it is the other side of the socket
        [sys.executable, "-u", "-c", COMMAND, "twin", "--say", "hello"],
        cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        assert process.stdout is not None
        lines = dict(process.stdout.readline().split(maxsplit=1) for _ in range(4))
        url, token = lines["address"].strip(), lines["token"].strip()
        assert f'rest_url="{url}"' in lines["connect"]
        app = hikari.RESTApp(url=url)
        await app.start()
        async with app.acquire(token, hikari.TokenType.BOT) as rest:
            assert (await rest.fetch_my_user()).username == "twin-bot"
        await app.close()
    finally:
        os.kill(process.pid, signal.SIGINT)
        output, errors = process.communicate(timeout=10)
    assert process.returncode == 0, errors
    assert "GET    /users/@me -> 200" in output
    assert output.endswith("ended\n")
    assert errors == ""


def _options(*arguments: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    command.add(parser.add_subparsers())
    return parser.parse_args(["twin", *arguments])


def test_ports_that_cannot_be_used_are_said() -> None:
    options = _options("--port", "70000")
    with pytest.raises(MinamoError, match="no port 70000"):
        options.run(options)


@pytest.mark.anyio
async def test_a_port_in_use_is_said(twin: Twin) -> None:
    from minamo.cli.twin import _serve

    port = int(twin.url.split(":")[2].split("/")[0])
    with pytest.raises(MinamoError, match=f"port {port} cannot be used"):
        await _serve(port, None)


@pytest.mark.slow  # a pytest inside pytest takes its time
def test_the_fixture_works_in_a_project_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text('pytest_plugins = ["minamo.twin.fixture"]\n')
    (tmp_path / "test_it.py").write_text(
        "import pytest\n"
        "from minamo.twin import Rules\n"
        "pytestmark = pytest.mark.anyio\n"
        "@pytest.fixture\n"
        "def anyio_backend(): return 'asyncio'\n"
        "@pytest.fixture\n"
        "def twin_rules(): return Rules(content_max=5)\n"
        "async def test_good(twin):\n"
        "    assert (await twin.say('12345')).content == '12345'\n"
        "async def test_bad(twin):\n"
        "    await twin.say('hello')\n"
        "    assert twin.texts(bot=False) == ['something else']\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path)],
        cwd=tmp_path, capture_output=True, text=True, timeout=30, check=False,
    )  # fmt: skip
    assert "1 failed, 1 passed" in done.stdout, done.stdout + done.stderr
    assert "the twin's journal" in done.stdout
    assert "gateway MESSAGE_CREATE" in done.stdout


def test_the_twin_imports_nothing_of_hikari() -> None:
    program = "import sys, minamo.twin; print('hikari' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "False"


def test_rules_are_frozen() -> None:
    with pytest.raises(AttributeError):
        Rules().content_max = 5  # type: ignore[misc]


def test_the_public_names_are_pinned() -> None:
    import minamo.twin

    assert minamo.twin.__all__ == [
        "CALLBACK", "CREATE", "DELETE", "EDIT", "EXECUTE", "TYPING", "Channel", "Fault", "Faults",
        "Interaction", "Journal", "Limit", "Message", "Permission", "Refused", "Rules",
        "SlowedDown", "Style", "Twin", "TwinFailure", "User", "Webhook", "faster",
    ]  # fmt: skip
    assert all(hasattr(minamo.twin, name) for name in minamo.twin.__all__)


@pytest.mark.anyio
async def test_somebody_may_watch_what_happens(twin: Twin) -> None:
    seen: list[tuple[str, Any]] = []
    twin.user("ann")  # else the first thing seen is that she joins
    end = twin.watch(lambda name, data: seen.append((name, data)))
    said = await twin.say("hello")
    await twin.edit(said, "hello there")
    await twin.slash("ask")
    assert [name for name, _ in seen] == ["MESSAGE_CREATE", "MESSAGE_UPDATE", "INTERACTION_CREATE"]
    assert seen[1][1]["content"] == "hello there"
    assert seen[2][1]["token"] == "***"
    end()
    await twin.say("unseen")
    assert len(seen) == 3
