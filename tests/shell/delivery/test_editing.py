"""Edit in place, on the twin with its limits."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

import pytest

from minamo.core.fitting.fit import fit
from minamo.shell.delivery.edit_in_place import PageSet
from minamo.twin import CREATE, EDIT, Twin
from support.lanes import posting

pytestmark = pytest.mark.anyio


async def grow(updates: int, seconds: float, length: int) -> str:
    whole = "\n".join(f"Line {n} of a long reply." for n in range(length))
    async with Twin() as twin:
        twin.faults.latency_s = 0.05
        async with posting(twin) as post:
            sender, pages = post.sender(), PageSet()
            one = post.lanes.open(
                sender.place, sender, pages, stream_id="s", on_receipt=pages.on_receipt
            )
            began = time.perf_counter()
            for n in range(1, updates + 1):
                pages.show(whole[: len(whole) * n // updates])
                one.deliver()
                await asyncio.sleep(max(0, began + seconds * n / updates - time.perf_counter()))
            edits = twin.journal.count(EDIT)
            receipts = await one.finish()
        assert all(one.delivered for one in receipts)
        assert twin.texts() == [message.text for message in fit(whole).messages]
        assert twin.journal.count(EDIT, status=429) == 0
        assert twin.journal.count(CREATE, status=429) == 0
        bodies = [one.body for one in twin.journal.requests(EDIT)]
        assert all(body["allowed_mentions"]["parse"] == [] for body in bodies)
        total = twin.journal.count(EDIT)
        return f"{updates} updates in {seconds} s: {edits} edits, {total} with the last, 0 × 429"


async def test_many_updates_are_few_edits(figure: Callable[[str], None]) -> None:
    figure(await grow(100, 2.0, 150))


@pytest.mark.slow
async def test_400_updates_in_8_s_are_at_most_14_edits(figure: Callable[[str], None]) -> None:
    told = await grow(400, 8.0, 60)
    figure(told)
    assert int(told.split(", ")[1].split()[0]) <= 14


async def test_a_message_that_somebody_deleted_is_not_written_again() -> None:
    async with Twin() as twin, posting(twin) as post:
        sender, pages = post.sender(), PageSet()
        one = post.lanes.open(
            sender.place, sender, pages, stream_id="s", on_receipt=pages.on_receipt
        )
        pages.show("one")
        one.deliver()
        await one.answered()
        await twin.delete(twin.messages()[-1])
        pages.show("one two")
        one.deliver()
        receipts = await one.finish()
        assert (receipts[-1].outcome, receipts[-1].reason) == ("refused", "unknown_message")
        assert pages.broken == "unknown_message"
        assert twin.texts() == []
