"""Every refusal that a bot can meet has its name in the receipt, and hurts nothing else.

One case each, on the twin with the real hikari: the receipt, no exception anywhere in the bot,
and the next message, here or elsewhere, arrives.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from attrs import evolve

from minamo.core.messages import Embed, Receipt
from minamo.shell.delivery.interfaces import TextQueue
from minamo.shell.discord.bot import BotSender
from minamo.twin import CREATE, Channel, Permission, Rules, Twin
from support.lanes import Post, SendOptions, persona, posting

pytestmark = pytest.mark.anyio
RULES = evolve(
    Rules(), automod_words=("forbidden",), harmful_links=("evil.invalid",), slowmode_binds_bots=True
)


@asynccontextmanager
async def bot() -> AsyncIterator[Post]:
    """A bot in which nothing may be raised, on a Discord with all its filters."""
    raised: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: raised.append(context))
    async with Twin(rules=RULES) as twin, posting(twin, max_rate_limit=2) as post:
        yield post
        (elsewhere,) = await post.send("still here", channel="elsewhere")
        assert elsewhere.delivered
        assert twin.texts("elsewhere")[-1] == "still here"
    assert raised == []


async def say(post: Post, place: Channel, text: str = "hello", **options: Any) -> Receipt:
    sender = BotSender(post.rest, place.id)
    options = {
        "stream_id": f"{place.id} {text} {len(post.twin.journal.requests(CREATE))}",
        **options,
    }
    async with post.lanes.open(place.id, sender, TextQueue([text]), **options) as one:
        one.deliver()
        (receipt,) = await one.finish()
    return receipt


def told(receipt: Receipt) -> tuple[str, str]:
    return receipt.outcome, receipt.reason


async def no_permission(post: Post) -> str:
    post.twin.deny("general", Permission.SEND_MESSAGES)
    assert told(await say(post, post.twin.channel())) == ("refused", "no_permission")
    post.twin.allow("general", Permission.SEND_MESSAGES)
    return "general"


async def no_embeds(post: Post) -> str:
    post.twin.deny("general", Permission.EMBED_LINKS)
    notice = SendOptions(embed=Embed(title="Trouble"))
    receipt = await say(post, post.twin.channel(), "", options=notice)
    assert told(receipt) == ("refused", "no_permission")
    return "general"


async def no_access(post: Post) -> str:
    post.twin.deny("general", Permission.VIEW_CHANNEL)
    assert told(await say(post, post.twin.channel())) == ("refused", "no_access")
    post.twin.allow("general", Permission.VIEW_CHANNEL)
    return "general"


async def deleted_channel(post: Post) -> str:
    place = post.twin.channel("gone")
    assert (await say(post, place)).delivered
    post.twin.delete_channel(place)
    assert told(await say(post, place)) == ("refused", "unknown_channel")
    return ""


async def a_channel_that_never_was(post: Post) -> str:
    never = Channel(123_456_789, 0, "never")
    assert told(await say(post, never)) == ("refused", "unknown_channel")
    return ""


async def locked_thread(post: Post) -> str:
    thread = post.twin.thread("talk")
    thread.locked = True
    assert told(await say(post, thread)) == ("refused", "thread_locked")
    thread.archived = True
    assert told(await say(post, thread)) == ("refused", "thread_archived")
    thread.locked = False  # one that is only archived opens again
    return "talk"


async def long_slow_mode(post: Post) -> str:
    # hikari reads no code of a 429, so all that is known is that it is one.
    place = post.twin.channel()
    place.slowmode_s = 3_600
    assert (await say(post, place)).delivered
    assert told(await say(post, place)) == ("not_sent", "rate_limited")
    place.slowmode_s = 0
    return ""  # our pacer keeps away from it for the hour that Discord asked for


async def short_slow_mode(post: Post) -> str:
    place = post.twin.channel()
    place.slowmode_s = 1
    receipts = [await say(post, place, str(n)) for n in range(2)]
    assert [one.delivered for one in receipts] == [True, True]
    place.slowmode_s = 0
    return "general"


async def automod(post: Post) -> str:
    assert told(await say(post, post.twin.channel(), "forbidden")) == ("refused", "automod")
    return "general"


async def harmful_link(post: Post) -> str:
    receipt = await say(post, post.twin.channel(), "see evil.invalid")
    assert told(receipt) == ("refused", "harmful_link")
    return "general"


async def blank_text(post: Post) -> str:
    for text in (" ", "\n\t\n", "\u2003"):
        assert told(await say(post, post.twin.channel(), text)) == ("refused", "empty_message")
    return "general"


async def closed_direct_messages(post: Post) -> str:
    ann = post.twin.user("ann")
    place = post.twin.dm(ann)
    ann.takes_dms = False
    assert told(await say(post, place)) == ("refused", "direct_messages_closed")
    ann.takes_dms = True
    assert (await say(post, place)).delivered
    return "general"


async def reply_without_history(post: Post) -> str:
    asked = await post.twin.say("hm?")
    post.twin.deny("general", Permission.READ_MESSAGE_HISTORY)
    receipt = await say(post, post.twin.channel(), options=SendOptions(reply_to=asked.id))
    assert told(receipt) == ("refused", "no_history_to_reply")
    return "general"


def looks(**given: Any) -> Callable[[Post], Awaitable[str]]:
    """A persona that Discord refuses, and afterwards one that it takes."""

    async def story(post: Post) -> str:
        async with persona(post, **given) as sender:
            (receipt,) = await post.send("hi", sender=sender)
            assert told(receipt) == ("refused", "bad_form")
            sender.name, sender.avatar_url = "Ada", "https://example.invalid/a.png"
            (receipt,) = await post.send("hi", sender=sender)
            assert receipt.delivered
        return "general"

    return story


async def webhook_of_another_channel(post: Post) -> str:
    thread = post.twin.thread("talk", post.twin.channel("other"))
    async with persona(post, name="Ada", thread_id=thread.id) as sender:
        (receipt,) = await post.send("hi", sender=sender)
        assert told(receipt) == ("refused", "unknown_channel")
    assert post.twin.texts(thread) == post.twin.texts() == []
    return "general"


async def webhook_that_speaks_elsewhere(post: Post) -> str:
    async with persona(post, "other", name="Ada") as sender:
        sender.bot = post.sender("general")  # it is asked to speak here
        (receipt,) = await post.send("hi", sender=sender)
        assert told(receipt) == ("refused", "wrong_channel")
    assert post.twin.texts("other") == post.twin.texts() == []
    return "general"


async def dead_webhook(post: Post) -> str:
    async with persona(post, name="Ada") as sender:
        await post.rest.delete_webhook(sender.place)
        (receipt,) = await post.send("hi", sender=sender)
        assert told(receipt) == ("refused", "unknown_webhook")
    return "general"


@pytest.mark.parametrize(
    "story",
    [
        no_permission,
        no_embeds,
        no_access,
        deleted_channel,
        a_channel_that_never_was,
        locked_thread,
        long_slow_mode,
        short_slow_mode,
        automod,
        harmful_link,
        blank_text,
        closed_direct_messages,
        reply_without_history,
        pytest.param(looks(name="clyde"), id="persona_clyde"),
        pytest.param(looks(name="My Discord"), id="persona_discord"),
        pytest.param(looks(name="x" * 81), id="persona_81"),
        pytest.param(looks(name=" "), id="persona_blank"),
        pytest.param(looks(avatar_url="a picture"), id="avatar_no_url"),
        pytest.param(looks(avatar_url="data:image/png;base64,AAAA"), id="avatar_data"),
        webhook_of_another_channel,
        webhook_that_speaks_elsewhere,
        dead_webhook,
    ],
)
async def test_a_refusal_has_a_name_and_hurts_nothing_else(
    story: Callable[[Post], Awaitable[str]],
) -> None:
    async with bot() as post:
        if again := await story(post):
            assert (await say(post, post.twin.channel(again), "again")).delivered
            assert post.twin.texts(again)[-1] == "again"


async def test_a_refusal_is_not_repeated() -> None:
    async with bot() as post:
        await automod(post)
        assert post.twin.journal.count(CREATE) == 1
