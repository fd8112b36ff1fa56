"""discord.py judges the twin: whatever its users do must work here as it does on Discord."""

from __future__ import annotations

import asyncio
import io
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import aiohttp
import pytest
from attrs import evolve

from judge.discord_py_bot import Bot, Rig, connected, discord
from minamo.twin import CREATE, Limit, Permission, Rules, Style, Twin

pytestmark = pytest.mark.anyio
Patch = pytest.MonkeyPatch
THUMB = "\N{THUMBS UP SIGN}"


@pytest.fixture
async def rig(twin: Twin, monkeypatch: Patch) -> AsyncIterator[Rig]:
    async with connected(twin, monkeypatch) as made:
        yield made


async def everything(found: Any) -> list[Any]:
    return [one async for one in found]


async def refusal(call: Awaitable[Any]) -> tuple[int, int]:
    with pytest.raises(discord.HTTPException) as caught:
        await call
    return caught.value.status, caught.value.code


# Messages.


async def test_it_is_ready_and_knows_the_server(rig: Rig) -> None:
    assert [one.name for one in rig.guild.text_channels] == ["general"]
    assert {one.name for one in rig.guild.members} == {"owner", "twin-bot"}
    assert rig.guild.me.guild_permissions.manage_messages
    assert rig.channel.permissions_for(rig.guild.me).pin_messages


async def test_a_message_is_heard_answered_edited_and_deleted(rig: Rig) -> None:
    asked = await rig.asked("hello")
    assert (asked.content, asked.author.name) == ("hello", "ann")
    assert isinstance(asked.author, discord.Member)
    answer = await asked.reply("pong", mention_author=True)
    assert answer.type is discord.MessageType.reply
    assert answer.reference.message_id == asked.id
    assert [one.name for one in answer.mentions] == ["ann"]
    await answer.edit(content="pong!")
    before, after = await rig.hears("message_edit")
    assert (before.content, after.content) == ("pong", "pong!")
    await answer.delete()
    assert (await rig.hears("message_delete")).id == answer.id
    assert [one.content for one in await everything(rig.channel.history())] == ["hello"]


async def test_typing_is_seen(rig: Rig) -> None:
    await rig.channel.typing()
    channel, user, _ = await rig.hears("typing")
    assert (channel, user) == (rig.channel, rig.guild.me)
    assert rig.twin.is_typing()


async def test_an_embed_comes_back(rig: Rig) -> None:
    embed = discord.Embed(title="T", description="D", colour=0x123456, url="https://example.com/")
    embed.add_field(name="n", value="v").set_footer(text="f").set_author(name="a")
    sent = await rig.channel.send(embed=embed)
    assert sent.embeds[0].to_dict() == embed.to_dict()


async def test_a_file_is_uploaded_and_read(rig: Rig) -> None:
    sent = await rig.channel.send("file", file=discord.File(io.BytesIO(b"data"), "a b.txt"))
    (one,) = sent.attachments
    assert (one.size, await one.read()) == (4, b"data")


async def test_files_keep_their_description_and_may_share_a_name(rig: Rig) -> None:
    files = [
        discord.File(io.BytesIO(data), "a.txt", description=data.decode())
        for data in (b"one", b"two")
    ]
    sent = await rig.channel.send(files=files)
    assert [await one.read() for one in sent.attachments] == [b"one", b"two"]
    assert [one.description for one in sent.attachments] == ["one", "two"]


async def test_messages_are_deleted_in_bulk(rig: Rig) -> None:
    sent = [await rig.channel.send(str(number)) for number in range(3)]
    await rig.channel.delete_messages(sent)
    told = await rig.hears("raw_bulk_message_delete", timeout_s=2)
    assert told.message_ids == {one.id for one in sent}


async def test_history_is_paged(rig: Rig) -> None:
    for number in range(5):
        await rig.twin.say(str(number))
    first = [one async for one in rig.channel.history(limit=2)]
    rest = [one async for one in rig.channel.history(before=first[-1], oldest_first=True)]
    assert [one.content for one in first + rest] == ["4", "3", "0", "1", "2"]


async def test_a_direct_message_goes_both_ways(rig: Rig) -> None:
    asked = await rig.asked("psst", channel=rig.twin.dm())
    assert isinstance(asked.channel, discord.DMChannel)
    await asked.author.send("yes?")
    assert rig.twin.texts(rig.twin.dm()) == ["yes?"]


REFUSED: dict[str, tuple[Callable[[Rig], Awaitable[Any]], tuple[int, int]]] = {
    "too long": (lambda rig: rig.channel.send("x" * 2001), (400, 50035)),
    "blank": (lambda rig: rig.channel.send(" "), (400, 50006)),
    "no such message": (lambda rig: rig.channel.fetch_message(1), (404, 10008)),
    "no such user": (lambda rig: rig.bot.fetch_user(1), (404, 10013)),
    "not its own": (lambda rig: _edit_another(rig), (403, 50005)),
    "not permitted": (lambda rig: _send_where_denied(rig), (403, 50013)),
    "no emoji": (lambda rig: _react(rig, "notanemoji"), (400, 10014)),
}


async def _edit_another(rig: Rig) -> None:
    asked = await rig.asked()
    await asked.edit(content="mine")


async def _send_where_denied(rig: Rig) -> None:
    closed = rig.twin.channel("closed")
    rig.twin.deny(closed, Permission.SEND_MESSAGES)
    channel: Any = await rig.until(lambda: rig.guild.get_channel(closed.id))
    await channel.send("x")


async def _react(rig: Rig, emoji: str) -> None:
    await (await rig.asked()).add_reaction(emoji)


@pytest.mark.parametrize("name", REFUSED)
async def test_what_discord_refuses_raises_with_its_code(rig: Rig, name: str) -> None:
    attempt, expected = REFUSED[name]
    assert await refusal(attempt(rig)) == expected


# Reactions and pins.


async def test_reactions_are_kept_listed_and_taken_back(rig: Rig) -> None:
    asked = await rig.asked()
    await asked.add_reaction(THUMB)
    assert (await rig.hears("raw_reaction_add")).member == rig.guild.me
    await rig.twin.react(rig.twin.messages()[0], THUMB, user="bob")
    reaction, user = await rig.hears("reaction_add", 2)
    assert (str(reaction.emoji), reaction.count, user.name) == (THUMB, 2, "bob")
    fetched = await rig.channel.fetch_message(asked.id)
    (one,) = fetched.reactions
    assert (one.count, one.me) == (2, True)
    assert {user.name for user in await everything(one.users())} == {"twin-bot", "bob"}
    await asked.remove_reaction(THUMB, rig.bot.user)
    await rig.hears("raw_reaction_remove")
    await asked.remove_reaction(THUMB, discord.Object(rig.twin.user("bob").id))
    assert (await rig.channel.fetch_message(asked.id)).reactions == []


async def test_reactions_are_cleared(rig: Rig) -> None:
    asked = await rig.asked()
    for emoji in (THUMB, "\N{EYES}", "❤️", "1️⃣", "🇩🇪", "🧑‍🚀", "custom:123"):
        await asked.add_reaction(emoji)
    await asked.clear_reaction(THUMB)
    await rig.hears("raw_reaction_clear_emoji")
    assert len((await rig.channel.fetch_message(asked.id)).reactions) == 6
    await asked.clear_reactions()
    await rig.hears("raw_reaction_clear")
    assert (await rig.channel.fetch_message(asked.id)).reactions == []


async def test_messages_are_pinned_and_unpinned(rig: Rig) -> None:
    first, second = await rig.asked("one"), await rig.asked("two")
    for one in (first, second):
        await one.pin()
    await rig.hears("guild_channel_pins_update", 2)
    assert [one.id for one in await everything(rig.channel.pins())] == [second.id, first.id]
    assert (await rig.channel.fetch_message(first.id)).pinned
    lines = [m for (m,) in rig.bot.heard["message"] if m.type is discord.MessageType.pins_add]
    assert [line.reference.message_id for line in lines] == [first.id, second.id]
    assert await refusal(lines[0].pin()) == (403, 50021)
    await second.unpin()
    assert [one.id for one in await everything(rig.channel.pins())] == [first.id]


# Webhooks and threads.


async def test_a_webhook_speaks_under_another_name(rig: Rig) -> None:
    hook = await rig.channel.create_webhook(name="hook")
    await rig.hears("webhooks_update")
    sent = await hook.send("via hook", username="Mira", wait=True)
    assert (sent.author.name, sent.webhook_id) == ("Mira", hook.id)
    await sent.edit(content="edited")
    assert (await hook.fetch_message(sent.id)).content == "edited"
    await sent.delete()
    assert [one.id for one in await rig.channel.webhooks()] == [hook.id]
    async with aiohttp.ClientSession() as session:
        by_url = discord.Webhook.partial(hook.id, hook.token, session=session)
        await by_url.send("by its token alone", wait=True)
    await hook.delete()
    assert await refusal(hook.send("x", wait=True)) == (404, 10015)
    assert rig.twin.texts() == ["by its token alone"]


async def test_a_webhook_has_a_face_and_tells_its_token(rig: Rig) -> None:
    hook = await rig.channel.create_webhook(name="hook")
    face = "https://example.com/a.png"
    sent = await hook.send("x", avatar_url=face, wait=True)
    assert not sent.author.avatar.key.startswith("http")
    async with aiohttp.ClientSession() as session:
        by_token = discord.Webhook.partial(hook.id, hook.token, session=session)
        assert (await by_token.fetch(prefer_auth=False)).token == hook.token


async def test_a_message_knows_its_thread(rig: Rig) -> None:
    start = await rig.channel.send("start")
    thread = await start.create_thread(name="talk")
    found = await rig.channel.fetch_message(start.id)
    assert found.flags.has_thread
    assert found.thread.id == thread.id


async def test_a_thread_is_begun_archived_listed_and_opened(rig: Rig) -> None:
    start = await rig.channel.send("start")
    thread = await start.create_thread(name="talk", auto_archive_duration=60)
    assert (await rig.hears("thread_create")).id == thread.id
    await thread.send("in the thread")
    assert [one.id for one in await thread.fetch_members()] == [rig.bot.user.id]
    assert [one.id for one in await rig.guild.active_threads()] == [thread.id]
    await thread.edit(archived=True)
    assert [one.id for one in await everything(rig.channel.archived_threads())] == [thread.id]
    assert await rig.guild.active_threads() == []
    await thread.edit(archived=False)
    assert await everything(rig.channel.archived_threads()) == []


async def test_private_threads_have_lists_of_their_own(rig: Rig) -> None:
    kind = discord.ChannelType.private_thread
    thread = await rig.channel.create_thread(name="quiet", type=kind)
    await thread.edit(archived=True)
    joined = rig.channel.archived_threads(private=True, joined=True)
    assert [one.id for one in await everything(joined)] == [thread.id]
    assert await everything(rig.channel.archived_threads()) == []
    call = everything(rig.channel.archived_threads(private=True))
    assert await refusal(call) == (403, 50013)  # the bot does not manage threads
    rig.twin.allow("general", Permission.MANAGE_THREADS)
    found = await everything(rig.channel.archived_threads(private=True))
    assert [one.id for one in found] == [thread.id]


# Commands and buttons.


@pytest.fixture
async def commands(twin: Twin, monkeypatch: Patch) -> AsyncIterator[Rig]:
    async with connected(twin, monkeypatch, _register) as made:
        await made.bot.tree.sync()
        yield made


async def _register(bot: Bot) -> None:
    @bot.tree.command(name="ask", description="Ask something")
    async def ask(interaction: Any, q: str) -> None:
        await interaction.response.defer()
        await interaction.edit_original_response(content=f"answer to {q}")
        more = await interaction.followup.send("more", wait=True)
        await more.edit(content="more!")
        bot.dispatch("asked", interaction)

    @bot.tree.command(name="quick", description="Answer in private")
    async def quick(interaction: Any) -> None:
        await interaction.response.send_message("psst", ephemeral=True)
        bot.dispatch("quick", await interaction.original_response())

    @bot.tree.command(name="who", description="Look at a member")
    async def who(interaction: Any, member: discord.Member) -> None:
        await interaction.response.send_message(member.name)

    del ask, quick, who


async def test_commands_are_registered(commands: Rig) -> None:
    await commands.bot.tree.sync(guild=commands.guild)
    found = {one.name for one in await commands.bot.tree.fetch_commands()}
    assert found == {"ask", "quick", "who"}
    assert (await commands.bot.application_info()).id == commands.twin.bot.id


async def test_a_command_is_deferred_answered_and_followed_up(commands: Rig) -> None:
    await commands.twin.slash("ask", {"q": "why"})
    interaction = await commands.hears("asked")
    answer = await interaction.original_response()
    assert commands.twin.texts() == ["answer to why", "more!"]
    assert answer.interaction_metadata.user.name == "ann"


async def test_a_private_answer_is_private(commands: Rig) -> None:
    await commands.twin.slash("quick")
    answer = await commands.hears("quick")
    assert answer.flags.ephemeral
    (heard,) = [m for (m,) in commands.bot.heard["message"] if m.content == "psst"]
    assert heard.guild is None  # it comes as direct messages do


async def test_an_answer_is_of_the_type_of_commands(commands: Rig) -> None:
    await commands.twin.slash("ask", {"q": "why"})
    interaction = await commands.hears("asked")
    answer = await interaction.original_response()
    assert answer.type is discord.MessageType.chat_input_command
    more = await commands.channel.fetch_message(commands.twin.messages()[-1].id)
    assert more.type is discord.MessageType.reply


async def test_a_member_is_an_option(commands: Rig) -> None:
    await commands.twin.slash("who", {"member": commands.twin.user("bob")})
    await commands.until(lambda: commands.twin.texts() == ["bob"], 2)


async def test_a_button_is_pressed(rig: Rig) -> None:
    class Buttons(discord.ui.View):
        @discord.ui.button(label="Press", custom_id="p")
        async def press(self, interaction: Any, _: Any) -> None:
            await interaction.response.edit_message(content="pressed", view=None)

    await rig.channel.send("press it", view=Buttons(timeout=None))
    await rig.twin.click(rig.twin.messages()[-1], "p")
    await rig.until(lambda: rig.twin.texts() == ["pressed"])
    assert rig.twin.messages()[-1].components == []


async def test_components_v2_come_back(rig: Rig) -> None:
    layout = discord.ui.LayoutView()
    layout.add_item(discord.ui.TextDisplay("above"))
    layout.add_item(discord.ui.Container(discord.ui.TextDisplay("inside")))
    sent = await rig.channel.send(view=layout)
    assert sent.flags.components_v2
    kinds = [type(one).__name__ for one in sent.components]
    assert kinds == ["TextDisplay", "Container"]


# People.


async def test_people_are_fetched_and_asked_for(rig: Rig) -> None:
    ann, bob = rig.twin.user("ann"), rig.twin.user("bob")
    assert (await rig.hears("member_join")).name == "ann"
    assert (await rig.bot.fetch_user(ann.id)).name == "ann"
    assert (await rig.guild.fetch_member(ann.id)).name == "ann"
    assert (await rig.bot.fetch_guild(rig.guild.id)).name == "The Twin"
    assert (await rig.bot.fetch_channel(rig.channel.id)).name == "general"
    assert [one.name for one in await rig.guild.query_members("AN")] == ["ann"]
    found = await rig.guild.query_members(user_ids=[bob.id, 5])
    assert [one.name for one in found] == ["bob"]
    assert len(await rig.guild.chunk()) == 4
    assert len(await everything(rig.guild.fetch_members())) == 4


# Faults and limits.

FAULTS: dict[str, Callable[[Twin], Any]] = {
    "user": lambda t: t.faults.limited(0.2, on=CREATE, scope="user"),
    "shared": lambda t: t.faults.limited(0.2, on=CREATE, scope="shared"),
    "global": lambda t: t.faults.limited(0.2, on=CREATE, scope="global"),
    "502": lambda t: t.faults.status(502, on=CREATE),
}


@pytest.mark.parametrize("name", FAULTS)
async def test_a_failed_request_is_made_again(rig: Rig, name: str) -> None:
    planned = FAULTS[name](rig.twin)
    await rig.channel.send("after all")
    assert (planned.happened, rig.twin.texts()) == (1, ["after all"])


async def test_the_page_of_the_content_network_is_a_ban(rig: Rig) -> None:
    rig.twin.faults.html(on=CREATE)
    assert (await refusal(rig.channel.send("x")))[0] == 429


@pytest.mark.parametrize("style", Style)
async def test_a_burst_arrives_whole_and_in_order(monkeypatch: Patch, style: Style) -> None:
    rules = Rules()
    rules = evolve(rules, limits={**rules.limits, "message.create": Limit(5, 1.0, style)})
    async with Twin(rules=rules) as twin, connected(twin, monkeypatch) as rig:
        await asyncio.gather(*(rig.channel.send(str(number)) for number in range(12)))
        assert sorted(twin.texts(), key=int) == [str(number) for number in range(12)]
        if style is Style.FIXED:  # its limiter counts windows and knows no leaky buckets
            assert twin.journal.count(CREATE, status=429) == 0


# The gateway.


@pytest.mark.parametrize("how", ["reconnect", "close", "invalid but resumable"])
async def test_a_session_is_resumed(rig: Rig, how: str) -> None:
    if how == "reconnect":
        rig.twin.reconnect()
    elif how == "close":
        rig.twin.disconnect(4000)
    else:
        rig.twin.invalidate(resumable=True)
    await rig.twin.journal.until(lambda: rig.twin.journal.events("DISCONNECTED"))
    await rig.twin.say("while you were away")
    await rig.hears("resumed", timeout_s=20)
    await rig.until(lambda: rig.bot.heard["message"])
    assert len(rig.twin.journal.events("IDENTIFY", sent=False)) == 1


async def test_an_invalid_session_is_begun_anew(rig: Rig) -> None:
    rig.twin.invalidate()
    await rig.hears("ready", 2, timeout_s=30)
    assert (await rig.asked("hello again")).content == "hello again"


async def test_a_wrong_token_cannot_log_in(twin: Twin, monkeypatch: Patch) -> None:
    with pytest.raises(discord.LoginFailure):
        async with connected(twin, monkeypatch, token="another"):
            pass


async def test_intents_must_be_switched_on(monkeypatch: Patch) -> None:
    async with Twin(rules=Rules(privileged_intents=0)) as twin:
        with pytest.raises(discord.PrivilegedIntentsRequired):
            async with connected(twin, monkeypatch):
                pass


async def test_without_message_content_texts_are_empty(monkeypatch: Patch) -> None:
    async with Twin(rules=Rules(privileged_intents=0)) as twin:
        intents = discord.Intents.default()
        async with connected(twin, monkeypatch, intents=intents) as rig:
            asked = await rig.asked("not for the bot", user="ann")
            assert asked.content == ""
            assert (await rig.channel.fetch_message(asked.id)).content == ""
            mine = await rig.asked(f"<@{twin.bot.id}> for you")
            assert (await rig.channel.fetch_message(mine.id)).content.endswith("for you")
            assert [one.name for one in rig.guild.members] == ["twin-bot"]
            assert await refusal(rig.bot.http.get_members(rig.guild.id, 10, None)) == (403, 50001)
