"""Waiting until something is true, in virtual time."""

from __future__ import annotations

import anyio

from minamo.shell.delivery.queue import Condition
from support.fake_discord import run_with_virtual_clock


def test_each_is_woken_when_its_own_condition_is_true() -> None:
    level, woken = 0, list[tuple[int, int]]()
    waiting = Condition()

    async def wait(for_level: int) -> None:
        await waiting.until(lambda: level >= for_level)
        woken.append((for_level, level))

    async def story() -> None:
        nonlocal level
        async with anyio.create_task_group() as tasks:
            for number in (3, 1, 2, 0):
                tasks.start_soon(wait, number)
            for _ in range(3):
                await anyio.sleep(1)
                level += 1
                waiting.change()

    run_with_virtual_clock(story)
    assert woken == [(0, 0), (1, 1), (2, 2), (3, 3)]


def test_what_was_true_for_a_moment_only_is_waited_for_again() -> None:
    flag, waiting, seen = False, Condition(), list[float]()

    async def wait() -> None:
        await waiting.until(lambda: flag)
        seen.append(anyio.current_time())

    async def story() -> None:
        nonlocal flag
        began = anyio.current_time()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(wait)
            await anyio.sleep(1)
            flag = True
            waiting.change()
            flag = False  # before anybody could look
            await anyio.sleep(1)
            flag = True
            waiting.change()
        assert seen == [began + 2]

    run_with_virtual_clock(story)


def test_whoever_is_cancelled_is_forgotten() -> None:
    waiting = Condition()

    async def story() -> None:
        with anyio.move_on_after(1):
            await waiting.until(lambda: False)
        assert waiting._waiters == []

    run_with_virtual_clock(story)
