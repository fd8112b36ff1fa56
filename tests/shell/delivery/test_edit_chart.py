"""The chart of a reply that grows in place: every row of it taken by pages on their way."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import anyio
import pytest

from minamo.core.messages import Receipt
from minamo.machine import Coverage
from minamo.shell.delivery.edit_in_place import CHART, PageSet
from minamo.shell.delivery.interfaces import Rejected
from minamo.shell.delivery.lanes import open_lanes
from minamo.shell.delivery.queue import StreamQueue
from support.fake_discord import FakeSender, Script, run_with_virtual_clock

SEEN = Coverage(CHART)
LONG = "word " * 40
"""Two pages of a hundred characters each."""
Story = Callable[[PageSet, StreamQueue], Awaitable[None]]


def refuse(*numbers: int) -> Script:
    return lambda number, _: Rejected("no_permission") if number in numbers else None


def tell(story: Story, *, script: Script | None = None, fresh: bool = False, most: int = 0) -> tuple[
    PageSet, FakeSender
]:  # fmt: skip
    """Run *story*, finish the reply and settle it; the pages, and what Discord got."""
    pages = PageSet(limit=100, fresh=fresh, most=most, watch=SEEN)
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
    SEEN.taken.clear()
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
    figure(str(SEEN))
    assert SEEN.missing == []
