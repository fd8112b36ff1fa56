"""Bots that run inside of a test with the twin, and end with it."""

from __future__ import annotations

import asyncio
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import hikari
import pytest

from minamo.twin import CREATE, Twin, TwinFailure

pytestmark = pytest.mark.anyio


PROGRAM = """
import asyncio, hikari
from minamo.twin import Twin

def make_bot(t):
    return hikari.GatewayBot(
        t.token, rest_url=t.url, banner=None, logs=None, suppress_optimization_warning=True
    )
"""


class Client:
    """The smallest object that the twin can run."""

    def __init__(self, closing: float = 0.0, failing: Exception | None = None) -> None:
        self.calls: list[Any] = []
        self._closing, self._failing = closing, failing

    async def start(self, **options: object) -> None:
        self.calls.append(options)

    async def close(self) -> None:
        self.calls.append("closed")
        await asyncio.sleep(self._closing)
        if self._failing is not None:
            raise self._failing


def _hikari(twin: Twin) -> hikari.GatewayBot:
    return hikari.GatewayBot(
        twin.token, rest_url=twin.url, banner=None, logs=None, suppress_optimization_warning=True
    )


async def test_a_hikari_bot_is_connected_inside_and_closed_behind() -> None:
    async with Twin() as t:
        bot = _hikari(t)
        async with t.running(bot):
            assert t.journal.events("READY")
            await bot.rest.create_message(t.channel().id, "hello")
            assert t.journal.count(CREATE) == 1
        assert not bot.is_alive


async def test_a_bot_that_its_test_closed_is_not_closed_again() -> None:
    async with Twin() as t:
        bot = _hikari(t)
        async with t.running(bot):
            await bot.close()


async def test_options_go_to_start() -> None:
    client = Client()
    async with Twin() as t, t.running(client, port=3):
        assert client.calls == [{"port": 3}]
    assert client.calls[-1] == "closed"


async def test_a_failed_assertion_is_what_comes_out_and_the_bot_is_closed() -> None:
    client = Client(failing=OSError("the socket is gone"))
    with pytest.raises(AssertionError, match="mine") as caught:
        async with Twin() as t, t.running(client):
            raise AssertionError("mine")
    assert client.calls[-1] == "closed"
    assert "the bot did not close: OSError('the socket is gone')" in caught.value.__notes__[0]


async def test_a_bot_that_fails_to_close_fails_its_test() -> None:
    with pytest.raises(TwinFailure, match="did not close: OSError"):
        async with Twin() as t, t.running(Client(failing=OSError("x"))):
            pass


async def test_a_bot_that_never_closes_fails_its_test(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("minamo.twin.bots._CLOSE_S", 0.1)
    with pytest.raises(TwinFailure, match="did not close: TimeoutError"):
        async with Twin() as t, t.running(Client(closing=60.0)):
            pass


async def test_a_client_whose_start_is_its_whole_session_runs_beside_the_test() -> None:
    class Session(Client):
        async def start(self, token: str) -> None:  # type: ignore[override]
            self.calls.append(token)
            twin.journal.event("READY")
            await self.ended.wait()

        async def close(self) -> None:
            self.ended.set()

    async with Twin() as twin:
        session = Session()
        session.ended = asyncio.Event()  # type: ignore[attr-defined]
        async with twin.running(session):
            assert session.calls == [twin.token]


async def test_what_ends_a_session_before_it_is_ready_is_raised() -> None:
    class Session(Client):
        async def start(self, token: str) -> None:  # type: ignore[override]
            raise ConnectionError("no such gateway")

    with pytest.raises(ConnectionError, match="no such gateway"):
        async with Twin() as t, t.running(Session()):
            raise AssertionError("not reached")


def _ended(*command: str) -> str:
    """Run Python, which would never end if the bot reconnected for ever."""
    done = subprocess.run(
        [sys.executable, *command], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 1, done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.mark.parametrize("closed", [True, False], ids=["running", "left open"])
def test_a_program_with_a_false_assertion_ends_with_its_traceback(closed: bool) -> None:
    body = "async with t.running(bot): " if closed else "await bot.start(check_for_updates=False); "
    lines = [
        "async def main():",
        "    async with Twin() as t:",
        "        bot = make_bot(t)",
        f"        {body}assert t.texts() == ['pong']",
        "asyncio.run(main())",
    ]
    output = _ended("-c", PROGRAM + "\n".join(lines))
    assert "AssertionError" in output


@pytest.mark.parametrize("closed", [True, False], ids=["running", "left open"])
def test_a_failing_pytest_with_the_fixture_ends(tmp_path: Path, closed: bool) -> None:
    (tmp_path / "conftest.py").write_text('pytest_plugins = ["minamo.twin.fixture"]\n')
    body = "async with twin.running(bot): " if closed else "await bot.start(); "
    lines = [
        "import pytest",
        "@pytest.fixture",
        "def anyio_backend(): return 'asyncio'",
        "@pytest.mark.anyio",
        "async def test_it(twin):",
        "    bot = make_bot(twin)",
        f"    {body}assert twin.texts() == ['pong']",
    ]
    (tmp_path / "test_it.py").write_text(PROGRAM + "\n".join(lines))
    output = _ended("-m", "pytest", "-q", "-p", "no:cacheprovider", "--durations=0", str(tmp_path))
    assert "assert [] == ['pong']" in output
    assert "1 failed" in output
    # Without the time in which Python imports hikari, which on a busy computer is most of it.
    took = re.findall(r"^([\d.]+)s (?:setup|call|teardown)", output, re.MULTILINE)
    assert took
    assert sum(map(float, took)) < 10
