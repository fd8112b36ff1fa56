"""Personas: found, made, dead, made again, and given up for the bot's own voice."""

from __future__ import annotations

import pytest

from minamo.twin import CREATE, EXECUTE, Permission, Twin
from support.lanes import ada, posting, reasons

pytestmark = pytest.mark.anyio
MAKE = "POST /channels/{channel}/webhooks"


async def test_a_webhook_is_made_once_and_found_again() -> None:
    async with Twin() as twin, posting(twin) as post:
        for _ in range(2):
            async with ada(post) as sender:
                assert (await post.send("hello", sender=sender))[0].delivered
                assert "token" not in repr(sender)
        assert twin.journal.count(MAKE) == 1
        assert [one.author.name for one in twin.messages()] == ["Ada", "Ada"]


async def test_a_dead_webhook_is_made_again_in_mid_reply() -> None:
    async with Twin() as twin, posting(twin) as post, ada(post) as sender:
        one = post.open(["first"], sender=sender)
        await one.answered()
        webhook = twin.messages()[-1].webhook_id
        assert webhook is not None
        await post.rest.delete_webhook(webhook)
        one._source.put("second")
        one.deliver()
        assert reasons(await one.finish()) == [("delivered", "")] * 2
        assert twin.texts() == ["first", "second"]
        assert twin.messages()[-1].webhook_id not in (None, webhook)


async def test_without_permission_the_bot_speaks_itself() -> None:
    async with Twin() as twin, posting(twin) as post, ada(post) as sender:
        twin.deny("general", Permission.MANAGE_WEBHOOKS)
        assert reasons(await post.send("hello", sender=sender)) == [("delivered", "")]
        assert sender.fell_back == "no_permission"
        assert twin.messages()[-1].webhook_id is None
        assert twin.journal.requests(CREATE)[-1].body["enforce_nonce"] is True


async def test_a_name_that_discord_refuses_falls_back() -> None:
    async with Twin() as twin, posting(twin) as post, ada(post, "clyde") as sender:
        assert (await post.send("hello", sender=sender))[0].delivered
        assert sender.fell_back == "bad_form"


async def test_the_voice_does_not_change_in_mid_reply() -> None:
    async with Twin() as twin, posting(twin) as post, ada(post) as sender:
        one = post.open(["first"], sender=sender)
        await one.answered()
        twin.deny("general", Permission.MANAGE_WEBHOOKS)
        twin.faults.status(404, on=EXECUTE, times=None)
        one._source.put("second")
        one.deliver()
        assert [told.outcome for told in await one.finish()] == ["delivered", "refused"]
        assert not sender.fell_back


async def test_a_text_that_is_refused_is_refused_in_every_voice() -> None:
    async with Twin() as twin, posting(twin) as post, ada(post) as sender:
        assert reasons(await post.send(" ", sender=sender)) == [("refused", "empty_message")]
        assert twin.journal.count(CREATE) == 0
        assert (await post.send("better", sender=sender))[0].delivered
