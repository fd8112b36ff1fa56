"""P10, P11 on the real clock: decided within 50 ms, whatever everybody is waiting for.

Figures are of this very process; other work on the computer makes them worse, so a test may try
three times before it believes them.
"""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import Awaitable, Callable

import anyio
from aiohttp import web

import minamo
from minamo.core.stream import Stream
from minamo.shell.delivery.interfaces import RetryLater
from minamo.shell.delivery.lanes import open_lanes
from minamo.shell.driver import Driver, NullSink
from minamo.shell.stops.registry import StopRequest, StopSignal
from support.driver import Discord, Drive, Provider, drive, plain, unpaced
from support.provider_server import serving, streamed

REPEATS = 100
TOGETHER = 10
LIMIT_MS = 50.0
WISHES = [
    StopRequest(kind="user", requester="1"),
    StopRequest(kind="follow_up"),
    StopRequest(kind="kill"),
]
HELLO = b'data: {"choices":[{"delta":{"content":"Hello there.\\n\\nAnd"}}]}\n\n'

Once = Callable[[int], Awaitable[float]]
"""One stream that is stopped; how many milliseconds that took."""


def is_connected(request: web.Request) -> bool:
    return request.transport is not None and not request.transport.is_closing()


def p99(once: Once, figure: Callable[[str], None], what: str) -> None:
    """Do it a hundred times; the best of three rounds must be fast enough."""

    async def story() -> list[float]:
        took: list[float] = []

        async def one(number: int) -> None:
            took.append(await once(number))

        for first in range(0, REPEATS, TOGETHER):
            async with anyio.create_task_group() as tasks:
                for number in range(first, first + TOGETHER):
                    tasks.start_soon(one, number)
        return took

    best = None
    for _ in range(3):
        cuts = statistics.quantiles(anyio.run(story), n=100)
        if best is None or cuts[98] < best[98]:
            best = cuts
        if best[98] <= LIMIT_MS:
            break
    assert best is not None
    figure(f"{what}: p50 {best[49]:.2f} ms, p99 {best[98]:.2f} ms of {REPEATS}")
    assert best[98] <= LIMIT_MS


async def stopped(stop_signal: StopSignal, number: int, made: list[Drive]) -> float:
    """Put a wish; how long until it is decided and the provider is let go."""
    began = time.perf_counter()
    stop_signal.request(WISHES[number % len(WISHES)])
    (run,) = made
    while not run.times("decided") or run.provider.open:
        await anyio.lowlevel.checkpoint()
    return (time.perf_counter() - began) * 1000


async def watched(
    number: int, wait_s: float, discord: Discord, says: list[str], **how: object
) -> float:
    """A stream that is stopped after *wait_s*."""
    stop_signal, made = StopSignal(), []
    took = 0.0

    async def stop() -> None:
        nonlocal took
        await anyio.sleep(wait_s)
        took = await stopped(stop_signal, number, made)

    async with (
        open_lanes(pacer=unpaced(), drain_s=0.0) as lanes,
        anyio.create_task_group() as tasks,
    ):
        tasks.start_soon(stop)
        provider = Provider([(0.0, text) for text in says])
        config = plain(drain_timeout_ms=20)
        await drive(
            lanes, provider, config, discord=discord, stop_signal=stop_signal, made=made.append,
            stream_id=f"stream {number}", **how,
        )  # type: ignore[arg-type]  # fmt: skip
    assert provider.open == 0
    return took


PARAGRAPHS = ["One.\n\n", "Two.\n\n", "Three.\n\n", "Four"]


def test_p10_a_stop_while_the_provider_says_nothing(figure: Callable[[str], None]) -> None:
    p99(lambda n: watched(n, 0.02, Discord(0.0), []), figure, "stop, provider silent")


def test_p10_a_stop_while_discord_is_rate_limited(figure: Callable[[str], None]) -> None:
    def once(number: int) -> Awaitable[float]:
        limited = Discord(0.001, lambda n, _: RetryLater("rate_limited", 30.0) if n > 1 else None)
        return watched(number, 0.03, limited, PARAGRAPHS)

    p99(once, figure, "stop, Discord rate-limited")


def test_p10_a_stop_while_discord_does_not_answer(figure: Callable[[str], None]) -> None:
    p99(lambda n: watched(n, 0.03, Discord(0.2), PARAGRAPHS), figure, "stop, Discord stalled")


def test_p10_a_stop_during_a_typing_pause(figure: Callable[[str], None]) -> None:
    def once(number: int) -> Awaitable[float]:
        return watched(number, 0.03, Discord(0.0), PARAGRAPHS, pause_s=lambda _: 4.0)

    p99(once, figure, "stop, typing pause")


def test_p10_a_stop_closes_the_connection_to_the_provider(figure: Callable[[str], None]) -> None:
    """Over HTTP, until the server sees it; a provider bills until then."""
    seen: list[float] = []
    closed = anyio.Event()

    async def hang(request: web.Request) -> web.StreamResponse:
        response = await streamed(request, HELLO)
        while is_connected(request):  # noqa: ASYNC110 - nobody tells
            await asyncio.sleep(0.001)
        seen.append(time.perf_counter())
        closed.set()
        return response

    async def once(number: int) -> tuple[float, float]:
        nonlocal closed
        closed = anyio.Event()
        stream, stop_signal = Stream(plain()), StopSignal()
        decided = 0.0
        asked = anyio.Event()

        def watch(_: float, event: str, __: object) -> None:
            nonlocal decided
            if event == "decided":
                decided = time.perf_counter()
            elif event == "chunk":
                asked.set()

        async with (
            minamo.OpenAICompatible(f"{server.url}/v1", model="m") as llm,
            anyio.create_task_group() as tasks,
        ):
            driver = Driver(stream, stop_signal=stop_signal, watch=[watch])
            tasks.start_soon(driver.run, llm.ask("hi"), NullSink(stream))
            await asked.wait()
            await anyio.sleep(0.01)
            began = time.perf_counter()
            stop_signal.request(WISHES[number % len(WISHES)])
        with anyio.fail_after(5):
            await closed.wait()
        return (decided - began) * 1000, (seen[-1] - began) * 1000

    async def story() -> None:
        nonlocal server
        async with serving(hang) as server:
            took = [await once(number) for number in range(REPEATS)]
        decided = statistics.quantiles([one for one, _ in took], n=100)
        let_go = statistics.quantiles([other for _, other in took], n=100)
        figure(
            f"stop over HTTP: decided p99 {decided[98]:.2f} ms, "
            f"the server sees it closed p99 {let_go[98]:.2f} ms of {REPEATS}"
        )
        assert decided[98] <= LIMIT_MS
        assert let_go[98] <= LIMIT_MS * 2

    server = None
    anyio.run(story)


def test_p11_comments_over_http_do_not_hold_a_stream(figure: Callable[[str], None]) -> None:
    """A keep-alive is not a chunk; and the end comes within 50 ms of its time."""
    patience_ms = 150

    async def comments(request: web.Request) -> web.StreamResponse:
        response = await streamed(request, HELLO)
        while is_connected(request):
            await response.write(b": keep-alive\n\n")
            await asyncio.sleep(0.02)
        return response

    async def story() -> float:
        log: list[tuple[float, str]] = []
        async with (
            serving(comments) as server,
            minamo.OpenAICompatible(f"{server.url}/v1", model="m") as llm,
        ):
            stream = Stream(plain(inactivity_timeout_ms=patience_ms))
            driver = Driver(stream, watch=[lambda at, event, _: log.append((at, event))])
            await driver.run(llm.ask("hi"), NullSink(stream))
        assert stream.result().stop_reason == "inactivity"
        heard = max(at for at, event in log if event == "chunk")
        silent = next(at for at, event in log if event == "silent")
        return (silent - heard) * 1000 - patience_ms

    late = min(anyio.run(story) for _ in range(3))
    figure(f"inactivity over HTTP with keep-alives: {late:.2f} ms after its time")
    assert 0.0 <= late <= LIMIT_MS


def test_p11_inactivity_fires_at_its_time(figure: Callable[[str], None]) -> None:
    patience_ms = 30

    async def once(number: int) -> float:
        stream = Stream(plain(first_token_timeout_ms=patience_ms + number))
        began = time.perf_counter()
        await Driver(stream).run(Provider([]), NullSink(stream))
        return (time.perf_counter() - began) * 1000 - patience_ms - number

    p99(once, figure, "inactivity, after its time")
