"""Slash commands and buttons, reactions, pins and archives of threads: kept, listed, and bound by Discord's rules."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import aiohttp
import hikari
import pytest

from minamo.twin import CALLBACK, CREATE, Interaction, Permission, Refused, Rules, Twin
from support.waiting import until

pytestmark = pytest.mark.anyio
Rest = hikari.impl.RESTClientImpl
SAY = hikari.ResponseType.MESSAGE_CREATE
DEFER = hikari.ResponseType.DEFERRED_MESSAGE_CREATE


class Clock:
    """A clock that moves when it is told to."""

    def __init__(self) -> None:
        self.now = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


async def answer(rest: Rest, used: Interaction, kind: Any = SAY, text: Any = "hi") -> Any:
    if kind is not SAY:
        return await rest.create_interaction_response(used.id, used.token, kind)
    return await rest.create_interaction_response(used.id, used.token, kind, text)


async def code_of(call: Any) -> int:
    with pytest.raises(hikari.ClientHTTPResponseError) as caught:
        await call
    return int(getattr(caught.value, "code", 0))


async def test_defer_edit_follow_up(twin: Twin, bot: hikari.GatewayBot) -> None:
    @bot.listen()
    async def on_interaction(event: hikari.InteractionCreateEvent) -> None:
        assert isinstance(event.interaction, hikari.CommandInteraction)
        (question,) = event.interaction.options or ()
        await event.interaction.create_initial_response(DEFER)
        await event.interaction.edit_initial_response(f"about {question.value}")
        await event.interaction.execute("and more", attachment=hikari.Bytes(b"data", "a.txt"))

    used = await twin.slash("ask", {"topic": "tides"})
    await twin.journal.until(lambda: used.follow_ups)
    assert twin.texts() == ["about tides", "and more"]
    assert (used.callback_type, used.original_id) == (5, twin.messages()[0].id)
    assert twin.messages()[1].files == {"a.txt": b"data"}


async def test_a_button_is_pressed_and_the_message_changes(
    twin: Twin, bot: hikari.GatewayBot
) -> None:
    @bot.listen()
    async def on_interaction(event: hikari.InteractionCreateEvent) -> None:
        pressed = event.interaction
        assert isinstance(pressed, hikari.ComponentInteraction)
        kind = hikari.ResponseType.MESSAGE_UPDATE
        await pressed.create_initial_response(kind, f"{pressed.custom_id} pressed", components=[])

    row = bot.rest.build_message_action_row()
    row.add_interactive_button(hikari.ButtonStyle.DANGER, "stop", label="Stop")
    row.add_interactive_button(hikari.ButtonStyle.DANGER, "gone", label="Gone", is_disabled=True)
    await bot.rest.create_message(twin.channel().id, "working", component=row)
    (message,) = twin.messages()
    for custom_id, words in (("nothing", "it has 'stop', 'gone'"), ("gone", "is disabled")):
        with pytest.raises(LookupError, match=words):
            await twin.click(message, custom_id)
    used = await twin.click(message, "stop")
    await twin.journal.until(lambda: used.is_answered)
    assert twin.texts() == ["stop pressed"]
    with pytest.raises(LookupError, match="it has none"):
        await twin.click(message, "stop")


async def test_the_first_answer_has_three_seconds(client: Any, clock: Clock) -> None:
    async with Twin(clock=clock) as twin, client(twin) as rest:
        in_time, late = await twin.slash("a"), await twin.slash("b")
        clock.now += 2.9
        await answer(rest, in_time)
        clock.now += 0.2
        assert await code_of(answer(rest, late)) == 10062


async def test_the_token_has_fifteen_minutes(client: Any, clock: Clock) -> None:
    async with Twin(clock=clock) as twin, client(twin) as rest:
        used = await twin.slash("a")
        await answer(rest, used)
        clock.now += 899
        await rest.edit_interaction_response(twin.bot.id, used.token, "still")
        clock.now += 2
        for call in (
            rest.edit_interaction_response(twin.bot.id, used.token, "too late"),
            rest.execute_webhook(twin.bot.id, used.token, "too late"),
        ):
            assert await code_of(call) == 50027
        assert twin.texts() == ["still"]


async def test_only_one_first_answer(twin: Twin, rest: Rest) -> None:
    used = await twin.slash("a")
    await answer(rest, used)
    assert await code_of(answer(rest, used)) == 40060
    assert await code_of(rest.create_interaction_response(5, "x", SAY, "x")) == 10062


async def test_nothing_before_the_first_answer(twin: Twin, rest: Rest) -> None:
    used = await twin.slash("a")
    assert await code_of(rest.execute_webhook(twin.bot.id, used.token, "x")) == 10015


async def test_a_follow_up_right_after_a_deferral_is_the_answer(twin: Twin, rest: Rest) -> None:
    used = await twin.slash("a")
    await answer(rest, used, DEFER)
    await rest.execute_webhook(twin.bot.id, used.token, "first")
    assert (twin.texts(), used.follow_ups) == (["first"], [])
    await rest.execute_webhook(twin.bot.id, used.token, "second")
    assert (twin.texts(), len(used.follow_ups)) == (["first", "second"], 1)


async def test_follow_ups_can_be_read_changed_and_deleted(twin: Twin, rest: Rest) -> None:
    used = await twin.slash("a")
    await answer(rest, used)
    more = await rest.execute_webhook(twin.bot.id, used.token, "more")
    await rest.edit_webhook_message(twin.bot.id, used.token, more, "changed")
    seen = await rest.fetch_webhook_message(twin.bot.id, used.token, more)
    original = await rest.fetch_interaction_response(twin.bot.id, used.token)
    assert (seen.content, original.content) == ("changed", "hi")
    await rest.delete_webhook_message(twin.bot.id, used.token, more)
    await rest.delete_interaction_response(twin.bot.id, used.token)
    assert twin.messages() == []


async def test_what_only_one_person_sees_is_not_in_the_channel(
    twin: Twin, bot: hikari.GatewayBot
) -> None:
    heard: list[hikari.MessageCreateEvent] = []

    @bot.listen()
    async def on_message(event: hikari.DMMessageCreateEvent) -> None:
        heard.append(event)

    used = await twin.slash("a")
    flags = hikari.MessageFlag.EPHEMERAL
    await bot.rest.create_interaction_response(used.id, used.token, SAY, "psst", flags=flags)
    assert twin.messages()[0].is_ephemeral
    assert [one async for one in bot.rest.fetch_messages(twin.channel().id)] == []
    await until(lambda: heard)  # the bot is told, as of a direct message
    assert (heard[0].content, heard[0].message.guild_id) == ("psst", None)


async def test_a_user_install_has_five_follow_ups(client: Any) -> None:
    async with Twin(rules=Rules(rate_limits=False)) as twin, client(twin) as rest:
        used = await twin.slash("a", user_installed=True)
        await answer(rest, used)
        for _ in range(5):
            await rest.execute_webhook(twin.bot.id, used.token, "more")
        assert await code_of(rest.execute_webhook(twin.bot.id, used.token, "no")) == 40094


async def test_in_a_direct_message_it_comes_with_a_user(twin: Twin, bot: hikari.GatewayBot) -> None:
    heard: list[Any] = []

    @bot.listen()
    async def on_interaction(event: hikari.InteractionCreateEvent) -> None:
        heard.append(event.interaction)

    await twin.slash("ask", {"who": twin.user("bob")}, channel=twin.dm())
    await until(lambda: heard)
    assert (heard[0].user.username, heard[0].member, heard[0].guild_id) == ("ann", None, None)
    assert heard[0].options[0].value == twin.user("bob").id


async def test_commands_are_registered_and_only_those_are_used(twin: Twin, rest: Rest) -> None:
    await twin.slash("anything")  # a bot that registers none is asked for anything
    builder = rest.slash_command_builder("ask", "Ask")
    (made,) = await rest.set_application_commands(twin.bot.id, [builder])
    await rest.create_slash_command(twin.bot.id, "roll", "Roll", guild=twin.guild.id)
    used = await twin.slash("ask")
    assert used.data["id"] == str(made.id)
    with pytest.raises(LookupError, match="no command 'aks'; it has ask, roll"):
        await twin.slash("aks")
    (again,) = await rest.set_application_commands(twin.bot.id, [builder])
    assert again.id == made.id  # the same name keeps its id
    await rest.edit_application_command(twin.bot.id, made.id, description="Ask more")
    assert (await rest.fetch_application_command(twin.bot.id, made.id)).description == "Ask more"
    await rest.delete_application_command(twin.bot.id, made.id)
    assert await rest.fetch_application_commands(twin.bot.id) == []
    with pytest.raises(hikari.NotFoundError):
        await rest.fetch_application_command(twin.bot.id, made.id)
    bad = rest.slash_command_builder("no", "x" * 101)
    with pytest.raises(hikari.BadRequestError):
        await rest.set_application_commands(twin.bot.id, [bad])


async def test_a_callback_is_not_rate_limited(twin: Twin, rest: Rest) -> None:
    for _ in range(8):
        await answer(rest, await twin.slash("a"))
    assert [one.headers for one in twin.journal.requests(CALLBACK)] == [{}] * 8
    assert twin.journal.count(CREATE) == 0


async def test_a_thread_locked_meanwhile_takes_no_answer(twin: Twin, rest: Rest) -> None:
    thread = twin.thread("talk")
    used, deferred = await twin.slash("a", channel=thread), await twin.slash("b", channel=thread)
    await answer(rest, deferred, DEFER)
    thread.locked = True
    assert await code_of(answer(rest, used)) == 50083
    edit = rest.edit_interaction_response(twin.bot.id, deferred.token, "x")
    assert await code_of(edit) == 50083


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
