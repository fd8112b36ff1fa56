"""The channel chart, every row of it taken by real turns."""

from __future__ import annotations

from collections.abc import Callable

import anyio

from minamo.machine import Coverage
from minamo.shell.turns.channel import CHART
from support.channels import Room, SlowLease, in_room, settle


async def policies(room: Room) -> None:
    for name in "abc":
        await room.submit(name, policy="queue")
    await room.submit("d", policy="ignore")
    room.scopes["b"].cancel()
    await anyio.sleep(1)
    await room.submit("e", policy="interrupt")
    await room.submit("f", policy="interrupt")
    room.want(1)
    await anyio.sleep(100)


async def interrupted(room: Room) -> None:
    await room.submit("a", heeds_s=5)
    room.want(1)
    for name in "bcd":
        await room.submit(name, policy="interrupt")
    room.want(1)
    room.scopes["d"].cancel()
    await settle()
    await room.submit("e", policy="interrupt")
    room.channels.kill(1)
    room.channels.kill(1)


async def unbegun(room: Room) -> None:
    await room.submit("a")
    await room.submit("b", policy="queue")
    await room.submit("c")
    room.want(1)
    await settle()
    room.want(1)
    await settle()
    await room.submit("d")
    room.channels.kill(1)


async def closing_unbegun(room: Room) -> None:
    await room.submit("a")
    await room.channels.drain(1)
    await room.submit("b")


async def closing(room: Room) -> None:
    for place in (1, 2):
        await room.submit(f"a{place}", heeds_s=5, place=place)
    await room.submit("next", policy="interrupt")
    for _ in range(2):
        room.tasks.start_soon(room.channels.drain, 30)
    await settle()
    room.want(1)
    room.channels.kill(2)


def test_p09_real_turns_take_every_row_of_the_chart(figure: Callable[[str], None]) -> None:
    seen = Coverage(CHART)
    in_room(policies, queue_max=1, watch=seen)
    in_room(interrupted, watch=seen)
    in_room(unbegun, lease=SlowLease(), watch=seen)
    in_room(closing_unbegun, lease=SlowLease(), watch=seen)
    in_room(closing, watch=seen)
    figure(str(seen))
    assert not seen.missing, str(seen)
