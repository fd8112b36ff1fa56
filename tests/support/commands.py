"""`minamo …` as processes that begin with everything imported.

To import hikari and minamo takes a processor a second, and some sixty tests run the command.  One
process for each worker imports once and forks; for each fork stands a small program that hands its
own standard files over, passes signals on, and ends as the fork ends.
"""

from __future__ import annotations

import atexit
import functools
import io
import json
import os
import pkgutil
import select
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

_IMPORTED = ("bot", "cli", "inspect", "shell", "twin", "wire")
_NOT_IMPORTED = ("minamo.twin.fixture",)  # a plugin of pytest
_STAND_IN = """
import json, os, signal, socket, sys
passed_on = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
signal.pthread_sigmask(signal.SIG_BLOCK, passed_on)
link = socket.socket(socket.AF_UNIX)
link.connect(sys.argv[1])
asked = {"arguments": sys.argv[2:], "environ": dict(os.environ), "folder": os.getcwd()}
socket.send_fds(link, [b"!"], [0, 1, 2])
link.sendall(json.dumps(asked).encode() + b"\\n")
answers = link.makefile()
nothing = os.open(os.devnull, os.O_RDWR)
for number in (0, 1, 2):
    os.dup2(nothing, number)
pid = int(answers.readline())
for number in passed_on:
    signal.signal(number, lambda number, _: os.kill(pid, number))
signal.pthread_sigmask(signal.SIG_UNBLOCK, passed_on)
code = int(answers.readline())
if code < 0:
    signal.signal(-code, signal.SIG_DFL)
    os.kill(os.getpid(), -code)
os._exit(code)
"""


@functools.cache
def minamo_command() -> list[str]:
    """Return the words to put before the arguments of `minamo`."""
    path = str(Path(tempfile.mkdtemp(prefix="minamo-")) / "forks")
    server = subprocess.Popen(
        [sys.executable, __file__, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    atexit.register(server.communicate)  # the end of its input ends it
    assert server.stdout is not None
    assert server.stdout.readline() == b"ready\n"
    return [sys.executable, "-S", "-E", "-c", _STAND_IN, path]


class _Forks:
    """The forks that run, by the connection of their stand-in."""

    def __init__(self, path: str) -> None:
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(path)
        self.listener.listen()
        self.running: dict[socket.socket, int] = {}
        self.woken, waker = socket.socketpair()
        waker.setblocking(False)
        self._waker = waker
        signal.set_wakeup_fd(waker.fileno(), warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)

    def serve(self) -> list[str]:
        """Serve until the end of the input; returns, in a fork alone, with its arguments."""
        while True:
            waiting = [sys.stdin.buffer, self.listener, self.woken, *self.running]
            ready, _, _ = select.select(waiting, [], [])
            if sys.stdin.buffer in ready:
                for pid in self.running.values():
                    os.kill(pid, signal.SIGKILL)
                os._exit(0)
            if self.woken in ready:
                self.woken.recv(4096)
                self._tell_ends()
            for link in [link for link in ready if link in self.running]:
                os.kill(self.running[link], signal.SIGKILL)  # its stand-in was killed
                self._forget(link)
            if self.listener in ready and (arguments := self._fork()) is not None:
                return arguments

    def _fork(self) -> list[str] | None:
        link, _ = self.listener.accept()
        _, files, _, _ = socket.recv_fds(link, 1, 3)
        asked = json.loads(link.makefile().readline())
        if pid := os.fork():
            self.running[link] = pid
            for file in files:
                os.close(file)
            link.sendall(f"{pid}\n".encode())
            return None
        return self._become(asked, files)

    def _become(self, asked: dict[str, Any], files: list[int]) -> list[str]:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        for link in (self.listener, self.woken, self._waker, *self.running):
            link.close()
        for number, file in enumerate(files):
            os.dup2(file, number)
            os.close(file)
        os.environ.clear()
        os.environ.update(asked["environ"])
        os.chdir(asked["folder"])
        at_once = bool(os.environ.get("PYTHONUNBUFFERED"))
        sys.stdin = io.TextIOWrapper(io.FileIO(0, closefd=False))
        sys.stdout, sys.stderr = (
            io.TextIOWrapper(
                io.BufferedWriter(io.FileIO(number, "w", closefd=False)), encoding="utf-8",
                line_buffering=os.isatty(number) or number == 2, write_through=at_once,
                errors="backslashreplace" if number == 2 else None,
            )
            for number in (1, 2)
        )  # fmt: skip
        sys.argv = ["minamo", *asked["arguments"]]
        return list(asked["arguments"])

    def _tell_ends(self) -> None:
        for pid, status in _ended():
            for link in [link for link, its in self.running.items() if its == pid]:
                with suppress(OSError):
                    link.sendall(f"{os.waitstatus_to_exitcode(status)}\n".encode())
                self._forget(link)

    def _forget(self, link: socket.socket) -> None:
        del self.running[link]
        link.close()


def _ended() -> Iterator[tuple[int, int]]:
    with suppress(ChildProcessError):
        while (found := os.waitpid(-1, os.WNOHANG))[0]:
            yield found


if __name__ == "__main__":
    import minamo

    for package in _IMPORTED:
        home = f"{minamo.__path__[0]}/{package}"
        for module in pkgutil.walk_packages([home], f"minamo.{package}."):
            if module.name not in _NOT_IMPORTED:
                import_module(module.name)
    from minamo.cli.main import main
    from minamo.shell import orchestrator

    orchestrator.pause_s = lambda _: 0.05  # nobody watches it type

    forks = _Forks(sys.argv[1])
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    sys.exit(main(forks.serve()))
