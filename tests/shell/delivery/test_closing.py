"""The end of a bot in the middle of a burst, and callers cancelled at each await (P14): nothing is left behind."""

from __future__ import annotations

import asyncio
import gc
import os
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any

import hikari
import pytest
from attrs import define, evolve, field

from minamo.core.config import StreamConfig
from minamo.core.messages import Embed, Receipt
from minamo.core.messages import OutgoingMessage as Message
from minamo.core.result import StreamResult
from minamo.shell.delivery.interfaces import TextQueue
from minamo.shell.delivery.lanes import open_lanes
from minamo.shell.delivery.pacing import PACES, Pacer, RateLimit
from minamo.shell.discord.bot import BotSender
from minamo.shell.discord.runtime import watch_echoes
from minamo.shell.notices.localization import Wording
from minamo.shell.notices.notices import send_notice
from minamo.shell.notices.thoughts import ThoughtDisplay, tell_thoughts
from minamo.shell.options import StreamContext
from minamo.shell.orchestrator import StreamOrchestrator
from minamo.twin import CREATE, TYPING, Limit, Rules, Twin
from support.awaits import cancelled_at
from support.lanes import Post, persona, posting, reasons

pytestmark = pytest.mark.anyio


BURST = 7  # more than any bucket holds at once


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
    """Close a bot while seven messages each are on their way in two channels."""
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


# A limit that our pace does not know of, so that the calls wait inside hikari.
_PER_S = 0.06
TIGHT = evolve(Rules(), limits={**Rules().limits, "message.create": Limit(1, _PER_S)})
KS_MAX = 60


def fast() -> Pacer:
    return Pacer({**PACES, "create": (RateLimit(100, 0.001),)})


async def test_the_counting_is_right() -> None:
    done: list[int] = []

    async def steps() -> None:
        for n in range(3):
            await asyncio.sleep(0)
            done.append(n)

    for k in (1, 2, 3):
        done.clear()
        assert await cancelled_at(k, steps())
        assert done == list(range(k - 1))
    assert not await cancelled_at(4, steps())


async def test_a_swallowed_cancellation_is_noticed() -> None:
    async def stubborn() -> None:
        try:
            await asyncio.sleep(0)
        except asyncio.CancelledError:
            return

    with pytest.raises(AssertionError, match="swallowed"):
        await cancelled_at(1, stubborn())


def message(post: Post) -> Coroutine[Any, Any, Any]:
    return post.send("one", "two")


def bare_call(post: Post) -> Coroutine[Any, Any, Any]:
    place = post.twin.channel().id
    return BotSender(post.rest, place).create(Message(channel_id=place, text="bare"))


def reply(post: Post) -> Coroutine[Any, Any, Any]:
    async def story() -> None:
        source, sender = TextQueue(), post.sender()
        name = f"reply {len(post.twin.journal.requests(CREATE))}"
        async with post.lanes.open(sender.place, sender, source, stream_id=name) as one:
            for _ in range(2):
                for _ in range(5):
                    source.put("x" * 1_900)
                one.deliver()
                await one.room()
            source.put("end")
            one.deliver()
            await one.answered()
            await one.finish()

    return story()


def notice(post: Post) -> Coroutine[Any, Any, Any]:
    place = post.twin.channel().id
    trouble = Embed(title="Trouble")
    return send_notice(post.lanes, post.sender(), place, trouble, stream_id=str(place))


def thoughts(post: Post) -> Coroutine[Any, Any, Any]:
    return tell_thoughts(
        ThoughtDisplay("spoiler"),
        StreamResult(status="completed", thought_log=("hm",)),
        lanes=post.lanes,
        sender_for=lambda channel_id: BotSender(post.rest, channel_id),
        channel_id=post.twin.channel().id,
        stream_id=f"thoughts {len(post.twin.journal.requests(CREATE))}",
        wording=Wording(),
    )


def stream(post: Post) -> Coroutine[Any, Any, Any]:
    async def words() -> AsyncIterator[str]:
        for n in range(4):
            await asyncio.sleep(0)
            yield f"Paragraph {n} of a reply.\n\n"

    everybody, place = StreamOrchestrator(post.lanes), post.twin.channel().id
    context = StreamContext(orchestrator=everybody, channel_id=place, sender=post.sender())
    return everybody.stream_to_discord(words(), StreamConfig(), context)


async def settled(tasks: set[asyncio.Task[Any]]) -> None:
    """No task that was not there before."""
    async with asyncio.timeout(5):
        while asyncio.all_tasks() - tasks:  # noqa: ASYNC110 - nobody tells
            await asyncio.sleep(0.01)


@pytest.mark.parametrize("caller", [message, bare_call, reply, notice, thoughts, stream])
async def test_p14_a_caller_cancelled_at_any_await_hurts_nobody(
    caller: Callable[[Post], Coroutine[Any, Any, Any]], figure: Callable[[str], None]
) -> None:
    tasks = asyncio.all_tasks()
    async with Twin(rules=TIGHT) as twin:
        async with posting(twin, pacer=fast()) as post:
            for k in range(1, KS_MAX):
                # A call of somebody else's keeps the bucket empty: the caller has to wait.
                ahead = asyncio.create_task(post.rest.create_message(twin.channel().id, "ahead"))
                await twin.journal.until(lambda k=k: twin.texts().count("ahead") >= k - 1)
                fired = await cancelled_at(k, caller(post))
                await asyncio.wait({ahead})
                async with asyncio.timeout(20):
                    (here,) = await post.send(f"after {k}")
                    (there,) = await post.send(f"after {k}", channel="elsewhere")
                assert here.delivered
                assert there.delivered
                assert twin.texts()[-1] == f"after {k}"
                if not fired:
                    break
            assert not fired, "more awaits than were tried"
            figure(f"cancelled at each of {k - 1} awaits of {caller.__name__}: all sends work")
        assert twin.journal.count(CREATE, status=429) <= k, "hikari's own limiter did the waiting"
    await settled(tasks)


async def test_p14_a_caller_of_a_persona_is_no_different() -> None:
    tasks = asyncio.all_tasks()
    rules = evolve(Rules(), limits={**Rules().limits, "webhook": Limit(1, _PER_S)})
    pacer = Pacer({**PACES, "webhook": (RateLimit(100, 0.001),)})
    async with (
        Twin(rules=rules) as twin,
        posting(twin, pacer=pacer) as post,
        persona(post, name="Ada") as sender,
    ):
        for k in range(1, KS_MAX):
            fired = await cancelled_at(k, post.send("one", "two", sender=sender))
            async with asyncio.timeout(20):
                (after,) = await post.send(f"after {k}", sender=sender)
            assert after.delivered
            if not fired:
                break
        assert not fired
        assert len(set(twin.texts())) == k + 2
    await settled(tasks)


def test_a_bare_call_of_hikari_does_hurt(broken: Callable[..., None]) -> None:
    """Otherwise all of the above would prove nothing."""
    hung: list[int] = []
    per_s = 1.0  # long enough that the window is still open when the second call comes
    rules = evolve(Rules(), limits={**Rules().limits, "message.create": Limit(1, per_s)})

    for k in range(1, 6):

        async def story(twin: Twin, rest: Any, k: int = k) -> None:
            place = twin.channel().id
            await rest.create_message(place, "takes the bucket")
            await cancelled_at(k, rest.create_message(place, "waits"))
            after = asyncio.create_task(rest.create_message(place, "after"))
            _, pending = await asyncio.wait({after}, timeout=3 * per_s)
            if pending:
                hung.append(k)

        broken(story, rules=rules)
        if hung:
            break
    assert hung
