"""Turns for the tests of channels: jobs that can be watched, and their submitters."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import anyio
from attrs import define, field

from minamo.shell.stops.registry import StopKind, StopRequest, StopSignal
from minamo.shell.turns.channels import Channels, LeaseStatus, QueuedTurn, TurnRefused
from support.fake_discord import run_with_virtual_clock

CUT = "cut"


@define(eq=False)
class Room:
    """One `Channels`, and everything that happened in it, in order."""

    channels: Channels
    tasks: Any
    log: list[str] = field(factory=list)
    answers: dict[str, Any] = field(factory=dict)
    tickets: dict[str, QueuedTurn] = field(factory=dict)
    scopes: dict[str, anyio.CancelScope] = field(factory=dict)
    running: dict[int, str] = field(factory=dict)
    unbegun: dict[int, StopSignal] = field(factory=dict)

    async def submit(
        self,
        name: str,
        *,
        takes_s: float = 10.0,
        heeds_s: float | None = 0.0,
        policy: Any = None,
        place: int = 1,
        raises: BaseException | None = None,
    ) -> None:
        """Submit a turn and wait until it is where it can get to without time passing.

        It works for *takes_s*, or ends *heeds_s* after a wish (None: it does not listen).
        """

        async def job(ticket: QueuedTurn) -> str:
            assert place not in self.running, "two turns at once in one channel"
            self.running[place] = name
            self.log.append(f"+{name}")
            self.tickets[name] = ticket
            try:
                ended = await work(ticket, takes_s, heeds_s)
                if raises is not None:
                    raise raises
                return f"{name} {ended}"
            finally:
                del self.running[place]
                self.log.append(f"-{name}")

        @contextmanager
        def known(stop_signal: StopSignal) -> Iterator[None]:
            self.unbegun[place] = stop_signal
            try:
                yield
            finally:
                if (
                    self.unbegun.get(place) is stop_signal
                ):  # its successor may have come before it left
                    del self.unbegun[place]

        async def submitter() -> None:
            with anyio.CancelScope() as self.scopes[name]:
                try:
                    outcome = await self.channels.run(place, job, policy, known=known)
                except ValueError as error:
                    outcome = error
                self.answer(name, outcome)
            if self.scopes[name].cancelled_caught:
                self.answer(name, CUT)

        self.tasks.start_soon(submitter)
        await settle()

    def want(self, place: int, kind: StopKind = "user", requester: str | None = None) -> bool:
        """Put a wish to the turn that has the channel, as a registry of stops does; if one has."""
        stop_signal = self.unbegun.get(place)
        if stop_signal is None and place in self.running:
            stop_signal = self.tickets[self.running[place]].stop_signal
        if stop_signal is None:
            return False
        stop_signal.request(StopRequest(kind=kind, requester=requester))
        return True

    def answer(self, name: str, outcome: Any) -> None:
        assert name not in self.answers, f"{name} was answered twice"
        self.answers[name] = outcome.reason if isinstance(outcome, TurnRefused) else outcome


async def work(ticket: QueuedTurn, takes_s: float, heeds_s: float | None) -> str:
    with anyio.move_on_after(takes_s):
        if heeds_s is None:
            await anyio.sleep_forever()
        wish = await ticket.stop_signal.wait()
        await anyio.sleep(heeds_s)
        return f"{wish.kind} by {wish.requester}"
    return "done"


async def settle() -> None:
    """Let every task run until it waits."""
    await anyio.wait_all_tasks_blocked()


@asynccontextmanager
async def room(**settings: Any) -> AsyncIterator[Room]:
    async with anyio.create_task_group() as tasks:
        made = Room(Channels(**settings), tasks)
        yield made
    assert len(made.channels) == 0
    assert not made.running


def in_room(story: Callable[[Room], Awaitable[None]], **settings: Any) -> Room:
    """Run *story* in virtual time, and then let every turn end."""
    seen: list[Room] = []

    async def main() -> None:
        async with room(**settings) as made:
            seen.append(made)
            await story(made)

    run_with_virtual_clock(main)
    return seen[0]


@define(eq=False)
class SlowLease:
    """A lease that is got after a while, if it is."""

    takes_s: float = 5.0
    answer: LeaseStatus = LeaseStatus.GRANTED
    shielded: bool = False
    """Whether a question that is out is waited for, as over a network."""
    held: dict[int, StopSignal] = field(factory=dict)
    asked: list[float] = field(factory=list)
    """How long each was ready to wait."""

    @asynccontextmanager
    async def hold(
        self, channel_id: int, stop_signal: StopSignal, *, wait_s: float = 0.0
    ) -> AsyncIterator[LeaseStatus]:
        self.asked.append(wait_s)
        with anyio.CancelScope(shield=self.shielded):
            await anyio.sleep(min(self.takes_s, wait_s))
        if not self.answer or wait_s < self.takes_s:
            yield LeaseStatus.BUSY if self.answer else self.answer
            return
        assert channel_id not in self.held
        self.held[channel_id] = stop_signal
        try:
            yield self.answer
        finally:
            del self.held[channel_id]

    def lose(self, channel_id: int) -> None:
        self.held[channel_id].request(StopRequest(kind="kill", requester="lease"))
