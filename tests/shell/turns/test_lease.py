"""One stream per channel between processes: granted, waited for, renewed, lost."""

from __future__ import annotations

import asyncio
import logging
import os
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import anyio
import pytest

from minamo.errors import BadRequest, BadSetting
from minamo.shell.stops.redis_link import client_for, close_client
from minamo.shell.stops.registry import StopSignal
from minamo.shell.turns.channels import Channels, Lease, LeaseStatus, QueuedTurn, TurnRefused
from minamo.shell.turns.redis_lease import RedisLease
from support.awaits import cancelled_at
from support.redis_server import RedisServer

pytestmark = pytest.mark.anyio


@pytest.fixture
async def lease(redis_server: RedisServer, prefix: str) -> Any:
    async with RedisLease(redis_server.url, prefix=prefix) as lease:
        yield lease


async def holders(server: RedisServer) -> set[bytes]:
    client = client_for(server.url)
    try:
        return set(await client.keys("minamo:lease:*"))
    finally:
        await close_client(client)


async def test_a_free_channel_is_granted_again_and_again(lease: Lease) -> None:
    stop_signal = StopSignal()
    for _ in range(3):
        async with lease.hold(7, stop_signal) as leased:
            assert leased
            async with lease.hold(8, stop_signal, wait_s=1) as other:
                assert other is LeaseStatus.GRANTED
    assert stop_signal.strongest is None


async def test_what_the_block_raises_is_raised(lease: Lease) -> None:
    with pytest.raises(ZeroDivisionError):
        async with lease.hold(7, StopSignal()):
            raise ZeroDivisionError
    async with lease.hold(7, StopSignal()) as leased:
        assert leased, "and the lease was given back"


async def test_channels_are_checked(lease: Lease) -> None:
    with pytest.raises(BadRequest, match="channel_id"):
        async with lease.hold(0, StopSignal()):
            pass


async def test_one_holder_at_a_time(redis_server: RedisServer, prefix: str) -> None:
    async with (
        RedisLease(redis_server.url, prefix=prefix) as one,
        RedisLease(redis_server.url, prefix=prefix) as two,
        RedisLease(redis_server.url, prefix=prefix + "x") as other_bot,
    ):
        async with one.hold(7, StopSignal()) as first:
            assert first
            async with two.hold(7, StopSignal()) as second, one.hold(7, StopSignal()) as third:
                assert (second, third) == (LeaseStatus.BUSY, LeaseStatus.BUSY)
            async with two.hold(7, StopSignal(), wait_s=0.3) as second:
                assert not second
            async with other_bot.hold(7, StopSignal()) as theirs:
                assert theirs
        async with two.hold(7, StopSignal()) as second:
            assert second


async def test_waiting_ends_when_the_holder_does(redis_server: RedisServer, prefix: str) -> None:
    order: list[str] = []

    async def wait_for_it() -> None:
        async with two.hold(7, StopSignal(), wait_s=30) as leased:
            order.append(f"second {leased.value}")

    async with (
        RedisLease(redis_server.url, prefix=prefix) as one,
        RedisLease(redis_server.url, prefix=prefix) as two,
        anyio.create_task_group() as tasks,
        one.hold(7, StopSignal()),
    ):
        tasks.start_soon(wait_for_it)
        await anyio.sleep(0.3)
        order.append("first ends")
    assert order == ["first ends", "second granted"]


async def test_waiting_can_be_cancelled_and_leaves_nothing(
    redis_server: RedisServer, prefix: str
) -> None:
    async with RedisLease(redis_server.url, prefix=prefix) as lease:
        async with lease.hold(7, StopSignal()):
            with anyio.move_on_after(0.15) as scope:
                async with lease.hold(7, StopSignal(), wait_s=30):
                    raise AssertionError("it is held")
            assert scope.cancelled_caught
        for delay in range(20):  # at whatever point of the taking
            with anyio.move_on_after(delay / 10_000):
                async with lease.hold(8, StopSignal()):
                    await anyio.sleep_forever()
        assert await lease._client.keys(f"{prefix}:*") == []


async def test_a_long_stream_keeps_its_lease(redis_server: RedisServer, prefix: str) -> None:
    stop_signal = StopSignal()
    async with (
        RedisLease(redis_server.url, prefix=prefix, ttl_ms=1000) as lease,
        lease.hold(7, stop_signal),
    ):
        await anyio.sleep(1.5)
        async with lease.hold(7, StopSignal()) as other:
            assert other is LeaseStatus.BUSY
    assert stop_signal.strongest is None


async def test_a_lease_taken_by_another_kills_the_stream(
    redis_server: RedisServer, prefix: str, caplog: pytest.LogCaptureFixture
) -> None:
    stop_signal = StopSignal()
    async with RedisLease(redis_server.url, prefix=prefix, ttl_ms=1000) as lease:
        async with lease.hold(7, stop_signal):
            key = f"{prefix}:lease:7"
            await lease._client.set(key, "somebody else")
            with anyio.fail_after(10):
                wish = await stop_signal.wait()
            assert (wish.kind, wish.requester) == ("kill", "lease")
            assert wish.context == {"lease": "busy"}
        assert await lease._client.get(key) == b"somebody else", "not ours to delete"
        await lease._client.delete(key)
    assert "a lease was lost (busy)" in caplog.text


async def test_a_redis_that_comes_back_empty_gives_it_back(own_redis: RedisServer) -> None:
    stop_signal = StopSignal()
    async with RedisLease(own_redis.url, ttl_ms=5000) as lease, lease.hold(7, stop_signal):
        own_redis.kill()
        own_redis.start()
        with anyio.fail_after(20):
            while (await holders(own_redis)) != {b"minamo:lease:7"}:  # noqa: ASYNC110
                await anyio.sleep(0.05)
        async with lease.hold(7, StopSignal()) as other:
            assert other is LeaseStatus.BUSY
    assert stop_signal.strongest is None


async def test_without_redis_nothing_starts_and_what_runs_ends_in_time(
    own_redis: RedisServer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "minamo.redis")
    stop_signal = StopSignal()
    async with RedisLease(own_redis.url, ttl_ms=1500) as lease:
        async with lease.hold(7, stop_signal):
            began = anyio.current_time()
            own_redis.kill()
            async with lease.hold(8, StopSignal(), wait_s=0.3) as leased:
                assert leased is LeaseStatus.UNREACHABLE
            assert not lease.healthy
            with anyio.fail_after(10):
                wish = await stop_signal.wait()
            assert wish.context == {"lease": "unreachable"}
            assert anyio.current_time() - began <= 1.5, "before another could have taken it"
        own_redis.start()
        async with lease.hold(8, StopSignal(), wait_s=10) as leased:
            assert leased
        assert lease.healthy
    said = [record.getMessage() for record in caplog.records]
    assert sum("cannot be reached" in text for text in said) == 1
    assert sum(text.endswith("is back") for text in said) == 1


async def test_without_redis_streams_run_if_so_wished(own_redis: RedisServer) -> None:
    stop_signal = StopSignal()
    async with (
        RedisLease(own_redis.url, ttl_ms=1000, when_unreachable="grant") as lease,
        lease.hold(7, stop_signal),
    ):
        own_redis.kill()
        async with lease.hold(8, stop_signal) as leased:
            assert leased is LeaseStatus.GRANTED
            await anyio.sleep(1.2)
            assert stop_signal.strongest is None
            own_redis.start()
            with anyio.fail_after(10):
                while len(await holders(own_redis)) < 2:  # noqa: ASYNC110
                    await anyio.sleep(0.05)
    assert stop_signal.strongest is None


async def test_closing_leaves_nothing_open(own_redis: RedisServer) -> None:
    def state() -> tuple[int, int]:
        return len(os.listdir("/proc/self/fd")), len(asyncio.all_tasks())

    before = state()
    async with (
        RedisLease(own_redis.url) as lease,
        lease.hold(7, StopSignal()),
        lease.hold(8, StopSignal()),
    ):
        assert state() != before
    async with lease.hold(7, StopSignal()) as leased:
        assert leased is LeaseStatus.UNREACHABLE, "closed is closed"
    with anyio.fail_after(2):
        while state() != before:  # noqa: ASYNC110
            await anyio.sleep(0.01)


async def test_the_password_is_never_shown(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    server = RedisServer(tmp_path, "--requirepass", "hunter2-and-more")
    try:
        async with RedisLease(f"redis://:hunter2-wrong@127.0.0.1:{server.port}") as lease:
            async with lease.hold(7, StopSignal()) as leased:
                assert leased is LeaseStatus.UNREACHABLE
            assert "hunter2" not in repr(lease) + caplog.text
            assert "AuthenticationError" in caplog.text
    finally:
        server.kill()


async def test_settings_are_checked() -> None:
    for bad in ({"ttl_ms": 999}, {"ttl_ms": 300_001}, {"when_unreachable": "hope"}, {"prefix": ""}):
        with pytest.raises(BadSetting, match=next(iter(bad))):
            RedisLease("redis://host", **bad)  # type: ignore[arg-type]
    lease = RedisLease("redis://host")
    for wait_s in (-1, 601, float("nan")):
        with pytest.raises(BadRequest, match="wait_s"):
            async with lease.hold(7, StopSignal(), wait_s=wait_s):
                pass


async def test_a_restart_of_redis_refuses_nobody(own_redis: RedisServer) -> None:
    async with RedisLease(own_redis.url) as lease:
        await asyncio.gather(*(_held_for_a_moment(lease, 100 + n) for n in range(8)))
        own_redis.kill()
        own_redis.start()
        # Eight connections of the pool are dead; the first attempt must not fall into one.
        async with lease.hold(7, StopSignal()) as leased:
            assert leased is LeaseStatus.GRANTED


async def _held_for_a_moment(lease: RedisLease, channel_id: int) -> None:
    async with lease.hold(channel_id, StopSignal()) as leased:
        assert leased


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
