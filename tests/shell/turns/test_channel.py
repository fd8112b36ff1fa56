"""One turn at a time in a channel: policies, order, bounds, stops and kills, in virtual time."""

from __future__ import annotations

import gc
import weakref

import anyio
import anyio.lowlevel
import pytest

from minamo.errors import BadRequest, BadSetting
from minamo.shell.stops.registry import StopRequest
from minamo.shell.turns.channel import ChannelTurns
from minamo.shell.turns.channels import QUEUE_MAX, Channels, QueuedTurn, TurnRefused
from support.channels import CUT, Room, in_room, settle
from support.fake_discord import run_with_virtual_clock


def test_an_idle_channel_runs_a_turn_at_once_whatever_the_policy() -> None:
    async def story(room: Room) -> None:
        for policy in ("interrupt", "queue", "ignore"):
            began = anyio.current_time()
            await room.submit(policy, policy=policy, takes_s=0)
            assert anyio.current_time() == began
            await anyio.sleep(1)
            assert room.answers[policy] == f"{policy} done"
            assert not room.tickets[policy].from_queue
            assert room.tickets[policy].waited_s == 0

    in_room(story)


def test_interrupt_lets_the_running_turn_make_way() -> None:
    async def story(room: Room) -> None:
        await room.submit("old", heeds_s=2)
        await room.submit("new")
        assert room.log == ["+old"], "the new one waits until the old one has ended"
        assert room.tickets["old"].stop_signal.strongest == StopRequest(kind="follow_up")

    room = in_room(story)
    assert room.log == ["+old", "-old", "+new", "-new"]
    assert room.answers == {"old": "old follow_up by None", "new": "new done"}
    assert room.tickets["new"].waited_s == 2
    assert not room.tickets["new"].from_queue


def test_of_several_newer_messages_only_the_newest_is_answered() -> None:
    async def story(room: Room) -> None:
        await room.submit("old", heeds_s=5)
        for name in "abcd":
            await room.submit(name)
            await anyio.sleep(1)
        assert room.answers == dict.fromkeys("abc", "superseded")
        assert room.channels.waiting(1) == 1

    room = in_room(story)
    assert room.log == ["+old", "-old", "+d", "-d"]


def test_a_turn_that_was_called_and_has_not_woken_is_superseded_too() -> None:
    async def story(room: Room) -> None:
        async def quick(_: QueuedTurn) -> str:
            await anyio.sleep(1)
            return "ran"

        async def twice() -> None:
            # When the first run returns, the turn behind it has been called; its task has not
            # had the time to wake when this one, which never pauses, interrupts.
            assert await room.channels.run(1, quick, "queue") == "ran"
            assert await room.channels.run(1, quick, "interrupt") == "ran"

        room.tasks.start_soon(twice)
        await settle()
        await room.submit("between", policy="queue")

    room = in_room(story)
    assert room.answers == {"between": "superseded"}
    assert room.log == []


def test_the_queue_is_first_in_first_out_and_bounded() -> None:
    names = [f"t{number}" for number in range(QUEUE_MAX + 3)]

    async def story(room: Room) -> None:
        for name in names:
            await room.submit(name, policy="queue")
        assert room.channels.waiting(1) == QUEUE_MAX
        assert room.answers == dict.fromkeys(names[-2:], "queue_full")

    room = in_room(story)
    ran = names[:-2]
    assert room.log == [f"{sign}{name}" for name in ran for sign in "+-"]
    assert [room.tickets[name].waited_s for name in ran] == [10.0 * n for n in range(len(ran))]
    assert [room.tickets[name].from_queue for name in ran] == [False] + [True] * QUEUE_MAX


def test_an_interrupting_turn_goes_before_the_queue_and_leaves_it_alone() -> None:
    async def story(room: Room) -> None:
        await room.submit("old")
        for name in "ab":
            await room.submit(name, policy="queue")
        await room.submit("now", policy="interrupt")

    room = in_room(story, queue_max=2)
    assert room.log == [f"{sign}{name}" for name in ("old", "now", "a", "b") for sign in "+-"]


def test_ignore_is_refused_while_busy() -> None:
    async def story(room: Room) -> None:
        await room.submit("old")
        await room.submit("new")
        assert room.answers == {"new": "busy"}
        assert room.tickets["old"].stop_signal.strongest is None

    assert in_room(story, policy="ignore").answers == {"old": "old done", "new": "busy"}


def test_channels_do_not_know_each_other() -> None:
    async def story(room: Room) -> None:
        for place in range(1, 51):
            await room.submit(f"a{place}", place=place, policy="queue")
            await room.submit(f"b{place}", place=place, policy="queue")
        assert len(room.channels) == len(room.running) == 50
        room.channels.kill(7)
        await settle()
        assert not room.channels.busy(7)
        assert room.channels.busy(8)
        await anyio.sleep(20.1)
        assert len(room.channels) == 0

    in_room(story)


@pytest.mark.parametrize("at", [0.0, 3.0, 9.9, 10.0, 12.0, 25.0])
def test_a_stop_ends_the_running_turn_and_the_queue_goes_on(at: float) -> None:
    async def story(room: Room) -> None:
        for name in "abc":
            await room.submit(name, policy="queue")
        await anyio.sleep(at)
        assert room.want(1, requester="ada") or at == 10.0

    room = in_room(story)
    stopped = [name for name, told in room.answers.items() if not told.endswith("done")]
    if at == 10.0:  # the first is done, and the second may not have begun
        assert stopped in (["b"], ["a"], [])
        return
    assert stopped == ["abc"[int(at // 10)]]
    assert room.answers[stopped[0]].endswith("user by ada")
    assert [name[1] for name in room.log if name[0] == "+"] == list("abc")


def test_a_stop_outranks_the_wish_to_make_way_and_the_newer_turn_still_comes() -> None:
    async def story(room: Room) -> None:
        await room.submit("old", heeds_s=5)
        await room.submit("new")
        room.want(1, requester="ada")
        assert room.tickets["old"].stop_signal.strongest == StopRequest(requester="ada")

    assert in_room(story).log == ["+old", "-old", "+new", "-new"]


def test_a_stop_where_nothing_runs_says_so() -> None:
    async def story(room: Room) -> None:
        assert not room.want(1)
        assert not room.channels.kill(1)
        await room.submit("after")
        assert room.tickets["after"].stop_signal.strongest is None

    in_room(story)


def test_a_kill_ends_the_running_turn_and_empties_the_queue() -> None:
    async def story(room: Room) -> None:
        await room.submit("first", heeds_s=1)
        await room.submit("second", policy="queue")
        await room.submit("newer", policy="interrupt")
        assert room.channels.kill(1, "operator")
        await settle()
        assert room.answers == {"second": "killed", "newer": "killed"}
        assert room.tickets["first"].stop_signal.strongest == StopRequest(
            kind="kill", requester="operator"
        )
        await room.submit("after", policy="queue")

    room = in_room(story)
    assert room.log == ["+first", "-first", "+after", "-after"]


def test_a_turn_that_does_not_heed_a_kill_is_cancelled() -> None:
    async def story(room: Room) -> None:
        await room.submit("deaf", heeds_s=None, takes_s=1e6)
        await room.submit("second", policy="queue", heeds_s=None, takes_s=1e6)
        room.channels.kill(1)
        await anyio.sleep(2.9)
        assert room.running
        await anyio.sleep(0.2)
        assert not room.running
        assert room.answers == {"second": "killed", "deaf": "killed"}

    in_room(story, kill_grace_s=3)


def test_a_job_that_raises_frees_the_channel() -> None:
    oh = ValueError("oh")

    async def story(room: Room) -> None:
        await room.submit("first", raises=oh)
        await room.submit("second", policy="queue")

    room = in_room(story)
    assert room.answers == {"first": oh, "second": "second done"}


@pytest.mark.parametrize("who", ["first", "second", "third", "newer"])
@pytest.mark.parametrize("at", [0.0, 1.0, 2.0, 10.0, 12.0, 20.0, 25.0, 30.0, 40.0])
def test_a_submitter_may_be_cancelled_at_any_instant(who: str, at: float) -> None:
    async def story(room: Room) -> None:
        for name in ("first", "second", "third"):
            await room.submit(name, policy="queue", heeds_s=2)
        await room.submit("newer", policy="interrupt")
        await anyio.sleep(at)
        room.scopes[who].cancel()

    room = in_room(story)
    assert set(room.answers) == {"first", "second", "third", "newer"}
    others = [name for name in ("first", "newer", "second", "third") if name != who]
    begun = [name[1:] for name in room.log if name[0] == "+" and name[1:] != who]
    assert begun == others, "everybody else runs, in order"
    if f"+{who}" not in room.log:
        assert room.answers[who] == CUT


def test_an_interrupting_turn_that_goes_away_leaves_the_old_one_told() -> None:
    async def story(room: Room) -> None:
        await room.submit("old", heeds_s=5)
        await room.submit("gone")
        room.scopes["gone"].cancel()
        await settle()
        assert room.channels.waiting(1) == 0
        await room.submit("again")

    room = in_room(story)
    assert room.log == ["+old", "-old", "+again", "-again"]


def test_nonsense_is_refused_before_anything_happens() -> None:
    with pytest.raises(BadSetting, match="policy must be one of interrupt, queue, ignore, not 'x'"):
        Channels(policy="x")  # type: ignore[arg-type]
    with pytest.raises(BadSetting, match="queue_max must be 0 or more, not -1"):
        Channels(queue_max=-1)
    with pytest.raises(BadSetting, match="kill_grace_s must be 0 or more, not nan"):
        Channels(kill_grace_s=float("nan"))
    with pytest.raises(BadSetting, match="lease_wait_s must be 0 or more, not -1"):
        Channels(lease_wait_s=-1)

    async def story(room: Room) -> None:
        with pytest.raises(BadSetting):
            await room.channels.run(1, None, "later")  # type: ignore[arg-type]
        with pytest.raises(BadRequest, match="channel_id must be above 0"):
            await room.channels.run(0, None)  # type: ignore[arg-type]
        assert len(room.channels) == 0

    in_room(story)


def test_it_runs_on_asyncio_too() -> None:
    async def main() -> None:
        channels, answers = Channels(), []

        async def job(ticket: QueuedTurn) -> str:
            return (await ticket.stop_signal.wait()).kind

        async def submit() -> None:
            answers.append(await channels.run(1, job))

        async with anyio.create_task_group() as tasks:
            for _ in range(3):
                tasks.start_soon(submit)
                await anyio.lowlevel.checkpoint()
            await anyio.sleep(0.01)
            channels.kill(1)
        assert answers == [TurnRefused("superseded"), "follow_up", "kill"] or answers == [
            "follow_up",
            TurnRefused("superseded"),
            "kill",
        ]
        assert len(channels) == 0

    anyio.run(main)


@pytest.mark.parametrize("count", [1_000, pytest.param(10_000, marks=pytest.mark.slow)])
def test_p13_many_channels_leave_nothing_behind(count: int) -> None:
    async def main() -> None:
        channels = Channels()
        refs: list[weakref.ref[object]] = []

        async def job(ticket: QueuedTurn) -> None:
            refs.append(weakref.ref(ticket))
            await anyio.sleep(1)

        async with anyio.create_task_group() as tasks:
            for place in range(1, count + 1):
                tasks.start_soon(channels.run, place, job)
            await anyio.sleep(0.5)
            assert len(channels) == count
            assert str(channels) == f"<Channels: {count} busy>"
        assert len(channels) == 0
        assert len(refs) == count
        gc.collect()
        assert not any(ref() for ref in refs)
        assert not [one for one in gc.get_objects() if isinstance(one, ChannelTurns)]

    run_with_virtual_clock(main)
