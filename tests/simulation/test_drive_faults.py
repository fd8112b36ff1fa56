"""P14, P15: cancelled at any await it cleans up and says so; the world's faults are outcomes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import aiohttp
import anyio
import pytest
from attrs import define

from minamo.core.chunks import Call, ErrorChunk, FunctionCall, TextChunk
from minamo.core.messages import OutgoingMessage
from minamo.core.stream import Stream
from minamo.shell.delivery.interfaces import (
    Accepted,
    Deleted,
    Rejected,
    RetryLater,
    SendOutcome,
    Unknown,
)
from minamo.shell.delivery.lanes import open_lanes
from minamo.shell.driver import Driver, NullSink
from minamo.shell.stops.registry import StopRequest, StopSignal
from simulation.editable_channel import FAULTS, Board, Fault, check_grown, grow
from simulation.endings import CALL
from support.awaits import cancel_at
from support.driver import (
    END,
    FOLLOW_UP,
    KILL,
    USER,
    Discord,
    Drive,
    Provider,
    check_books,
    drive,
    one,
    plain,
    traced,
    tracers,
    unpaced,
)  # fmt: skip
from support.fake_discord import run_with_virtual_clock

CALLS: dict[str, Callable[[int, OutgoingMessage], SendOutcome | None]] = {
    "fine": lambda n, post: None,
    "put off": lambda n, post: RetryLater("slow", 2.0) if n == 2 else None,
    "lost": lambda n, post: Unknown("reset") if n == 2 else None,
    "refused": lambda n, post: Rejected("no") if n == 2 else None,
}
ENDS: dict[str, list[Any]] = {
    "end": [(9.0, END)],
    "raise": [(9.0, OSError())],
    "call": [(9.0, CALL)],
    "silent": [],
    "stop": [(9.0, USER)],
    "follow-up": [(9.0, FOLLOW_UP)],
    "kill": [(2.05, KILL)],
}
SCRIPTS = [(calls, ends) for calls in CALLS for ends in ENDS]


def text() -> list[tuple[float, Any]]:
    some = tracers()
    return [(n + 1.0, f"{some(9)}\n\n{some(2)}<think>{some(2)}</think>") for n in range(6)]


async def _wish(stop_signal: StopSignal, ends: list[Any]) -> None:
    for at, what in ends:
        await anyio.sleep_until(at)
        stop_signal.request(what)


async def cancelled(k: int, calls: str, ends: str) -> bool:
    """A stream that is cancelled at its k-th await, and another one after it."""
    says = [each for each in ENDS[ends] if not isinstance(each[1], StopRequest)]
    wants = [each for each in ENDS[ends] if isinstance(each[1], StopRequest)]
    provider, stop_signal = Provider(text() + says), StopSignal()
    discord, after = Discord(script=CALLS[calls]), Discord()
    lane = {"config": plain(inactivity_timeout_ms=5_000), "pause_s": lambda _: 0.8}
    async with open_lanes() as lanes:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(
                _wish, stop_signal, [(anyio.current_time() + at, w) for at, w in wants]
            )
            fired = await cancel_at(
                k, drive(lanes, provider, discord=discord, stop_signal=stop_signal, **lane)
            )
            assert provider.open == 0, "the provider is let go at once"
            tasks.cancel_scope.cancel()
        assert not stop_signal._listeners, "nobody listens any more"
        some = tracers()(9)
        second = await drive(
            lanes, Provider([(0.0, some), (0.0, END)]), plain(), discord=after, stream_id="second"
        )
        assert second.how == ("completed", None)
        assert after.texts == [some], "the lane is free"
        await anyio.sleep(60)  # whatever is out, or waits for its turn, is over by then
        assert len(lanes) == 0
        assert discord.out == 0, "a call that is out ends by itself"
    return fired


@pytest.mark.parametrize(("calls", "ends"), SCRIPTS, ids=[f"{a}-{b}" for a, b in SCRIPTS])
def test_p14_cancelled_at_every_await(calls: str, ends: str) -> None:
    async def story() -> None:
        k = 1
        while await cancelled(k, calls, ends):
            k += 1
        assert k > 3, "there are several awaits before a kill"

    run_with_virtual_clock(story)


@pytest.mark.parametrize("ends", [END, CALL], ids=["end", "call"])
@pytest.mark.parametrize("pieces", [0, 40])
def test_p14_on_asyncio_too(pieces: int, ends: Any) -> None:
    async def once(k: int) -> bool:
        provider = Provider([(0.0, f"{n}\n\n") for n in range(pieces)] + [(0.0, ends)])
        discord = Discord(latency_s=0.0)
        async with open_lanes(pacer=unpaced()) as lanes:
            fired = await cancel_at(k, drive(lanes, provider, discord=discord))
            assert provider.open == 0
            await drive(lanes, Provider([(0.0, "x"), (0.0, END)]), stream_id="second")
        assert discord.out == 0
        return fired

    async def story() -> None:
        k = 1
        while await once(k):
            k += 1
        assert k > pieces + 1
        assert len(asyncio.all_tasks()) == 1

    anyio.run(story)


class LikeClientError(Exception):
    """Somebody's own."""


KINDS: list[Callable[[], Exception]] = [
    lambda: OSError("gone"),
    lambda: TimeoutError("late"),
    lambda: aiohttp.ClientConnectionError("reset"),
    lambda: LikeClientError("no"),
    lambda: RuntimeError("bug"),
    lambda: ExceptionGroup("several", [ValueError(), OSError()]),
]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: type(kind()).__name__)
def test_p15_the_source_fails_at_its_kth_await(kind: Callable[[], Exception]) -> None:
    lines = text()
    for k in range(len(lines) + 1):
        run = one(Provider([*lines[:k], (k + 0.5, kind())]))
        check_books(run)
        assert run.how == ("error", None)
        assert run.settled.data.kind == "api_error"
        assert type(kind()).__name__ in run.settled.data.message
        assert run.discord.shown or not k, "what was said is delivered"


ANSWERS = [Accepted(1), Accepted(None), Deleted(), Rejected("no"), RetryLater("slow", 1.0), RetryLater("s", 90.0),
           RetryLater("never", float("inf")), Unknown("reset")]  # fmt: skip


@pytest.mark.parametrize("answer", ANSWERS, ids=str)
@pytest.mark.parametrize("always", [False, True])
def test_p15_discord_answers_anything_at_its_kth_call(answer: SendOutcome, always: bool) -> None:
    for k in range(1, 9):

        def script(number: int, post: OutgoingMessage, k: int = k) -> SendOutcome | None:
            return answer if number == k or (always and number > k) else None

        run = one(Provider([*text(), (9.0, END)]), discord=Discord(script=script))
        if not isinstance(answer, Deleted):  # which was shown, and then deleted by somebody
            check_books(run)
        lost = {"refused", "not_sent", "unknown"} & {each.outcome for each in run.receipts}
        assert run.how == (("error", "delivery_lost") if lost else ("completed", None))


class Broken:
    """A source that fails in one of the places nobody thinks of."""

    def __init__(self, where: str) -> None:
        self.where = where
        self.said = 0

    def __aiter__(self) -> AsyncIterator[Any]:
        if self.where == "aiter":
            raise RuntimeError("no")
        return self

    async def __anext__(self) -> Any:
        self.said += 1
        if self.said > 3:
            if self.where == "aclose after a stop":
                await anyio.sleep_forever()
            raise StopAsyncIteration
        if self.where == "odd":
            return 7
        return "text "

    async def aclose(self) -> None:
        if self.where.startswith("aclose"):
            raise RuntimeError("no")


@pytest.mark.parametrize("where", ["aiter", "odd", "aclose", "aclose after a stop", "nowhere"])
def test_p15_a_source_that_is_broken_elsewhere(where: str) -> None:
    provider: Any = Broken(where)
    run = one_of(provider, [(1.0, USER)])
    expected = {
        "aiter": "error",
        "odd": "error",
        "aclose": "completed",  # all of it was read
        "aclose after a stop": "stopped_by_user",
        "nowhere": "completed",
    }
    assert run.settled.status == expected[where]
    if where not in ("aiter", "odd"):
        assert run.discord.texts == ["text text text"]


def one_of(provider: Any, happenings: Any) -> Drive:
    provider.read = []
    return one(provider, None, happenings)


@define
class Hurt:
    """Says one thing, then awaits somebody else's task, which was cancelled."""

    async def __aiter__(self) -> Any:
        yield TextChunk("so far")
        task = asyncio.ensure_future(asyncio.sleep(9))
        asyncio.get_running_loop().call_soon(task.cancel)
        await task


def test_p15_somebody_elses_cancelled_task_is_a_fault_and_no_cancellation() -> None:
    shown: list[str] = []

    async def story() -> None:
        stream = Stream(plain())
        await Driver(stream).run(Hurt(), NullSink(stream, shown.append))
        assert stream.result().status == "error"

    asyncio.run(story())
    assert shown == ["so far"]


def test_p15_a_progress_callback_that_raises_is_not_called_again(
    caplog: pytest.LogCaptureFixture,
) -> None:
    calls = 0

    def progress() -> None:
        nonlocal calls
        calls += 1
        raise ValueError

    run = one(Provider([*text(), (9.0, END)]), progress=progress)
    assert run.how == ("completed", None)
    assert calls == 1
    assert traced("".join(run.discord.texts))


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
@pytest.mark.parametrize("kind", [SystemExit, KeyboardInterrupt])
def test_what_nobody_may_catch_stays_what_it_is(kind: type[BaseException], backend: str) -> None:
    """In no group: whoever runs the stream sees the very exception."""
    caught: list[BaseException] = []

    async def source() -> AsyncIterator[str]:
        yield "so far"
        await anyio.lowlevel.checkpoint()
        raise kind

    async def story() -> None:
        stream = Stream(plain())
        try:
            await Driver(stream).run(source(), NullSink(stream))
        except BaseException as error:  # noqa: BLE001 - it is what this is about
            caught.append(error)

    anyio.run(story, backend=backend)
    assert [type(each) for each in caught] == [kind]


WISHES: dict[str, StopRequest | None] = {
    "": None,
    "stop": USER,
    "follow-up": FOLLOW_UP,
    "kill": KILL,
}
GROWING_ENDS: dict[str, list[tuple[float, Any]]] = {
    "end": [(9.0, END)],
    "raise": [(9.0, OSError())],
    "error": [(9.0, ErrorChunk("api_error", "no"))],
    "call": [(9.0, FunctionCall((Call("roll"),)))],
    "silent": [],
}
# Two pages, the second of which comes when the first has grown for a while.
GROWING_CALLS = 7


def growing_text(size: int = 30) -> list[tuple[float, Any]]:
    some = tracers()
    return [
        (0.7 * n, f"{some(size)} {some(9)}\n\n{some(2)}<think>{some(2)}</think>") for n in range(6)
    ]


def faulty(fault: Fault, at: int, *, always: bool = False) -> Board:
    return Board(lambda call: fault if call == at or (always and call > at) else "")


@pytest.mark.parametrize("always", [False, True])
@pytest.mark.parametrize("fresh", [False, True])
@pytest.mark.parametrize("fault", FAULTS)
def test_the_books_are_right_when_the_kth_call_fails(
    fault: Fault, fresh: bool, always: bool
) -> None:
    if fresh and fault == "deleted":
        return  # a fresh page that somebody deletes is no loss: what grew still says it
    config = plain(max_message_length=100, inactivity_timeout_ms=20_000)
    for k in range(1, GROWING_CALLS + 3):
        run = grow(Provider([*growing_text(), *GROWING_ENDS["end"]]), faulty(fault, k, always=always), config,
                   fresh=fresh)  # fmt: skip
        check_grown(run)


@pytest.mark.parametrize("wish", [name for name in WISHES if name])
@pytest.mark.parametrize("fault", FAULTS)
def test_the_books_are_right_when_a_wish_comes_while_the_kth_call_is_out(
    fault: Fault, wish: str
) -> None:
    config = plain(max_message_length=100)
    for k in range(1, GROWING_CALLS + 1):
        board = faulty(fault, k, always=True)
        run = grow(
            Provider([*growing_text(), *GROWING_ENDS["end"]]),
            board,
            config,
            wish=WISHES[wish],
            during=k,
        )
        check_grown(run)
        assert run.result.status in ("stopped_by_user", "follow_up_interrupt", "error")


@pytest.mark.parametrize("ends", GROWING_ENDS)
@pytest.mark.parametrize("fault", FAULTS)
def test_the_books_are_right_however_the_reply_ends(fault: Fault, ends: str) -> None:
    for k in (1, 2, 4, GROWING_CALLS):
        run = grow(Provider([*growing_text(5), *GROWING_ENDS[ends]]), faulty(fault, k), plain(
            inactivity_timeout_ms=5_000))  # fmt: skip
        check_grown(run)


@pytest.mark.parametrize("fresh", [False, True])
@pytest.mark.parametrize("wish", [name for name in WISHES if name])
def test_the_books_are_right_whenever_a_wish_comes(wish: str, fresh: bool) -> None:
    config = plain(max_message_length=100)
    script = [*growing_text(), (3.6, END)]
    for tenth in (*range(0, 36, 3), *range(36, 90)):
        run = grow(Provider(script), None, config, wish=WISHES[wish], after_s=tenth / 10 + 0.03,
                   fresh=fresh)  # fmt: skip
        check_grown(run)
        assert run.board.known == run.board.stands


@pytest.mark.parametrize("wish", [name for name in WISHES if name])
def test_no_page_is_begun_after_a_wish_that_came_with_the_first_one_out(wish: str) -> None:
    some = tracers()
    provider = Provider([(0.0, f"{some(80)} {some(80)} {some(80)}")])
    run = grow(provider, None, plain(max_message_length=100), wish=WISHES[wish], during=1)
    check_grown(run)
    assert len(run.board.stands) == (3 if wish == "stop" else 1)
