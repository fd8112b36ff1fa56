"""Edit in place with a fresh end: new messages first, and then what grew is removed."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from minamo.shell.delivery.edit_in_place import PageSet
from minamo.shell.delivery.queue import StreamQueue
from minamo.twin import CREATE, DELETE, EDIT, Permission, Rules, Twin
from support.lanes import Post, posting, reasons, unpaced

pytestmark = pytest.mark.anyio
LONG = "\n".join(f"Line {n} of a long reply." for n in range(200))


@asynccontextmanager
async def grown(*texts: str) -> AsyncIterator[tuple[Twin, Post, StreamQueue, PageSet]]:
    rules = Rules(rate_limits=False)
    async with Twin(rules=rules) as twin, posting(twin, pacer=unpaced()) as post:
        sender, pages = post.sender(), PageSet(fresh=True)
        one = post.lanes.open(
            sender.place, sender, pages, stream_id="s", on_receipt=pages.on_receipt
        )
        for text in texts:
            pages.show(text)
            one.deliver()
            await one.answered()
        yield twin, post, one, pages


@pytest.mark.parametrize("last", ["one two three", LONG])
async def test_the_end_is_fresh_and_the_text_never_absent(last: str) -> None:
    async with grown("one", "one two", last) as (twin, _, one, pages):
        before = twin.texts()
        old = {message.id for message in twin.messages()}
        receipts = await one.finish()
        assert twin.texts() == before
        assert not old & {message.id for message in twin.messages()}
        assert pages.ids == tuple(message.id for message in twin.messages())
        assert all(told.delivered for told in receipts)
        done = [request.name for request in twin.journal.requests_made]
        assert done[-len(old) :] == [DELETE] * len(old)
        assert done[-2 * len(old) : -len(old)] == [CREATE] * len(old)


async def test_the_last_words_are_not_edited_in_first() -> None:
    async with grown("one") as (twin, _, one, pages):
        pages.show("one two")
        await one.finish()
        assert twin.texts() == ["one two"]
        assert twin.journal.count(EDIT) == 0
        assert twin.journal.count(CREATE) == 2


async def test_what_never_grew_is_fresh_already() -> None:
    async with grown("one") as (twin, _, one, _pages):
        await one.finish()
        assert (twin.journal.count(CREATE), twin.journal.count(DELETE)) == (1, 0)


async def test_if_nothing_new_can_be_said_what_grew_is_completed() -> None:
    async with grown("one", "one two") as (twin, _, one, pages):
        twin.deny("general", Permission.SEND_MESSAGES)
        pages.show("one two three")
        receipts = await one.finish()
        assert twin.texts() == ["one two three"]
        assert reasons(receipts)[-2:] == [("refused", "no_permission"), ("delivered", "")]
        assert not pages.broken


async def test_if_some_fresh_page_fails_the_others_are_removed() -> None:
    async with grown("one", LONG) as (twin, _, one, pages):
        before = twin.texts()
        twin.faults.status(403, on=CREATE, skip=1)
        await one.finish()
        assert twin.texts() == before
        assert pages.ids == tuple(message.id for message in twin.messages())


@pytest.mark.parametrize("skip", [0, 1, 2])
async def test_a_kill_in_between_leaves_the_text_once(skip: int) -> None:
    async with grown("one", LONG) as (twin, _, one, _pages):
        before = twin.texts()
        assert len(before) == 3
        made = twin.journal.count(CREATE)
        twin.faults.delay(0.1, on=CREATE, skip=skip)
        one.close()
        await twin.journal.until(lambda: twin.journal.count(CREATE) == made + skip + 1)
        one.withdraw("killed")
        await one.finish()
        assert twin.texts() == before
        assert all(told.kind == "delete" or told.outcome == "delivered" for told in one.receipts)


async def test_a_kill_before_the_end_leaves_what_grew() -> None:
    async with grown("one", "one two") as (twin, _, one, pages):
        pages.show("one two three")
        one.withdraw("killed")
        await one.finish()
        assert twin.texts() == ["one two"]
