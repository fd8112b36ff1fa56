"""The charts of messages and of replies that grow in place: every row taken on the way to the twin."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import hikari
import pytest

from minamo.core.messages import OutgoingMessage, Receipt
from minamo.machine import Coverage
from minamo.shell.delivery.delivery import CHART as DELIVERY
from minamo.shell.delivery.delivery import Delivery
from minamo.shell.delivery.edit_in_place import CHART as EDIT
from minamo.shell.delivery.edit_in_place import PageSet
from minamo.shell.delivery.interfaces import Rejected, RetryLater, SendOutcome, Unknown
from minamo.shell.delivery.lanes import open_lanes
from minamo.shell.delivery.queue import StreamQueue
from minamo.shell.discord.runtime import watch_echoes
from minamo.twin import CREATE, EXECUTE, Permission, Twin
from support.fake_discord import FakeSender, Script, run_with_virtual_clock
from support.lanes import Post, persona, posting, reasons
from support.waiting import until

pytestmark = pytest.mark.anyio
SEEN = Coverage(DELIVERY)


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


EDITS_SEEN = Coverage(EDIT)
LONG = "word " * 40
"""Two pages of a hundred characters each."""
Story = Callable[[PageSet, StreamQueue], Awaitable[None]]


def refuse(*numbers: int) -> Script:
    return lambda number, _: Rejected("no_permission") if number in numbers else None


def tell(story: Story, *, script: Script | None = None, fresh: bool = False, most: int = 0) -> tuple[
    PageSet, FakeSender
]:  # fmt: skip
    """Run *story*, finish the reply and settle it; the pages, and what Discord got."""
    pages = PageSet(limit=100, fresh=fresh, most=most, watch=EDITS_SEEN)
    sender = FakeSender(script=script)

    async def main() -> None:
        async with open_lanes(drain_s=60) as lanes:
            one = lanes.open(1, sender, pages, stream_id="s", on_receipt=pages.on_receipt)
            await story(pages, one)
            await one.finish()
            pages.settle()
            pages.on_receipt(
                Receipt(outcome="delivered", channel_id=1, index=9, characters=0, message_id=99)
            )

    run_with_virtual_clock(main)
    return pages, sender


async def show(pages: PageSet, one: StreamQueue, *texts: str, wait_s: float = 3.0) -> None:
    for text in texts:
        pages.show(text)
        one.deliver()
        await anyio.sleep(wait_s)


def test_a_reply_grows_and_is_shown() -> None:
    pages, sender = tell(lambda pages, one: show(pages, one, "one", "one two"))
    assert pages.state == "shown"
    assert (sender.texts, len(sender.edits)) == (["one"], 1)
    assert pages.ids == (1,), "a receipt after the end changes nothing"


def test_nothing_is_shown_of_nothing() -> None:
    pages, sender = tell(lambda pages, one: show(pages, one))
    assert (pages.state, sender.calls) == ("shown", 0)


@pytest.mark.parametrize("number", [1, 2])
def test_a_call_that_fails_freezes_the_pages(number: int) -> None:
    pages, sender = tell(
        lambda pages, one: show(pages, one, "one", "one two", "one two three"),
        script=refuse(number),
    )
    assert (pages.state, pages.broken, sender.calls) == ("left", "no_permission", number)


def test_the_limit_leaves_text_over() -> None:
    pages, sender = tell(lambda pages, one: show(pages, one, LONG), most=1)
    assert (pages.state, pages.limited, len(sender.posts)) == ("left", True, 1)


@pytest.mark.parametrize(("before", "refused"), [((), ()), ((), (1,)), (("one",), ())])
def test_a_call_that_is_out_ends_by_itself(
    before: tuple[str, ...], refused: tuple[int, ...]
) -> None:
    async def story(pages: PageSet, one: StreamQueue) -> None:
        await show(pages, one, *before)
        await show(pages, one, "one two", wait_s=0.05)
        one.withdraw("stop")

    pages, sender = tell(story, script=refuse(*refused))
    assert (pages.state, sender.deleted) == ("left", [])


@pytest.mark.parametrize(("out", "first"), [(False, False), (False, True), (True, False), (True, True)])  # fmt: skip
def test_what_is_retracted_does_not_stay(out: bool, first: bool) -> None:
    async def story(pages: PageSet, one: StreamQueue) -> None:
        await show(pages, one, "one", wait_s=0.05 if out else 3)
        if first:
            pages.withdraw("stop")
        for _ in range(2):
            pages.withdraw("follow_up", remove=True)

    pages, sender = tell(story)
    assert (pages.state, pages.ids) == ("left", ())
    assert sender.deleted == [1], "the only page there was, once"
    assert pages.broken == ("stop" if first else "follow_up")


def test_a_reply_ends_with_fresh_messages() -> None:
    pages, sender = tell(lambda pages, one: show(pages, one, "one", "one two"), fresh=True)
    assert (pages.state, sender.texts, sender.deleted) == ("shown", ["one", "one two"], [1])


def test_a_fresh_page_that_is_refused_leaves_the_grown_ones() -> None:
    pages, sender = tell(
        lambda pages, one: show(pages, one, "one", LONG), fresh=True, script=refuse(5)
    )
    # one, its edit, the second page, the first fresh page, and the second one, which is refused
    assert (pages.state, pages.ids, sender.deleted) == ("shown", (1, 3), [4])


def in_renewal(then: Callable[[PageSet, StreamQueue], object], *, made: int) -> Story:
    """A reply of two pages that does *then* once so many fresh ones are there."""

    async def story(pages: PageSet, one: StreamQueue) -> None:
        def heard(receipt: Receipt) -> None:
            pages.on_receipt(receipt)
            if pages.state == "renewing" and len(pages.ids) == made and receipt.kind == "create":
                then(pages, one)

        one._on_receipt = heard
        await show(pages, one, "one", LONG)

    return story


def test_fresh_pages_that_are_not_all_there_are_taken_back() -> None:
    pages, sender = tell(in_renewal(lambda _, one: one.withdraw("stop"), made=1), fresh=True)
    assert (pages.state, pages.ids, sender.deleted) == ("left", (1, 3), [4])


def test_fresh_pages_that_are_all_there_stay() -> None:
    pages, sender = tell(in_renewal(lambda _, one: one.withdraw("stop"), made=2), fresh=True)
    assert (pages.state, pages.ids, sender.deleted) == ("left", (4, 5), [1, 3])


def test_a_fresh_page_that_cannot_be_edited_is_taken_back() -> None:
    other = "other " * 33
    pages, sender = tell(
        in_renewal(lambda pages, _: pages.show(other), made=1), fresh=True, script=refuse(5)
    )
    assert (pages.state, pages.ids, sender.deleted) == ("left", (1, 3), [4])
    assert pages.broken == "no_permission"


def test_a_fresh_page_that_is_out_is_one_too_many() -> None:
    async def story(pages: PageSet, one: StreamQueue) -> None:
        await show(pages, one, "one", LONG)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(one.finish)
            while pages.state != "renewing" or not pages.page_out(None):  # noqa: ASYNC110
                await anyio.sleep(0.01)
            one.withdraw("stop")

    pages, sender = tell(story, fresh=True)
    assert (pages.state, pages.ids, sender.deleted) == ("left", (1, 3), [4])


def test_p09_every_row_of_the_chart_is_taken_by_pages_on_their_way(
    figure: Callable[[str], None],
) -> None:
    EDITS_SEEN.taken.clear()
    test_a_reply_grows_and_is_shown()
    test_a_call_that_fails_freezes_the_pages(2)
    test_the_limit_leaves_text_over()
    test_a_call_that_is_out_ends_by_itself((), ())
    test_a_call_that_is_out_ends_by_itself((), (1,))
    test_a_call_that_is_out_ends_by_itself(("one",), ())
    for out in (False, True):
        for first in (False, True):
            test_what_is_retracted_does_not_stay(out, first)
    test_a_fresh_page_that_is_refused_leaves_the_grown_ones()
    test_fresh_pages_that_are_not_all_there_are_taken_back()
    test_a_fresh_page_that_cannot_be_edited_is_taken_back()
    test_a_fresh_page_that_is_out_is_one_too_many()
    figure(str(EDITS_SEEN))
    assert EDITS_SEEN.missing == []
