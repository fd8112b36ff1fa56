"""Replies of too many messages: the rest as a file, in a thread, or split after all."""

from __future__ import annotations

from typing import Any

import pytest

from minamo.errors import BadSetting
from minamo.shell.delivery.edit_in_place import PageSet
from minamo.shell.delivery.interfaces import SendOptions
from minamo.shell.delivery.overflow import Overflow
from minamo.shell.delivery.queue import StreamQueue
from minamo.twin import CREATE, Permission, Rules, Twin
from support.fake_discord import outbox, segment
from support.lanes import Post, asked, persona, posting, reasons, unpaced

pytestmark = pytest.mark.anyio
START = "POST /channels/{channel}/messages/{message}/threads"
FREE = Rules(rate_limits=False)
PARAGRAPHS = [f"Paragraph {n}: " + "words and more words. " * 30 for n in range(12)]
SEGMENTS = [f"{one}\n\n" for one in PARAGRAPHS]


def manner(to: Any, after: int = 2, **more: Any) -> SendOptions:
    return SendOptions(overflow=Overflow(after, to, **more))


def opened(
    post: Post, how: SendOptions, sender: Any = None, **settings: Any
) -> tuple[StreamQueue, Any]:
    source = outbox(**settings)
    sender = sender or post.sender()
    place = post.twin.channel().id
    return post.lanes.open(place, sender, source, stream_id="s", options=how), source


async def stream(one: StreamQueue, source: Any, texts: list[str], *, wait: bool = True) -> Any:
    """Segments as they come: each is answered before the next, or all come at once."""
    for text in texts:
        source.put(segment(text))
        one.deliver()
        if wait:
            await one.answered()
    return await one.finish()


def plain(text: str) -> str:
    return "".join(text.split())


async def test_the_rest_is_one_file_exactly() -> None:
    async with Twin(rules=FREE) as twin, posting(twin, pacer=unpaced()) as post:
        one, source = opened(post, manner("file"))
        receipts = await stream(one, source, SEGMENTS)
        assert twin.texts() == [PARAGRAPHS[0].strip(), PARAGRAPHS[1].strip(), ""]
        (name,) = twin.messages()[-1].files
        rest = "".join(SEGMENTS[2:])
        assert (name, twin.messages()[-1].files[name].decode()) == ("reply.md", rest)
        assert reasons(receipts) == [("delivered", "")] * 3
        assert [one.index for one in receipts] == [0, 1, 2]
        assert receipts[-1].characters == len(rest)
        assert twin.journal.requests(CREATE)[-1].status == 200
        assert source.text == "".join(SEGMENTS).strip()


async def test_a_reply_that_fits_is_no_file() -> None:
    async with Twin(rules=FREE) as twin, posting(twin, pacer=unpaced()) as post:
        one, source = opened(post, manner("file"))
        await stream(one, source, [*SEGMENTS[:2], "\n\n"])
        assert (len(twin.texts()), twin.messages()[-1].files) == (2, {})


@pytest.mark.parametrize("to", ["file", "thread"])
async def test_a_text_that_comes_at_once_is_cut_where_the_rest_begins(to: str) -> None:
    code = "```py\n" + "".join(f"x{n} = {n} * {n}\n" for n in range(400)) + "```\nThat is all.\n"
    text = "Look:\n" + code
    async with Twin(rules=FREE) as twin, posting(twin, pacer=unpaced()) as post:
        one, source = opened(post, manner(to))
        await stream(one, source, [text])
        shown = twin.texts()[:2]
        if to == "file":
            rest = twin.messages()[-1].files["reply.md"].decode()
            assert text.endswith(rest)
            bare = "".join(shown).replace("```py\n", "").replace("```", "")
            assert plain(bare) + plain(rest) == plain(text.replace("```py\n", "", 1))
        else:
            there = twin.texts("The rest of the reply")
            assert all(message.startswith("```py\n") for message in there[:-1])
            bare = "".join([*shown, *there]).replace("```py\n", "").replace("```", "")
            assert plain(bare) == plain(text.replace("```py", "").replace("```", ""))


async def test_a_file_that_is_too_large_is_split() -> None:
    async with Twin(rules=FREE) as twin, posting(twin, pacer=unpaced()) as post:
        one, source = opened(post, manner("file", bytes_max=1_500))
        receipts = await stream(one, source, SEGMENTS)
        assert plain("".join(twin.texts())) == plain("".join(SEGMENTS))
        assert {message.files == {} for message in twin.messages()} == {True}
        assert [one.note for one in receipts if one.note] == ["no_file:too_large"]


@pytest.mark.parametrize("size", ["permission", "size"])
async def test_a_file_that_discord_refuses_is_split(size: str) -> None:
    rules = Rules(rate_limits=False, file_bytes_max=100 if size == "size" else 10**7)
    async with Twin(rules=rules) as twin, posting(twin, pacer=unpaced()) as post:
        if size == "permission":
            twin.deny("general", Permission.ATTACH_FILES)
        one, source = opened(post, manner("file"))
        receipts = await stream(one, source, SEGMENTS)
        assert plain("".join(twin.texts())) == plain("".join(SEGMENTS))
        assert all(one.delivered for one in receipts)
        assert [one.index for one in receipts] == list(range(len(receipts)))
        assert len({one.nonce for one in receipts}) == len(receipts)
        assert sum(bool(one.note) for one in receipts) == 1
        assert source.text == "".join(SEGMENTS).strip()


async def test_p18_a_file_whose_answer_is_lost_is_there_once() -> None:
    async with Twin(rules=FREE) as twin, posting(twin, pacer=unpaced(), max_retries=0) as post:
        one, source = opened(post, manner("file"))
        twin.faults.drop(on=CREATE, after_effect=True, skip=2)
        receipts = await stream(one, source, SEGMENTS)
        assert (receipts[-1].outcome, receipts[-1].attempts) == ("delivered", 2)
        assert len(twin.messages()) == 3


async def test_a_withdrawn_rest_is_no_file() -> None:
    async with Twin(rules=FREE) as twin, posting(twin, pacer=unpaced()) as post:
        one, source = opened(post, manner("file"))
        for text in SEGMENTS:
            source.put(segment(text))
            one.deliver()
            await one.answered()
        assert one.held == 0
        one.withdraw("killed")
        receipts = await one.finish()
        assert len(twin.texts()) == 2
        assert reasons(receipts)[-1] == ("not_sent", "killed")
        assert source.ledger.suppressed["killed"] == len("".join(SEGMENTS[2:]))


async def test_the_message_limit_counts_the_file() -> None:
    for limit, files in ((2, 0), (3, 1)):
        async with Twin(rules=FREE) as twin, posting(twin, pacer=unpaced()) as post:
            one, source = opened(post, manner("file"), send_message_limit=limit)
            await stream(one, source, SEGMENTS)
            assert len(twin.messages()) == limit
            assert sum(bool(message.files) for message in twin.messages()) == files
            assert source.limited is (files == 0)


@pytest.mark.parametrize("wait", [True, False], ids=["as it comes", "at once"])
async def test_the_rest_goes_on_in_a_thread(wait: bool) -> None:
    async with Twin(rules=FREE) as twin, posting(twin, pacer=unpaced()) as post:
        one, source = opened(post, manner("thread", thread_name="More"))
        receipts = await stream(one, source, SEGMENTS, wait=wait)
        last = twin.messages()[-1]
        assert (len(twin.texts()), last.thread_id) == (2, twin.channel("More").id)
        assert plain("".join(twin.texts() + twin.texts("More"))) == plain("".join(SEGMENTS))
        assert {one.channel_id for one in receipts} == {last.channel_id, last.thread_id}
        assert all(one.delivered for one in receipts)
        assert twin.journal.count(START) == 1
        assert len({one.nonce for one in receipts}) == len(receipts)


async def test_nothing_more_to_say_starts_no_thread() -> None:
    async with Twin(rules=FREE) as twin, posting(twin, pacer=unpaced()) as post:
        one, source = opened(post, manner("thread"))
        await stream(one, source, [*SEGMENTS[:2], "\n\n"])
        assert twin.journal.count(START) == 0


@pytest.mark.parametrize("why", ["permission", "direct message"])
async def test_without_a_thread_the_reply_is_split(why: str) -> None:
    async with Twin(rules=FREE) as twin, posting(twin, pacer=unpaced()) as post:
        place = twin.channel().id
        if why == "permission":
            twin.deny("general", Permission.CREATE_PUBLIC_THREADS)
        else:
            place = twin.dm().id
        source = outbox()
        sender = type(post.sender())(post.rest, place)
        one = post.lanes.open(place, sender, source, stream_id="s", options=manner("thread"))
        receipts = await stream(one, source, SEGMENTS)
        assert plain("".join(m.content for m in twin.world.messages[place].values())) == plain(
            "".join(SEGMENTS)
        )
        assert twin.journal.count(START) == 1
        notes = {n: one.note for n, one in enumerate(receipts) if one.note}
        assert list(notes) == [2]
        assert notes[2].startswith("no_thread:")


@pytest.mark.parametrize("after_effect", [True, False])
async def test_a_thread_whose_answer_is_lost_is_found(after_effect: bool) -> None:
    async with Twin(rules=FREE) as twin, posting(twin, pacer=unpaced(), max_retries=0) as post:
        twin.faults.drop(on=START, after_effect=after_effect)
        one, source = opened(post, manner("thread", thread_name="More"))
        receipts = await stream(one, source, SEGMENTS)
        assert (len(twin.texts()), len(receipts)) == (2, 12)
        assert plain("".join(twin.texts() + twin.texts("More"))) == plain("".join(SEGMENTS))
        assert not any(one.note for one in receipts)


@pytest.mark.parametrize("to", ["file", "thread"])
async def test_a_persona_overflows_in_its_own_voice(to: str) -> None:
    async with (
        Twin(rules=FREE) as twin,
        posting(twin, pacer=unpaced()) as post,
        persona(post, name="Ada") as sender,
    ):
        one, source = opened(post, manner(to, thread_name="More"), sender)
        await stream(one, source, SEGMENTS)
        said = twin.messages() + (twin.messages("More") if to == "thread" else [])
        assert {message.author.name for message in said} == {"Ada"}
        text = "".join(message.content for message in said)
        text += "".join(data.decode() for message in said for data in message.files.values())
        assert plain(text) == plain("".join(SEGMENTS))


@pytest.mark.parametrize("to", ["file", "thread"])
async def test_an_answer_to_a_command_overflows(to: str) -> None:
    async with (
        Twin(rules=FREE) as twin,
        posting(twin, pacer=unpaced()) as post,
        asked(post) as (used, sender),
    ):
        one, source = opened(post, manner(to, thread_name="More"), sender)
        receipts = await stream(one, source, SEGMENTS)
        said = twin.messages() + (twin.messages("More") if to == "thread" else [])
        text = "".join(message.content for message in said)
        text += "".join(data.decode() for message in said for data in message.files.values())
        assert plain(text) == plain("".join(SEGMENTS))
        assert all(one.delivered for one in receipts)
        assert len(used.follow_ups) == (2 if to == "file" else 1)


async def test_a_private_answer_gets_no_thread() -> None:
    async with (
        Twin() as twin,
        posting(twin) as post,
        asked(post, ephemeral=True) as (used, sender),
    ):
        receipts = await post.send("a", "b", "c", sender=sender, options=manner("thread"))
        assert [one.note for one in receipts] == ["", "", "no_thread:ephemeral"]
        assert (twin.texts(ephemeral=True), len(used.follow_ups)) == (["a", "b", "c"], 2)


async def test_texts_overflow_too() -> None:
    async with Twin() as twin, posting(twin) as post:
        await post.send("a", "b", "c", "d", options=manner("file", file_name="more.txt"))
        assert twin.texts() == ["a", "b", ""]
        assert twin.messages()[-1].files == {"more.txt": b"c\n\nd"}
        await post.send("a", "b", "c", channel="x", options=manner("split"))
        assert twin.texts("x") == ["a", "b", "c"]


async def test_what_cannot_be_meant_is_refused() -> None:
    for bad in ({"after": 0}, {"to": "mail"}, {"file_name": ""}):
        with pytest.raises(BadSetting, match="overflow"):
            Overflow(**{"after": 1, **bad})  # type: ignore[arg-type]
    async with Twin() as twin, posting(twin) as post:
        sender = post.sender()
        with pytest.raises(BadSetting, match="edited in place"):
            post.lanes.open(sender.place, sender, PageSet(), stream_id="s", options=manner("file"))
