"""Channels at the end of a program, and shared with other processes, in virtual time."""

from __future__ import annotations

import asyncio
from itertools import count
from typing import Any

import anyio
import pytest

from minamo.shell.stops.registry import StopRequest
from minamo.shell.turns.channels import Channels, LeaseStatus
from support.awaits import AtAwait, natively
from support.channels import CUT, Room, SlowLease, in_room, settle


def test_a_drain_asks_the_running_turns_to_stop_and_refuses_the_rest() -> None:
    async def story(room: Room) -> None:
        await room.submit("a", heeds_s=2)
        await room.submit("b", policy="queue")
        await room.submit("c", policy="interrupt")
        await room.submit("elsewhere", place=2, heeds_s=1)
        began = anyio.current_time()
        assert await room.channels.drain(30)
        assert anyio.current_time() - began == 2, "no longer than the turns need"
        assert room.tickets["a"].stop_signal.strongest == StopRequest(), (
            "the system's own wish to stop"
        )
        assert room.answers["b"] == room.answers["c"] == "closing"
        assert room.answers["elsewhere"] == "elsewhere user by None"

    in_room(story)


@pytest.mark.parametrize("policy", ["interrupt", "queue", "ignore"])
def test_nothing_begins_during_or_after_a_drain(policy: str) -> None:
    async def story(room: Room) -> None:
        await room.submit("old", heeds_s=5)
        room.tasks.start_soon(room.channels.drain, 30)
        await settle()
        await room.submit("during", policy=policy)
        await room.submit("elsewhere", policy=policy, place=2)
        await anyio.sleep(20)
        await room.submit("after", policy=policy)
        assert len(room.channels) == 0

    room = in_room(story)
    assert room.log == ["+old", "-old"]
    assert [room.answers[name] for name in ("during", "elsewhere", "after")] == ["closing"] * 3


def test_a_drain_is_bounded_even_if_a_turn_does_not_listen() -> None:
    async def story(room: Room) -> None:
        await room.submit("deaf", heeds_s=None, takes_s=1e6)
        began = anyio.current_time()
        assert await room.channels.drain(3)
        assert anyio.current_time() - began == 3
        assert room.answers == {"deaf": "closing"}

    in_room(story)


def test_a_drain_does_not_wait_for_a_turn_that_will_not_be_cancelled() -> None:
    async def story(room: Room) -> None:
        async def stubborn(_: object) -> str:
            with anyio.CancelScope(shield=True):
                await anyio.sleep(100)
            return "at last"

        async def submit() -> None:
            room.answer("stubborn", await room.channels.run(1, stubborn))

        room.tasks.start_soon(submit)
        await settle()
        began = anyio.current_time()
        assert not await room.channels.drain(3)
        assert anyio.current_time() - began < 5

    assert in_room(story).answers == {"stubborn": "at last"}, "what it did is not denied"


def test_of_two_deadlines_the_earlier_counts() -> None:
    async def story(room: Room) -> None:
        await room.submit("deaf", heeds_s=None, takes_s=1e6)
        began = anyio.current_time()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(room.channels.drain, 60)
            await settle()
            tasks.start_soon(room.channels.drain, 4)
            await settle()
            tasks.start_soon(room.channels.drain, 90)
        assert anyio.current_time() - began == 4

    in_room(story)


def test_a_kill_ends_a_drain() -> None:
    async def story(room: Room) -> None:
        await room.submit("deaf", heeds_s=None, takes_s=1e6)
        await room.submit("slow", heeds_s=20, place=2)
        room.tasks.start_soon(room.channels.drain, 60)
        await settle()
        room.channels.kill(1)
        room.want(2, requester="ada")
        await anyio.sleep(6.1)
        assert room.answers == {"deaf": "killed"}
        assert room.tickets["slow"].stop_signal.strongest == StopRequest(), (
            "the first stop is remembered"
        )

    in_room(story)


def test_draining_nothing_takes_no_time() -> None:
    async def story(room: Room) -> None:
        began = anyio.current_time()
        assert await room.channels.drain(60)
        assert anyio.current_time() == began

    in_room(story)


def test_a_turn_begins_when_the_lease_is_got_and_gives_it_back() -> None:
    lease = SlowLease()

    async def story(room: Room) -> None:
        await room.submit("a")
        await room.submit("b", policy="queue")
        await anyio.sleep(4.9)
        assert room.log == []
        await anyio.sleep(0.2)
        assert room.log == ["+a"]
        assert set(lease.held) == {1}
        assert room.tickets["a"].waited_s == 5

    room = in_room(story, lease=lease)
    assert room.tickets["b"].waited_s == 20
    assert not lease.held


def test_a_turn_that_waits_for_the_lease_is_superseded_without_waiting_longer() -> None:
    lease = SlowLease()

    async def story(room: Room) -> None:
        await room.submit("a")
        await anyio.sleep(3)
        await room.submit("b")
        assert room.answers == {"a": "superseded"}
        assert room.channels.busy(1)

    room = in_room(story, lease=lease)
    assert room.log == ["+b", "-b"]
    assert lease.asked == [60.0, 60.0]


@pytest.mark.parametrize("how", ["stopped", "killed", "closing"])
def test_a_lease_that_comes_too_late_is_given_back_unused(how: str) -> None:
    lease = SlowLease(shielded=True)

    async def story(room: Room) -> None:
        await room.submit("a")
        await anyio.sleep(4)
        if how == "closing":
            assert await room.channels.drain(3)
        elif how == "stopped":
            room.want(1)
        else:
            room.channels.kill(1)
        await anyio.sleep(3)
        assert room.answers == {"a": how}
        assert not lease.held

    assert in_room(story, lease=lease).log == []


@pytest.mark.parametrize("queued", [True, False])
def test_a_stop_reaches_a_turn_that_waits_for_the_lease(queued: bool) -> None:
    async def story(room: Room) -> None:
        await room.submit("a")
        if queued:
            await room.submit("b", policy="queue")
        room.want(1, requester="ada")
        await settle()
        assert room.answers == {"a": "stopped"}
        assert room.channels.busy(1) is queued

    assert in_room(story, lease=SlowLease()).log == (["+b", "-b"] if queued else [])


@pytest.mark.parametrize("how", ["killed", "closing", CUT])
def test_what_ends_everything_reaches_a_turn_that_waits_for_the_lease(how: str) -> None:
    async def story(room: Room) -> None:
        await room.submit("a")
        await room.submit("b", policy="queue")
        if how == "killed":
            room.channels.kill(1)
        elif how == "closing":
            assert await room.channels.drain(0.5)
        else:
            room.scopes["b"].cancel()
            room.scopes["a"].cancel()
        await settle()
        assert room.answers == {"a": how, "b": how}
        assert len(room.channels) == 0

    assert in_room(story, lease=SlowLease()).log == []


def test_a_lost_lease_kills_the_turn_and_the_next_one_takes_it_anew() -> None:
    lease = SlowLease()

    async def story(room: Room) -> None:
        await room.submit("a")
        await room.submit("b", policy="queue")
        await anyio.sleep(6)
        lease.lose(1)
        await settle()
        assert room.answers == {"a": "a kill by lease"}
        await anyio.sleep(6)
        assert room.log == ["+a", "-a", "+b"]

    room = in_room(story, lease=lease)
    assert room.answers["b"] == "b done"
    assert len(lease.asked) == 2


@pytest.mark.parametrize("answer", [LeaseStatus.BUSY, LeaseStatus.UNREACHABLE])
def test_without_the_lease_a_turn_is_refused_and_the_next_one_asks(answer: LeaseStatus) -> None:
    lease = SlowLease(answer=answer)

    async def story(room: Room) -> None:
        await room.submit("a")
        await room.submit("b", policy="queue")

    room = in_room(story, lease=lease)
    assert room.answers == {"a": answer.value, "b": answer.value}
    assert room.log == []
    assert len(lease.asked) == 2


def test_how_long_a_turn_waits_for_another_process_depends_on_its_policy() -> None:
    lease = SlowLease(takes_s=20)

    async def story(room: Room) -> None:
        await room.submit("impatient", policy="ignore")
        assert room.answers == {"impatient": "busy"}
        await room.submit("patient", policy="queue")
        await anyio.sleep(15.1)
        assert room.answers["patient"] == "busy"

    in_room(story, lease=lease, lease_wait_s=15)
    assert lease.asked == [0, 15]


def test_a_lease_that_fails_frees_the_channel() -> None:
    class Broken:
        def hold(self, channel_id, stop_signal, *, wait_s):  # type: ignore[no-untyped-def]
            raise ValueError("no lease")

    async def story(room: Room) -> None:
        await room.submit("a")
        assert str(room.answers["a"]) == "no lease"
        assert len(room.channels) == 0

    in_room(story, lease=Broken())


@pytest.mark.parametrize("who", ["running", "waiting"])
def test_a_turn_may_be_cancelled_at_any_of_its_awaits_on_asyncio_too(who: str) -> None:
    """Natively, as hikari's tasks are: `Task.cancel` knows no scopes."""

    async def main() -> None:
        for k in count(1):
            lease = SlowLease(takes_s=0.001)
            channels, cut, ran = Channels(policy="queue", lease=lease), natively(k), []

            async def run(name: str, channels: Channels = channels, ran: list[str] = ran) -> str:
                async def job(_: object) -> str:
                    await asyncio.sleep(0.001)
                    ran.append(name)
                    return name

                return await channels.run(1, job)

            async def victim(cut: AtAwait = cut, run: Any = run) -> None:
                await cut.run(run("victim"))

            tasks = [asyncio.create_task(victim()), asyncio.create_task(run("other"))]
            if who == "waiting":
                tasks = [asyncio.create_task(run("first")), *tasks]
            ended = await asyncio.gather(*tasks, return_exceptions=True)
            assert "other" in ended
            assert len(channels) == 0
            assert not lease.held
            if not cut.fired:
                assert "victim" in ran
                assert k > 2
                return
            assert any(isinstance(one, asyncio.CancelledError) for one in ended)

    asyncio.run(main())
