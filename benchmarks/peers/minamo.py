"""minamo, each task through its real parts."""

from __future__ import annotations

import asyncio
import gc
import time
import tracemalloc
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import anyio
from floor import timed
from streaming import different, many_streams

from minamo.core.chunks import TextChunk
from minamo.core.messages import Receipt
from minamo.core.stream import CHART, Stream
from minamo.machine import Machine, compile
from minamo.shell.delivery.edit_in_place import EditInPlace, PageSet
from minamo.shell.driver import Driver, NullSink
from minamo.shell.providers.adapters import Anthropic, Gemini, OpenAI, OpenAICompatible

_ADAPTERS: dict[tuple[str, str], Any] = {}


def _adapter(url: str, dialect: str) -> Any:
    """Return the adapter of a dialect; one for all replies, as a bot has it."""
    if (url, dialect) not in _ADAPTERS:
        _ADAPTERS[url, dialect] = {
            "openai": lambda: OpenAICompatible(f"{url}/v1", model="m"),
            "responses": lambda: OpenAI(model="m", api_key="k", base_url=f"{url}/v1"),
            "google": lambda: Gemini(model="m", api_key="k", base_url=url),
            "anthropic": lambda: Anthropic(model="m", api_key="k", base_url=url),
        }[dialect]()
    return _ADAPTERS[url, dialect]


async def ingest(url: str, path: str, dialect: str, peer: str) -> str:
    """Read one reply; return its text."""
    del path, peer
    parts: list[str] = []
    async for chunk in _adapter(url, dialect).ask("Hi"):
        if chunk.__class__ is TextChunk:
            parts.append(chunk.content)  # noqa: PERF401 - as a bot's loop would
    return "".join(parts)


async def concurrent(url: str, path: str, dialect: str, peer: str, streams: int) -> dict[str, Any]:
    """Read many replies at once, each through a driver, to messages."""
    del path, peer

    async def read() -> str:
        stream = Stream()
        await Driver(stream).run(_adapter(url, dialect).ask("Hi"), NullSink(stream))
        return stream.result().accumulated_text

    return await many_streams(read, streams)


def _idle(stream: Stream, messages: list[str]) -> None:
    """Take each segment at once, as a lane does that has nothing else to do."""
    outbox = stream.actions.outbox

    def take() -> None:
        made = outbox.take_segment()
        messages.extend(message.text for message in made)
        stream.delivered(len(made))

    stream.actions.idle_lane = take


def pipeline(chunks: list[str], peer: str = "") -> list[str]:
    """Carry chunks through machine, lexer, cleaning and fitting to messages."""
    del peer
    stream, messages = Stream(), list[str]()
    _idle(stream, messages)
    for chunk in chunks:
        stream.chunk(TextChunk(chunk))
    stream.end()
    return messages


async def driven(chunks: list[str]) -> list[str]:
    """Do the same through the whole driver, with its clocks and checkpoints."""
    messages: list[str] = []

    async def source() -> AsyncIterator[str]:
        for chunk in chunks:
            yield chunk

    stream = Stream()
    await Driver(stream).run(source(), NullSink(stream, messages.append))
    return messages


def behind(chunks: list[str]) -> list[str]:
    """Carry chunks to a lane that sends one message while 400 chunks arrive."""
    stream, messages = Stream(), list[str]()
    outbox = stream.actions.outbox

    def send() -> None:
        made = outbox.take(room=1)
        messages.extend(message.text for message in made)
        stream.delivered(len(made))

    for number, chunk in enumerate(chunks):
        stream.chunk(TextChunk(chunk))
        stream.take_effects()
        if not number % 400:
            send()
    stream.end()
    while outbox.waiting:
        send()
    return messages


def edited(chunks: list[str]) -> list[str]:
    """Carry chunks into messages that are edited in place, one look per 60 chunks."""
    stream, shown = Stream(), dict[int, str]()
    source = EditInPlace(stream, PageSet())

    def update() -> None:
        """Perform every call that is due, as a lane with time would."""
        source.touch()
        while due := source.take():
            (page,) = due
            number = page.target or len(shown) + 1
            if page.kind == "delete":
                del shown[number]
            else:
                shown[number] = page.text
            source.on_receipt(
                Receipt(
                    outcome="delivered",
                    channel_id=1,
                    index=number - 1,
                    characters=len(page.text),
                    message_id=number,
                    kind=page.kind,
                )
            )

    for number, chunk in enumerate(chunks):
        stream.chunk(TextChunk(chunk))
        stream.take_effects()
        if not number % 60:
            update()
    stream.end()
    source.finish()
    update()
    return list(shown.values())


def split(texts: list[str]) -> list[list[str]]:
    """Cut texts into messages, as a lane does that finds the whole reply waiting."""
    found = []
    for text in texts:
        stream, messages = Stream(), list[str]()
        stream.chunk(TextChunk(text))
        stream.end()
        while stream.actions.outbox.waiting:
            messages += [message.text for message in stream.actions.outbox.take()]
        found.append(messages)
    return found


def visible(text: str, cuts: list[list[int]], peer: str = "") -> list[str]:
    """Return what different ways to cut a text leave of it."""
    del peer
    return different(text, cuts, lambda chunks: "\n".join(pipeline(chunks)))


_MEMBERS: dict[str, Any] = dict.fromkeys(CHART.actions, lambda self, payload=None: None)
_MEMBERS |= dict.fromkeys(CHART.guards, lambda self, payload=None: False)
_MEMBERS["outermost"] = lambda self, payload=None: True
_EMPTY: Any = type("Empty", (), _MEMBERS)
_TABLE = compile(CHART, _EMPTY)


def step(events: list[str], count: int, observers: int = 0, peer: str = "") -> float:
    """Run the compiled chart with empty actions; return seconds per event."""
    del peer
    machine = Machine(_TABLE, _EMPTY())
    for _ in range(observers):
        machine.subscribe(lambda record: None)
    machine.send("text")
    return timed(machine.send, events, count)


def instances(count: int, peer: str = "") -> float:
    """Make so many machines; return the seconds for one."""
    del peer
    actions = _EMPTY()
    begin = time.perf_counter()
    for _ in range(count):
        Machine(_TABLE, actions)
    return (time.perf_counter() - begin) / count


_TEXT = ("so the water is still at dawn, and then the wind comes over the hill and every reed "
         "bends to it, as they always do.\n\n")  # fmt: skip
_TOKENS = [_TEXT[at : at + 4] for at in range(0, len(_TEXT), 4)]


async def load(streams: int, seconds: float, rate: int) -> dict[str, Any]:
    """Drive so many streams of *rate* chunks per second; return how late each chunk was taken."""
    late: list[float] = []
    count = int(seconds * rate)

    async def drive(first: float, place: int) -> None:
        stream = Stream()
        due = first

        async def source() -> AsyncIterator[str]:
            nonlocal due
            for number in range(count):
                due = first + number / rate
                if (wait := due - time.perf_counter()) > 0:
                    await asyncio.sleep(wait)
                yield _TOKENS[(place + number) % len(_TOKENS)]

        def progress() -> None:
            late.append(time.perf_counter() - due)

        await Driver(stream, progress=progress).run(source(), NullSink(stream))

    began = time.perf_counter()
    start = began + 0.2 + streams / 500  # all are open before the first is due
    cpu = time.process_time()
    async with anyio.create_task_group() as tasks:
        for number in range(streams):
            # Spread over a period, and at different places of a paragraph, as replies are.
            tasks.start_soon(drive, start + number / streams / rate, number)
    took = time.perf_counter() - start
    return {"late_s": late, "core": (time.process_time() - cpu) / took}


async def idle(streams: int) -> float:
    """Return the bytes that minamo adds to a task that waits for a silent provider."""

    async def silent() -> AsyncIterator[str]:
        yield _TOKENS[0]
        await anyio.sleep_forever()

    async def wait() -> None:
        stream = Stream()
        await Driver(stream).run(silent(), NullSink(stream))

    async def bare() -> None:
        async for _ in silent():
            pass

    async def grown(wait: Callable[[], Awaitable[None]], count: int) -> int:
        gc.collect()
        before = tracemalloc.get_traced_memory()[0]
        async with anyio.create_task_group() as tasks:
            for _ in range(count):
                tasks.start_soon(wait)
            await anyio.sleep(0.1 + count / 5_000)
            gc.collect()
            held = tracemalloc.get_traced_memory()[0] - before
            tasks.cancel_scope.cancel()
        return held

    tracemalloc.start()
    try:
        await grown(wait, 10)
        return (await grown(wait, streams) - await grown(bare, streams)) / streams
    finally:
        tracemalloc.stop()
