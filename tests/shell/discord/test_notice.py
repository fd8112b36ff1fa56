"""Personas that reply: a webhook cannot, so a small line above says to what."""

from __future__ import annotations

import pytest

from minamo.errors import BadSetting
from minamo.shell.delivery.interfaces import SendOptions
from minamo.shell.delivery.persona import ReplyNotice
from minamo.twin import CREATE, EXECUTE, Permission, Rules, Twin
from support.lanes import ada, posting, reasons

pytestmark = pytest.mark.anyio


async def test_p20_a_reply_is_announced_once_and_rings_for_nobody() -> None:
    async with Twin() as twin, posting(twin) as post:
        question = await twin.say("Who are you?")
        notice = ReplyNotice(guild_id=twin.guild.id, author_id=twin.user().id)
        async with ada(post, notice=notice) as sender:
            how = SendOptions(reply_to=question.id)
            receipts = await post.send("I am Ada.", "And you?", sender=sender, manner=how)
        above, first, second = twin.messages()[1:]
        link = f"https://discord.com/channels/{twin.guild.id}/{twin.channel().id}/{question.id}"
        assert above.content == f"-# ↪ replying to <@{twin.user().id}> {link}"
        assert (above.pinged, above.author.name) == ([], "Ada")
        assert above.flags & (1 << 2)
        assert (first.content, second.content) == ("I am Ada.", "And you?")
        assert [one.message_id for one in receipts] == [first.id, second.id]
        assert [one.index for one in receipts] == [0, 1]


async def test_nothing_replied_to_is_not_announced() -> None:
    async with Twin() as twin, posting(twin) as post, ada(post, notice=ReplyNotice()) as sender:
        await post.send("hello", sender=sender)
        assert twin.texts() == ["hello"]


@pytest.mark.parametrize("fault", ["drop", "refuse", "limit"])
async def test_without_its_notice_the_reply_comes_all_the_same(fault: str) -> None:
    async with Twin() as twin, posting(twin) as post:
        question = await twin.say("Who are you?")
        if fault == "drop":
            twin.faults.drop(on=EXECUTE)
        elif fault == "refuse":
            twin.faults.status(400, on=EXECUTE)
        else:
            twin.faults.html(on=EXECUTE)
        async with ada(post, notice=ReplyNotice()) as sender:
            receipts = await post.send(
                "Ada.", sender=sender, manner=SendOptions(reply_to=question.id)
            )
        assert reasons(receipts) == [("delivered", "")]
        assert twin.texts() == ["Ada."]


async def test_the_bot_itself_replies_without_a_notice() -> None:
    async with Twin() as twin, posting(twin) as post:
        question = await twin.say("Who are you?")
        twin.deny("general", Permission.MANAGE_WEBHOOKS)
        async with ada(post, notice=ReplyNotice()) as sender:
            await post.send("A bot.", sender=sender, manner=SendOptions(reply_to=question.id))
        assert twin.texts() == ["A bot."]
        assert twin.messages()[-1].reply_to == question.id
        assert twin.journal.requests(CREATE)[-1].body["enforce_nonce"] is True


async def test_a_notice_above_nothing_is_taken_back() -> None:
    async with Twin(rules=Rules()) as twin, posting(twin) as post:
        question = await twin.say("Who are you?")
        async with ada(post, notice=ReplyNotice()) as sender:
            receipts = await post.send(" ", sender=sender, manner=SendOptions(reply_to=question.id))
        assert reasons(receipts) == [("refused", "empty_message")]
        assert twin.texts() == []


async def test_p18_the_bot_that_takes_over_is_repeated_by_its_nonce() -> None:
    async with Twin() as twin, posting(twin, max_retries=0) as post, ada(post) as sender:
        twin.deny("general", Permission.MANAGE_WEBHOOKS)
        twin.faults.drop(on=CREATE, after_effect=True)
        (receipt,) = await post.send("hello", sender=sender)
        assert (receipt.outcome, receipt.attempts) == ("delivered", 2)
        assert twin.texts() == ["hello"]


def test_the_words_may_be_in_any_language() -> None:
    told = ReplyNotice(words="-# ↪ Antwort auf {link}").post(2, 3)
    assert told.text == "-# ↪ Antwort auf https://discord.com/channels/@me/2/3"
    for words in ("no link", "two\nlines {link}"):
        with pytest.raises(BadSetting, match="one line"):
            ReplyNotice(words=words)
