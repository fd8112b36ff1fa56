"""P14: a caller cancelled at each of its awaits, while its send waits for a rate limit."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any

import pytest
from attrs import evolve

from minamo.core.config import StreamConfig
from minamo.core.messages import Embed
from minamo.core.messages import OutgoingMessage as Message
from minamo.core.result import StreamResult
from minamo.shell.delivery.interfaces import TextQueue
from minamo.shell.delivery.pacing import PACES, Pacer, RateLimit
from minamo.shell.discord.bot import BotSender
from minamo.shell.notices.localization import Wording
from minamo.shell.notices.notices import send_notice
from minamo.shell.notices.thoughts import ThoughtDisplay, tell_thoughts
from minamo.shell.options import StreamContext
from minamo.shell.orchestrator import StreamOrchestrator
from minamo.twin import CREATE, Limit, Rules, Twin
from support.awaits import cancelled_at
from support.lanes import Post, persona, posting

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(120)]

# A limit that our pace does not know of, so that the calls wait inside hikari.
_PER_S = 0.3
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

    for k in range(1, 6):

        async def story(twin: Twin, rest: Any, k: int = k) -> None:
            place = twin.channel().id
            await rest.create_message(place, "takes the bucket")
            await cancelled_at(k, rest.create_message(place, "waits"))
            after = asyncio.create_task(rest.create_message(place, "after"))
            _, pending = await asyncio.wait({after}, timeout=4 * _PER_S)
            if pending:
                hung.append(k)

        broken(story, rules=TIGHT)
        if hung:
            break
    assert hung
