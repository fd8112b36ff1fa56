"""Answers of Redis that are lost on the way: a question is asked again, and acted on once."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import anyio
import pytest
from attrs import define

from minamo.shell.stops import redis_protocol as asking
from minamo.shell.stops.redis_registry import RedisStops
from minamo.shell.stops.registry import RequestOutcome, StopRequest, StopSignal
from support.redis_server import RedisServer

pytestmark = pytest.mark.anyio
PATIENT_MS = 5_000


@define(eq=False)
class Wire:
    """Carries bytes between a process and Redis, and can lose one answer."""

    redis_port: int
    port: int = 0
    lose_after: bytes = b""
    """The next command with these bytes reaches Redis, and its answer is lost."""
    lost: int = 0

    @asynccontextmanager
    async def carrying(self) -> AsyncIterator[Wire]:
        server = await asyncio.start_server(self._carry, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        try:
            yield self
        finally:
            server.close()

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        redis_reader, redis_writer = await asyncio.open_connection("127.0.0.1", self.redis_port)
        lossy = asyncio.Event()

        async def up() -> None:
            with suppress(OSError):
                while data := await reader.read(65_536):
                    if self.lose_after and self.lose_after in data:
                        self.lose_after = b""
                        self.lost += 1
                        lossy.set()
                    redis_writer.write(data)
                    await redis_writer.drain()
            redis_writer.close()

        async def down() -> None:
            with suppress(OSError):
                while data := await redis_reader.read(65_536):
                    if lossy.is_set():  # Redis has done it, and its answer ends here
                        writer.transport.abort()
                        return
                    writer.write(data)
                    await writer.drain()
            writer.close()

        await asyncio.gather(up(), down())


@pytest.fixture
async def wire(redis_server: RedisServer) -> AsyncIterator[Wire]:
    async with Wire(redis_server.port).carrying() as made:
        yield made


@pytest.mark.parametrize("op", ["stop", "follow_up", "kill"])
async def test_a_wish_whose_answer_was_lost_is_put_once(
    redis_server: RedisServer, wire: Wire, prefix: str, op: str
) -> None:
    url = f"redis://127.0.0.1:{wire.port}/0"
    heard: list[StopRequest] = []
    stop_signal = StopSignal()
    async with (
        RedisStops(url, prefix=prefix, answer_timeout_ms=PATIENT_MS) as there,
        RedisStops(redis_server.url, prefix=prefix, answer_timeout_ms=PATIENT_MS) as here,
    ):
        with here.register("stream-1", 42, stop_signal), stop_signal.listen(heard.append):
            await there.running(42)
            wire.lose_after = b'"request"'
            request = {
                "stop": there.request_stop,
                "follow_up": there.request_follow_up,
                "kill": there.kill,
            }[op]
            assert await request(stream_id="stream-1") is RequestOutcome.YES
            await there.running(42)  # whatever was on its way has come
            assert (wire.lost, len(heard)) == (1, 1)
            assert (
                await request(stream_id="stream-1") is RequestOutcome.YES
            )  # and a second one is another
            assert len(heard) == 2


async def test_taking_back_twice_is_taking_back(
    redis_server: RedisServer, wire: Wire, prefix: str
) -> None:
    """The second try must not say that there was nothing to take back."""
    url = f"redis://127.0.0.1:{wire.port}/0"
    stop_signal = StopSignal()
    async with (
        RedisStops(url, prefix=prefix, answer_timeout_ms=PATIENT_MS) as there,
        RedisStops(redis_server.url, prefix=prefix, answer_timeout_ms=PATIENT_MS) as here,
    ):
        with here.register("stream-1", 42, stop_signal), stop_signal.listen(lambda _: False):
            assert await there.request_stop(stream_id="stream-1")
            wire.lose_after = b'"clear"'
            assert await there.clear_stop_request(stream_id="stream-1") is RequestOutcome.YES
            assert (wire.lost, stop_signal.strongest) == (1, None)


async def test_what_is_remembered_is_bounded(
    redis_server: RedisServer, prefix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(asking, "_DONE_MAX", 10)
    stop_signal = StopSignal()
    async with (
        RedisStops(redis_server.url, prefix=prefix, answer_timeout_ms=PATIENT_MS) as there,
        RedisStops(redis_server.url, prefix=prefix, answer_timeout_ms=PATIENT_MS) as here,
    ):
        with here.register("stream-1", 42, stop_signal):
            for _ in range(30):
                assert await there.request_stop(stream_id="stream-1")
            assert len(here._broadcast._done) == 10
            data = json.dumps(
                {"v": 1, "id": "q", "sender": "s", "op": "running", "streams": ["stream-1"]}
            )
            await there._link.publish(f"{prefix}:ask", data.encode())
            with anyio.move_on_after(0.2):
                await there.running(42)
            assert (
                "s",
                "q",
            ) not in here._broadcast._done  # it changes nothing, and may be asked again
