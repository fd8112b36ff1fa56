"""The delivery chart, every row of it taken by a message on its way to the twin."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import hikari
import pytest

from minamo.core.messages import OutgoingMessage, Receipt
from minamo.machine import Coverage
from minamo.shell.delivery.delivery import CHART, Delivery
from minamo.shell.delivery.interfaces import Rejected, RetryLater, SendOutcome, Unknown
from minamo.shell.delivery.lanes import open_lanes
from minamo.shell.discord.runtime import watch_echoes
from minamo.twin import CREATE, EXECUTE, Permission, Twin
from support.lanes import Post, persona, posting, reasons
from support.waiting import until

pytestmark = pytest.mark.anyio
SEEN = Coverage(CHART)


async def lost_once(post: Post, **fault: Any) -> Any:
    """Send a message whose first answer is lost; once the twin has it, it is yielded."""
    post.twin.faults.drop(on=CREATE, after_effect=True, **fault)
    one = post.open(["hello"])
    await post.twin.journal.until(lambda: post.twin.messages())
    return one


async def delivered_and_refused(twin: Twin) -> None:
    async with posting(twin, watch=SEEN) as post:
        (receipt,) = await post.send("hello")
        assert receipt.message_id == twin.messages()[-1].id
        twin.deny("general", Permission.SEND_MESSAGES)
        assert reasons(await post.send("no")) == [("refused", "no_permission")]


async def put_off(twin: Twin) -> None:
    async with posting(twin, watch=SEEN, max_rate_limit=0.2) as post:
        twin.faults.limited(0.4, on=CREATE, scope="shared")
        (receipt,) = await post.send("late")
        assert (receipt.outcome, receipt.attempts) == ("delivered", 2)
        twin.faults.limited(100.0, on=CREATE, scope="shared", channel=twin.channel("x").id)
        assert reasons(await post.send("never", channel="x")) == [("not_sent", "rate_limited")]


async def withdrawn(twin: Twin) -> None:
    async with posting(twin, watch=SEEN) as post:
        twin.faults.latency_s = 0.2
        one = post.open(["sent", "out", "waiting"])
        await twin.journal.until(lambda: twin.journal.count(CREATE) == 2)
        one.withdraw("stop")
        told = {(r.outcome, r.reason) for r in await one.finish()}
        assert told == {("delivered", ""), ("not_sent", "stop")}


async def withdrawn_on_the_way(twin: Twin) -> None:
    async with posting(twin, watch=SEEN, max_retries=0, max_rate_limit=0.2) as post:
        twin.faults.latency_s = 0.1
        for plan, outcome in (
            (lambda: twin.faults.limited(0.4, on=CREATE, scope="shared"), "not_sent"),
            (lambda: twin.faults.drop(on=CREATE), "unknown"),
            (lambda: twin.deny("general", Permission.SEND_MESSAGES), "refused"),
        ):
            plan()
            one = post.open(["out"])
            await until(lambda one=one: one.fitted and one.fitted[0].state == "calling")
            one.withdraw("stop")
            assert [receipt.outcome for receipt in await one.finish()] == [outcome]


async def asked_again(twin: Twin) -> None:
    async with posting(twin, watch=SEEN, max_retries=0) as post:
        one = await lost_once(post, times=2)
        assert reasons(await one.finish()) == [("delivered", "")]
        assert twin.texts() == ["hello"]


async def deleted_in_between(twin: Twin) -> None:
    for retries in (0, 1):  # by us, and by hikari itself
        async with posting(twin, watch=SEEN, max_retries=retries) as post:
            one = await lost_once(post)
            await twin.delete(twin.messages()[-1])
            (receipt,) = await one.finish()
            assert (receipt.outcome, receipt.message_id) == ("delivered", None)
            assert twin.texts() == []


async def refused_when_asked_again(twin: Twin) -> None:
    async with posting(twin, watch=SEEN, max_retries=0) as post:
        one = await lost_once(post)
        twin.deny("general", Permission.SEND_MESSAGES)
        assert reasons(await one.finish()) == [("unknown", "no_permission")]


async def put_off_when_asked_again(twin: Twin) -> None:
    async with posting(twin, watch=SEEN, max_retries=0) as post:
        one = await lost_once(post)
        twin.faults.limited(400.0, on=CREATE, scope="shared")
        assert reasons(await one.finish()) == [("unknown", "rate_limited")]


async def stopped_when_asked_again(twin: Twin) -> None:
    async with posting(twin, watch=SEEN, max_retries=0, drain_s=0.05) as post:
        one = await lost_once(post)
        await until(lambda: one.fitted[0].state == "reconciling")
        one.withdraw("stop")
        assert reasons(await one.finish()) == [("unknown", "stop")]
        twin.faults.drop(on=CREATE, after_effect=True, times=9)
        one = post.open(["more"])
        await until(lambda: one.fitted and one.fitted[0].state == "reconciling")
    assert reasons(one.receipts) == [("unknown", "closed")]


async def webhook_lost(twin: Twin) -> None:
    async with posting(twin, watch=SEEN) as post, persona(post) as sender:
        twin.faults.drop(on=EXECUTE, after_effect=True)
        assert reasons(await post.send("hi", sender=sender)) == [("unknown", "connection")]
        assert twin.texts() == ["hi"]
        assert twin.journal.count(EXECUTE) == 1


async def no_time_left(twin: Twin) -> None:
    twin.faults.stall(on=CREATE)
    async with posting(twin, watch=SEEN, drain_s=0.1) as post:
        one = post.open(["hello", "more"])
        await twin.journal.until(lambda: twin.journal.count(CREATE))
    assert reasons(one.receipts) == [("unknown", "closed"), ("not_sent", "closed")]


async def echoes(twin: Twin, new_bot: Callable[..., hikari.GatewayBot]) -> None:
    bot = new_bot(twin, max_retries=1)
    await bot.start(check_for_updates=False)
    async with open_lanes(watch=SEEN, drain_s=0.3) as lanes:
        end = watch_echoes(bot, lanes.echoed)
        post = Post(twin, bot.rest, lanes)
        # hikari asks twice and hears nothing; the gateway has shown it in between.
        one = await lost_once(post, times=2)
        (receipt,) = await one.finish()
        assert receipt.message_id == twin.messages()[-1].id
        assert receipt.attempts == 1
        twin.faults.stall(on=CREATE, after_effect=True)
        twin.faults.latency_s = 0.1
        one = post.open(["closing"])
        await until(lambda: one.fitted and one.fitted[0].state == "calling")
        one.withdraw("stop")
        await until(lambda: one.fitted and one.fitted[0].state == "seen")
    assert reasons(one.receipts) == [("delivered", "")]
    end()
    await bot.close()


STORIES = (
    delivered_and_refused,
    put_off,
    withdrawn,
    withdrawn_on_the_way,
    asked_again,
    deleted_in_between,
    refused_when_asked_again,
    put_off_when_asked_again,
    stopped_when_asked_again,
    webhook_lost,
    no_time_left,
)


async def test_p09_real_messages_take_every_row_of_the_chart(
    new_bot: Callable[..., hikari.GatewayBot], figure: Callable[[str], None]
) -> None:
    for story in STORIES:
        async with Twin() as twin:
            await story(twin)
    async with Twin() as twin:
        await echoes(twin, new_bot)
    figure(str(SEEN))
    assert not SEEN.missing, str(SEEN)


@pytest.mark.parametrize(
    "answer", [Rejected("no_permission"), RetryLater("rate_limited"), Unknown("connection")]
)
@pytest.mark.parametrize("wanted", [True, False])
def test_what_the_gateway_has_shown_is_delivered_however_the_call_ends(
    answer: SendOutcome, wanted: bool
) -> None:
    # hikari repeats a call by itself: the first try arrived, and the answer is that of the last.
    receipts: list[Receipt] = []
    message = Delivery(OutgoingMessage(channel_id=1, text="hello", nonce="n"), receipts.append)
    message.turn_came(0.0)
    message.echoed(7, 0.1)
    if not wanted:
        message.withdraw("stop", 0.2)
    message.answer(answer, 0.3)
    assert [(receipt.outcome, receipt.message_id) for receipt in receipts] == [("delivered", 7)]
