"""A real Redis on a free port, that can be killed, frozen and started again; its fixtures."""

from __future__ import annotations

import itertools
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis.asyncio.retry  # noqa: F401 - takes long, and not in an event loop

from support.system_parts import redis_program


class RedisServer:
    def __init__(self, folder: Path, *options: str) -> None:
        self._command = [
            redis_program(), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no",
            "--dir", str(folder), "--logfile", "redis.log", *options,
        ]  # fmt: skip
        self.port = 0
        self._process: subprocess.Popen[bytes] | None = None
        self.start()

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    def start(self) -> None:
        assert self._process is None
        # On the first start another program may snatch the free port; later it must be the same.
        for _ in range(1 if self.port else 5):
            port = self.port or free_port()
            process = subprocess.Popen(
                [*self._command, "--port", str(port)],
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            )  # fmt: skip
            if _answers(port, process):
                self.port, self._process = port, process
                return
        raise AssertionError("redis-server does not start")

    def kill(self) -> None:
        """As when the machine fails: no farewell."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()

    def freeze(self) -> None:
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        assert self._process is not None
        self._process.send_signal(signal.SIGCONT)


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


def _answers(port: int, process: subprocess.Popen[bytes]) -> bool:
    for _ in range(500):
        if process.poll() is not None:
            return False
        try:
            with socket.create_connection(("127.0.0.1", port), timeout=1) as asking:
                asking.sendall(b"PING\r\n")
                # With a password it refuses, and that is an answer too.
                if asking.recv(64)[:1] in (b"+", b"-"):
                    return True
        except OSError:
            time.sleep(0.01)
    process.kill()
    process.wait()
    return False


_prefixes = (f"test{n}" for n in itertools.count())


@pytest.fixture(scope="session")
def redis_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    """Shared, so not to be killed; tests keep apart by their prefixes."""
    server = RedisServer(tmp_path_factory.mktemp("redis"))
    yield server
    server.kill()


@pytest.fixture
def own_redis(tmp_path: Path) -> Iterator[RedisServer]:
    """For one test, which may do with it what it likes."""
    server = RedisServer(tmp_path)
    yield server
    server.kill()


@pytest.fixture
def prefix() -> str:
    return next(_prefixes)
