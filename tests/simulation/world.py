"""A world of channels and streams out of one seed, which writes down what happens in it."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import anyio
import trio._core._run as trio_run
import trio.testing
from attrs import define, evolve, field

from minamo.core.chunks import Call, DoneChunk, ErrorChunk, FunctionCall, TextChunk
from minamo.core.cleaning.clean import RULES
from minamo.core.config import StreamConfig
from minamo.core.messages import Kind, OutgoingMessage, Receipt
from minamo.core.stream import Stream
from minamo.shell.delivery.interfaces import (
    Accepted,
    Deleted,
    Rejected,
    RetryLater,
    SendOptions,
    SendOutcome,
    Unknown,
)
from minamo.shell.delivery.lanes import Lanes, open_lanes
from minamo.shell.driver import Driver
from minamo.shell.stops.registry import StopRequest, StopSignal
from support.driver import END, Provider, traced, tracers

RUNS = [1, 1, 2, 3, 9, 9, 20, 20, 63, 64, 65, 130]
GLUE = [" ", " ", ". ", "! ", "\n", "\n\n", "\n\n", "\n\n\n", ", ", "…", "    "]
HIDDEN = ["<think>{}</think>", "<details>{}</details>", "<Thinking>{}", "<think>{}<think>{}</think>",
          "<details><summary>so</summary>{}</details>"]  # fmt: skip
FORMS = ["**{}**", "||{}||", "`{}`", "> {}\n", "\n```py\n{}\n{}\n```\n", "\n~~~\n{}\n", '"{}"', "({}",
         "\n| a | b |\n|---|---|\n| {} | {} |\n", "[{}](https://x.example/{})", "<@123>{}", "*{}"]  # fmt: skip
BESIDE = "beside"
"""A thought that a provider tells apart from the text by itself."""
CAUSES = {"end": "end", "limit_reached": "limit", "delivery_lost": "lost"}


@define(eq=False)
class World:
    """What is the same for all that happens in one simulation."""

    seed: int
    random: Random
    lines: list[str] = field(factory=list)
    virtual_s: float = 0.0
    streams: int = 0

    def write(self, who: str, what: str, *words: object) -> None:
        told = " ".join(str(word) for word in words)
        self.lines.append(f"{anyio.current_time():.9f} {who} {what} {told}".rstrip())

    def chance(self, of: float) -> bool:
        return self.random.random() < of


def ranges(text: str) -> str:
    """The marks of *text*, as `history.marks` reads them."""
    out: list[list[int]] = []
    for number in (ord(one) - 0xE000 for one in traced(text)):
        if out and out[-1][1] + 1 == number:
            out[-1][1] = number
        else:
            out.append([number, number])
    return ",".join(f"{low}-{high}" for low, high in out) or "-"


@define(eq=False)
class Channel:
    """A channel with bad manners: slow, moody, and forgetful of its answers."""

    world: World
    place: int
    who: str
    lanes: Lanes
    slow_s: float
    mood: float
    """How often it does not simply take a message."""
    has_nonce: bool = True
    shown: set[str] = field(factory=set)

    def route(self, kind: Kind) -> str:
        return kind

    async def typing(self, channel_id: int) -> SendOutcome:
        return Accepted(None)

    async def create(self, post: OutgoingMessage) -> SendOutcome:
        world = self.world
        nonce = post.nonce or ""
        world.write(self.who, "send", nonce, len(post.text), ranges(post.text))
        assert 0 < len(post.text) <= 2000
        assert post.text.strip()
        await anyio.sleep(
            world.random.choice([0.0, 0.05, 0.2, self.slow_s]) * world.random.random()
        )
        answer = self._answer(nonce)
        if isinstance(answer, Accepted | Deleted) or (
            isinstance(answer, Unknown) and world.chance(0.5)
        ):
            self._show(nonce, post)
        world.write(self.who, "answer", nonce)
        return answer

    def _show(self, nonce: str, post: OutgoingMessage) -> None:
        if nonce not in self.shown:
            self.shown.add(nonce)
            self.world.write(self.who, "shows", nonce)
        if self.world.chance(0.2):
            self.lanes.echoed(self.place, nonce, 1)

    def _answer(self, nonce: str) -> SendOutcome:
        random = self.world.random
        if not self.world.chance(self.mood):
            return Accepted(1)
        kinds = [
            RetryLater("slow", random.choice([0.0, 0.5, 3.0, 30.0])),
            Unknown("reset"),
            Unknown("reset"),
        ]
        if nonce in self.shown:
            kinds.append(Deleted())
        else:
            kinds.append(Rejected("missing_access"))
        return random.choice(kinds)

    async def edit(self, post: OutgoingMessage, message_id: int) -> SendOutcome:
        raise NotImplementedError

    async def delete(self, channel_id: int, message_id: int) -> SendOutcome:
        raise NotImplementedError


def reply(random: Random) -> str:
    """Text of runs, thoughts, details, fences; every mark in it stands there once."""
    some = tracers()
    out = []
    for _ in range(random.choice([0, 1, 3, 8, 20])):
        form = random.choice(["{}"] * 6 + FORMS + HIDDEN)
        out.append(form.format(*(some(random.choice(RUNS)) for _ in range(form.count("{}")))))
        out.append(random.choice(GLUE))
    if random.random() < 0.1:
        out.append("\n\nBob: I say")
    return "".join(out)


def script(random: Random) -> list[tuple[float, Any]]:
    """The chunks of a reply, when they come, and how it ends."""
    text, at = reply(random), 0.0
    pace = random.choice([0.0, 0.01, 0.1, 0.5, 1.0])
    size = random.choice([1, 4, 20, 100, 5000])
    out: list[tuple[float, Any]] = []
    here = 0
    while here < len(text):
        step = random.randint(1, size) if len(text) < 200 * size else size
        thoughts = (BESIDE,) if random.random() < 0.02 else ()
        out.append((at, TextChunk(text[here : here + step], thoughts)))
        here += step
        at += pace * random.random() * 2
        if random.random() < 0.01:
            at += random.choice([1.0, 4.9, 5.1])
    call = FunctionCall((Call("roll", {}),))
    ends: list[Any] = [END, END, END, call, ErrorChunk("api_error", "no"), OSError(), None]
    end = random.choice(ends)
    if end is END and random.random() < 0.5:
        out.append((at, DoneChunk("stop")))
    return out if end is None else [*out, (at, end)]


def settings(random: Random) -> StreamConfig:
    """Small limits, so that what is rare is common."""
    return StreamConfig(
        degree=random.randint(0, 3),
        max_message_length=random.choice([100, 100, 150, 1950]),
        flush_buffer_size=random.choice([20, 60, 200, 1000]),
        flush_buffer_size_code_block=random.choice([60, 15_000]),
        send_message_limit=random.choice([0, 0, 0, 1, 3]),
        inactivity_timeout_ms=random.choice([5_000, 120_000]),
        first_token_timeout_ms=random.choice([5_000, 120_000]),
        stream_deadline_ms=random.choice([10_000, 60_000, 900_000]),
        drain_timeout_ms=random.choice([1, 500, 5_000]),
        humanize=random.random() < 0.5,
        tables=random.choice(["code", "bullets", "raw"]),
        clean_off=frozenset(RULES) if random.random() < 0.5 else frozenset(),
        speaker_names=("Bob",) if random.random() < 0.3 else (),
        prefill="Sure: " if random.random() < 0.2 else "",
    )


async def live(world: World, lanes: Lanes, who: str, place: int) -> None:
    """One stream, from when it begins to its books."""
    random = world.random
    await anyio.sleep(random.choice([0.0, 0.0, 1.0, 5.0]) * random.random())
    config = settings(random)
    stream, stop_signal = Stream(config), StopSignal()
    channel = Channel(world, place, who, lanes, random.choice([0.3, 3.0, 20.0]),
                      random.choice([0.0, 0.0, 0.1, 0.5]))  # fmt: skip
    provider = Provider(script(random))
    world.write(who, "opens", f"channel={place}", f"drain={config.drain_timeout_ms / 1000}")
    driver = Driver(
        stream,
        stop_signal=stop_signal,
        call_timeout_ms=random.choice([None, None, 10_000]),
        watch=[_scribe(world, who, stream)],
    )
    pause = random.choice([None, 0.75, 4.0])
    receipts: list[Receipt] = []

    def heard(receipt: Receipt) -> None:
        receipts.append(receipt)
        driver.on_receipt(receipt)

    with anyio.CancelScope() as scope:
        async with anyio.create_task_group() as people:
            people.start_soon(_people, world, stop_signal, scope, who)
            async with lanes.open(
                place, channel, stream.actions.outbox, stream_id=f"{world.seed} {who}",
                options=SendOptions(pause_s=None if pause is None else lambda _: pause),
                on_receipt=heard, on_limit=driver.limit_reached,
            ) as dispatch:  # fmt: skip
                await driver.run(provider, dispatch)
            people.cancel_scope.cancel()
    assert provider.open == 0
    if scope.cancelled_caught:
        return
    result = evolve(stream.result(), receipts=tuple(receipts))
    world.write(who, "settled", result.status, result.stop_reason or "-")
    world.write(who, "books", *_books(stream))


def _books(stream: Stream) -> list[str]:
    result = stream.result()
    # What came beside the text was never part of it.
    blocks = stream.actions.captures.blocks
    aside = "".join(block.text for block in blocks).replace(BESIDE, "")
    return [
        f"characters={stream.characters}",
        *(f"{name}={count}" for name, count in result.suppressed.items()),
        *(f"+{name}={count}" for name, count in result.additions.items()),
        f"aside={len(aside)}",
        f"aside_marks={ranges(aside)}",
        f"said={ranges(result.accumulated_text)}",
    ]


async def _people(
    world: World, stop_signal: StopSignal, scope: anyio.CancelScope, who: str
) -> None:
    random = world.random
    for _ in range(random.choice([0, 0, 0, 1, 1, 2, 3])):
        await anyio.sleep(random.choice([0.1, 2.0, 10.0, 40.0]) * random.random())
        if world.chance(0.1):
            world.write(who, "cancelled")
            scope.cancel()
            return
        kind = random.choice(["user", "user", "follow_up", "kill"])
        stop_signal.request(StopRequest(kind=kind, requester=random.choice([None, "4711"])))


def _scribe(world: World, who: str, stream: Stream) -> Callable[[float, str, object], None]:
    def tell(_: float, event: str, payload: Any) -> None:
        match event:
            case "chunk" if isinstance(payload, TextChunk):
                world.write(who, "chunk", len(payload.content), ranges(payload.content))
            case "chunk" if isinstance(payload, FunctionCall):
                world.write(who, "called")
            case "chunk" if isinstance(payload, ErrorChunk):
                world.write(who, "failed")
            case "receipt":
                world.write(who, "receipt", payload.nonce or "-", payload.outcome)
            case "silent":
                world.write(who, "silent", payload)
            case "user" | "follow_up" | "kill":
                system = event == "user" and payload.requester is None
                world.write(who, "wish", "system" if system else event)
            case "decided":
                if stream.actions.ending.stop_reason == "speaker_guard":
                    world.write(who, "guard")  # it trips inside a chunk, and nobody else says so
                world.write(who, "decided")
            case _ if event in CAUSES:
                world.write(who, CAUSES[event])

    return tell


def simulate(seed: int) -> World:
    """Let the world of *seed* run; the same seed gives the same history."""
    world = World(seed, Random(seed))

    async def story() -> None:
        channels = world.random.randint(1, 2)
        async with open_lanes() as lanes, anyio.create_task_group() as streams:
            for number in range(world.random.randint(1, 4)):
                world.streams += 1
                place = world.random.randint(1, channels)
                streams.start_soon(live, world, lanes, f"s{number}", place)
        assert len(lanes) == 0
        world.virtual_s = anyio.current_time() - began

    began = 0.0
    clock = trio.testing.MockClock(autojump_threshold=0)
    # Otherwise trio runs its tasks in an order of its own choice.
    was = trio_run._ALLOW_DETERMINISTIC_SCHEDULING
    trio_run._ALLOW_DETERMINISTIC_SCHEDULING = True
    trio_run._r.seed(seed)
    try:
        anyio.run(story, backend="trio", backend_options={"clock": clock})
    finally:
        trio_run._ALLOW_DETERMINISTIC_SCHEDULING = was
    return world
