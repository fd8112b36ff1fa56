"""Stops: laws that hold for each registry and across two, and random lives against a model of a page."""

from __future__ import annotations

import itertools
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack, ExitStack
from typing import Any

import anyio
import hikari
import pytest
from attrs import define
from hypothesis import given, settings
from hypothesis import strategies as st

from minamo.errors import BadRequest
from minamo.shell.stops.redis_registry import RedisStops
from minamo.shell.stops.registry import (
    INTERACTION,
    STREAMS_PER_CHANNEL_MAX,
    MemoryStops,
    RequestOutcome,
    StopRequest,
    StopSignal,
)
from support.redis_server import RedisServer

pytestmark = pytest.mark.anyio


ADDRESSES: list[dict[str, Any]] = [{"stream_id": "s1"}, {"channel_id": 7}]
WISHES = [("request_stop", "user"), ("request_follow_up", "follow_up"), ("kill", "kill")]


@pytest.mark.parametrize("address", ADDRESSES, ids=["stream", "channel"])
@pytest.mark.parametrize(("method", "kind"), WISHES)
async def test_a_wish_reaches_what_runs_and_is_heard_at_once(
    pair: Any, address: dict[str, Any], method: str, kind: str
) -> None:
    stop_signal, other = StopSignal(), StopSignal()
    heard: list[StopRequest] = []
    with (
        pair.here.register("s1", 7, stop_signal),
        pair.here.register("s2", 8, other),
        stop_signal.listen(heard.append),
    ):
        answer = await getattr(pair.there, method)(
            **address, requester="42", context={"from": ["a", 1]}
        )
        assert answer is RequestOutcome.YES
        assert heard == [StopRequest(kind=kind, requester="42", context={"from": ["a", 1]})]
        assert other.strongest is None


@pytest.mark.parametrize("address", ADDRESSES, ids=["stream", "channel"])
@pytest.mark.parametrize("method", ["request_stop", "request_follow_up", "kill"])
async def test_a_stale_wish_never_touches_the_next_stream(
    pair: Any, address: dict[str, Any], method: str
) -> None:
    ask: Callable[..., Awaitable[RequestOutcome]] = getattr(pair.there, method)
    assert await ask(**address) is RequestOutcome.NO  # before
    first, second = StopSignal(), StopSignal()
    with pair.here.register("s1", 7, first):
        pass
    assert await ask(**address) is RequestOutcome.NO  # after
    with pair.here.register("s1", 7, second):
        assert await pair.there.has_stop_request(**address) is RequestOutcome.NO
    assert first.strongest is None
    assert second.strongest is None


@pytest.mark.parametrize("address", ADDRESSES, ids=["stream", "channel"])
async def test_a_person_stops_only_what_they_asked_for(pair: Any, address: dict[str, Any]) -> None:
    stop_signal = StopSignal()
    with pair.here.register("s1", 7, stop_signal, asker="ann"):
        assert (
            await pair.there.request_stop(**address, requester="bob", asker="bob")
            is RequestOutcome.NO
        )
        assert stop_signal.strongest is None
        assert await pair.there.is_running(**address) is RequestOutcome.YES
        assert (
            await pair.there.request_stop(**address, requester="ann", asker="ann")
            is RequestOutcome.YES
        )
    assert stop_signal.strongest == StopRequest(requester="ann")
    assert await pair.there.is_running(**address) is RequestOutcome.NO


async def test_what_nobody_in_particular_asked_for_anybody_may_stop(pair: Any) -> None:
    with pair.here.register("s1", 7, StopSignal()):
        assert await pair.there.request_stop(channel_id=7, requester="bob", asker="bob")


async def test_one_press_that_two_processes_hear_of_is_one_wish(pair: Any) -> None:
    stop_signal, heard = StopSignal(), []
    with pair.here.register("s1", 7, stop_signal), stop_signal.listen(heard.append):
        for asks, press in ((pair.here, "1"), (pair.there, "1"), (pair.there, "2")):
            context = {INTERACTION: press}
            assert await asks.request_stop(channel_id=7, requester="ann", context=context)
    assert [wish.context[INTERACTION] for wish in heard] == ["1", "2"]


async def test_a_registration_is_gone_whatever_happens(pair: Any) -> None:
    with pytest.raises(ZeroDivisionError), pair.here.register("s1", 7, StopSignal()):
        raise ZeroDivisionError
    assert await pair.there.running(7) == []
    assert await pair.there.request_stop(stream_id="s1") is RequestOutcome.NO


async def test_of_several_wishes_the_strongest_counts(pair: Any) -> None:
    stop_signal = StopSignal()
    with pair.here.register("s1", 7, stop_signal):
        for method, strongest in [
            ("request_follow_up", "follow_up"),
            ("request_stop", "user"),
            ("request_follow_up", "user"),
            ("kill", "kill"),
            ("request_stop", "kill"),
        ]:
            # It reaches the stream in any case; which one counts is another matter.
            assert await getattr(pair.there, method)(channel_id=7) is RequestOutcome.YES
            assert stop_signal.strongest is not None
            assert stop_signal.strongest.kind == strongest


async def test_everything_that_runs_in_a_channel_is_reached(pair: Any) -> None:
    one, two, elsewhere = StopSignal(), StopSignal(), StopSignal()
    with (
        pair.here.register("s1", 7, one),
        pair.there.register("s2", 7, two),
        pair.here.register("s3", 8, elsewhere),
    ):
        assert await pair.there.running(7) == ["s1", "s2"]
        assert await pair.there.request_stop(channel_id=7) is RequestOutcome.YES
        assert one.strongest is not None
        assert two.strongest is not None
        assert elsewhere.strongest is None
        assert await pair.there.has_stop_request(channel_id=8) is RequestOutcome.NO


@pytest.mark.parametrize("address", ADDRESSES, ids=["stream", "channel"])
async def test_only_an_unheard_wish_can_be_taken_back(pair: Any, address: dict[str, Any]) -> None:
    stop_signal = StopSignal()
    has, clear = pair.there.has_stop_request, pair.there.clear_stop_request
    with pair.here.register("s1", 7, stop_signal):
        assert await clear(**address) is RequestOutcome.NO  # there is none
        await pair.there.request_stop(**address)
        assert await has(**address) is RequestOutcome.YES
        assert await clear(**address) is RequestOutcome.YES
        assert await has(**address) is RequestOutcome.NO
        assert stop_signal.strongest is None

        await pair.there.request_stop(**address)
        with stop_signal.listen(lambda wish: None):
            assert await clear(**address) is RequestOutcome.NO
        assert await has(**address) is RequestOutcome.YES


async def test_a_wish_taken_back_does_not_take_a_heard_one_along(pair: Any) -> None:
    stop_signal = StopSignal()
    with pair.here.register("s1", 7, stop_signal):
        with stop_signal.listen(lambda wish: None):
            await pair.there.request_follow_up(stream_id="s1")
        await pair.there.request_stop(stream_id="s1")
        assert await pair.there.clear_stop_request(stream_id="s1") is RequestOutcome.YES
        assert stop_signal.strongest is not None
        assert stop_signal.strongest.kind == "follow_up"


async def test_an_answer_is_true_only_if_it_reached() -> None:
    assert [bool(one) for one in RequestOutcome] == [True, False, False]


@pytest.mark.parametrize(
    "method",
    ["request_stop", "request_follow_up", "kill", "has_stop_request", "clear_stop_request"],
)
@pytest.mark.parametrize(
    ("address", "said"),
    [
        ({}, "either stream_id= or channel_id="),
        ({"stream_id": "s", "channel_id": 7}, "either stream_id= or channel_id="),
        ({"stream_id": ""}, "stream_id must be"),
        ({"stream_id": "a b"}, "stream_id must be"),
        ({"stream_id": "a\nb"}, "stream_id must be"),
        ({"stream_id": "s" * 65}, "stream_id must be"),
        ({"stream_id": 5}, "stream_id must be"),
        ({"channel_id": 0}, "channel_id must be"),
        ({"channel_id": True}, "channel_id must be"),
        ({"channel_id": "7"}, "channel_id must be"),
        ({"channel_id": 2**63}, "channel_id must be"),
    ],
)
async def test_addresses_are_checked(
    pair: Any, method: str, address: dict[str, Any], said: str
) -> None:
    with pytest.raises(BadRequest, match=said):
        await getattr(pair.there, method)(**address)


@pytest.mark.parametrize(
    ("wish", "said"),
    [
        ({"requester": ""}, "requester must be"),
        ({"requester": "x" * 65}, "requester must be"),
        ({"requester": 5.0}, "requester must be"),
        ({"requester": True}, "requester must be"),
        ({"asker": False}, "asker must be"),
        ({"context": {"a": object()}}, "context must be"),
        ({"context": [1]}, "context must be"),
        ({"context": {"a": "x" * 5000}}, "context is longer"),
    ],
)
async def test_wishes_are_checked(pair: Any, wish: dict[str, Any], said: str) -> None:
    with pytest.raises(BadRequest, match=said):
        await pair.there.request_stop(stream_id="s", **wish)


@pytest.mark.parametrize("method", ["request_stop", "request_follow_up", "kill"])
async def test_a_number_is_a_person(pair: Any, method: str) -> None:
    stop_signal = StopSignal()
    with pair.here.register("s1", 7, stop_signal, 42):
        assert not await pair.there.request_stop(stream_id="s1", asker=43)
        assert await pair.there.request_stop(stream_id="s1", asker="42")
    again = StopSignal()
    with pair.here.register("s2", 7, again, "42"):
        assert await getattr(pair.there, method)(channel_id=7, requester=hikari.Snowflake(42))
        assert again.strongest is not None
        assert again.strongest.requester == "42"


async def test_a_context_that_holds_itself_is_refused(pair: Any) -> None:
    endless: dict[str, Any] = {}
    endless["a"] = endless
    with pytest.raises(BadRequest, match="context must be"):
        await pair.there.kill(channel_id=7, context=endless)


async def test_registrations_are_checked(pair: Any) -> None:
    with pytest.raises(BadRequest, match="stream_id"), pair.here.register("", 7, StopSignal()):
        pass
    with pytest.raises(BadRequest, match="channel_id"), pair.here.register("s", -7, StopSignal()):
        pass
    with pytest.raises(BadRequest, match="channel_id"):
        await pair.there.running(0)
    with (
        pair.here.register("s1", 7, StopSignal()),
        pytest.raises(BadRequest, match="'s1' runs already"),
        pair.here.register("s1", 8, StopSignal()),
    ):
        pass
    assert await pair.there.running(8) == []


async def test_a_channel_holds_so_many_and_all_are_reached(pair: Any) -> None:
    every = [StopSignal() for _ in range(STREAMS_PER_CHANNEL_MAX)]
    with ExitStack() as stack:
        for index, stop_signal in enumerate(every):
            # The longest ids, of characters that take most bytes.
            stack.enter_context(
                pair.here.register(f"{index:02}" + "\U0001f30a" * 62, 7, stop_signal)
            )
        with (
            pytest.raises(BadRequest, match="64 streams run in channel 7"),
            pair.here.register("one-more", 7, StopSignal()),
        ):
            pass
        context = {"why": "x" * 4000}
        assert await pair.there.request_stop(channel_id=7, context=context) is RequestOutcome.YES
        assert all(stop_signal.strongest is not None for stop_signal in every)


RANK = {None: 0, "follow_up": 1, "user": 2, "kill": 3}
METHODS = {"user": "request_stop", "follow_up": "request_follow_up", "kill": "kill"}

stream_ids = st.sampled_from(["s1", "s2", "s3"])
channel_ids = st.sampled_from([1, 2])
addresses = st.one_of(
    st.builds(lambda s: {"stream_id": s}, stream_ids),
    st.builds(lambda c: {"channel_id": c}, channel_ids),
)
# Which of the two registries: a stream lives in one, requests are made in any.
sides = st.integers(0, 1)
steps = st.lists(
    st.one_of(
        st.tuples(st.just("start"), sides, stream_ids, channel_ids),
        st.tuples(st.just("end"), sides, stream_ids),
        st.tuples(st.just("listen"), sides, stream_ids),
        st.tuples(st.just("deafen"), sides, stream_ids),
        st.tuples(st.sampled_from(["user", "follow_up", "kill", "has", "clear"]), sides, addresses),
        st.tuples(st.just("running"), sides, channel_ids),
    ),
    max_size=40,
)


@define
class Model:
    """One stream as it should be."""

    channel: int
    wished: str | None = None
    heard: str | None = None
    listening: bool = False
    told: int = 0


@define
class Real:
    """One stream as it is."""

    stop_signal: StopSignal
    life: ExitStack
    ear: ExitStack
    heard: list[StopRequest]


async def play(sides: tuple[Any, Any], script: list[tuple[Any, ...]]) -> None:
    model: dict[str, Model] = {}
    real: dict[str, Real] = {}
    with ExitStack() as lives:
        for op, side, target, *rest in script:
            stops = sides[side]
            if op == "running":
                here = sorted(s for s, m in model.items() if m.channel == target)
                assert sorted(await stops.running(target)) == here
            elif isinstance(target, dict):
                at = [
                    m for s, m in model.items()
                    if s == target.get("stream_id") or m.channel == target.get("channel_id")
                ]  # fmt: skip
                await request(stops, op, target, at)
            elif op == "start" and target not in model:
                life, stop_signal = lives.enter_context(ExitStack()), StopSignal()
                life.enter_context(stops.register(target, rest[0], stop_signal))
                real[target] = Real(stop_signal, life, life.enter_context(ExitStack()), [])
                model[target] = Model(rest[0])
            elif op == "end" and target in model:
                real.pop(target).life.close()
                del model[target]
            elif op == "listen" and target in model and not model[target].listening:
                one = model[target]
                real[target].ear.enter_context(
                    real[target].stop_signal.listen(real[target].heard.append)
                )
                one.listening, one.heard = True, one.wished
                one.told += one.wished is not None
            elif op == "deafen" and target in model:
                real[target].ear.close()
                model[target].listening = False
            for name, is_ in real.items():
                strongest = is_.stop_signal.strongest
                assert (strongest.kind if strongest else None) == model[name].wished
                assert len(is_.heard) == model[name].told


async def request(stops: Any, op: str, target: dict[str, Any], at: list[Model]) -> None:
    if op == "has":
        expected = any(one.wished for one in at)
        answer = await stops.has_stop_request(**target)
    elif op == "clear":
        expected = any(one.wished != one.heard for one in at)
        answer = await stops.clear_stop_request(**target)
        for one in at:
            one.wished = one.heard
    else:
        expected = bool(at)
        answer = await getattr(stops, METHODS[op])(**target)
        for one in at:
            one.wished = max(one.wished, op, key=RANK.__getitem__)
            if one.listening:
                one.heard = one.wished
                one.told += 1
    assert answer is (RequestOutcome.YES if expected else RequestOutcome.NO)


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
@given(script=steps)
def test_the_laws_in_memory(backend: str, script: list[tuple[Any, ...]]) -> None:
    async def main() -> None:
        stops = MemoryStops()
        await play((stops, stops), script)

    anyio.run(main, backend=backend)


_prefixes = (f"laws{n}" for n in itertools.count())


@settings(max_examples=40)
@given(script=steps)
def test_the_laws_over_redis(redis_server: RedisServer, script: list[tuple[Any, ...]]) -> None:
    async def main() -> None:
        prefix = next(_prefixes)
        async with AsyncExitStack() as stack:
            one, two = [
                await stack.enter_async_context(
                    RedisStops(redis_server.url, prefix=prefix, answer_timeout_ms=10_000)
                )
                for _ in "12"
            ]
            await play((one, two), script)

    anyio.run(main)
