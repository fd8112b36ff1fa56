"""Contestants: each runs in a process of its own and gets the same inputs in turn."""

from __future__ import annotations

import json
import select
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import IO, Any, NamedTuple, Self

from benchmarks import environments
from benchmarks.environments import BUILD, HERE, Unavailable

CALL_S = 120.0


class Peer(NamedTuple):
    """A library or bot, and the program that runs it."""

    program: str
    """A file of benchmarks/peers (.py) or benchmarks/node (.mjs)."""
    environment: str = ""
    """A Python environment; empty for minamo's own."""
    packages: tuple[str, ...] = ()
    """The packages whose versions are reported."""


#: Every contestant.  Several peers may share a program; tasks get the peer's name where needed.
PEERS = {
    "minamo": Peer("minamo.py", packages=("hikari-minamo", "hikari", "aiohttp", "msgspec")),
    "minamo live": Peer("minamo_live.py"),
    "floor": Peer("floor.py"),
    "openai": Peer("sdks.py", "sdks", ("openai",)),
    "anthropic": Peer("sdks.py", "sdks", ("anthropic",)),
    "google-genai": Peer("sdks.py", "sdks", ("google-genai",)),
    "litellm": Peer("sdks.py", "sdks", ("litellm",)),
    "pydantic-ai": Peer("sdks.py", "sdks", ("pydantic-ai-slim",)),
    "httpx-sse": Peer("sdks.py", "sdks", ("httpx-sse", "httpx")),
    "transitions": Peer("machines.py", "machines", ("transitions",)),
    "python-statemachine": Peer("machines.py", "machines", ("python-statemachine",)),
    "sismic": Peer("machines.py", "machines", ("sismic",)),
    "hermes-agent": Peer("hermes.py", "hermes", ("hermes-agent",)),
    "nanobot": Peer("nanobot.py", "nanobot", ("nanobot-ai",)),
    "red": Peer("red.py", "red", ("red-discordbot",)),
    "ai": Peer("ai.mjs", "node"),
    "chat": Peer("chat.mjs", "node"),
    "remend": Peer("chat.mjs", "node"),
    "xstate": Peer("xstate.mjs", "node"),
}

#: Peers that are not run, with the reason.
ABSENT = {
    "llmcord": "not in a package index",
    "OpenClaw": "an application whose chunker has no documented entry point",
    "elizaOS": "its splitter asks a model to split the text",
}


class Answer(NamedTuple):
    """What a task took and returned."""

    cpu_s: float
    wall_s: float
    result: Any


class Failed(Exception):
    """A contestant failed at a task."""


class Worker:
    """A contestant's running process."""

    def __init__(self, name: str) -> None:
        self.name = name
        peer = PEERS[name]
        BUILD.mkdir(parents=True, exist_ok=True)
        self._log = (BUILD / f"{name.replace(' ', '-').replace('/', '-')}.log").open("w")
        self._process = subprocess.Popen(
            _command(peer),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            cwd=environments.ROOT,
        )
        try:
            self._read(CALL_S)
        except Failed:
            self.close()
            raise

    def call(self, task: str, *, timeout_s: float = CALL_S, **arguments: Any) -> Answer:
        """Run a task; raise `Failed` with the contestant's reason."""
        self.start(task, **arguments)
        return self.finish(timeout_s)

    def start(self, task: str, **arguments: Any) -> None:
        """Ask for a task without waiting for it."""
        pipe = _pipe(self._process.stdin)
        pipe.write(json.dumps({"task": task, **arguments}).encode() + b"\n")
        pipe.flush()

    def finish(self, timeout_s: float = CALL_S) -> Answer:
        """Wait for the task that was started."""
        answer = self._read(timeout_s)
        return Answer(answer.get("cpu_s", 0.0), answer.get("wall_s", 0.0), answer.get("result"))

    def _read(self, timeout_s: float) -> dict[str, Any]:
        pipe = _pipe(self._process.stdout)
        ready, _, _ = select.select([pipe], [], [], timeout_s)
        if not ready:
            raise Failed(f"{self.name}: no answer within {timeout_s:.0f} s")
        line = pipe.readline()
        if not line:
            raise Failed(f"{self.name}: its process ended; see {self._log.name}")
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise Failed(f"{self.name}: {answer['error']}")
        return answer

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.communicate()
        self._log.close()


def _pipe(pipe: IO[bytes] | None) -> IO[bytes]:
    assert pipe is not None
    return pipe


def _command(peer: Peer) -> list[str]:
    if peer.environment == "node":
        return ["node", str(Path(environments.node()) / peer.program)]
    program = environments.python(peer.environment) if peer.environment else sys.executable
    return [program, str(HERE / "worker.py"), str(HERE / "peers" / peer.program)]


Notes = dict[str, str]
_KEPT: dict[str, Worker] = {}


@contextmanager
def kept(*names: str) -> Iterator[None]:
    """Keep these contestants running from one measurement to the next; for short ones."""
    with ExitStack() as stack:
        _KEPT.update({name: stack.enter_context(Worker(name)) for name in names})
        try:
            yield
        finally:
            _KEPT.clear()


@contextmanager
def field(names: Iterable[str], notes: Notes) -> Iterator[dict[str, Worker]]:
    """Start the contestants; one that cannot run is left out, and *notes* says why."""
    with ExitStack() as stack:
        workers = {}
        for name in names:
            if name in _KEPT:
                workers[name] = _KEPT[name]
                continue
            try:
                workers[name] = stack.enter_context(Worker(name))
            except (Unavailable, Failed) as error:
                notes[name] = str(error).removeprefix(f"{name}: ")
        yield workers


def interleave(
    names: Iterable[str],
    rounds: int,
    call: Callable[[str], Answer],
    notes: Notes,
    *,
    budget_s: float = 60.0,
) -> dict[str, list[Answer]]:
    """Let each contestant do the same work in turn, round after round.

    The first round warms up and does not count.  One that fails is left out, and *notes* says why.
    No round begins after *budget_s*; there are at least three.
    """
    answers: dict[str, list[Answer]] = {name: [] for name in names}
    began = time.monotonic()
    for number in range(rounds + 1):
        if number > 3 and time.monotonic() - began > budget_s:
            break
        for name in list(answers):
            try:
                answer = call(name)
            except Failed as error:
                notes[name] = str(error).removeprefix(f"{name}: ")
                del answers[name]
                continue
            if number:
                answers[name].append(answer)
    return answers


def versions(names: Iterable[str]) -> dict[str, str]:
    """Return the versions of the contestants' packages."""
    found: dict[str, str] = {}
    for name in names:
        peer = PEERS[name]
        if not peer.packages:
            continue
        try:
            with Worker(name) as worker:
                found |= worker.call("versions", packages=peer.packages).result
        except (Unavailable, Failed):
            continue
    with suppress(Unavailable, OSError):
        found |= environments.node_versions()
    return found
