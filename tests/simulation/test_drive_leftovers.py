"""P13: nothing is left behind, however a stream ended, on both backends."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import sys
import tracemalloc
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest
import trio
import trio.testing
from aiohttp import web

import minamo
from minamo.core.stream import Stream
from minamo.shell.delivery.interfaces import Rejected, RetryLater, Unknown
from minamo.shell.delivery.lanes import Lanes, open_lanes
from minamo.shell.driver import Driver, NullSink
from minamo.shell.stops.registry import StopRequest, StopSignal
from simulation.endings import CALL, ERROR
from support.driver import (
    END,
    FOLLOW_UP,
    KILL,
    SYSTEM,
    USER,
    Discord,
    Provider,
    drive,
    plain,
    unpaced,
)
from support.provider_server import serving, streamed

WARM = 300
GROWTH_MAX = 64 * 1024
TEXT = [(0.0, f"Paragraph {n}.\n\n<think>hm</think>") for n in range(4)]

# How each stream ends: what comes after the text, the settings, Discord's answers, a wish.
ENDINGS: list[dict[str, Any]] = [
    {"then": [END]},
    {"then": [CALL]},
    {"then": [ERROR]},
    {"then": [OSError]},
    {"settings": {"inactivity_timeout_ms": 2}},
    {"settings": {"stream_deadline_ms": 2}},
    {"call_timeout_ms": 2},
    {"wish": USER},
    {"wish": SYSTEM},
    {"wish": FOLLOW_UP},
    {"wish": KILL},
    {"settings": {"send_message_limit": 1}},
    {"settings": {"speaker_names": ("Bob",)}, "then": ["\n\nBob: so"]},
    {"script": lambda n, _: Rejected("no")},
    {"script": lambda n, _: RetryLater("never", float("inf"))},
    {"script": lambda n, _: Unknown("reset") if n == 1 else None, "then": [END]},
    {"cancel": True},
]


async def end_one(lanes: Lanes, number: int) -> str:
    how = ENDINGS[number % len(ENDINGS)]
    # An exception that is raised again and again would remember every time.
    then = [what() if isinstance(what, type) else what for what in how.get("then", ())]
    provider = Provider(TEXT + [(0.0, what) for what in then])
    stop_signal = StopSignal()
    with anyio.CancelScope() as scope:

        def progress() -> None:
            if isinstance(wish := how.get("wish"), StopRequest):
                stop_signal.request(wish)
            if how.get("cancel"):
                scope.cancel()

        run = await drive(
            lanes,
            provider,
            plain(**how.get("settings", {})),
            discord=Discord(0.0, how.get("script"), place=number % 50),
            stop_signal=stop_signal,
            stream_id=f"stream {number}",
            call_timeout_ms=how.get("call_timeout_ms"),
            progress=progress,
        )
        return f"{run.settled.status} {run.settled.stop_reason}"
    return "cancelled"


async def end_many(count: int, first: int = 0, together: int = 50) -> Counter[str]:
    ended: Counter[str] = Counter()

    async def some(start: int) -> None:
        for number in range(start, first + count, together):
            ended[await end_one(lanes, number)] += 1

    async with open_lanes(pacer=unpaced()) as lanes, anyio.create_task_group() as tasks:
        for start in range(first, first + together):
            tasks.start_soon(some, start)
    assert len(lanes) == 0
    return ended


async def grown(count: int, later_s: float = 0.0) -> tuple[int, Counter[str]]:
    """How many bytes *count* streams leave behind, once *later_s* have gone by."""

    async def traced() -> int:
        await anyio.sleep(later_s)
        gc.collect()
        return tracemalloc.get_traced_memory()[0]

    tracemalloc.start()
    warm = max(WARM, count * 2 // 5)
    await end_many(warm)  # caches and free lists fill up, to their bounds
    before = await traced()
    ended = await end_many(count, warm)
    after = await traced()
    tracemalloc.stop()
    return after - before, ended


def left_on_asyncio(count: int, figure: Callable[[str], None]) -> None:
    async def story() -> None:
        generators = Counter[str]()
        loop: Any = asyncio.get_running_loop()
        was = sys.get_asyncgen_hooks()
        sys.set_asyncgen_hooks(
            firstiter=lambda gen: (generators.update(["made"]), was.firstiter(gen)),  # type: ignore[misc]
            finalizer=lambda gen: pytest.fail(f"{gen} was left to the garbage collector"),
        )
        growth, ended = await grown(count)
        sys.set_asyncgen_hooks(*was)
        assert generators, "the hook works"
        assert len(asyncio.all_tasks()) == 1
        assert not [timer for timer in loop._scheduled if not timer.cancelled()]
        assert not [one for one in loop._asyncgens if one.ag_frame is not None]
        assert len(ended) >= 13
        figure(
            f"left behind by {count} streams on asyncio: 0 tasks, 0 timers, "
            f"0 generators, {growth / 1024:.1f} KiB"
        )
        assert growth < GROWTH_MAX

    fds = open_files()
    asyncio.run(story())
    assert open_files() == fds


def left_on_trio(count: int, figure: Callable[[str], None]) -> None:
    async def story() -> None:
        tasks = trio.lowlevel.current_statistics().tasks_living
        # Trio forgets a deadline that was taken back when its time has come.
        growth, ended = await grown(count, 1_000.0)
        assert trio.lowlevel.current_statistics().tasks_living == tasks
        assert len(ended) >= 13
        figure(f"left behind by {count} streams on trio: 0 tasks, {growth / 1024:.1f} KiB")
        assert growth < GROWTH_MAX

    clock = trio.testing.MockClock(autojump_threshold=0)
    anyio.run(story, backend="trio", backend_options={"clock": clock})


def open_files() -> int:
    gc.collect()
    return len(os.listdir("/proc/self/fd")) if Path("/proc/self/fd").exists() else 0


@pytest.fixture(autouse=True)
def _unlogged() -> Iterator[None]:
    """pytest keeps every record that is logged, which is growth but not ours."""
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


@pytest.mark.parametrize("backend", [left_on_asyncio, left_on_trio])
def test_p13_nothing_is_left(backend: Any, figure: Callable[[str], None]) -> None:
    backend(100, figure)


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("backend", [left_on_asyncio, left_on_trio])
def test_p13_nothing_is_left_by_thousands(backend: Any, figure: Callable[[str], None]) -> None:
    backend(5_000, figure)


def test_p13_no_socket_is_left_open(figure: Callable[[str], None]) -> None:
    """Over HTTP: ended, failed, silent, stopped and cancelled streams."""
    frame = b'data: {"choices":[{"delta":{"content":"Hello.\\n\\n"}}]}\n\n'

    async def answer(request: web.Request) -> web.StreamResponse:
        body = await request.json()
        match body["messages"][-1]["content"]:
            case "end":
                return await streamed(request, frame, b"data: [DONE]\n\n")
            case "fail":
                return web.Response(status=500)
        response = await streamed(request, frame)
        with anyio.move_on_after(5):
            while request.transport is not None and not request.transport.is_closing():  # noqa: ASYNC110
                await asyncio.sleep(0.005)
        return response

    async def one(llm: Any, number: int) -> None:
        stream, stop_signal = Stream(plain(inactivity_timeout_ms=20)), StopSignal()
        how = ["end", "fail", "silence", "stop", "kill", "cancel"][number % 6]
        with anyio.CancelScope() as scope:

            def progress() -> None:
                if how in ("stop", "kill"):
                    stop_signal.request(KILL if how == "kill" else USER)
                elif how == "cancel":
                    scope.cancel()

            driver = Driver(stream, stop_signal=stop_signal, progress=progress)
            await driver.run(llm.ask(how), NullSink(stream))

    async def story() -> None:
        async with serving(answer) as server:
            before = open_files()
            async with (
                minamo.OpenAICompatible(f"{server.url}/v1", model="m") as llm,
                anyio.create_task_group() as tasks,
            ):
                for number in range(60):
                    tasks.start_soon(one, llm, number)
            # The server notices a moment later than we let go.
            with anyio.move_on_after(5):
                while open_files() > before:  # noqa: ASYNC110
                    await asyncio.sleep(0.01)
            assert open_files() == before
        assert len(asyncio.all_tasks()) == 1

    asyncio.run(story())
    figure("left behind by 60 streams over HTTP: 0 sockets")
