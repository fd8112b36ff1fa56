"""The end of a bot in the middle of a burst, and nothing left behind."""

from __future__ import annotations

import asyncio
import gc
import os
import time
from collections.abc import Callable

import hikari
import pytest
from attrs import define, field

from minamo.core.messages import Receipt
from minamo.shell.delivery.lanes import open_lanes
from minamo.shell.discord.runtime import watch_echoes
from minamo.twin import CREATE, TYPING, Twin
from support.lanes import Post, persona, posting, reasons

pytestmark = pytest.mark.anyio


BURST = 10  # more than any bucket holds at once


def descriptors() -> list[str]:
    """What this process has open, where that can be seen: sockets, pipes, files."""
    folder = "/proc/self/fd"
    if not os.path.isdir(folder):
        return []
    links = []
    for name in os.listdir(folder):
        try:
            links.append(os.readlink(f"{folder}/{name}").split(":")[0])
        except OSError:  # the listing itself was one of them
            continue
    return sorted(links)


@define(eq=False)
class Burst:
    """A bot that was closed while messages were on their way, by the bot and by a persona."""

    voices: dict[str, list[Receipt]] = field(factory=lambda: {"general": [], "persona": []})
    told: list[Receipt] = field(factory=list)
    texts: dict[str, list[str]] = field(factory=dict)
    took_s: float = 0.0
    late: tuple[Receipt, ...] = ()
    """Of what somebody wanted to send when all was over."""

    @property
    def heard(self) -> list[Receipt]:
        return [one for each in self.voices.values() for one in each]


async def close_in_a_burst(
    new_bot: Callable[..., hikari.GatewayBot], drain_s: float, latency_s: float = 0.05
) -> Burst:
    """Close a bot while ten messages each are on their way in two channels."""
    burst = Burst()
    async with Twin() as twin:
        twin.faults.latency_s = latency_s
        bot = new_bot(twin)
        await bot.start(check_for_updates=False)
        async with open_lanes() as lanes:
            end = watch_echoes(bot, lanes.echoed)

            @bot.listen()
            async def on_stopping(event: hikari.StoppingEvent) -> None:
                burst.told.extend(await lanes.close(drain_s))

            post = Post(twin, bot.rest, lanes)
            async with persona(post, "persona", name="Ada") as ada:
                for channel, sender in (("general", None), ("persona", ada)):
                    texts = [f"{channel} {n}" for n in range(BURST)]
                    heard = burst.voices[channel].append
                    post.open(texts, channel, sender=sender, on_receipt=heard, typing=True)
                await twin.journal.until(lambda: len(twin.texts()) >= 2 and twin.texts("persona"))
                began = time.perf_counter()
                await bot.close()
                burst.took_s = time.perf_counter() - began
                burst.late = await post.send("late")
            end()
        burst.texts = {channel: twin.texts(channel) for channel in burst.voices}
    return burst


@pytest.mark.parametrize("drain_s", [0.0, 0.5, 15.0])
async def test_closing_a_bot_delivers_in_time_and_tells_the_rest(
    new_bot: Callable[..., hikari.GatewayBot], drain_s: float
) -> None:
    burst = await close_in_a_burst(new_bot, drain_s)

    for channel, receipts in burst.voices.items():
        delivered = [one for one in receipts if one.delivered]
        unknown = [one for one in receipts if one.outcome == "unknown"]
        shown = burst.texts[channel]
        # In order, nothing twice; what is shown and not reported so can only be the call that was
        # out when the time was over.
        assert shown == [f"{channel} {n}" for n in range(len(shown))]
        assert len(delivered) <= len(shown) <= len(delivered) + len(unknown)
        assert len(unknown) <= 1
        # Every character that was accepted is answered for, once.
        texts = [f"{channel} {n}" for n in range(BURST)]
        assert sum(one.characters for one in receipts) == sum(map(len, texts))
    lost = [one for one in burst.heard if one.lost]
    assert sorted(map(id, burst.told)) == sorted(map(id, lost))
    assert {one.reason for one in lost} <= {"closed"}
    assert bool(lost) is (drain_s < 1)
    assert burst.took_s < drain_s + 2
    assert reasons(burst.late) == [("not_sent", "closed")]


async def test_what_is_out_when_the_time_is_over_is_told_to_be_unknown(
    new_bot: Callable[..., hikari.GatewayBot],
) -> None:
    burst = await close_in_a_burst(new_bot, 0.0, latency_s=0.4)
    assert "unknown" in {one.outcome for one in burst.told}
    assert burst.took_s < 2


async def test_nothing_is_left_behind(new_bot: Callable[..., hikari.GatewayBot]) -> None:
    await close_in_a_burst(new_bot, 0.2)  # what is made once and kept is made now
    gc.collect()
    await asyncio.sleep(0.1)
    tasks, open_before = asyncio.all_tasks(), descriptors()
    for _ in range(3):
        await close_in_a_burst(new_bot, 0.2)
    gc.collect()
    async with asyncio.timeout(5):
        # hikari's last connections take a moment to be closed; nobody tells when they are.
        while asyncio.all_tasks() - tasks or len(descriptors()) > len(open_before):  # noqa: ASYNC110
            await asyncio.sleep(0.01)


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
