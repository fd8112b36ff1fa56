"""Webhooks, files, threads and the rest of the REST routes: with bare hikari, and in corners that it never reaches."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import aiohttp
import hikari
import pytest

from minamo.twin import EXECUTE, Limit, Permission, Rules, Twin
from minamo.twin.messages import draft
from minamo.twin.permissions import ALL, permissions
from minamo.twin.world import Overwrite

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


Ask = Callable[..., Awaitable[tuple[int, Any]]]


@pytest.fixture
def twin_rules() -> Rules:
    return Rules(rate_limits=False)


@pytest.fixture
async def ask(twin: Twin) -> AsyncIterator[Ask]:
    """``await ask("POST", "/path", {...})`` is the status and the JSON of the answer."""
    headers = {"Authorization": f"Bot {twin.token}"}
    async with aiohttp.ClientSession(headers=headers) as session:

        async def request(method: str, path: str, body: Any = None, **more: Any) -> Any:
            async with session.request(method, twin.url + path, json=body, **more) as answer:
                return answer.status, await answer.json() if answer.status != 204 else None

        yield request


def code(answer: tuple[int, Any]) -> int:
    return int(answer[1]["code"])


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"content": {}}, "content"),
        ({"embeds": [{"fields": [{"name": "n"}]}]}, "embeds"),
        ({"embeds": [{"title": "t", "fields": [{"name": "n", "value": "v"}] * 26}]}, "embeds"),
        ({"components": [{"type": 10, "content": "x"}]}, "components"),
        ({"components": [{"type": 1, "components": []}] * 6}, "components"),
        ({"components": [{"type": 1, "components": [{"type": 2, "style": 5}] * 6}]}, "components"),
        ({"components": [{"type": 1, "components": [{"type": 2, "style": 1}]}]}, "components"),
        ({"components": [{"type": 2, "style": 1, "custom_id": "x" * 101}]}, "components"),
        ({"components": [{"type": 2, "style": 5, "label": "x" * 81}]}, "components"),
        ({"content": "x", "allowed_mentions": {"users": ["1"] * 101}}, "allowed_mentions"),
    ],
)
async def test_bodies_that_are_refused_say_where(
    twin: Twin, ask: Ask, body: dict[str, Any], field: str
) -> None:
    status, said = await ask("POST", f"/channels/{twin.channel().id}/messages", body)
    assert (status, said["code"]) == (400, 50035)
    assert field in said["errors"]


@pytest.mark.parametrize("body", ["not json", "[]"])
async def test_what_is_no_object_is_bad_json(twin: Twin, body: str) -> None:
    url = f"{twin.url}/channels/{twin.channel().id}/messages"
    headers = {"Authorization": f"Bot {twin.token}", "Content-Type": "application/json"}
    async with (
        aiohttp.ClientSession() as session,
        session.post(url, data=body, headers=headers) as answer,
    ):
        assert (answer.status, (await answer.json())["code"]) == (400, 50109)


async def test_an_accessory_is_a_component_too(twin: Twin, ask: Ask) -> None:
    button = {"type": 2, "style": 1, "custom_id": "go", "label": "Go"}
    section = {"type": 9, "components": [{"type": 10, "content": "x"}], "accessory": button}
    body = {"flags": 1 << 15, "components": [section]}
    _, said = await ask("POST", f"/channels/{twin.channel().id}/messages", body)
    assert said["components"][0]["accessory"]["id"] == 3
    used = await twin.click(twin.messages()[0], "go")
    assert used.data["custom_id"] == "go"
    (gone,) = twin.messages()
    await twin.delete(gone)
    with pytest.raises(LookupError, match="the message is gone"):
        await twin.click(gone, "go")


async def test_hiding_the_previews_of_another_author_needs_a_permission(
    twin: Twin, ask: Ask
) -> None:
    said = await twin.say("https://example.org")
    path = f"/channels/{twin.channel().id}/messages/{said.id}"
    assert (await ask("PATCH", path, {"flags": 4}))[0] == 200
    assert said.flags == 4
    twin.deny("general", Permission.MANAGE_MESSAGES)
    assert code(await ask("PATCH", path, {"flags": 0})) == 50013
    assert code(await ask("DELETE", path)) == 50013


@pytest.mark.parametrize(
    ("method", "path", "body", "expected"),
    [
        ("GET", "/channels/{home}/messages?limit=101", None, 50035),
        ("POST", "/channels/{home}/messages/bulk-delete", {"messages": ["1"]}, 50035),
        ("GET", "/channels/5", None, 10003),
        ("POST", "/channels/{home}/threads", {"name": " ", "type": 11}, 50035),
        ("POST", "/users/@me/channels", {"recipient_id": "5"}, 10013),
        ("POST", "/users/@me/channels", {"recipient_id": "{bot}"}, 50007),
        ("GET", "/applications/5/commands", None, 10002),
        ("PUT", "/applications/{bot}/commands", {}, 50109),
        ("POST", "/applications/{bot}/commands", {"name": "Not Good", "description": "x"}, 50035),
        ("GET", "/webhooks/{bot}/guess/messages/@original", None, 50027),
    ],
)
async def test_what_is_refused(
    twin: Twin, ask: Ask, method: str, path: str, body: Any, expected: int
) -> None:
    names = {"home": str(twin.channel().id), "bot": str(twin.bot.id)}
    for name, value in names.items():
        path = path.replace(f"{{{name}}}", value)
        if isinstance(body, dict):
            body = {k: value if v == f"{{{name}}}" else v for k, v in body.items()}
    assert code(await ask(method, path, body)) == expected


async def test_callbacks_that_make_no_sense(twin: Twin, ask: Ask) -> None:
    used = await twin.slash("a", {"on": True, "often": 2, "much": 0.5})
    assert [one["type"] for one in used.data["options"]] == [5, 4, 10]
    path = f"/interactions/{used.id}/{used.token}/callback"
    # 6 and 7 change the message of a component, and there is none; 8 is for autocompletion.
    for kind in (99, 6, 7, 8):
        assert code(await ask("POST", path, {"type": kind, "data": {}})) == 50035
    field = {"type": 4, "custom_id": "f", "style": 1, "label": "Name"}
    rows = [{"type": 1, "components": [field]}]
    modal = {"type": 9, "data": {"custom_id": "m", "title": "Who?", "components": rows}}
    status, said = await ask("POST", f"{path}?with_response=true", modal)
    assert (status, said["resource"]) == (200, {"type": 9})
    original = f"/webhooks/{twin.bot.id}/{used.token}/messages/@original"
    assert code(await ask("GET", original)) == 10008
    with pytest.raises(TypeError, match="option 'x'"):
        await twin.slash("a", {"x": object()})


async def test_a_webhook_that_is_not_waited_for_says_nothing(twin: Twin, ask: Ask) -> None:
    home, other = twin.channel(), twin.channel("other")
    _, hook = await ask("POST", f"/channels/{home.id}/webhooks", {"name": "Nyx"})
    path = f"/webhooks/{hook['id']}/{hook['token']}"
    assert await ask("POST", path, {"content": "x"}) == (204, None)
    assert code(await ask("PATCH", f"{path}/messages/5", {"content": "y"})) == 10008
    moved = {"channel_id": str(other.id), "avatar": None}
    assert (await ask("PATCH", f"/webhooks/{hook['id']}", moved))[0] == 200
    await ask("POST", path, {"content": "over here"})
    assert twin.texts(other) == ["over here"]
    twin.delete_channel(other)
    assert code(await ask("POST", path, {"content": "x"})) == 10015


async def test_threads_are_changed_by_their_owner_or_a_moderator(twin: Twin, ask: Ask) -> None:
    thread = twin.thread("talk")
    path = f"/channels/{thread.id}"
    assert code(await ask("PATCH", path, {"name": "mine now"})) == 50013
    twin.allow("general", Permission.MANAGE_THREADS)
    assert (await ask("PATCH", path, {"archived": True}))[0] == 200
    assert code(await ask("PATCH", path, {"name": "x"})) == 50083
    assert code(await ask("PUT", f"{path}/thread-members/@me")) == 50083
    said = await twin.say("x", channel=thread)  # opens it
    assert not thread.archived
    thread.archived = True
    react = f"{path}/messages/{said.id}/reactions/👍/@me"
    assert code(await ask("PUT", react)) == 50083
    assert (await ask("POST", f"{path}/typing"))[0] == 204
    assert (await ask("DELETE", path))[0] == 200
    assert thread.id not in twin.world.channels


async def test_deleting_a_channel_takes_its_threads_along(twin: Twin) -> None:
    thread = twin.thread("talk")
    twin.delete_channel("general")
    assert thread.id not in twin.world.channels


async def test_a_missing_file_is_not_found(twin: Twin) -> None:
    url = twin.url.replace("/api/v10", "/cdn/attachments/1/2/x.txt")
    async with aiohttp.ClientSession() as session, session.get(url) as answer:
        assert answer.status == 404


async def test_polls_are_said_to_be_missing() -> None:
    with pytest.raises(NotImplementedError, match="no poll"):
        draft(Twin()._discord, {"poll": {"question": {}}}, [])


def test_permissions_combine_as_documented() -> None:
    twin = Twin()
    home, guild = twin.channel(), twin.guild
    ann = twin.user("ann")

    def may(user_id: int) -> bool:
        return bool(permissions(twin.world, user_id, home) & Permission.SEND_MESSAGES)

    role = next(one for one in guild.roles.values() if one.name == "bot")
    send = Permission.SEND_MESSAGES
    home.overwrites[guild.id] = Overwrite(guild.id, is_member=False, deny=send)
    assert not may(ann.id)
    home.overwrites[role.id] = Overwrite(role.id, is_member=False, allow=send)
    assert may(twin.bot.id)  # the role wins over everyone ...
    twin.deny(home, send)
    assert not may(twin.bot.id)  # ... and the member over the role
    assert may(guild.owner_id)
    role.permissions |= Permission.ADMINISTRATOR
    assert permissions(twin.world, twin.bot.id, home) == ALL
    assert not may(12345)
    assert not permissions(twin.world, ann.id, twin.dm("bob"))
