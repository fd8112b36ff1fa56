"""The end of a bot in the middle of a burst, and nothing left behind."""

from __future__ import annotations

import asyncio
import gc
import os
import time
from collections.abc import Callable

import hikari
import pytest

from delivering import Post, posting, reasons
from minamo.shell.discord import hear_echoes
from minamo.shell.lanes import open_lanes
from minamo.shell.receipts import Receipt
from minamo.twin import CREATE, TYPING, Twin

pytestmark = pytest.mark.anyio


def sockets() -> int:
    """How many sockets this process has open, where that can be seen."""
    folder = "/proc/self/fd"
    if not os.path.isdir(folder):
        return 0
    links = []
    for name in os.listdir(folder):
        try:
            links.append(os.readlink(f"{folder}/{name}"))
        except OSError:
            continue
    return sum(link.startswith("socket:") for link in links)


async def close_in_a_burst(
    new_bot: Callable[..., hikari.GatewayBot], drain_s: float
) -> tuple[list[Receipt], list[Receipt], list[str], float]:
    """A bot is closed while ten messages are on their way: all receipts, the told ones, texts."""
    told: list[Receipt] = []
    heard: list[Receipt] = []
    async with Twin() as twin:
        twin.faults.latency_s = 0.05
        bot = new_bot(twin)
        await bot.start(check_for_updates=False)
        async with open_lanes() as lanes:
            end = hear_echoes(bot, lanes.echoed)

            @bot.listen()
            async def on_stopping(event: hikari.StoppingEvent) -> None:
                told.extend(await lanes.close(drain_s))

            post = Post(twin, bot.rest, lanes)
            post.open([str(n) for n in range(10)], heard=heard.append, typing=True)
            await twin.journal.until(lambda: len(twin.texts()) >= 2)
            began = time.perf_counter()
            await bot.close()
            took = time.perf_counter() - began
            end()
        return heard, told, twin.texts(), took


@pytest.mark.parametrize("drain_s", [0.5, 12.0])
async def test_closing_a_bot_delivers_in_time_and_tells_the_rest(
    new_bot: Callable[..., hikari.GatewayBot], drain_s: float
) -> None:
    heard, told, texts, took = await close_in_a_burst(new_bot, drain_s)

    delivered = [one for one in heard if one.delivered]
    assert texts[: len(delivered)] == [str(n) for n in range(len(delivered))]
    assert sum(one.characters for one in heard) == 10
    assert told == [one for one in heard if one.lost]
    assert bool(told) is (drain_s < 1)
    assert took < drain_s + 2


async def test_nothing_is_left_behind(new_bot: Callable[..., hikari.GatewayBot]) -> None:
    await close_in_a_burst(new_bot, 0.2)  # what is made once and kept is made now
    tasks, open_before = len(asyncio.all_tasks()), sockets()
    for _ in range(3):
        await close_in_a_burst(new_bot, 0.2)
    gc.collect()
    await asyncio.sleep(0.1)

    assert len(asyncio.all_tasks()) == tasks
    assert sockets() <= open_before


async def test_a_call_that_hangs_ends_with_its_client() -> None:
    tasks = len(asyncio.all_tasks())
    async with Twin() as twin:
        twin.faults.stall(on=CREATE)
        async with posting(twin, drain_s=0.1, max_retries=0) as post:
            one = post.open(["hangs", "waits"])
            await twin.journal.until(lambda: twin.journal.count(CREATE))
        assert reasons(one.receipts) == [("unknown", "closed"), ("not_sent", "closed")]
    async with asyncio.timeout(5):
        while len(asyncio.all_tasks()) > tasks:  # noqa: ASYNC110 - nobody tells
            await asyncio.sleep(0.01)


async def test_typing_is_shown_and_ends_before_the_last_message() -> None:
    async with Twin() as twin, posting(twin) as post:
        twin.faults.latency_s = 0.05
        source_texts = ["one", "two"]
        one = post.open(source_texts, typing=True)
        receipts = await one.finish()
        assert all(receipt.delivered for receipt in receipts)
        await asyncio.sleep(0.2)
        last = twin.journal.requests(CREATE)[-1].at
        assert all(request.at < last for request in twin.journal.requests(TYPING))


async def test_typing_without_permission_is_no_trouble() -> None:
    async with Twin() as twin, posting(twin) as post:
        twin.faults.status(403, on=TYPING, times=None)
        one = post.open([], typing=True)
        await twin.journal.until(lambda: twin.journal.count(TYPING, status=403))
        one._source.put("hello")
        one.deliver()
        assert reasons(await one.finish()) == [("delivered", "")]
        assert twin.journal.count(TYPING) == 1
