"""The check on every request can fail: each thing that it forbids, done once with bare hikari."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from types import ModuleType
from typing import Any

import hikari
import pytest

from minamo.twin import Twin
from support import lanes
from support.overseer import overseeing, uses_ours

pytestmark = [pytest.mark.anyio, pytest.mark.rule_breaking("to see that it is noticed")]
Story = Callable[[Twin, hikari.impl.RESTClientImpl], Awaitable[Any]]
POST = hikari.internal.routes.POST_CHANNEL_MESSAGES
PATCH = hikari.internal.routes.PATCH_CHANNEL_MESSAGE


def ann(twin: Twin) -> str:
    return f"<@{twin.user('ann').id}>"


async def too_long(twin: Twin, rest: Any) -> None:
    with pytest.raises(hikari.BadRequestError):
        await rest.create_message(twin.channel().id, "x" * 2_001)


async def nothing_said_of_mentions(twin: Twin, rest: Any) -> None:
    route = POST.compile(channel=twin.channel().id)
    await rest._request(route, json={"content": "quiet"})


async def nothing_said_of_mentions_in_an_edit(twin: Twin, rest: Any) -> None:
    sent = await rest.create_message(twin.channel().id, "quiet")
    route = PATCH.compile(channel=twin.channel().id, message=sent.id)
    await rest._request(route, json={"content": ann(twin)})


async def nothing_said_of_mentions_to_a_webhook(twin: Twin, rest: Any) -> None:
    hook = await rest.create_webhook(twin.channel().id, "Ada")
    route = hikari.internal.routes.POST_WEBHOOK_WITH_TOKEN.compile(
        webhook=hook.id, token=hook.token
    )
    await rest._request(route, json={"content": "quiet"}, auth=None)


async def everybody_may_be_rung(twin: Twin, rest: Any) -> None:
    await rest.create_message(twin.channel().id, "quiet", user_mentions=True)


async def everyone_may_be_rung(twin: Twin, rest: Any) -> None:
    await rest.create_message(twin.channel().id, "quiet", mentions_everyone=True)


async def rung_without_being_named(twin: Twin, rest: Any) -> None:
    sent = await rest.create_message(twin.channel().id, ann(twin))
    twin.world.messages[twin.channel().id][sent.id].pinged = [twin.user("ann").id]


async def the_bots_token(twin: Twin, rest: Any) -> None:
    logging.getLogger("somewhere.deep").log(1, "connecting with %s", twin.token)


async def a_dead_webhooks_token(twin: Twin, rest: Any) -> None:
    hook = await rest.create_webhook(twin.channel().id, "Ada")
    logging.getLogger("x").warning("made one")
    await rest.delete_webhook(hook)
    logging.getLogger("x").debug("that one", extra={"hook": {"token": hook.token}})


async def a_token_in_an_exception(twin: Twin, rest: Any) -> None:
    try:
        raise ValueError(twin.token)
    except ValueError:
        logging.getLogger("x").exception("oh")


@pytest.mark.parametrize(
    ("story", "words"),
    [
        (too_long, "content of 2001 characters"),
        (nothing_said_of_mentions, "no explicit allowed_mentions"),
        (nothing_said_of_mentions_in_an_edit, "no explicit allowed_mentions"),
        (nothing_said_of_mentions_in_an_edit, "rang for ["),
        (nothing_said_of_mentions_to_a_webhook, "no explicit allowed_mentions"),
        (everybody_may_be_rung, "everybody in the text may be rung: ['users']"),
        (everyone_may_be_rung, "everybody in the text may be rung: ['everyone']"),
        (rung_without_being_named, "rang for ["),
        (the_bots_token, "a token was logged: somewhere.deep"),
        (a_dead_webhooks_token, "a token was logged: x, DEBUG"),
        (a_token_in_an_exception, "a token was logged: x, ERROR"),
    ],
)
async def test_a_violation_is_seen(story: Story, words: str, client: Any) -> None:
    with overseeing() as overseer:
        async with Twin() as twin, client(twin) as rest:
            await story(twin, rest)
    assert any(words in one for one in overseer.wrongs), overseer.wrongs
    assert twin.token not in repr(overseer) + str(overseer.wrongs)


async def test_what_is_right_is_not_called_wrong(client: Any) -> None:
    with overseeing() as overseer:
        async with Twin() as twin, client(twin) as rest:
            place = twin.channel().id
            sent = await rest.create_message(place, "x" * 2_000)
            await rest.edit_message(place, sent, f"@everyone {ann(twin)}")
            await rest.create_message(place, ann(twin), user_mentions=[twin.user("ann").id])
            asked = await twin.say("hm?", user="bob")
            await rest.create_message(place, "so", reply=asked.id, mentions_reply=True)
            await twin.say(f"hey {ann(twin)}", user="bob")
    assert len(overseer.twins) == 1
    assert overseer.wrongs == []


def test_only_tests_of_our_senders_are_overseen() -> None:
    bare, ours = ModuleType("bare"), ModuleType("ours")
    vars(bare).update({"Twin": Twin, "hikari": hikari, "number": 7})
    vars(ours).update({"posting": lanes.posting})
    assert (uses_ours(bare), uses_ours(ours)) == (False, True)
    vars(bare)["lanes"] = lanes
    assert uses_ours(bare)
    assert uses_ours(lanes)
