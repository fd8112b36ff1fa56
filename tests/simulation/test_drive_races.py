"""Endings at every step of a stream, two at once or nearly: the first that came decides, and only that one."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import anyio
import pytest
from attrs import define, field

from minamo.core.messages import OutgoingMessage
from minamo.shell.delivery.interfaces import Rejected, SendOutcome
from minamo.shell.driver import _FINISH_GRACE_S
from minamo.shell.stops.registry import StopRequest
from simulation.endings import BY_NAME, CALL, ENDS, ERROR, EVERY_S, HALF_S, STEPS, End, Plot
from support.driver import (
    END,
    FOLLOW_UP,
    KILL,
    SYSTEM,
    USER,
    Discord,
    Drive,
    Provider,
    check_books,
    check_quiet,
    one,
    plain,
    tracers,
    unpaced,
)  # fmt: skip

# When the first of the two happens; the text came long before.
T = 10.0
SAID_AT = 2.0
# So little later that nobody but the scheduler could tell.
TICK_S = 0.001

WISHES = {"user_stop": USER, "system_stop": SYSTEM, "follow_up": FOLLOW_UP, "kill": KILL}
SAYS = {
    "provider_ended": END,
    "function_call": CALL,
    "error_chunk": ERROR,
    "source_raises": OSError("gone"),
    "guard": "\n\nBob: and so on",
}
CLOCKS = ("went_silent", "overran", "call_timeout")
DISCORD = ("limit", "delivery_lost")
NAMES = [end.name for end in ENDS]
# Both need an answer of Discord, and after one of them no other message is out.
PAIRS = [(a, b) for a in NAMES for b in NAMES if not (a in DISCORD and b in DISCORD)]
PAIRS = [(a, b) for a, b in PAIRS if a != b or a not in CLOCKS]  # a clock runs out once


@define(eq=False)
class FedProvider(Provider):
    """Says what it is given, when it is given it; so that others can come in between."""

    put: Any = None
    _get: Any = None

    def __attrs_post_init__(self) -> None:
        self.put, self._get = anyio.create_memory_object_stream[Any](99)

    async def __aiter__(self) -> Any:
        self.open += 1
        with self._get, self.put:
            try:
                async for what in self._get:
                    if what is END:
                        return
                    if isinstance(what, Exception):
                        raise what
                    self.read.append(anyio.current_time())
                    self.said.append(what if isinstance(what, str) else "")
                    yield what
            finally:
                self.open -= 1


@define(eq=False)
class GatedDiscord(Discord):
    """Answers for the second message when it is told to."""

    answer: SendOutcome | None = None
    gate: anyio.Event | None = None

    async def create(self, post: OutgoingMessage) -> SendOutcome:
        if len(self.begun) == 1 and self.gate is not None:
            self.begun.append((anyio.current_time(), post))
            await self.gate.wait()
            if self.answer is None:
                self.shown[post.nonce or ""] = post.text
            return self.answer or await Discord(0.0).create(post)
        return await Discord.create(self, post)


@define
class Race:
    """Both endings, each brought about at its time."""

    settings: dict[str, Any] = field(factory=dict)
    call_timeout_ms: int | None = None
    discord: GatedDiscord = field(factory=lambda: GatedDiscord(latency_s=0.0))
    doings: list[tuple[float, Callable[[Drive], object]]] = field(factory=list)

    def add(self, name: str, at: float) -> None:
        ms = round((at - SAID_AT) * 1000)
        match name:
            case "went_silent":
                self.settings["inactivity_timeout_ms"] = ms
            case "overran":
                self.settings["stream_deadline_ms"] = round(at * 1000)
            case "call_timeout":
                self.call_timeout_ms = ms
            case "limit" | "delivery_lost":
                self.discord.gate = anyio.Event()
                if name == "limit":
                    self.settings["send_message_limit"] = 2
                else:
                    self.discord.answer = Rejected("missing_access")
                self.doings.append((at, lambda run: run.discord.gate.set()))
            case _ if name in WISHES:
                self.doings.append((at, lambda run: run.stop_signal.request(WISHES[name])))
            case _:
                self.settings["speaker_names"] = ("Bob",)
                self.doings.append((at, lambda run: _say(run, SAYS[name])))

    def run(self) -> Drive:
        some = tracers()
        # The second message is out, or was, when the third becomes complete; a fourth is begun.
        early, late = "\n\n".join(some(9) for _ in range(3)), f"\n\n{some(9)}"
        happenings: list[tuple[float, Callable[[Drive], object]]] = [
            (SAID_AT - 1, lambda run: _say(run, early)),
            (SAID_AT, lambda run: _say(run, late)),
        ]
        for at, doing in self.doings:
            # What happens in one instant is done in one step, so that nobody runs in between.
            if happenings[-1][0] == at:
                _, before = happenings.pop()
                happenings.append((at, _both(before, doing)))
            else:
                happenings.append((at, doing))
        return one(
            FedProvider([]),
            plain(**self.settings),
            happenings,
            discord=self.discord,
            pacer=unpaced(),
            call_timeout_ms=self.call_timeout_ms,
        )


def _say(run: Drive, what: Any) -> None:
    # One that was let go takes nothing, as it must be.
    with suppress(anyio.ClosedResourceError, anyio.BrokenResourceError):
        run.provider.put.send_nowait(what)  # type: ignore[attr-defined]


def _both(
    first: Callable[[Drive], object], second: Callable[[Drive], object]
) -> Callable[[Drive], object]:
    return lambda run: (first(run), second(run))


def race(*timed: tuple[str, float]) -> Drive:
    made = Race()
    for name, at in timed:
        made.add(name, at)
    run = made.run()
    check_books(run)
    decided = run.at("decided")
    assert run.at("settled") - decided <= 5.0
    # Behind calls without a finish reason, the done chunk is waited for.
    grace = _FINISH_GRACE_S if timed[0][0] == "function_call" else 0
    assert sum(when > decided + grace for when in run.provider.read) == 0
    if run.settled.stop_reason in ("follow_up", "killed"):
        assert not [when for when, _ in run.discord.begun if when > decided]
    return run


def outcome(name: str, run: Drive, *, lost: bool, then: str = "") -> tuple[str, str | None]:
    """What the chart says for a stream that *name* ended, and to which *then* happened."""
    end = BY_NAME[name]
    stopped = ("user_request", "system_request")
    if then == "limit" and (end.status in ("completed", "function_call") or end.reason in stopped):
        return "stopped_by_user", "send_message_limit"  # the limit cut something off
    if end.status == "completed":
        if lost:
            return "error", "delivery_lost"  # a reply that did not arrive is not completed
        return ("completed" if run.discord.shown else "empty_response"), end.reason
    return end.status, end.reason


def cause(run: Drive) -> str:
    """What the driver says happened last before the decision."""
    told = [event for _, event, _ in run.log]
    return told[told.index("decided") - 1]


@pytest.mark.parametrize("first", NAMES)
def test_p10_of_two_neighbours_in_time_the_earlier_decides(first: str) -> None:
    for other in [b for a, b in PAIRS if a == first]:
        run = race((first, T), (other, T + TICK_S))
        assert cause(run) == BY_NAME[first].event, other
        assert run.at("decided") == pytest.approx(T)
        lost = other == "delivery_lost"
        assert run.how == outcome(first, run, lost=lost, then=other), other


@pytest.mark.parametrize("first", NAMES)
def test_p10_of_two_in_one_instant_exactly_one_decides(first: str) -> None:
    for other in [b for a, b in PAIRS if a == first]:
        run = race((first, T), (other, T))
        assert run.at("decided") == pytest.approx(T)
        lost = "delivery_lost" in (first, other)
        possible = {name: outcome(name, run, lost=lost) for name in (first, other)}
        assert run.how in possible.values(), other
        # Nobody ran between the two, so a wish is heard first, and of two wishes the first.
        stop_signal = [name for name in (first, other) if name in WISHES]
        if stop_signal and not {first, other} & {*CLOCKS, "limit"}:
            # A kill takes back what a stop of the same instant promised, and then it decides.
            took = run.settled.suppressed.get("killed", 0) > 0
            decides = "kill" if took and "kill" in stop_signal else stop_signal[0]
            assert run.how == possible[decides], other
        elif first in SAYS and other in SAYS:
            assert run.how == possible[first], other


@pytest.mark.parametrize("wish", WISHES)
def test_a_chunk_that_was_taken_in_the_instant_of_a_stop_is_booked_as_late(wish: str) -> None:
    text = "late text <th"
    made = Race()
    made.doings.append((T, lambda run: _say(run, text)))
    made.add(wish, T)
    run = made.run()
    check_books(run)
    assert run.how == (BY_NAME[wish].status, BY_NAME[wish].reason)
    assert len(run.provider.read) <= 3, "at most one chunk is read"
    if len(run.provider.read) == 3:
        assert run.settled.suppressed["late"] == len(text)


# Those that come from Discord need a message; the first is out after the second chunk.
FROM_DISCORD = {"limit", "delivery_lost"}
# Of fifty chunks, so many begin a new message.
MESSAGES = 44


def steps(end: End) -> range:
    return range(2, MESSAGES) if end.name in FROM_DISCORD else range(STEPS + 1)


def possible(end: End, step: int) -> bool:
    """The guard does not look into a thought, and one is open after these chunks."""
    return end.name != "guard" or step % 10 != 4


def expected(end: End, run: Drive) -> tuple[str, str | None]:
    status = end.status
    if status == "completed" and not run.discord.shown:
        status = "empty_response"
    return status, end.reason


@pytest.mark.parametrize("end", ENDS, ids=lambda end: end.name)
def test_p10_each_ending_at_every_step(end: End) -> None:
    for step in filter(lambda step: possible(end, step), steps(end)):
        at = step * EVERY_S + HALF_S
        if end.name in FROM_DISCORD:
            at = (step - 1) * EVERY_S
        plot = Plot()
        end.bring(plot, at)
        run = plot.run()
        assert run.how == expected(end, run), f"step {step}"
        check_books(run)
        check_quiet(run)
        decided = run.at("decided")
        if end.name not in FROM_DISCORD | {"went_silent", "call_timeout"}:
            assert decided == pytest.approx(at), f"step {step}: decided at the very instant"
        assert run.at("settled") - decided <= 5.0
        if end.flushes:
            assert run.discord.shown or not step, "what was said is delivered"
            assert not {"stop", "killed", "follow_up", "undelivered"} & set(run.settled.suppressed)


@pytest.mark.parametrize("end", ENDS, ids=lambda end: end.name)
def test_p10_each_ending_in_the_instant_of_a_chunk(end: End) -> None:
    for step in filter(lambda step: possible(end, step), steps(end)[2::7]):
        plot = Plot()
        end.bring(plot, step * EVERY_S)
        run = plot.run()
        assert run.how == expected(end, run), f"step {step}"
        check_books(run)
        check_quiet(run)


@pytest.mark.parametrize("end", [end for end in ENDS if end.event in ("user", "follow_up", "kill")],
                         ids=lambda end: end.name)  # fmt: skip
def test_a_wish_from_before_the_start_ends_the_stream_unasked(end: End) -> None:
    plot = Plot()
    end.bring(plot, 0.0)
    wish = plot.happenings.pop()[1]
    run = plot.run(before=[wish])
    assert run.how == (end.status, end.reason)
    assert run.provider.closed == 0, "the provider was never asked"
    assert not run.discord.begun


SLOW_S = 1.47
"""A call to Discord takes so long: messages wait when the stop comes, and no two times are equal."""
AFTER = [0.0, 0.01, 0.4, 0.8, 1.2, 1.6, 2.4, 3.2, 4.0, 4.8]
STOP_STEPS = range(1, 12)


def stopped(step: int, *wishes: tuple[float, StopRequest]) -> Drive:
    """A stream whose chunks come faster than Discord takes them, and what is wanted of it."""
    plot = Plot()
    plot.script = [(at / 8, text) for at, text in plot.script]
    at = (step * EVERY_S + HALF_S) / 8
    plot.happenings += [(at + after, wish) for after, wish in wishes]
    return plot.run(discord=Discord(latency_s=SLOW_S))


@pytest.mark.parametrize("first", [USER, SYSTEM], ids=["user", "system"])
@pytest.mark.parametrize("second", [USER, SYSTEM, FOLLOW_UP], ids=["user", "system", "follow_up"])
def test_p26_a_second_wish_takes_nothing_back(first: StopRequest, second: StopRequest) -> None:
    waited = 0
    for step in STOP_STEPS:
        alone = stopped(step, (0.0, first))
        waited += len(alone.discord.begun) > 1
        for after in AFTER[1:]:
            both = stopped(step, (0.0, first), (after, second))
            assert both.how == alone.how, f"step {step}, {after} s later"
            assert both.discord.texts == alone.discord.texts, f"step {step}, {after} s later"
            assert both.settled.suppressed == alone.settled.suppressed
            check_books(both)
    assert waited > 3, "often, more than one message was still to be sent"


def test_p26_only_a_kill_takes_it_back() -> None:
    fewer = 0
    for step in STOP_STEPS:
        alone, killed = stopped(step, (0.0, USER)), stopped(step, (0.0, USER), (0.01, KILL))
        check_books(killed)
        assert killed.how[0] == "stopped_by_user"
        assert alone.discord.texts[: len(killed.discord.texts)] == killed.discord.texts
        fewer += len(killed.discord.texts) < len(alone.discord.texts)
    assert fewer > 3, "the test can tell a difference"
