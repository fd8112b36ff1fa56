"""Two bots on one real Redis, one channel: never two turns at once, wherever one is cancelled."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from itertools import count

import anyio
import pytest

from cancelling import CancelAt
from minamo.shell.channel import Channels, Refused, Ticket
from minamo.shell.lease_redis import RedisLease
from redis_server import RedisServer

pytestmark = pytest.mark.anyio


class Floor:
    """Where only one may be."""

    def __init__(self) -> None:
        self.here = ""
        self.log: list[str] = []

    async def job(self, name: str, ticket: Ticket) -> str:
        assert not self.here, f"{name} and {self.here} at once"
        self.here = name
        try:
            with anyio.move_on_after(0.05):
                await ticket.wishes.came()
            self.log.append(name)
        finally:
            self.here = ""
        return name

    async def run(self, channels: Channels, name: str) -> str | Refused:
        return await channels.run(1, lambda ticket: self.job(name, ticket), "queue")


async def two(stack: AsyncExitStack, url: str, prefix: str) -> tuple[Channels, Channels]:
    leases = [await stack.enter_async_context(RedisLease(url, prefix=prefix)) for _ in "ab"]
    return Channels(lease=leases[0]), Channels(lease=leases[1])


async def test_turns_of_two_bots_take_turns(redis_server: RedisServer, prefix: str) -> None:
    floor = Floor()
    async with AsyncExitStack() as stack:
        bots = await two(stack, redis_server.url, prefix)
        async with anyio.create_task_group() as tasks:
            for number in range(3):
                for letter, bot in zip("ab", bots, strict=True):
                    tasks.start_soon(floor.run, bot, f"{letter}{number}")
    assert sorted(floor.log) == ["a0", "a1", "a2", "b0", "b1", "b2"]
    assert [len(bot) for bot in bots] == [0, 0]
    for letter in "ab":
        assert [name for name in floor.log if name[0] == letter] == [
            f"{letter}{n}" for n in range(3)
        ]


@pytest.mark.parametrize("who", ["running", "waiting"])
async def test_a_turn_may_be_cancelled_at_any_await(
    who: str, redis_server: RedisServer, prefix: str
) -> None:
    async with AsyncExitStack() as stack:
        here, there = await two(stack, redis_server.url, prefix)
        for k in count(1):
            floor, cut = Floor(), CancelAt(k)

            async def victim(cut: CancelAt = cut, floor: Floor = floor) -> None:
                await cut.run(floor.run(here, "victim"))

            first = asyncio.create_task(victim() if who == "running" else floor.run(here, "other"))
            await asyncio.sleep(0)
            second = asyncio.create_task(floor.run(here, "other") if who == "running" else victim())
            async with asyncio.timeout(20):
                ended = await asyncio.gather(first, second, return_exceptions=True)
                assert await floor.run(there, "elsewhere") == "elsewhere", "the lease is free"
            assert "other" in ended
            assert len(here) == len(there) == 0
            if not cut.fired:
                assert "victim" in floor.log
                assert k > 3
                return
            assert any(isinstance(one, asyncio.CancelledError) for one in ended)
