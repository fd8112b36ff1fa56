"""Planned accidents: each happens, and bare hikari's answer to it is known."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import hikari
import pytest

from minamo.twin import CREATE, EDIT, Faults, Twin
from minamo.twin.faults import Called

pytestmark = pytest.mark.anyio
Rest = hikari.impl.RESTClientImpl


@pytest.mark.parametrize("status", [500, 502])
async def test_server_errors_are_survived(twin: Twin, rest: Rest, status: int) -> None:
    fault = twin.faults.status(status, on=CREATE)
    await rest.create_message(twin.channel().id, "x")
    assert fault.happened == 1
    assert [one.status for one in twin.journal.requests(CREATE)] == [status, 200]
    assert twin.texts() == ["x"]


async def test_a_dropped_connection_is_survived(twin: Twin, rest: Rest) -> None:
    twin.faults.drop(on=CREATE)
    await rest.create_message(twin.channel().id, "x")
    first, second = twin.journal.requests(CREATE)
    assert (first.status, first.fault, second.status) == (None, "drop", 200)
    assert twin.texts() == ["x"]


@pytest.mark.parametrize("scope", ["user", "global", "shared"])
async def test_each_kind_of_429_is_survived(twin: Twin, rest: Rest, scope: str) -> None:
    home = twin.channel().id
    await rest.create_message(home, "warm")
    twin.faults.limited(0.2, on=CREATE, scope=scope)
    await rest.create_message(home, "x")
    (over,) = twin.journal.requests(CREATE, status=429)
    assert over.scope == scope
    assert over.answer["retry_after"] == 0.2
    assert twin.texts() == ["warm", "x"]


async def test_a_page_of_the_content_network_is_no_json(twin: Twin, rest: Rest) -> None:
    twin.faults.html(on=CREATE)
    with pytest.raises(hikari.HTTPResponseError) as caught:
        await rest.create_message(twin.channel().id, "x")
    assert caught.value.status == 429
    assert "text/html" in caught.value.headers["Content-Type"]


async def test_a_stall_never_answers_and_does_not_hold_up_the_end(client: Any) -> None:
    began = time.perf_counter()
    async with Twin() as twin:
        settings = hikari.impl.HTTPSettings(timeouts=hikari.impl.HTTPTimeoutSettings(total=0.2))
        async with client(twin, http_settings=settings, max_retries=0) as rest:
            twin.faults.stall(on=CREATE)
            with pytest.raises(hikari.HTTPError):
                await rest.create_message(twin.channel().id, "x")
        assert twin.texts() == []
    assert time.perf_counter() - began < 3


async def test_an_answer_can_be_lost_after_the_effect(twin: Twin, client: Any) -> None:
    async with client(twin, max_retries=0) as rest:
        home = twin.channel().id
        for number, plan in enumerate(
            (
                lambda: twin.faults.drop(on=CREATE, after_effect=True),
                lambda: twin.faults.status(502, on=CREATE, after_effect=True),
            ),
            start=1,
        ):
            plan()
            with pytest.raises(hikari.HTTPError):
                await rest.create_message(home, "x")
            assert len(twin.texts()) == number


async def test_a_refused_request_has_no_effect_to_lose(twin: Twin, client: Any) -> None:
    fault = twin.faults.drop(on=CREATE, after_effect=True)
    async with client(twin, max_retries=0) as rest:
        with pytest.raises(hikari.BadRequestError):
            await rest.create_message(twin.channel().id, " ")
        assert fault.happened == 0


async def test_delays_come_before_or_after_the_effect(twin: Twin, rest: Rest) -> None:
    home = twin.channel().id
    twin.faults.delay(0.4, on=CREATE)
    twin.faults.delay(0.4, on=CREATE, after_effect=True, skip=1)
    first = asyncio.create_task(rest.create_message(home, "late"))
    await asyncio.sleep(0.06)
    assert twin.texts() == []
    await first
    second = asyncio.create_task(rest.create_message(home, "early"))
    await twin.journal.until(lambda: twin.texts() == ["late", "early"], 2)
    assert not second.done()
    await second


async def test_latency_is_for_every_answer(twin: Twin, rest: Rest) -> None:
    twin.faults.latency_s = 0.1
    began = time.perf_counter()
    await rest.create_message(twin.channel().id, "x")
    assert time.perf_counter() - began >= 0.09


async def test_a_fault_can_be_for_one_channel(twin: Twin, client: Any) -> None:
    async with client(twin, max_retries=0) as rest:
        bad, good = twin.channel("bad").id, twin.channel("good").id
        twin.faults.status(500, on=CREATE, channel=bad, times=None)
        await rest.create_message(good, "x")
        for _ in range(2):
            with pytest.raises(hikari.InternalServerError):
                await rest.create_message(bad, "x")
        twin.faults.clear()
        await rest.create_message(bad, "x")


def test_faults_by_chance_repeat_with_their_seed() -> None:
    def run(seed: int) -> list[bool]:
        faults = Faults(seed=seed)
        faults.drop(on=EDIT, chance=0.5, times=None)
        called = Called(EDIT)
        return [faults.due(called, after_effect=False) is not None for _ in range(50)]

    assert run(1) == run(1) != run(2)
    assert 10 < sum(run(1)) < 40


def test_a_misspelt_setting_is_an_error() -> None:
    with pytest.raises(TypeError, match="no setting 'after'"):
        Faults().drop(on=CREATE, after=True)


async def test_a_misspelt_route_is_an_error(twin: Twin) -> None:
    with pytest.raises(ValueError, match=r"did you mean 'POST /channels/\{channel\}/typing'"):
        twin.faults.drop(on="POST /channel/{channel}/typing")
    with pytest.raises(ValueError, match="no route is called"):
        twin.journal.count("POST /channels/{id}/typing")
    early = Faults()
    early.drop(on="GET /nowhere")
    with pytest.raises(ValueError, match="no route is called 'GET /nowhere'"):
        Twin(faults=early)
