"""One stream driven through a lane in a world that a test scripts, and what it left behind."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Iterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
from attrs import define, evolve, field

from minamo.core.chunks import Chunk
from minamo.core.cleaning.clean import RULES
from minamo.core.config import StreamConfig
from minamo.core.messages import Kind, OutgoingMessage, Receipt
from minamo.core.result import StreamResult
from minamo.core.stream import Stream
from minamo.shell.delivery.interfaces import Accepted, SendOptions, SendOutcome
from minamo.shell.delivery.lanes import Lanes, open_lanes
from minamo.shell.delivery.pacing import PACES, Pacer, RateLimit
from minamo.shell.driver import Driver
from minamo.shell.stops.registry import StopRequest, StopSignal
from support.fake_discord import run_with_virtual_clock

CHANNEL = 7
END = object()
"""In a script: the provider has no more chunks."""

USER = StopRequest(kind="user", requester="4711")
SYSTEM = StopRequest(kind="user")
FOLLOW_UP = StopRequest(kind="follow_up", requester="4711")
KILL = StopRequest(kind="kill")

_TRACER_FIRST = 0xE000
_TRACER_LAST = 0xF8FF


def tracers() -> Callable[[int], str]:
    """Texts of private-use characters, each of which is given out once."""
    at = _TRACER_FIRST

    def some(size: int) -> str:
        nonlocal at
        at += size
        assert at - 1 <= _TRACER_LAST, "out of characters"
        return "".join(map(chr, range(at - size, at)))

    return some


def traced(text: str) -> str:
    """The tracer characters of *text*, without what stands between them."""
    return "".join(one for one in text if _TRACER_FIRST <= ord(one) <= _TRACER_LAST)


def plain(**settings: Any) -> StreamConfig:
    """Settings under which no stage changes a character, so that equality is exact."""
    settings.setdefault("degree", 1)
    return StreamConfig(clean_off=frozenset(RULES), humanize=False, tables="raw", **settings)


@define(eq=False)
class Provider:
    """Says at each time what its script says, and then hangs; time counts from the first ask."""

    script: list[tuple[float, Any]]
    read: list[float] = field(factory=list)
    """When each chunk was taken."""
    said: list[str] = field(factory=list)
    open: int = 0
    closed: int = 0

    async def __aiter__(self) -> AsyncGenerator[str | Chunk, None]:
        began = anyio.current_time()
        self.open += 1
        try:
            for at, what in self.script:
                await anyio.sleep_until(began + at)
                if what is END:
                    return
                if isinstance(what, Exception):
                    raise what
                self.read.append(anyio.current_time())
                self.said.append(what if isinstance(what, str) else getattr(what, "content", ""))
                yield what
            await anyio.sleep_forever()
        finally:
            self.open -= 1
            self.closed += 1


Script = Callable[[int, OutgoingMessage], SendOutcome | None]


@define(eq=False)
class Discord:
    """A channel that shows a nonce once; it notes each call when it begins."""

    latency_s: float = 0.1
    script: Script | None = None
    place: int = CHANNEL
    has_nonce: bool = True
    begun: list[tuple[float, OutgoingMessage]] = field(factory=list)
    shown: dict[str, str] = field(factory=dict)
    out: int = 0

    def route(self, kind: Kind) -> str:
        return kind

    async def create(self, post: OutgoingMessage) -> SendOutcome:
        assert self.out == 0, "two calls at once in one channel"
        self.begun.append((anyio.current_time(), post))
        number = len(self.begun)
        self.out += 1
        try:
            await anyio.sleep(self.latency_s)
        finally:
            self.out -= 1
        answer = self.script(number, post) if self.script else None
        if answer is None or isinstance(answer, Accepted):
            assert post.nonce is not None
            self.shown.setdefault(post.nonce, post.text)
        return answer or Accepted(number)

    async def edit(self, post: OutgoingMessage, message_id: int) -> SendOutcome:
        raise NotImplementedError

    async def delete(self, channel_id: int, message_id: int) -> SendOutcome:
        raise NotImplementedError

    async def typing(self, channel_id: int) -> SendOutcome:
        return Accepted(None)

    @property
    def texts(self) -> list[str]:
        return list(self.shown.values())


@define(eq=False)
class Drive:
    """One stream under way, or what is left of it."""

    stream: Stream
    stop_signal: StopSignal
    provider: Provider
    discord: Discord
    log: list[tuple[float, str, Any]] = field(factory=list)
    """What the driver says happened: when, what, with what."""
    result: StreamResult | None = None
    receipts: tuple[Receipt, ...] = ()

    def at(self, event: str) -> float:
        """When *event* first happened."""
        return next(when for when, what, _ in self.log if what == event)

    def times(self, event: str) -> int:
        return sum(1 for _, what, _ in self.log if what == event)

    @property
    def settled(self) -> StreamResult:
        assert self.result is not None
        return self.result

    @property
    def how(self) -> tuple[str, str | None]:
        """The status and why."""
        return self.settled.status, self.settled.stop_reason


def unpaced() -> Pacer:
    """For what is not about pace."""
    at_once = RateLimit(10_000, 0.0001)
    return Pacer(dict.fromkeys(PACES, (at_once,)), at_once)


async def drive(
    lanes: Lanes,
    provider: Provider,
    config: StreamConfig | None = None,
    *,
    discord: Discord | None = None,
    stop_signal: StopSignal | None = None,
    stream_id: str = "s",
    call_timeout_ms: int | None = None,
    pause_s: Callable[[int], float] | None = None,
    typing: bool = False,
    made: Callable[[Drive], object] | None = None,
    progress: Callable[[], object] | None = None,
) -> Drive:
    """Drive one stream to its outcome."""
    run = Drive(
        Stream(config or plain()), stop_signal or StopSignal(), provider, discord or Discord()
    )
    if made is not None:
        made(run)
    driver = Driver(
        run.stream,
        stop_signal=run.stop_signal,
        call_timeout_ms=call_timeout_ms,
        progress=progress,
        watch=[lambda *told: run.log.append(told)],
    )
    async with lanes.open(
        run.discord.place,
        run.discord,
        run.stream.actions.outbox,
        stream_id=stream_id,
        options=SendOptions(pause_s=pause_s),
        typing=typing,
        on_receipt=driver.on_receipt,
        on_limit=driver.limit_reached,
    ) as dispatch:
        await driver.run(provider, dispatch)
    run.receipts = tuple(dispatch.receipts)
    run.result = evolve(run.stream.result(), receipts=run.receipts)
    return run


Happening = tuple[float, StopRequest | Callable[[Drive], object]]


def one(
    provider: Provider,
    config: StreamConfig | None = None,
    happenings: Iterable[Happening] = (),
    *,
    pacer: Pacer | None = None,
    **options: Any,
) -> Drive:
    """Drive one stream in virtual time, from time 0, while *happenings* happen."""
    runs: list[Drive] = []
    wanted = options.setdefault("stop_signal", StopSignal())
    before: Iterable[StopRequest] = options.pop("before", ())
    for wish in before:
        wanted.request(wish)

    async def happen() -> None:
        for at, what in sorted(happenings, key=lambda each: each[0]):
            await anyio.sleep_until(began + at)
            wanted.request(what) if isinstance(what, StopRequest) else what(runs[0])

    began = 0.0

    async def story() -> None:
        nonlocal began
        async with open_lanes(pacer=pacer) as lanes, anyio.create_task_group() as tasks:
            began = anyio.current_time()
            tasks.start_soon(happen)
            await drive(lanes, provider, config, made=runs.append, **options)
            tasks.cancel_scope.cancel()
        assert len(lanes) == 0

    run_with_virtual_clock(story)
    run = runs[0]
    run.log = [(when - began, what, more) for when, what, more in run.log]
    run.provider.read = [when - began for when in run.provider.read]
    run.discord.begun = [(when - began, post) for when, post in run.discord.begun]
    return run


def check_books(run: Drive) -> None:
    """Every character that was read is in exactly one place, and the counts say the same."""
    result, actions = run.settled, run.stream.actions
    assert run.times("decided") == 1, "one decision"
    assert run.times("settled") == 1, "one outcome"
    assert run.provider.open == 0, "the provider was let go"
    said = "".join(run.provider.said)
    delivered = {each.nonce for each in run.receipts if each.delivered}
    messages = "".join(text for nonce, text in run.discord.shown.items() if nonce in delivered)
    asides = "".join(block.text for block in actions.captures.blocks)
    kept = traced(messages) + traced(asides)
    assert len(set(kept)) == len(kept), "something was kept twice"
    assert set(kept) <= set(said), "something was invented"
    assert list(traced(messages)) == sorted(traced(messages)), "out of order"
    hidden = sum(result.suppressed.values())
    added = sum(result.additions.values())
    assert len(messages) - added + len(asides) + hidden == len(said), (
        "lost or doubled",
        dict(result.suppressed),
        dict(result.additions),
    )
    assert "".join(result.accumulated_text.split()) == "".join(messages.split())
    known = {
        "marker", "summary", "seam", "blank", "prefill_echo", "speaker_guard", "surrogate",
        "stop", "follow_up", "killed", "limit", "undelivered", "late",
    }  # fmt: skip
    assert set(result.suppressed) <= known, "a reason nobody knows"


def check_quiet(run: Drive) -> None:
    """After a follow-up, a kill, a limit or a loss no send is begun; little is read after any end."""
    decided = run.at("decided")
    assert sum(1 for when in run.provider.read if when > decided) <= 0
    if run.settled.stop_reason in ("follow_up", "killed", "send_message_limit", "delivery_lost"):
        takers = ("follow_up", "kill", "limit_reached", "delivery_lost")
        taken = min(when for when, event, _ in run.log if event in takers)
        late = [when for when, _ in run.discord.begun if when > taken]
        assert not late, f"sends begun at {late}, after {taken}"


@asynccontextmanager
async def lanes_for(pacer: Pacer | None = None) -> AsyncIterator[Lanes]:
    async with open_lanes(pacer=pacer) as lanes:
        yield lanes


def each_step(steps: int) -> Iterator[int]:
    yield from range(steps + 1)
