"""Corners of the routes, spoken to with plain HTTP: what hikari would never send, or hides."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import aiohttp
import pytest

from minamo.twin import Permission, Rules, Twin
from minamo.twin.messages import draft
from minamo.twin.permissions import ALL, permissions
from minamo.twin.world import Overwrite

pytestmark = pytest.mark.anyio
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


async def test_hiding_the_previews_of_somebody_needs_a_permission(twin: Twin, ask: Ask) -> None:
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
