"""Reactions, pins and archives of threads: kept, listed, and bound by Discord's rules."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import aiohttp
import hikari
import pytest

from minamo.twin import Permission, Refused, Rules, Twin
from support.waiting import until

pytestmark = pytest.mark.anyio
Rest = hikari.impl.RESTClientImpl
Refusal = Callable[[Awaitable[Any]], Awaitable[tuple[int, int]]]
THUMB, EYES = "👍", "👀"


@pytest.fixture
def twin_rules() -> Rules:
    return Rules(rate_limits=False, reactions_max=3, pins_max=3)


async def shown(rest: Rest, twin: Twin, message: Any) -> list[tuple[str, int, bool]]:
    found = await rest.fetch_message(twin.channel().id, message.id)
    return [(str(one.emoji), one.count, one.is_me) for one in found.reactions]


# Reactions.


async def test_reactions_are_counted_listed_and_taken_back(twin: Twin, rest: Rest) -> None:
    said, home = await twin.say("hello"), twin.channel().id
    await rest.add_reaction(home, said.id, THUMB)
    await rest.add_reaction(home, said.id, THUMB)  # a second time changes nothing
    for user in ("ann", "bob"):
        await twin.react(said, THUMB, user=user)
    await twin.react(said, "wave:123456789012345678")
    assert await shown(rest, twin, said) == [
        (THUMB, 3, True),
        ("<:wave:123456789012345678>", 1, False),
    ]
    found = await rest.fetch_reactions_for_emoji(home, said.id, THUMB)
    assert [one.username for one in found] == ["twin-bot", "ann", "bob"]
    await rest.delete_my_reaction(home, said.id, THUMB)
    await rest.delete_reaction(home, said.id, twin.user("ann").id, THUMB)
    await twin.unreact(said, THUMB, user="bob")
    await rest.delete_all_reactions_for_emoji(home, said.id, "wave", 123456789012345678)
    assert await shown(rest, twin, said) == []
    events = [one.name for one in twin.journal.events() if "REACTION" in one.name]
    assert events == [
        *["MESSAGE_REACTION_ADD"] * 4,
        *["MESSAGE_REACTION_REMOVE"] * 3,
        "MESSAGE_REACTION_REMOVE_EMOJI",
    ]


async def test_reactions_are_listed_in_pages(twin: Twin, rest: Rest) -> None:
    said, home = await twin.say("hello"), twin.channel().id
    for number in range(105):
        await twin.react(said, THUMB, user=f"u{number}")
    found = await rest.fetch_reactions_for_emoji(home, said.id, THUMB)
    assert [one.username for one in found] == [f"u{number}" for number in range(105)]


async def test_a_bot_hears_of_reactions(twin: Twin, bot: hikari.GatewayBot) -> None:
    heard: list[Any] = []

    async def keep(event: hikari.ReactionEvent) -> None:
        heard.append(event)

    bot.subscribe(hikari.ReactionEvent, keep)
    said = await twin.say("hello")
    await twin.react(said, THUMB)
    await twin.unreact(said, THUMB)
    await twin.react(said, EYES)
    await bot.rest.delete_all_reactions(twin.channel().id, said.id)
    direct = await twin.say("psst", channel=twin.dm())
    await twin.react(direct, THUMB)
    await until(lambda: len(heard) == 5)
    assert [type(one).__name__ for one in heard] == [
        "GuildReactionAddEvent",
        "GuildReactionDeleteEvent",
        "GuildReactionAddEvent",
        "GuildReactionDeleteAllEvent",
        "DMReactionAddEvent",
    ]
    assert heard[0].member.username == "ann"


#: What the bot lacks, what it does, and how Discord refuses it.
REACTING: dict[str, tuple[Permission | None, str, tuple[int, int]]] = {
    "not its own history": (Permission.READ_MESSAGE_HISTORY, "add", (403, 50013)),
    "a first reaction": (Permission.ADD_REACTIONS, "add", (403, 50013)),
    "of others": (Permission.MANAGE_MESSAGES, "other", (403, 50013)),
    "all": (Permission.MANAGE_MESSAGES, "all", (403, 50013)),
    "more than there may be": (None, "many", (400, 30010)),
    "of nobody": (None, "stranger", (404, 10013)),
    "that is not there": (None, "absent", (400, 10014)),
    "that is no emoji": (None, "word", (400, 10014)),
    "that is no emoji either": (None, "digit", (400, 10014)),
}


@pytest.mark.parametrize("name", REACTING)
async def test_reactions_that_are_refused(
    name: str, twin: Twin, rest: Rest, refused: Refusal
) -> None:
    lacking, what, expected = REACTING[name]
    said, home = await twin.say("hello"), twin.channel().id
    await twin.react(said, THUMB)
    if lacking:
        twin.deny("general", lacking)
    if what == "many":
        for emoji in ("1️⃣", "2️⃣"):
            await twin.react(said, emoji)
    calls = {
        "add": lambda: rest.add_reaction(home, said.id, EYES),
        "many": lambda: rest.add_reaction(home, said.id, EYES),
        "other": lambda: rest.delete_reaction(home, said.id, twin.user("ann").id, THUMB),
        "stranger": lambda: rest.delete_reaction(home, said.id, 5, THUMB),
        "all": lambda: rest.delete_all_reactions(home, said.id),
        "absent": lambda: rest.delete_my_reaction(home, said.id, EYES),
        "word": lambda: rest.add_reaction(home, said.id, "notanemoji"),
        "digit": lambda: rest.add_reaction(home, said.id, "5"),
    }
    assert await refused(calls[what]()) == expected


async def test_joining_a_reaction_needs_no_permission(twin: Twin, rest: Rest) -> None:
    said = await twin.say("hello")
    await twin.react(said, THUMB)
    twin.deny("general", Permission.ADD_REACTIONS)
    await rest.add_reaction(twin.channel().id, said.id, THUMB)
    assert await shown(rest, twin, said) == [(THUMB, 2, True)]


@pytest.mark.parametrize("emoji", ["❤️", "1️⃣", "#️⃣", "🇩🇪", "🧑🏽‍🚀", "ℹ️", "↔️", "™", "⬛", "🏴󠁧󠁢󠁳󠁣󠁴󠁿"])
async def test_emoji_of_every_make_are_emoji(twin: Twin, emoji: str) -> None:
    said = await twin.say("hello")
    await twin.react(said, emoji)
    assert list(said.reactions) == [emoji]


@pytest.mark.parametrize("given", ["", "x", "5", "^", "`", ":)", "a:b", ":5", "smile", "👍x"])
async def test_other_texts_are_not(twin: Twin, given: str) -> None:
    with pytest.raises(Refused, match="10014"):
        await twin.react(await twin.say("hello"), given)


# Pins.


async def test_pins_are_listed_latest_first_and_told_of(twin: Twin, rest: Rest) -> None:
    home = twin.channel().id
    said = [await twin.say(str(number)) for number in range(3)]
    for one in said:
        await rest.pin_message(home, one.id)
        await rest.pin_message(home, one.id)  # a second time changes nothing
    pins = [pin async for pin in rest.fetch_pins(home)]
    assert [pin.message.content for pin in pins] == ["2", "1", "0"]
    assert all(pin.message.is_pinned for pin in pins)
    lines = [one for one in twin.messages() if one.type == 6]
    assert [one.reply_to for one in lines] == [one.id for one in said]
    assert twin.texts() == []  # they say nothing
    await rest.unpin_message(home, said[2].id)
    assert [pin.message.content async for pin in rest.fetch_pins(home)] == ["1", "0"]
    told = [one.data for one in twin.journal.events("CHANNEL_PINS_UPDATE")]
    assert len(told) == 4
    assert told[-1]["last_pin_timestamp"] == told[1]["last_pin_timestamp"]


async def test_pins_that_are_refused(twin: Twin, rest: Rest, refused: Refusal) -> None:
    home = twin.channel().id
    said = [await twin.say(str(number)) for number in range(4)]
    for one in said[:3]:
        await rest.pin_message(home, one.id)
    assert await refused(rest.pin_message(home, said[3].id)) == (400, 30003)
    await rest.unpin_message(home, said[0].id)
    line = next(one for one in twin.messages() if one.type == 6)
    assert await refused(rest.pin_message(home, line.id)) == (403, 50021)
    assert await refused(rest.pin_message(home, 5)) == (404, 10008)
    twin.deny("general", Permission.PIN_MESSAGES)
    assert await refused(rest.pin_message(home, said[3].id)) == (403, 50013)
    assert await refused(rest.unpin_message(home, said[1].id)) == (403, 50013)
    twin.deny("general", Permission.READ_MESSAGE_HISTORY)
    assert [pin async for pin in rest.fetch_pins(home)] == []


async def test_pins_are_paged_and_the_old_routes_work_too(twin: Twin, rest: Rest) -> None:
    home, old = twin.channel(), f"{twin.url}/channels/{twin.channel().id}/pins"
    said = [await twin.say(str(number)) for number in range(3)]
    headers = {"Authorization": f"Bot {twin.token}"}
    async with aiohttp.ClientSession(headers=headers) as session:
        for one in said:
            assert (await session.put(f"{old}/{one.id}")).status == 204
        assert [one["content"] for one in await (await session.get(old)).json()] == ["2", "1", "0"]
        new = f"{twin.url}/channels/{home.id}/messages/pins"
        first = await (await session.get(new, params={"limit": "2"})).json()
        after = {"before": first["items"][-1]["pinned_at"]}
        rest_of = await (await session.get(new, params=after)).json()
        assert [first["has_more"], rest_of["has_more"]] == [True, False]
        every = [one["message"]["content"] for one in first["items"] + rest_of["items"]]
        assert every == ["2", "1", "0"]
        assert (await session.get(new, params={"limit": "51"})).status == 400
        assert (await session.delete(f"{old}/{said[0].id}")).status == 204


async def test_a_direct_message_is_pinned_without_permission(twin: Twin, rest: Rest) -> None:
    home = twin.dm()
    said = await twin.say("psst", channel=home)
    await rest.pin_message(home.id, said.id)
    assert [pin.message.content async for pin in rest.fetch_pins(home.id)] == ["psst"]


# Archives.


async def test_archived_threads_are_listed_by_kind(
    twin: Twin, rest: Rest, refused: Refusal
) -> None:
    home = twin.channel().id
    made = {
        kind: await rest.create_thread(home, kind, f"thread {kind}")
        for kind in (
            hikari.ChannelType.GUILD_PUBLIC_THREAD,
            hikari.ChannelType.GUILD_PRIVATE_THREAD,
        )
    }
    public, private = (one.id for one in made.values())
    assert await rest.fetch_public_archived_threads(home) == []
    for number in (public, private):
        await rest.edit_channel(number, archived=True)
    assert [one.id for one in await rest.fetch_public_archived_threads(home)] == [public]
    assert [one.id for one in await rest.fetch_joined_private_archived_threads(home)] == [private]

    async def private_ones() -> list[int]:
        return [one.id for one in await rest.fetch_private_archived_threads(home)]

    assert await refused(private_ones()) == (403, 50013)
    twin.allow("general", Permission.MANAGE_THREADS)
    assert await private_ones() == [private]
    twin.deny("general", Permission.READ_MESSAGE_HISTORY)
    assert await refused(private_ones()) == (403, 50013)
