"""Two bots on one real Redis, one channel: their turns take turns."""

from __future__ import annotations

from contextlib import AsyncExitStack

import anyio
import pytest

from minamo.shell.turns.channels import Channels, QueuedTurn, TurnRefused
from minamo.shell.turns.redis_lease import RedisLease
from support.awaits import cancelled_at
from support.redis_server import RedisServer

pytestmark = pytest.mark.anyio


class Floor:
    """Where only one may be."""

    def __init__(self) -> None:
        self.here = ""
        self.log: list[str] = []

    async def job(self, name: str, ticket: QueuedTurn) -> str:
        assert not self.here, f"{name} and {self.here} at once"
        self.here = name
        try:
            with anyio.move_on_after(0.05):
                await ticket.stop_signal.wait()
            self.log.append(name)
        finally:
            self.here = ""
        return name

    async def run(self, channels: Channels, name: str, policy: str = "queue") -> str | TurnRefused:
        return await channels.run(1, lambda ticket: self.job(name, ticket), policy)  # type: ignore[arg-type]


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
        assert [one for one in floor.log if one[0] == letter] == [f"{letter}{n}" for n in range(3)]


async def test_who_does_not_want_to_wait_is_refused_while_the_other_bot_is_busy(
    redis_server: RedisServer, prefix: str
) -> None:
    floor = Floor()
    async with AsyncExitStack() as stack:
        here, there = await two(stack, redis_server.url, prefix)

        async def slow(_: QueuedTurn) -> TurnRefused | str:
            return await floor.run(there, "impatient", "ignore")

        assert await here.run(1, slow) == TurnRefused("busy")
        assert await floor.run(there, "impatient", "ignore") == "impatient"


async def test_a_turn_cancelled_at_any_await_frees_the_channel_for_the_other_bot(
    redis_server: RedisServer, prefix: str
) -> None:
    k = 0
    fired = True
    async with AsyncExitStack() as stack:
        here, there = await two(stack, redis_server.url, prefix)
        while fired:
            k += 1
            floor = Floor()
            fired = await cancelled_at(k, floor.run(here, f"turn {k}"))
            # Far sooner than a lease expires by itself.
            with anyio.fail_after(2):
                while await floor.run(there, "other", "ignore") != "other":  # noqa: ASYNC110
                    await anyio.sleep(0.01)
            assert (len(here), len(there)) == (0, 0)
    assert k > 3
