"""Delivery under Discord's limits: no 429, in order, few messages; nobody's cancelling hurts."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import Callable

import hikari
import pytest
from attrs import evolve

from minamo.core.actions import Effect
from minamo.core.chunks import TextChunk
from minamo.core.config import StreamConfig
from minamo.core.messages import OutgoingMessage as Message
from minamo.core.messages import Receipt
from minamo.core.stream import Stream
from minamo.shell.delivery.interfaces import CLOSED, Unknown
from minamo.shell.delivery.pacing import PACES, Pacer, RateLimit
from minamo.shell.discord.bot import BotSender
from minamo.twin import CREATE, Limit, Rules, Twin
from support.lanes import Post, posting, reasons, unpaced

pytestmark = pytest.mark.anyio


# The pace leaves six calls a second for others.  What piles up while the computer stands still for
# longer than this arrives at once, and such a run says nothing about the pace.
STALL_S = 0.1
RUNS = 4


async def longest_stall(seen: list[float]) -> None:
    """Note by how much the event loop was late, at worst."""
    while True:
        due = time.perf_counter() + 0.01
        await asyncio.sleep(0.01)
        seen[0] = max(seen[0], time.perf_counter() - due)


async def cold_channels(channels: int) -> float:
    for _ in range(RUNS):
        stall = [0.0]
        watching = asyncio.create_task(longest_stall(stall))
        try:
            took, limited = await fill(channels)
        finally:
            watching.cancel()
        if stall[0] < STALL_S or not limited:
            assert limited == 0
            return took
    pytest.fail(f"the computer stood still in each of {RUNS} runs")


async def fill(channels: int) -> tuple[float, int]:
    """How long two messages to each of so many channels take, and how often Discord objects."""
    async with Twin() as twin:
        twin.faults.clock_skew_s = -3  # our clock is ahead of theirs
        twin.faults.latency_s = 0.02
        began = time.perf_counter()
        async with posting(twin, drain_s=0) as post:
            sends = (post.send("first", "second", channel=f"c{n}") for n in range(channels))
            receipts = await asyncio.gather(*sends)
        took = time.perf_counter() - began
        assert all(one.delivered for each in receipts for one in each)
        for n in range(channels):
            assert twin.texts(f"c{n}") == ["first", "second"]
        return took, twin.journal.count(CREATE, status=429)


async def test_cold_channels_meet_no_429(figure: Callable[[str], None]) -> None:
    took = await cold_channels(60)
    figure(f"60 cold channels × 2, 50/s, clock 3 s off: 0 × 429, in order, {took:.1f} s")


@pytest.mark.slow
async def test_p16_300_cold_channels_meet_no_429(figure: Callable[[str], None]) -> None:
    took = await cold_channels(300)
    figure(f"300 cold channels × 2, 50/s, clock 3 s off: 0 × 429, in order, {took:.1f} s")


async def drive(post: Post, stream: Stream, chunks: list[str]) -> list[Receipt]:
    """As much of a driver as delivery needs."""
    sender = post.sender()

    def heard(receipt: Receipt) -> None:
        if receipt.delivered:
            stream.delivered()
        else:
            stream.delivery_lost()

    source = stream.actions.outbox
    options = {"on_receipt": heard, "on_limit": stream.limit_reached}
    async with post.lanes.open(sender.place, sender, source, stream_id="s", **options) as one:
        for chunk in chunks:
            await one.room()
            stream.chunk(TextChunk(chunk))
            if Effect.DELIVER in stream.take_effects():
                one.deliver()
        stream.end()
        receipts = await one.finish()
        stream.flushed()
    return list(receipts)


SEGMENTS = [f"Paragraph {n} has a few words to say about nothing at all.\n\n" for n in range(50)]


async def test_a_burst_of_50_segments_is_few_messages(figure: Callable[[str], None]) -> None:
    async with Twin() as twin:
        twin.faults.latency_s = 0.05
        async with posting(twin) as post:
            stream = Stream(StreamConfig())
            began = time.perf_counter()
            receipts = await drive(post, stream, SEGMENTS)
            took = time.perf_counter() - began
        shown = twin.texts()
        assert "".join("".join(shown).split()) == "".join("".join(SEGMENTS).split())
        assert stream.result().status == "completed"
        assert len(shown) == len(receipts) <= 12
        assert twin.journal.count(CREATE, status=429) == 0
    figure(f"50 segments in one burst, 5 per 5 s: {len(shown)} messages in {took:.2f} s")


async def test_a_trickle_of_segments_is_sent_one_by_one() -> None:
    async with Twin(rules=Rules(rate_limits=False)) as twin, posting(twin) as post:
        stream = Stream(StreamConfig())
        source = stream.actions.outbox
        sender = post.sender()
        one = post.lanes.open(sender.place, sender, source, stream_id="s")
        for n, text in enumerate(SEGMENTS[:4]):
            stream.chunk(TextChunk(text + "And"))
            one.deliver()
            await twin.journal.until(lambda n=n: len(twin.texts()) >= n)
            await one.answered()
        stream.end()
        await one.finish()
        assert len(twin.texts()) == 5


@pytest.mark.slow
@pytest.mark.timeout(120)
async def test_p16_plain_sending_of_50_segments_takes_much_longer(
    figure: Callable[[str], None],
) -> None:
    async with Twin() as twin:
        twin.faults.latency_s = 0.05
        async with posting(twin) as post:
            began = time.perf_counter()
            for text in SEGMENTS:
                await post.rest.create_message(twin.channel().id, text)
            took = time.perf_counter() - began
    figure(f"50 segments, one plain create_message each, 5 per 5 s: 50 messages in {took:.1f} s")
    assert took > 30


def tight() -> Rules:
    """A limit that our pace does not know of, so that calls wait inside hikari."""
    rules = Rules()
    return evolve(rules, limits={**rules.limits, "message.create": Limit(2, 0.8)})


async def test_p14_a_caller_cancelled_anywhere_while_hikari_waits_hurts_nobody() -> None:
    async with Twin(rules=tight()) as twin:
        fast = Pacer({**PACES, "create": (RateLimit(100, 0.01),)})
        async with posting(twin, pacer=fast) as post:
            for step in range(10):
                one = asyncio.create_task(post.send(f"{step} a", f"{step} b", f"{step} c"))
                await asyncio.sleep(0.1 * step)
                one.cancel()
                await asyncio.wait({one})
            async with asyncio.timeout(20):
                (here,) = await post.send("still works")
                (there,) = await post.send("there too", channel="elsewhere")
            assert here.delivered
            assert there.delivered
        assert twin.texts()[-1] == "still works"
        sent = [text.split() for text in twin.texts()[:-1]]
        assert sent == sorted(sent, key=lambda words: (int(words[0]), words[1]))


async def test_a_cancelled_sender_leaves_the_call_to_hikari_alone() -> None:
    async with Twin(rules=tight()) as twin, posting(twin) as post:
        sender = post.sender()
        place = twin.channel().id
        calls = [
            asyncio.create_task(sender.create(Message(channel_id=place, text=str(n))))
            for n in range(5)
        ]
        await asyncio.sleep(0.1)
        for call in calls:
            call.cancel()
        await asyncio.wait(calls)
        assert len(sender.calls) > 0
        async with asyncio.timeout(20):
            await twin.journal.until(lambda: len(twin.texts()) == 5, timeout_s=15)
            await sender.create(Message(channel_id=place, text="after"))


async def test_a_client_closed_around_a_waiting_call_is_an_answer() -> None:
    async with Twin(rules=tight()) as twin:
        app = hikari.RESTApp(url=twin.url)
        await app.start()
        client = app.acquire(twin.token, hikari.TokenType.BOT)
        client.start()
        place = twin.channel().id
        sender = BotSender(client, place)
        for n in range(2):
            await sender.create(Message(channel_id=place, text=str(n)))
        waiting = asyncio.create_task(sender.create(Message(channel_id=place, text="waits")))
        await asyncio.sleep(0.05)
        await app.close()
        async with asyncio.timeout(5):
            assert await waiting == Unknown("closed")
            await client.close()
            assert await sender.create(Message(channel_id=place, text="no")) == CLOSED


async def test_unpaced_is_for_tests_without_limits() -> None:
    async with Twin(rules=Rules(rate_limits=False)) as twin:
        async with posting(twin, pacer=unpaced()) as post:
            await post.send(*(str(n) for n in range(50)))
        assert twin.texts() == [str(n) for n in range(50)]


MANY = [f"message {n}" for n in range(30)]
FREE = Rules(rate_limits=False)


async def test_p17_all_arrive_in_order_one_call_at_a_time() -> None:
    async with Twin(rules=FREE) as twin, posting(twin, pacer=unpaced()) as post:
        twin.faults.latency_s = 0.005
        await post.send("opens the route")
        receipts = await post.send(*MANY)
        assert twin.texts()[1:] == MANY
        assert [one.message_id for one in receipts] == [one.id for one in twin.messages()[1:]]
        done = twin.journal.requests(CREATE)[1:]
        assert all(one.at + one.took_s <= two.at + 0.001 for one, two in itertools.pairwise(done))


async def test_p18_a_lost_answer_in_the_middle_is_asked_about() -> None:
    async with Twin(rules=FREE) as twin, posting(twin, pacer=unpaced(), max_retries=0) as post:
        twin.faults.drop(on=CREATE, after_effect=True, skip=10)
        receipts = await post.send(*MANY)
        assert twin.texts() == MANY
        assert [one.attempts for one in receipts] == [2 if n == 10 else 1 for n in range(30)]


async def test_a_stop_in_the_middle_sends_no_more() -> None:
    async with Twin(rules=FREE) as twin, posting(twin, pacer=unpaced()) as post:

        def heard(receipt: Receipt) -> None:
            if receipt.index == 9 and receipt.delivered:
                one.withdraw("stop")

        one = post.open(MANY, on_receipt=heard)
        receipts = await one.finish()
        assert twin.texts() == MANY[:10]
        assert set(reasons(receipts)) == {("delivered", ""), ("not_sent", "stop")}


async def test_what_a_listener_raises_changes_nothing_but_the_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def heard(receipt: Receipt) -> None:
        if receipt.index == 3:
            raise LookupError("somebody's mistake")

    async with Twin(rules=FREE) as twin, posting(twin, pacer=unpaced()) as post:
        await post.send("opens the route")
        receipts = await post.send(*MANY, on_receipt=heard)
        assert twin.texts()[1:] == MANY
        assert [one.outcome for one in receipts] == ["delivered"] * len(MANY)
        await post.send("the next one")
        assert twin.texts()[-1] == "the next one"
    (record,) = [one for one in caplog.records if one.message == "processing a receipt failed"]
    assert record.kind == "LookupError"
    assert record.place.startswith("test_limits.py:")
    assert "mistake" not in caplog.text


async def test_the_pace_is_kept() -> None:
    async with Twin() as twin, posting(twin) as post:
        await post.send(*MANY[:7])
        assert twin.texts() == MANY[:7]
        assert twin.journal.count(CREATE, status=429) == 0
        at = [one.at for one in twin.journal.requests(CREATE)]
        assert at[-1] - at[0] > 2.5
