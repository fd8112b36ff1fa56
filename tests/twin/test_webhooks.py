"""Webhooks, files, threads and the rest of the REST routes, with bare hikari."""

from __future__ import annotations

from typing import Any

import hikari
import pytest

from minamo.twin import EXECUTE, Limit, Permission, Rules, Twin

pytestmark = pytest.mark.anyio
Rest = hikari.impl.RESTClientImpl
PNG = bytes.fromhex("89504e470d0a1a0a0000000d49484452") + b"\0" * 32


async def code_of(call: Any) -> int:
    with pytest.raises(hikari.ClientHTTPResponseError) as caught:
        await call
    return int(getattr(caught.value, "code", 0))


async def test_a_webhook_lives_speaks_and_dies(twin: Twin, rest: Rest) -> None:
    home = twin.channel().id
    hook = await rest.create_webhook(home, "Nyx", avatar=hikari.Bytes(PNG, "a.png"))
    token = hook.token or ""
    assert [one.id for one in await rest.fetch_channel_webhooks(home)] == [hook.id]
    assert [one.id for one in await rest.fetch_guild_webhooks(twin.guild.id)] == [hook.id]
    assert (await rest.fetch_webhook(hook.id, token=token)).name == "Nyx"

    sent = await rest.execute_webhook(
        hook, token, "hello", username="Erebus", avatar_url="https://example.org/a.png"
    )
    assert (sent.author.username, sent.webhook_id) == ("Erebus", hook.id)
    assert (await rest.edit_webhook_message(hook, token, sent, "bye")).content == "bye"
    assert (await rest.fetch_webhook_message(hook, token, sent)).content == "bye"
    await rest.delete_webhook_message(hook, token, sent)
    assert twin.messages() == []

    assert (await rest.edit_webhook(hook, name="Night")).name == "Night"
    await rest.delete_webhook(hook)
    assert await code_of(rest.execute_webhook(hook, token, "x")) == 10015


async def test_a_wrong_webhook_token_is_said_to_be_one(twin: Twin, rest: Rest) -> None:
    hook = await rest.create_webhook(twin.channel().id, "Nyx")
    assert await code_of(rest.execute_webhook(hook, "guess", "x")) == 50027


@pytest.mark.parametrize("name", ["Clyde", "my discord bot", "x" * 81, " "])
async def test_names_that_are_refused(twin: Twin, rest: Rest, name: str) -> None:
    home = twin.channel().id
    assert await code_of(rest.create_webhook(home, name)) == 50035
    hook = await rest.create_webhook(home, "Nyx")
    call = rest.execute_webhook(hook, hook.token or "", "x", username=name)
    assert await code_of(call) == 50035


async def test_an_avatar_must_be_an_image(twin: Twin, rest: Rest) -> None:
    route = hikari.internal.routes.POST_CHANNEL_WEBHOOKS.compile(channel=twin.channel().id)
    body = {"name": "Nyx", "avatar": "data:text/plain;base64,eA=="}
    assert await code_of(rest._request(route, json=body)) == 50035


@pytest.mark.parametrize(
    "face", ["", "a picture", "data:image/png;base64,AA==", "ftp://a.invalid/a"]
)
async def test_a_face_must_be_a_web_address(twin: Twin, rest: Rest, face: str) -> None:
    hook = await rest.create_webhook(twin.channel().id, "Nyx")
    token = hook.token or ""
    assert await code_of(rest.execute_webhook(hook, token, "x", avatar_url=face)) == 50035
    await rest.execute_webhook(hook, token, "x", avatar_url="https://example.invalid/a.png")
    author = twin.messages()[-1].author
    assert author.avatar_url == "https://example.invalid/a.png"
    assert len(author.avatar or "") == 32  # a hash, as of every avatar


async def test_fifteen_webhooks_are_enough(twin: Twin, rest: Rest) -> None:
    home = twin.channel().id
    for number in range(15):
        await rest.create_webhook(home, f"w{number}")
    assert await code_of(rest.create_webhook(home, "one more")) == 30007


async def test_webhooks_need_a_permission(twin: Twin, rest: Rest) -> None:
    twin.deny("general", Permission.MANAGE_WEBHOOKS)
    assert await code_of(rest.create_webhook(twin.channel().id, "Nyx")) == 50013


async def test_a_webhook_speaks_in_threads_of_its_channel_only(twin: Twin, rest: Rest) -> None:
    hook = await rest.create_webhook(twin.channel().id, "Nyx")
    token = hook.token or ""
    inside, outside = twin.thread("inside"), twin.thread("outside", twin.channel("other"))
    await rest.execute_webhook(hook, token, "x", thread=inside.id)
    assert twin.texts(inside) == ["x"]
    assert await code_of(rest.execute_webhook(hook, token, "x", thread=outside.id)) == 10003
    inside.locked = True
    assert await code_of(rest.execute_webhook(hook, token, "x", thread=inside.id)) == 160005


async def test_a_webhook_has_a_limit_that_no_header_shows(client: Any) -> None:
    rules = Rules(webhook_hidden=Limit(2, 60.0))
    async with Twin(rules=rules) as twin, client(twin, max_rate_limit=5) as rest:
        hook = await rest.create_webhook(twin.channel().id, "Nyx")
        for _ in range(2):
            await rest.execute_webhook(hook, hook.token or "", "x")
        with pytest.raises(hikari.RateLimitTooLongError):
            await rest.execute_webhook(hook, hook.token or "", "x")
        (over,) = twin.journal.requests(EXECUTE, status=429)
        assert set(over.headers) == {"Retry-After"}
        assert over.answer["retry_after"] > 5


async def test_files_come_as_multipart_and_can_be_fetched(twin: Twin, rest: Rest) -> None:
    files = [hikari.Bytes(b"one", "a.txt"), hikari.Bytes(b"two", "b.txt")]
    home = twin.channel().id
    sent = await rest.create_message(home, "see", attachments=files)
    assert [one.filename for one in sent.attachments] == ["a.txt", "b.txt"]
    assert await sent.attachments[1].read() == b"two"
    assert twin.journal.requests()[-1].files == ["a.txt", "b.txt"]
    edited = await rest.edit_message(home, sent, attachments=[sent.attachments[0]])
    assert [one.filename for one in edited.attachments] == ["a.txt"]
    bare = await rest.create_message(home, attachment=hikari.Bytes(b"only", "c.txt"))
    assert bare.content is None


async def test_files_have_limits(client: Any) -> None:
    async with Twin(rules=Rules(file_bytes_max=10)) as twin, client(twin) as rest:
        home = twin.channel().id
        with pytest.raises(hikari.ClientHTTPResponseError) as caught:
            await rest.create_message(home, attachment=hikari.Bytes(b"x" * 11, "a"))
        assert caught.value.status == 413
        many = [hikari.Bytes(b"", f"{n}") for n in range(11)]
        assert await code_of(rest.create_message(home, attachments=many)) == 50035


async def test_threads_hang_on_channels_of_a_server_only(twin: Twin, rest: Rest) -> None:
    for place in (twin.dm("ann").id, twin.thread("talk").id):
        sent = await rest.create_message(place, "x")
        assert await code_of(rest.create_message_thread(place, sent, "deeper")) == 50024


async def test_threads_are_started_joined_and_left(twin: Twin, rest: Rest) -> None:
    home = twin.channel().id
    sent = await rest.create_message(home, "x")
    started = await rest.create_message_thread(home, sent, "talk")
    assert started.id == sent.id
    assert await code_of(rest.create_message_thread(home, sent, "again")) == 160004
    await rest.create_message(started, "in the thread")
    kind = hikari.ChannelType.GUILD_PRIVATE_THREAD
    private = await rest.create_thread(home, kind, "secret")
    await rest.leave_thread(private)
    await rest.join_thread(private)
    await rest.add_thread_member(private, twin.user("ann").id)
    # hikari pages by the thread's id instead of the member's, so it must be told to stop.
    assert len(await rest.fetch_thread_members(private).limit(2)) == 2
    active = await rest.fetch_active_threads(twin.guild.id)
    assert {one.id for one in active} == {started.id, private.id}
    await rest.edit_channel(private, archived=True)
    assert twin.world.channels[private.id].archived
    await rest.edit_channel(private, archived=False)
    assert await code_of(rest.delete_channel(private)) == 50013


async def test_the_server_its_roles_and_members(twin: Twin, rest: Rest) -> None:
    ann, guild = twin.user("ann"), twin.guild.id
    assert (await rest.fetch_guild(guild)).name == "The Twin"
    assert (await rest.fetch_my_user()).id == twin.bot.id
    assert (await rest.fetch_user(ann.id)).username == "ann"
    assert (await rest.fetch_member(guild, ann.id)).id == ann.id
    assert len([one async for one in rest.fetch_members(guild)]) == 3
    assert len(await rest.search_members(guild, "an")) == 1
    roles = await rest.fetch_roles(guild)
    assert (await rest.fetch_role(guild, roles[1].id)).name == "bot"
    assert len([one async for one in rest.fetch_my_guilds()]) == 1
    assert (await rest.fetch_application()).id == twin.bot.id
    assert (await rest.fetch_gateway_url()).startswith("ws://127.0.0.1")
    for call, code in (
        (rest.fetch_user(5), 10013),
        (rest.fetch_member(guild, 5), 10007),
        (rest.fetch_role(guild, 5), 10011),
        (rest.fetch_guild(5), 10004),
    ):
        assert await code_of(call) == code


async def test_channels_are_made_changed_and_deleted(twin: Twin, rest: Rest) -> None:
    home = twin.channel().id
    assert await code_of(rest.create_guild_text_channel(twin.guild.id, "new")) == 50013
    twin.allow("general", Permission.MANAGE_CHANNELS, Permission.MANAGE_ROLES)
    made = await rest.create_guild_text_channel(twin.guild.id, "new", topic="t")
    assert (await rest.fetch_channel(made)).name == "new"
    changed = await rest.edit_channel(home, topic="weather", rate_limit_per_user=5)
    assert isinstance(changed, hikari.GuildTextChannel)
    assert (changed.topic, changed.rate_limit_per_user.total_seconds()) == ("weather", 5)
    target = hikari.PermissionOverwriteType.MEMBER
    ann = twin.user("ann").id
    deny = hikari.Permissions.SEND_MESSAGES
    await rest.edit_permission_overwrite(home, ann, target_type=target, deny=deny)
    assert ann in twin.channel().overwrites
    await rest.delete_permission_overwrite(home, ann)
    assert len(await rest.fetch_guild_channels(twin.guild.id)) == 2
    await rest.delete_channel(home)
    assert await code_of(rest.fetch_channel(home)) == 10003


async def test_messages_are_listed_newest_first(client: Any) -> None:
    async with Twin(rules=Rules(rate_limits=False)) as twin, client(twin) as rest:
        home = twin.channel().id
        ids = [(await rest.create_message(home, str(n))).id for n in range(120)]
        listed = [one.id async for one in rest.fetch_messages(home)]
        assert listed == ids[::-1]
        after = [one.id async for one in rest.fetch_messages(home, after=ids[100])]
        assert after == ids[101:]
        around = [one.id async for one in rest.fetch_messages(home, around=ids[60]).limit(100)]
        assert ids[60] in around
        assert around == sorted(around, reverse=True)
        assert (await rest.fetch_message(home, ids[5])).content == "5"
        await rest.delete_messages(home, ids[:50])
        assert len(twin.messages()) == 70


async def test_reactions_are_told(twin: Twin, rest: Rest) -> None:
    said = await twin.say("x")
    await rest.add_reaction(twin.channel().id, said.id, "👀")
    await rest.delete_my_reaction(twin.channel().id, said.id, "👀")
    (told,) = twin.journal.events("MESSAGE_REACTION_ADD")
    assert told.data["emoji"]["name"] == "👀"
    assert twin.journal.events("MESSAGE_REACTION_REMOVE")
