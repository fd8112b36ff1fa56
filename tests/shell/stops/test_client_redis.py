"""Two bots of one name, each with a client, sharing a channel and a Redis."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import hikari
import pytest

from minamo.shell.client import Client
from minamo.shell.providers.scripted import ScriptedProvider
from minamo.shell.stops.redis_registry import RedisStops
from minamo.shell.turns.redis_lease import RedisLease
from minamo.twin import Twin
from support.bot import make_bot, make_rest_bot, served, until
from support.redis_server import RedisServer

pytestmark = pytest.mark.anyio

SLOW = ScriptedProvider([(0.0, "First.\n\n"), (0.02, "Second"), (60.0, " never")])


@asynccontextmanager
async def pair(twin: Twin, url: str, prefix: str) -> AsyncIterator[tuple[Client, Client]]:
    clients = []
    bots = [make_bot(twin) for _ in "ab"]
    for bot in bots:
        stops = RedisStops(url, prefix=prefix)
        clients.append(Client(bot, stops=stops, lease=RedisLease(url, prefix=prefix)))
        await bot.start(check_for_updates=False)
    try:
        yield clients[0], clients[1]
    finally:
        for bot in bots:
            await bot.close()


async def test_a_stop_reaches_the_other_bot(
    redis_server: RedisServer, prefix: str, figure: Any
) -> None:
    async with Twin() as twin, pair(twin, redis_server.url, prefix) as (here, there):
        place = twin.channel("general").id
        results: list[Any] = []

        async def stream() -> None:
            results.append(await here.stream(place, SLOW))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(stream)
            await until(lambda: twin.texts() == ["First."])
            asked_at = anyio.current_time()
            assert await there.request_stop(channel_id=place, requester="7")
            reached_ms = (anyio.current_time() - asked_at) * 1000
        figure(f"a stop through the other bot: answered in {reached_ms:.1f} ms")
        assert (results[0].status, results[0].stop_reason) == ("stopped_by_user", "user_request")
        assert twin.texts() == ["First.", "Second"]


async def test_a_newer_question_to_one_bot_interrupts_the_other(
    redis_server: RedisServer, prefix: str
) -> None:
    async with Twin() as twin, pair(twin, redis_server.url, prefix) as (here, there):
        place = twin.channel("general").id
        results: list[Any] = []

        async def stream() -> None:
            results.append(await here.stream(place, SLOW))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(stream)
            await until(lambda: twin.texts() == ["First."])
            assert (await there.stream(place, ScriptedProvider(["new"]))).status == "completed"
        assert results[0].status == "follow_up_interrupt"
        assert twin.texts() == ["First.", "new"]


async def test_a_button_that_another_process_hears_of(own_redis: RedisServer, prefix: str) -> None:
    """The gateway bot writes; interactions go to an endpoint, as behind a load balancer."""

    def press(who: str) -> Any:
        shown = next(one for one in twin.messages() if one.components)
        custom_id = shown.components[0]["components"][0]["custom_id"]
        return twin.click(shown, custom_id, user=who)

    async with Twin() as twin, pair(twin, own_redis.url, prefix) as (here, _):
        elsewhere = make_rest_bot(twin)
        Client(elsewhere, stops=RedisStops(own_redis.url, prefix=prefix), stop_command="stop")
        results: list[Any] = []

        async def on_message(event: hikari.MessageCreateEvent) -> None:
            if event.is_human:
                results.append(await here.stream(event, SLOW, button=True))

        here._bot.event_manager.subscribe(hikari.MessageCreateEvent, on_message)  # type: ignore[attr-defined]
        async with served(twin, elsewhere):
            await twin.say("go", user="ann")
            await until(lambda: twin.texts()[-1:] == ["First."])
            await press("bob")
            await until(lambda: "who asked" in "".join(twin.texts(ephemeral=True)[-1:]))
            assert not results
            own_redis.kill()
            await press("ann")
            await until(lambda: "try again" in "".join(twin.texts(ephemeral=True)[-1:]))
            assert not results
            own_redis.start()
            with anyio.fail_after(10):
                while "Stopped." not in twin.texts(ephemeral=True):
                    await press("ann")
                    await anyio.sleep(0.1)
            await until(lambda: bool(results))
    assert (results[0].status, results[0].stop_reason) == ("stopped_by_user", "user_request")
    assert "Second" in twin.texts()


async def test_a_newer_question_elsewhere_ends_one_that_waits_for_the_channel(
    redis_server: RedisServer, prefix: str
) -> None:
    """Three processes: one writes and takes its time, one waits, and one has the newest question."""
    async with (
        Twin() as twin,
        pair(twin, redis_server.url, prefix) as (first, second),
        pair(twin, redis_server.url, prefix) as (third, _),
    ):
        place = twin.channel("general").id
        results: dict[str, Any] = {}

        async def stream(client: Client, name: str, source: Any) -> None:
            results[name] = await client.stream(place, source)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(stream, first, "first", slow_to_let_go())
            await until(lambda: twin.texts() == ["First."])
            tasks.start_soon(stream, second, "second", ScriptedProvider(["second"]))
            await until(lambda: second._channels.busy(place))
            await anyio.sleep(0.1)
            tasks.start_soon(stream, third, "third", ScriptedProvider(["third"]))
        assert results["first"].status == "follow_up_interrupt"
        assert results["second"].status == "follow_up_interrupt"
        assert results["third"].status == "completed"
        assert twin.texts() == ["First.", "third"]


async def slow_to_let_go() -> AsyncIterator[str]:
    """A source that cleans up for a while; its channel is not free before."""
    try:
        yield "First.\n\nSecond"
        await anyio.sleep(60)
    finally:
        with anyio.CancelScope(shield=True):
            await anyio.sleep(0.5)


async def test_redis_dies_and_comes_back(own_redis: RedisServer, prefix: str) -> None:
    async with Twin() as twin, pair(twin, own_redis.url, prefix) as (here, there):
        place = twin.channel("general").id
        results: list[Any] = []

        async def stream(source: ScriptedProvider) -> None:
            results.append(await here.stream(place, source))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(stream, ScriptedProvider(["One.\n\n", (0.6, "Two."), (0.0, "")]))
            await until(lambda: twin.texts() == ["One."])
            own_redis.kill()
            assert not await there.request_stop(channel_id=place, requester="7")
        assert results[0].status == "completed"  # it does not need Redis to end
        assert twin.texts() == ["One.", "Two."]

        own_redis.start()
        with anyio.fail_after(10):
            while not (here.stops.healthy and there.stops.healthy):  # type: ignore[attr-defined]  # noqa: ASYNC110
                await anyio.sleep(0.02)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(stream, SLOW)
            await until(lambda: twin.texts()[-1] == "First.")
            assert await there.request_stop(channel_id=place, requester="7")
        assert results[1].status == "stopped_by_user"
