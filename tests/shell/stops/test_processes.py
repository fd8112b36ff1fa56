"""Two real processes: streams run in one, stops are asked for in the other."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import anyio
import pytest

from minamo.shell.stops.redis_registry import RedisStops
from minamo.shell.stops.registry import RequestOutcome
from support.redis_server import RedisServer

pytestmark = pytest.mark.anyio

PROGRAM = Path(__file__).with_name("process_of_streams.py")
SAMPLES = 200


class Child:
    """The other process: what is typed to it, and what it says."""

    def __init__(self, url: str, prefix: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-W", "error", str(PROGRAM), url, prefix],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0,
        )  # fmt: skip

    async def line(self) -> list[str]:
        def read() -> bytes:
            assert self._process.stdout is not None
            return self._process.stdout.readline()

        said = b""
        while not said.endswith(b"\n"):  # unbuffered, so possibly in pieces
            piece = await anyio.to_thread.run_sync(read)
            assert piece, "the other process has ended"
            said += piece
        return said.decode().split()

    def tell(self, *words: object) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(" ".join(map(str, words)).encode() + b"\n")

    async def do(self, *words: object) -> None:
        self.tell(*words)
        assert await self.line() == ["ok"]

    def signal(self, number: int) -> None:
        os.kill(self._process.pid, number)

    async def close(self) -> int:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self.signal(signal.SIGCONT)  # in case a failed test left it stopped
        self._process.stdin.close()
        code = await anyio.to_thread.run_sync(lambda: self._process.wait(timeout=30))
        self._process.stdout.close()
        return code

    def kill(self) -> None:
        self._process.kill()


@pytest.fixture
async def child(redis_server: RedisServer, prefix: str) -> AsyncIterator[Child]:
    child = Child(redis_server.url, prefix)
    try:
        with anyio.fail_after(30):
            assert await child.line() == ["ready"]
        yield child
        assert await child.close() == 0, "it leaves nothing open, warnings are errors"
    finally:
        child.kill()


def percentiles(values: list[float]) -> tuple[float, float]:
    ordered = sorted(values)
    return ordered[len(ordered) // 2], ordered[int(len(ordered) * 0.99) - 1]


@pytest.mark.parametrize("by", ["stream_id", "channel_id"])
async def test_a_stop_is_decided_in_the_other_process(
    redis_server: RedisServer, prefix: str, child: Child, by: str, figure: Any
) -> None:
    decided: list[float] = []
    answered: list[float] = []
    # Patient, so that a slow answer is measured instead of missed.
    async with RedisStops(redis_server.url, prefix=prefix, answer_timeout_ms=10_000) as stops:
        for number in range(1, SAMPLES + 1):
            await child.do("start", f"s{number}", number)
            address: Any = f"s{number}" if by == "stream_id" else number
            asked_at = time.monotonic_ns()
            assert await stops.request_stop(**{by: address}) is RequestOutcome.YES
            answered.append((time.monotonic_ns() - asked_at) / 1e6)
            stream_id, kind, heard_at = await child.line()
            assert (stream_id, kind) == (f"s{number}", "user")
            decided.append((int(heard_at) - asked_at) / 1e6)
            await child.do("end", stream_id)
    (p50, p99), (a50, a99) = percentiles(decided), percentiles(answered)
    figure(
        f"stop from another process by {by}, {SAMPLES} times: decided p50 {p50:.1f} ms, "
        f"p99 {p99:.1f} ms; answered p50 {a50:.1f} ms, p99 {a99:.1f} ms"
    )
    assert p99 <= 100
    assert a99 <= 100


async def test_a_process_that_hangs_is_said_to_be_unreachable(
    redis_server: RedisServer, prefix: str, child: Child
) -> None:
    async with RedisStops(redis_server.url, prefix=prefix, answer_timeout_ms=1000) as stops:
        await child.do("start", "s1", 7)
        await child.do("start", "s2", 8)
        child.signal(signal.SIGSTOP)
        assert await stops.request_stop(stream_id="s1") is RequestOutcome.UNREACHABLE
        assert await stops.request_stop(channel_id=8) is RequestOutcome.UNREACHABLE
        assert await stops.running(8) == []
        # It goes on, with a new stream in the channel: only the stop for s1 itself comes through.
        child.signal(signal.SIGCONT)
        child.tell("end", "s2")
        child.tell("start", "s3", 8)
        said = [await child.line() for _ in range(3)]
        assert sorted(line[0] for line in said) == ["ok", "ok", "s1"]
        assert await stops.has_stop_request(channel_id=8) is RequestOutcome.NO
        assert await stops.request_stop(channel_id=8) is RequestOutcome.YES
        assert (await child.line())[:2] == ["s3", "user"]


async def test_a_process_that_died_is_forgotten(own_redis: RedisServer, prefix: str) -> None:
    child = Child(own_redis.url, prefix)
    assert await child.line() == ["ready"]
    await child.do("start", "s1", 7)
    async with RedisStops(own_redis.url, prefix=prefix, answer_timeout_ms=1000) as stops:
        assert await stops.running(7) == ["s1"]
        child.kill()
        await child.close()
        assert await stops.running(7) == []
        # Its announcement has not expired yet, and nobody knows what it did before it died.
        assert await stops.request_stop(stream_id="s1") in (
            RequestOutcome.UNREACHABLE,
            RequestOutcome.NO,
        )
        await stops._link.client.delete(f"{prefix}:stream:s1")
        assert await stops.request_stop(stream_id="s1") is RequestOutcome.NO


async def test_redis_restarts_under_two_processes(own_redis: RedisServer, prefix: str) -> None:
    child = Child(own_redis.url, prefix)
    try:
        assert await child.line() == ["ready"]
        await child.do("start", "before", 7)
        async with RedisStops(own_redis.url, prefix=prefix, answer_timeout_ms=2000) as stops:
            own_redis.kill()
            await child.do("start", "during", 8)
            own_redis.start()
            with anyio.fail_after(20):
                # Both find it again by themselves, neither at once.
                while not await stops.request_stop(stream_id="before"):  # noqa: ASYNC110
                    await anyio.sleep(0.02)
            assert (await child.line())[:2] == ["before", "user"]
            assert await stops.kill(channel_id=8) is RequestOutcome.YES
            assert (await child.line())[:2] == ["during", "kill"]
        assert await child.close() == 0
    finally:
        child.kill()
