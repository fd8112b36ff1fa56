"""Random lives of streams and wishes, against a model that fits on a page."""

from __future__ import annotations

import itertools
from contextlib import AsyncExitStack, ExitStack
from typing import Any

import anyio
import pytest
from attrs import define
from hypothesis import given, settings
from hypothesis import strategies as st

from minamo.shell.stops.redis_registry import RedisStops
from minamo.shell.stops.registry import MemoryStops, RequestOutcome, StopRequest, StopSignal
from support.redis_server import RedisServer

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
