"""What the twin tells afterwards: unknown routes, the journal, and no secrets."""

from __future__ import annotations

import asyncio
import gc
from typing import Any

import hikari
import pytest

from minamo.twin import CREATE, Twin, TwinFailure
from minamo.twin.journal import redacted

pytestmark = pytest.mark.anyio
Rest = hikari.impl.RESTClientImpl


async def leaving(twin: Twin) -> str:
    with pytest.raises(TwinFailure) as caught:
        await twin.__aexit__(None, None, None)
    return str(caught.value)


async def test_an_unknown_route_is_loud_twice(client: Any) -> None:
    twin = await Twin().__aenter__()
    async with client(twin) as rest:
        with pytest.raises(hikari.InternalServerError, match="does not know this route"):
            await rest.fetch_voice_regions()
        assert twin.unknown == ["GET /voice/regions"]
        assert twin.journal.count(status=501) == 1  # not retried
    assert (await leaving(twin)).endswith("does not know: GET /voice/regions")


async def test_a_method_that_a_path_does_not_have_is_unknown(client: Any) -> None:
    twin = await Twin().__aenter__()
    async with client(twin) as rest:
        with pytest.raises(hikari.InternalServerError):
            await rest.edit_my_user(username="x")
    assert "PATCH /users/@me" in await leaving(twin)


async def test_a_body_that_nobody_foresaw_is_loud_too(client: Any) -> None:
    twin = await Twin().__aenter__()
    async with client(twin) as rest:
        route = hikari.internal.routes.POST_CHANNEL_MESSAGES.compile(channel=twin.channel().id)
        answers = [{"poll_media": {"text": "yes"}}]
        poll = {"question": {"text": "Shall we?"}, "answers": answers}
        with pytest.raises(hikari.InternalServerError, match="stumbled"):
            await rest._request(route, json={"content": "x", "poll": poll})
    assert "the twin has no poll" in await leaving(twin)


async def test_an_error_of_the_test_is_not_hidden_by_it() -> None:
    async def fails() -> None:
        async with Twin() as twin:
            twin.unknown.append("GET /x")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await fails()


async def test_requests_can_be_asked_for(twin: Twin, rest: Rest) -> None:
    home, other = twin.channel().id, twin.channel("other").id
    await rest.create_message(home, "a")
    await rest.create_message(other, "b")
    with pytest.raises(hikari.BadRequestError):
        await rest.create_message(home, " ")
    journal = twin.journal
    assert [one.body["content"] for one in journal.requests(CREATE)] == ["a", "b", " "]
    assert journal.count(CREATE, channel=home) == 2
    assert journal.count(CREATE, channel=home, status=400) == 1
    assert journal.requests()[0].answer["content"] == "a"
    assert journal.requests()[0].took_s >= 0
    assert [one.at for one in journal.requests()] == sorted(one.at for one in journal.requests())
    text = journal.transcript()
    assert "'a' -> 200" in text
    assert "gateway MESSAGE_CREATE" in text


async def test_waiting_in_vain_shows_what_happened(twin: Twin, rest: Rest) -> None:
    await rest.create_message(twin.channel().id, "something else")
    with pytest.raises(TimeoutError, match="something else"):
        await twin.journal.until(lambda: False, 0.05)


async def test_no_secret_is_written_down(twin: Twin, bot: hikari.GatewayBot) -> None:
    hook = await bot.rest.create_webhook(twin.channel().id, "Nyx")
    await bot.rest.execute_webhook(hook, hook.token or "", "x")
    await bot.rest.fetch_channel_webhooks(twin.channel().id)
    used = await twin.slash("ask")
    kind = hikari.ResponseType.MESSAGE_CREATE
    await bot.rest.create_interaction_response(used.id, used.token, kind, "x")
    world = twin.world
    seen = [
        twin.journal.transcript(10_000),
        *map(repr, (twin, used, world.webhooks, world.interactions, world, twin._discord)),
        *map(repr, twin.journal.requests_made),
        *map(repr, twin.journal.events_seen),
    ]
    secrets = [twin.token, twin.token.rsplit(".", 1)[1], hook.token or "", used.token]
    assert all(len(one) > 20 for one in secrets)
    for text in seen:
        assert not [one for one in secrets if one in text]
    assert twin.journal.events("IDENTIFY", sent=False)[0].data["token"] == "***"


def test_webhook_urls_are_hidden_too() -> None:
    url = "https://discord.com/api/webhooks/123/abc-DEF_9"
    assert redacted({"a": [url]}) == {"a": ["https://discord.com/api/webhooks/123/***"]}


async def test_nothing_is_left_running(client: Any) -> None:
    before = asyncio.all_tasks()
    async with Twin() as twin, client(twin) as rest:
        await rest.create_message(twin.channel().id, "x")
    gc.collect()
    assert asyncio.all_tasks() == before
    assert repr(twin).startswith("<Twin http://127.0.0.1:")
    assert repr(Twin()) == "<Twin not started, 0 requests>"
