"""Random turns in random channels, and what must hold whatever happens."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from random import Random
from typing import Any

import anyio
from attrs import define, field, frozen
from hypothesis import given
from hypothesis import strategies as st

from minamo.machine import Coverage
from minamo.machine.machine import TransitionRecord
from minamo.shell.stops.registry import StopRequest, StopSignal
from minamo.shell.turns.channel import CHART
from minamo.shell.turns.channels import Channels, LeaseStatus, QueuedTurn, TurnRefused
from support.fake_discord import run_with_virtual_clock

QUEUE_MAX = 3
LEASE_WAIT_S = 2
PLACES = 2
# Whole seconds and few of them, so that much happens at the same instant.
SECONDS = st.integers(0, 6)
NOT_RUN = ("busy", "queue_full", "superseded", "stopped")


@frozen
class Submit:
    place: int
    policy: str
    takes_s: int
    heeds_s: int | None
    """How long after a wish it ends; None: it does not listen."""
    ends: str
    cancel_s: int | None
    """How long after the submission the submitter is cancelled."""


@frozen
class Act:
    what: str
    place: int


@frozen
class Step:
    after_s: int
    pauses: int
    """How often the others get a chance to run before it happens."""
    does: Submit | Act


SUBMITS = st.builds(
    Submit,
    place=st.integers(1, PLACES),
    policy=st.sampled_from(["interrupt", "queue", "queue", "queue", "ignore"]),
    takes_s=SECONDS,
    heeds_s=st.sampled_from([0, 0, 1, 3, None]),
    ends=st.sampled_from(["well", "well", "raising", "stubborn"]),
    cancel_s=st.sampled_from([None, None, None, 0, 1, 2, 5]),
)
ACTS = st.builds(
    Act, st.sampled_from(["user", "follow_up", "kill", "lose"]), st.integers(1, PLACES)
)
DRAINS = st.just(Act("drain", 0))


def steps(does: st.SearchStrategy[Any], most: int) -> st.SearchStrategy[list[Step]]:
    waits = st.sampled_from([0, 0, 0, 1, 2])
    return st.lists(st.builds(Step, waits, st.integers(0, 3), does), max_size=most)


STORIES = st.builds(
    lambda open_, closing: [*open_, *closing],
    steps(SUBMITS | SUBMITS | ACTS, 40),
    st.just([]) | steps(SUBMITS | ACTS | DRAINS, 8),
)


@define(eq=False)
class World:
    """Runs the steps and notes what happens."""

    lease_s: int
    channels: Channels = field(init=False)
    running: dict[int, int] = field(factory=dict)
    begun: list[tuple[int, int, str]] = field(factory=list)
    """(number, place, policy), in the order in which they began."""
    answers: dict[int, str] = field(factory=dict)
    asked: list[int] = field(factory=list)
    held: dict[int, StopSignal] = field(factory=dict)
    known: dict[int, StopSignal] = field(factory=dict)
    """Of the turn that has the channel, while it waits for the lease and while it works."""
    closing: bool = False
    seen: Coverage = field(factory=lambda: Coverage(CHART))

    def __attrs_post_init__(self) -> None:
        self.channels = Channels(
            queue_max=QUEUE_MAX,
            kill_grace_s=2,
            lease=self,
            lease_wait_s=LEASE_WAIT_S,
            watch=self.see,
        )

    def see(self, taken: TransitionRecord) -> None:
        self.seen(taken)
        for place in range(1, PLACES + 1):
            channel = self.channels._channels.get(place)
            if channel is not None:
                assert len(channel._known.waiting) <= QUEUE_MAX
                assert (channel._known.next is not None) <= (
                    channel.machine.state == "interrupting"
                )

    @asynccontextmanager
    async def hold(
        self, channel_id: int, stop_signal: StopSignal, *, wait_s: float = 0.0
    ) -> AsyncIterator[LeaseStatus]:
        if self.lease_s:
            await anyio.sleep(min(self.lease_s, wait_s))
        if wait_s < self.lease_s:
            yield LeaseStatus.BUSY
            return
        assert channel_id not in self.held
        self.held[channel_id] = stop_signal
        try:
            yield LeaseStatus.GRANTED
        finally:
            del self.held[channel_id]

    async def run(self, story: list[Step]) -> None:
        async with anyio.create_task_group() as tasks:
            for number, step in enumerate(story):
                await anyio.sleep(step.after_s)
                for _ in range(step.pauses):
                    await anyio.lowlevel.checkpoint()
                if isinstance(step.does, Submit):
                    tasks.start_soon(self.submit, number, step.does)
                else:
                    self.act(step.does, tasks)

    def act(self, act: Act, tasks: Any) -> None:
        if act.what == "drain":
            tasks.start_soon(self.drain)
        elif act.what == "lose":
            self.held.get(act.place, StopSignal()).request(
                StopRequest(kind="kill", requester="lease")
            )
        elif act.what in ("user", "follow_up"):
            self.known.get(act.place, StopSignal()).request(StopRequest(kind=act.what))
        else:
            running = self.channels.busy(act.place)
            assert self.channels.kill(act.place) is running

    async def drain(self) -> None:
        self.closing = True
        await self.channels.drain(3)

    async def submit(self, number: int, turn: Submit) -> None:
        answer = "cancelled"
        self.asked.append(number)
        with anyio.move_on_after(turn.cancel_s):  # None: never
            try:
                outcome = await self.channels.run(
                    turn.place,
                    lambda ticket: self.job(number, turn, ticket),
                    turn.policy,
                    known=lambda stop_signal: self.register(turn.place, stop_signal),
                )
                answer = outcome.reason if isinstance(outcome, TurnRefused) else outcome
            except ValueError:
                answer = "raised"
        assert number not in self.answers
        self.answers[number] = answer

    @contextmanager
    def register(self, place: int, stop_signal: StopSignal) -> Iterator[None]:
        self.known[place] = stop_signal
        try:
            yield
        finally:
            if (
                self.known.get(place) is stop_signal
            ):  # one that was refused leaves after its successor came
                del self.known[place]

    async def job(self, number: int, turn: Submit, ticket: QueuedTurn) -> str:
        assert turn.place not in self.running, "two at once"
        assert not self.closing, "one began after the shutdown"
        assert number not in [one for one, _, _ in self.begun], "one ran twice"
        assert not ticket.from_queue or turn.policy == "queue"
        self.running[turn.place] = number
        self.begun.append((number, turn.place, turn.policy))
        try:
            with (
                self.register(turn.place, ticket.stop_signal),
                anyio.CancelScope(shield=turn.ends == "stubborn"),
                anyio.move_on_after(turn.takes_s),
            ):
                if turn.heeds_s is None:
                    await anyio.sleep(turn.takes_s)
                await ticket.stop_signal.wait()
                await anyio.sleep(turn.heeds_s or 0)
        finally:
            del self.running[turn.place]
        if turn.ends == "raising":
            raise ValueError
        return "ran"

    def check(self, story: list[Step]) -> None:
        turns = {n: step.does for n, step in enumerate(story) if isinstance(step.does, Submit)}
        assert set(self.answers) == set(turns), "everybody has an answer"
        assert len(self.channels) == 0
        assert not self.running
        ran = {number for number, _, _ in self.begun}
        for number, answer in self.answers.items():
            if answer in ("ran", "raised"):
                assert number in ran
            if answer in NOT_RUN:
                assert number not in ran
            policy = turns[number].policy
            assert answer != "busy" or policy == "ignore" or self.lease_s > LEASE_WAIT_S
            assert answer != "queue_full" or policy == "queue"
            assert answer != "closing" or self.closing
        for place in range(1, PLACES + 1):
            for policy in ("queue", "interrupt", "ignore"):
                order = [one for one, where, how in self.begun if (where, how) == (place, policy)]
                assert order == sorted(order, key=self.asked.index), (
                    "those who ask alike are served in order"
                )


def simulate(story: list[Step], lease_s: int) -> World:
    world = World(lease_s)
    run_with_virtual_clock(lambda: world.run(story))
    world.check(story)
    return world


@given(STORIES, st.sampled_from([0, 0, 1, 2, 4]))
def test_whatever_happens_the_rules_hold(story: list[Step], lease_s: int) -> None:
    simulate(story, lease_s)


def test_long_stories_go_everywhere(figure: Callable[[str], None]) -> None:
    seen, turns = Coverage(CHART), 0
    for seed in range(100):
        dice = Random(seed)
        story = [random_step(dice, number) for number in range(100)]
        world = simulate(story, lease_s=dice.choice([0, 0, 1, 2, 4]))
        seen.taken.update(world.seen.taken)
        turns += len(world.answers)
    figure(f"channel simulation: {turns} turns, {sum(seen.taken.values())} rows taken")
    assert not seen.missing, str(seen)


def random_step(dice: Random, number: int) -> Step:
    place, pauses = dice.randint(1, PLACES), dice.randint(0, 3)
    does: Submit | Act = Act(dice.choice(["user", "follow_up", "kill", "lose"]), place)
    if number > 90 and dice.random() < 0.2:
        does = Act("drain", 0)
    elif dice.random() < 0.75:
        does = Submit(
            place,
            dice.choice(["interrupt", "queue", "queue", "ignore"]),
            dice.randint(0, 6),
            dice.choice([0, 0, 1, 3, None]),
            dice.choice(["well", "well", "raising", "stubborn"]),
            dice.choice([None, None, None, 0, 1, 2, 5]),
        )
    return Step(dice.choice([0, 0, 0, 1, 2]), pauses, does)
