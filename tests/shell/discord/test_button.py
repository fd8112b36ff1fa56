"""The button to stop a reply: under its first message while it lasts, and gone with its end."""

from __future__ import annotations

from typing import Any

import pytest

from minamo.core.messages import Button
from minamo.shell.delivery.edit_in_place import PageSet
from minamo.shell.delivery.interfaces import SendOptions
from minamo.shell.delivery.queue import StreamQueue
from minamo.twin import EDIT, Rules, Twin
from minamo.twin.world import Message
from support.lanes import Clock, asked, persona, posting, reasons, unpaced
from support.waiting import until

pytestmark = pytest.mark.anyio
STOP = SendOptions(button=Button("stop:1", "Stop"))


def buttons(message: Message) -> list[Any]:
    rows = message.components
    return [(one["custom_id"], one["label"], one["style"]) for r in rows for one in r["components"]]


def say(one: StreamQueue, *texts: str) -> None:
    for text in texts:
        one._source.put(text)
    one.deliver()


async def test_it_appears_and_disappears() -> None:
    async with Twin() as twin, posting(twin) as post:
        one = post.open(["first"], manner=STOP)
        await one.answered()
        assert buttons(twin.messages()[0]) == [("stop:1", "Stop", 4)]
        used = await twin.click(twin.messages()[0], "stop:1")
        assert used.message_id == twin.messages()[0].id
        say(one, "second", "third")
        receipts = await one.finish()
        await until(lambda: not one.open)
        assert [buttons(message) for message in twin.messages()] == [[], [], []]
        assert twin.texts() == ["first", "second", "third"]
        assert [one.kind for one in receipts] == ["create"] * 3 == [r.kind for r in one.receipts]
        assert twin.journal.count(EDIT) == 1
        assert twin.journal.requests(EDIT)[0].body["allowed_mentions"]["parse"] == []


@pytest.mark.parametrize("end", ["stop", "kill", "error"])
async def test_it_goes_however_the_stream_ends(end: str) -> None:
    async with Twin() as twin, posting(twin) as post:
        one = post.open(["first"], manner=STOP)
        await one.answered()
        if end == "error":
            with pytest.raises(RuntimeError):
                async with one:
                    raise RuntimeError
        else:
            one.withdraw(end)
            await one.finish()
        await until(lambda: not one.open)
        assert [buttons(message) for message in twin.messages()] == [[]]


async def test_it_goes_when_the_bot_does() -> None:
    async with Twin() as twin:
        async with posting(twin) as post:
            one = post.open(["first"], manner=STOP)
            await one.answered()
            one.close()
        assert [buttons(message) for message in twin.messages()] == [[]]


async def test_a_reply_that_is_whole_at_once_has_none() -> None:
    async with Twin() as twin, posting(twin) as post:
        await post.send("all of it", manner=STOP)
        assert (twin.texts(), twin.journal.count(EDIT)) == (["all of it"], 0)


async def test_if_it_stays_nothing_is_lost() -> None:
    async with Twin() as twin, posting(twin, max_retries=0) as post:
        twin.faults.drop(on=EDIT, times=None)
        one = post.open(["first"], manner=STOP)
        await one.answered()
        assert reasons(await one.finish()) == [("delivered", "")]
        await until(lambda: not one.open)
        assert len(one.receipts) == 1
        assert not any(told.lost for told in one.receipts)
        (after,) = await post.send("next")
        assert after.delivered


async def test_the_next_stream_comes_after_it() -> None:
    async with Twin() as twin, posting(twin) as post:
        one = post.open(["first"], manner=STOP)
        await one.answered()
        two = post.open(["other"])
        one.close()
        await two.finish()
        routes = [request.method for request in twin.journal.requests_made]
        assert routes == ["POST", "PATCH", "POST"]


@pytest.mark.parametrize("voice", ["persona", "interaction", "after the token"])
async def test_in_every_voice(voice: str) -> None:
    clock = Clock()
    async with Twin() as twin, posting(twin) as post:
        made = persona(post) if voice == "persona" else asked(post, clock=clock)
        async with made as got:
            sender = got if voice == "persona" else got[1]
            one = post.open(["first"], sender=sender, manner=STOP)
            await one.answered()
            assert buttons(twin.messages()[0])
            if voice == "after the token":
                clock.now += 1000
            say(one, "second")
            await one.finish()
            await until(lambda: not one.open)
            assert [buttons(message) for message in twin.messages()] == [[], []]
            assert twin.texts() == ["first", "second"]
            assert twin.journal.count(EDIT) == (voice == "after the token")


@pytest.mark.parametrize("fresh", [False, True])
async def test_under_a_message_that_grows(fresh: bool) -> None:
    async with (
        Twin(rules=Rules(rate_limits=False)) as twin,
        posting(twin, pacer=unpaced()) as post,
    ):
        sender, pages = post.sender(), PageSet(fresh=fresh)
        one = post.lanes.open(
            sender.place, sender, pages, stream_id="s", on_receipt=pages.on_receipt, manner=STOP
        )
        for text in ("one", "one two", "one two three"):
            pages.show(text)
            one.deliver()
            await one.answered()
            assert buttons(twin.messages()[0])
        await one.finish()
        await until(lambda: not one.open)
        assert twin.texts() == ["one two three"]
        assert buttons(twin.messages()[0]) == []
        # A message that was removed has none to be taken away.
        assert twin.journal.count(EDIT) == (2 if fresh else 3)
