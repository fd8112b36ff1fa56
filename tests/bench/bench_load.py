"""Measure the driver under load: what a chunk costs, how late it is among many, and idle memory.

The input is a reply of words with a paragraph every 115 characters, made by the process itself,
in chunks of 4 characters (a token, as providers send them and as `bench text` has them) and of 24,
six tokens in one; delivery is null (`Idle`), so nothing but the way from source to segments counts.
CPU is of the whole process (its source is measured apart and named); latency is from the time a
chunk was due to the moment the stream has it, so it holds the delay of the event loop too.
"""

from __future__ import annotations

import asyncio
import gc
import json
import statistics
import time
import tracemalloc
from collections.abc import AsyncIterator
from typing import Any

import anyio

from minamo.core.stream import Stream
from minamo.shell.driver import Driver, NullSink

CPU_CHUNKS = 20_000
CPU_STREAMS = 20
RATE = 20  # chunks per second and stream
LOADS = (400, 1_000)  # streams at once
SECONDS = 5.0
ROUNDS = 3
IDLE = 1_000

PIECES = ["so the water is still at", " dawn, and then the wind ", "comes over the hill and ",
          "every reed bends to it, ", "as they always do.\n\n"]  # fmt: skip
_TEXT = "".join(PIECES)
TOKENS = [_TEXT[at : at + 4] for at in range(0, len(_TEXT), 4)]
GOALS = {"cpu_us_per_chunk": 40.0, "p99_ms": 50.0, "idle_bytes": 32 * 1024}


async def _said(pieces: list[str], chunks: int) -> AsyncIterator[str]:
    for number in range(chunks):
        yield pieces[number % len(pieces)]


async def _alone(pieces: list[str], chunks: int) -> None:
    async for _ in _said(pieces, chunks):
        pass


async def _driven(pieces: list[str], chunks: int) -> None:
    stream = Stream()
    await Driver(stream).run(_said(pieces, chunks), NullSink(stream))
    assert stream.result().status == "completed"


async def _cpu(chunks: int) -> dict[str, float]:
    each = chunks // CPU_STREAMS
    took: dict[str, float] = {}
    kinds = (("source", _alone, TOKENS), ("driven", _driven, TOKENS), ("long", _driven, PIECES))
    for name, run, pieces in kinds:
        rounds = []
        for _ in range(3):
            gc.collect()
            began = time.process_time()
            async with anyio.create_task_group() as tasks:
                for _ in range(CPU_STREAMS):
                    tasks.start_soon(run, pieces, each)
            rounds.append(time.process_time() - began)
        # Other work on the computer can only make it look slower.
        took[name] = min(rounds) / (each * CPU_STREAMS) * 1e6
    return {
        "cpu_us_per_chunk": round(took["driven"], 2),
        "of_it_source_us": round(took["source"], 2),
        "cpu_us_per_long_chunk": round(took["long"], 2),
    }


async def _under_load(streams: int, seconds: float) -> dict[str, float]:
    late: list[float] = []
    count = int(seconds * RATE)

    async def one(first: float, place: int) -> None:
        stream = Stream()
        mine: list[float] = []

        async def source() -> AsyncIterator[str]:
            for number in range(count):
                due = first + number / RATE
                if (wait := due - time.perf_counter()) > 0:
                    await asyncio.sleep(wait)
                mine.append(due)
                yield TOKENS[(place + number) % len(TOKENS)]

        def progress() -> None:
            late.append(time.perf_counter() - mine[-1])

        await Driver(stream, progress=progress).run(source(), NullSink(stream))

    cpu, began = time.process_time(), time.perf_counter()
    start = began + 0.2 + streams / 500  # all are open before the first is due
    async with anyio.create_task_group() as tasks:
        for number in range(streams):
            # Spread over a period, and at different places of a paragraph, as replies are.
            tasks.start_soon(one, start + number / streams / RATE, number)
    took = time.perf_counter() - began
    cuts = statistics.quantiles(late, n=100)
    return {
        "streams": streams,
        "chunks_per_s": round(len(late) / took),
        "core_percent": round((time.process_time() - cpu) / took * 100, 1),
        "p50_ms": round(cuts[49] * 1000, 3),
        "p99_ms": round(cuts[98] * 1000, 3),
    }


async def _usually(streams: int, seconds: float) -> dict[str, float]:
    """The median of some rounds: a computer that is shared has bad moments of its own."""
    rounds = []
    for _ in range(ROUNDS):
        gc.collect()
        rounds.append(await _under_load(streams, seconds))
    return sorted(rounds, key=lambda one: one["p99_ms"])[ROUNDS // 2]


async def _idle(streams: int) -> dict[str, float]:
    """What a stream takes up while its provider thinks."""

    async def silent() -> AsyncIterator[str]:
        yield PIECES[0]
        await anyio.sleep_forever()

    async def wait() -> None:
        stream = Stream()
        await Driver(stream).run(silent(), NullSink(stream))

    async def measured(count: int) -> int:
        gc.collect()
        before = tracemalloc.get_traced_memory()[0]
        async with anyio.create_task_group() as tasks:
            for _ in range(count):
                tasks.start_soon(wait)
            await anyio.sleep(0.1 + count / 5_000)
            gc.collect()
            grown = tracemalloc.get_traced_memory()[0] - before
            tasks.cancel_scope.cancel()
        return grown

    tracemalloc.start()
    try:
        await measured(10)
        return {"streams": streams, "idle_bytes": round(await measured(streams) / streams)}
    finally:
        tracemalloc.stop()


async def _measure(
    chunks: int, loads: tuple[int, ...], seconds: float, idle: int
) -> dict[str, Any]:
    return {
        "cpu": await _cpu(chunks),
        "load": [await _usually(streams, seconds) for streams in loads],
        "idle": await _idle(idle),
        "goals": GOALS,
    }


def measure(
    chunks: int = CPU_CHUNKS,
    loads: tuple[int, ...] = LOADS,
    seconds: float = SECONDS,
    idle: int = IDLE,
) -> dict[str, Any]:
    """Every figure, from one run."""
    return asyncio.run(_measure(chunks, loads, seconds, idle))


def main(*, as_json: bool = False) -> int:
    """Measure and print."""
    found = measure()
    if as_json:
        print(json.dumps(found))
        return 0
    cpu, idle = found["cpu"], found["idle"]
    print("replies of words, a paragraph every 115 characters, through a driver to nowhere")
    print(
        f"  {cpu['cpu_us_per_chunk']:.1f} µs of CPU per chunk of 4 characters, "
        f"{cpu['of_it_source_us']:.1f} of it the source's own (goal "
        f"{GOALS['cpu_us_per_chunk']:.0f}); {cpu['cpu_us_per_long_chunk']:.1f} µs per chunk of 24; "
        f"{CPU_CHUNKS:,} chunks, best of 3"
    )
    for one in found["load"]:
        print(
            f"  {one['streams']:>5,} streams x {RATE} chunks of 4 a second for {SECONDS:.0f} s, median of {ROUNDS}:"
            f" late by p50 {one['p50_ms']:.2f} ms, p99 {one['p99_ms']:.2f} ms,"
            f" {one['core_percent']:.0f}% of a core"
        )
    print(
        f"  {idle['idle_bytes']:,} bytes per stream that waits, of {idle['streams']:,}"
        f" (goal {GOALS['idle_bytes']:,})"
    )
    return 0
