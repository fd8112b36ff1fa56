"""One test for each rule about places and limits: permissions, threads, rate limits."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import hikari
import pytest
from attrs import evolve

from minamo.twin import (
    CREATE,
    EDIT,
    TYPING,
    Limit,
    Permission,
    Refused,
    Rules,
    SlowedDown,
    Style,
    Twin,
    TwinFailure,
    faster,
)

pytestmark = pytest.mark.anyio
Rest = hikari.impl.RESTClientImpl
Refusal = Callable[[Any], Awaitable[tuple[int, int]]]


# Replies, permissions, channels.


async def test_a_reply_needs_its_message_unless_told_not_to(
    twin: Twin, rest: Rest, refused: Refusal
) -> None:
    home = twin.channel().id
    lost = rest.create_message(home, "x", reply=123)
    assert await refused(lost) == (400, 50035)
    sent = await rest.create_message(home, "x", reply=123, reply_must_exist=False)
    assert sent.type == hikari.MessageType.DEFAULT


async def test_a_reply_needs_the_history(twin: Twin, rest: Rest, refused: Refusal) -> None:
    asked = await twin.say("question")
    twin.deny("general", Permission.READ_MESSAGE_HISTORY)
    call = rest.create_message(twin.channel().id, "x", reply=asked.id)
    assert await refused(call) == (403, 160002)


@pytest.mark.parametrize(
    ("denied", "code"),
    [(Permission.VIEW_CHANNEL, 50001), (Permission.SEND_MESSAGES, 50013)],
)
async def test_sending_needs_permission(
    twin: Twin, rest: Rest, denied: Permission, code: int, refused: Refusal
) -> None:
    twin.deny("general", denied)
    assert await refused(rest.create_message(twin.channel().id, "x")) == (403, code)


async def test_embeds_and_files_need_their_permissions(
    twin: Twin, rest: Rest, refused: Refusal
) -> None:
    home = twin.channel().id
    twin.deny("general", Permission.EMBED_LINKS, Permission.ATTACH_FILES)
    embed = rest.create_message(home, embed=hikari.Embed(title="x"))
    assert await refused(embed) == (403, 50013)
    file = rest.create_message(home, attachment=hikari.Bytes(b"x", "x.txt"))
    assert await refused(file) == (403, 50013)


async def test_what_is_gone_is_unknown(twin: Twin, rest: Rest, refused: Refusal) -> None:
    gone = twin.channel("gone")
    sent = await rest.create_message(twin.channel().id, "x")
    await twin.delete(twin.messages()[0])
    assert await refused(rest.edit_message(twin.channel().id, sent, "y")) == (404, 10008)
    twin.delete_channel(gone)
    assert await refused(rest.create_message(gone.id, "x")) == (404, 10003)


async def test_a_bot_edits_only_its_own(twin: Twin, rest: Rest, refused: Refusal) -> None:
    said = await twin.say("mine")
    assert await refused(rest.edit_message(twin.channel().id, said.id, "x")) == (403, 50005)


async def test_closed_direct_messages(twin: Twin, rest: Rest, refused: Refusal) -> None:
    ann = twin.user("ann")
    channel = await rest.create_dm_channel(ann.id)
    await rest.create_message(channel, "hello")
    ann.takes_dms = False
    assert await refused(rest.create_message(channel, "hello?")) == (403, 50007)


async def test_a_wrong_token_is_unauthorised(twin: Twin, rest: Rest, refused: Refusal) -> None:
    twin._discord.token = "another"
    assert await refused(rest.create_message(twin.channel().id, "x")) == (401, 0)


# Threads, slow mode, moderation.


async def test_speaking_opens_an_archived_thread(twin: Twin, rest: Rest, refused: Refusal) -> None:
    thread = twin.thread("talk")
    sent = await rest.create_message(thread.id, "x")
    thread.archived = True
    assert await refused(rest.edit_message(thread.id, sent, "y")) == (400, 50083)
    await rest.create_message(thread.id, "z")
    assert not thread.archived


@pytest.mark.parametrize(("archived", "code"), [(False, 160005), (True, 50083)])
async def test_a_locked_thread_is_closed(
    twin: Twin, rest: Rest, archived: bool, code: int, refused: Refusal
) -> None:
    thread = twin.thread("talk")
    thread.locked, thread.archived = True, archived
    assert await refused(rest.create_message(thread.id, "x")) == (403, code)
    twin.allow("general", Permission.MANAGE_THREADS)
    await rest.create_message(thread.id, "x")


async def test_slow_mode_binds_people_and_not_bots(twin: Twin, rest: Rest) -> None:
    home = twin.channel()
    home.slowmode_s = 60
    await twin.say("one")
    with pytest.raises(SlowedDown):
        await twin.say("two")
    for text in "ab":
        await rest.create_message(home.id, text)


async def test_slow_mode_can_bind_bots(client: Any) -> None:
    async with Twin(rules=Rules(slowmode_binds_bots=True)) as twin:
        async with client(twin, max_rate_limit=10) as rest:
            home = twin.channel()
            home.slowmode_s = 60
            await rest.create_message(home.id, "a")
            with pytest.raises(hikari.RateLimitTooLongError):
                await rest.create_message(home.id, "b")
        assert twin.journal.requests(status=429)[0].answer["code"] == 20016


async def test_moderation_blocks_words_and_links(client: Any, refused: Refusal) -> None:
    rules = Rules(automod_words=("grue",), harmful_links=("bad.example",))
    async with Twin(rules=rules) as twin, client(twin) as rest:
        home = twin.channel().id
        assert await refused(rest.create_message(home, "A GRUE!")) == (400, 200000)
        assert await refused(rest.create_message(home, "https://bad.example/x")) == (400, 240000)
        with pytest.raises(Refused, match="automatic moderation"):
            await twin.say("grue")


# Rate limits.


async def test_the_headers_are_true(twin: Twin, rest: Rest) -> None:
    for text in "abc":
        await rest.create_message(twin.channel().id, text)
    shown = [one.headers for one in twin.journal.requests(CREATE)]
    assert [one["X-RateLimit-Remaining"] for one in shown] == ["4", "3", "2"]
    assert {one["X-RateLimit-Limit"] for one in shown} == {"5"}
    assert len({one["X-RateLimit-Bucket"] for one in shown}) == 1
    assert [round(float(one["X-RateLimit-Reset-After"])) for one in shown] == [1, 2, 3]


@pytest.mark.parametrize("style", list(Style))
async def test_hikari_keeps_a_warm_limit_in_order(client: Any, limits: Any, style: Style) -> None:
    rules = limits({"message.create": Limit(5, 0.5, style)})
    async with Twin(rules=rules) as twin, client(twin) as rest:
        home = twin.channel().id
        await rest.create_message(home, "0")
        await asyncio.gather(*(rest.create_message(home, str(n)) for n in range(1, 14)))
        assert twin.texts() == [str(n) for n in range(14)]
        assert twin.journal.count(status=429) == 0


async def test_routes_and_channels_have_buckets_of_their_own(twin: Twin, rest: Rest) -> None:
    home, other = twin.channel().id, twin.channel("other").id
    sent = [await rest.create_message(home, text) for text in "abcde"]
    await rest.create_message(other, "x")
    await rest.edit_message(home, sent[0], "y")
    assert twin.journal.requests(CREATE, channel=other)[0].headers["X-RateLimit-Remaining"] == "4"
    assert twin.journal.requests(EDIT)[0].headers["X-RateLimit-Remaining"] == "4"


async def test_edits_of_old_messages_have_a_limit_of_their_own(client: Any) -> None:
    time_now = [1_800_000_000.0]
    rules = Rules(rate_limits=False)
    async with Twin(rules=rules, clock=lambda: time_now[0]) as twin:
        async with client(twin, max_rate_limit=1) as rest:
            home = twin.channel().id
            sent = await rest.create_message(home, "x")
            time_now[0] += 3_601
            for text in "abc":
                await rest.edit_message(home, sent, text)
            with pytest.raises(hikari.RateLimitTooLongError):
                await rest.edit_message(home, sent, "d")
        assert twin.journal.requests(status=429)[0].answer["code"] == 30046


async def test_deleting_has_three_limits_by_age(twin: Twin, rest: Rest, refused: Refusal) -> None:
    home = twin.channel().id
    sent = await rest.create_message(home, "x")
    await rest.delete_message(home, sent)
    counts = [int(twin.journal.requests()[-1].headers["X-RateLimit-Limit"])]
    for age_s in (60, 15 * 86_400):
        old = hikari.Snowflake.from_datetime(sent.timestamp) - (age_s * 1000 << 22)
        assert await refused(rest.delete_message(home, old)) == (404, 10008)
        counts.append(int(twin.journal.requests()[-1].headers["X-RateLimit-Limit"]))
    assert counts == [5, 3, 30]


async def test_the_global_limit_is_over_all_routes(client: Any, limits: Any) -> None:
    rules = limits({}, global_limit=Limit(3, 0.3, Style.FIXED))
    async with Twin(rules=rules) as twin, client(twin) as rest:
        for name in "abcd":
            await rest.create_message(twin.channel(name).id, "x")
        over, *_ = twin.journal.requests(status=429)
        assert (over.scope, over.answer["global"]) == ("global", True)
        assert over.headers["X-RateLimit-Global"] == "true"


async def test_interactions_are_outside_the_global_limit(client: Any, limits: Any) -> None:
    rules = limits({}, global_limit=Limit(1, 60.0, Style.FIXED))
    async with Twin(rules=rules) as twin, client(twin) as rest:
        await rest.create_message(twin.channel().id, "uses it up")
        used = await twin.slash("ask")
        kind = hikari.ResponseType.MESSAGE_CREATE
        await rest.create_interaction_response(used.id, used.token, kind, "answer")
        await rest.edit_interaction_response(twin.bot.id, used.token, "better")
        assert twin.journal.count(status=429) == 0


async def test_too_many_invalid_requests_shut_the_door(client: Any, refused: Refusal) -> None:
    twin = await Twin(rules=Rules(invalid_max=3, rate_limits=False)).__aenter__()
    async with client(twin) as rest:
        twin.deny("general", Permission.SEND_MESSAGES)
        for _ in range(3):
            assert await refused(rest.create_message(twin.channel().id, "x")) == (403, 50013)
        with pytest.raises(hikari.HTTPResponseError) as caught:
            await rest.create_message(twin.channel().id, "x")
        assert caught.value.status == 429
        assert twin.banned
    with pytest.raises(TwinFailure, match="invalid requests: Discord would have shut the bot"):
        await twin.__aexit__(None, None, None)


async def test_a_shared_limit_does_not_count_as_invalid(twin: Twin, rest: Rest) -> None:
    twin.faults.limited(0.01, on=CREATE, scope="shared", times=2)
    await rest.create_message(twin.channel().id, "x")
    assert (twin.journal.count(status=429), twin.invalid) == (2, 0)


def test_every_period_can_be_shrunk() -> None:
    rules = evolve(Rules(), limits=faster(Rules(), 10))
    assert rules.limit("message.create") == Limit(5, 0.5)
    assert rules.limit("of no name") == rules.limit("other")


async def test_typing_lasts_ten_seconds_or_until_the_message(client: Any) -> None:
    time_now = [1_800_000_000.0]
    rules = Rules(rate_limits=False)
    async with Twin(rules=rules, clock=lambda: time_now[0]) as twin, client(twin) as rest:
        home = twin.channel().id
        await rest.trigger_typing(home)
        time_now[0] += 9
        assert twin.is_typing()
        time_now[0] += 2
        assert not twin.is_typing()
        await rest.trigger_typing(home)
        await rest.create_message(home, "said")
        assert not twin.is_typing()
        assert twin.journal.count(TYPING, status=204) == 2


async def test_the_write_limit_of_a_channel_can_be_planned(twin: Twin, rest: Rest) -> None:
    twin.faults.limited(0.05, on=CREATE, scope="shared", code=20028)
    await rest.create_message(twin.channel().id, "x")
    assert twin.journal.requests(status=429)[0].answer["code"] == 20028


async def test_threads_and_direct_messages_have_no_permissions_of_their_own(twin: Twin) -> None:
    for place in (twin.thread("aside"), twin.dm("ann")):
        with pytest.raises(ValueError, match="a thread has its channel's"):
            twin.deny(place, Permission.SEND_MESSAGES)
