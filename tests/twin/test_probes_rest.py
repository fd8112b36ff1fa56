"""What Discord does with a request, one row for each behaviour, asked of the twin.

Sources of the rows: Discord's developer documentation, its OpenAPI document, and where both are
silent what users of the API observed.
"""

from __future__ import annotations

from typing import Any

import aiohttp
import pytest

from minamo.twin import Permission
from support.twin_http import Lab, Stories

pytestmark = pytest.mark.anyio

V2 = 1 << 15
MIB = 1 << 20
BUTTON = {"type": 2, "style": 1, "label": "a", "custom_id": "a"}
TEXT = {"type": 10, "content": "x"}
SELECT = {"type": 3, "custom_id": "s", "options": [{"label": "o", "value": "1"}]}
OK, FORM, EMPTY = (200, None), (400, 50035), (400, 50006)


def row(*components: Any) -> dict[str, Any]:
    return {"type": 1, "components": list(components)}


def v2(*components: Any) -> dict[str, Any]:
    return {"flags": V2, "components": list(components)}


def buttons(*components: Any) -> dict[str, Any]:
    return {"content": "x", "components": list(components)}


def embeds(*some: Any) -> dict[str, Any]:
    return {"embeds": list(some)}


# One message: behaviour, body, status and code.

MESSAGES: list[tuple[str, Any, tuple[int, int | None]]] = [
    ("2000 characters", {"content": "x" * 2_000}, OK),
    ("2001 characters", {"content": "x" * 2_001}, FORM),
    ("code points are counted", {"content": "\N{GRINNING FACE}" * 2_000}, OK),
    ("a number is text", {"content": 5}, OK),
    ("a list is no text", {"content": []}, FORM),
    ("blank", {"content": "   "}, EMPTY),
    ("nothing", {}, EMPTY),
    ("an empty embed", embeds({}), FORM),
    ("an embed with only a colour", embeds({"color": 5}), FORM),
    ("an embed of blanks", embeds({"title": "  "}), FORM),
    ("an embed with only a picture", embeds({"image": {"url": "https://x.y/i.png"}}), OK),
    ("11 embeds", embeds(*[{"title": "t"}] * 11), FORM),
    ("6000 over all embeds", embeds({"description": "d" * 3_000}, {"title": "t"}), OK),
    ("6001 over all embeds", embeds(*[{"description": "d" * 3_001}] * 2), FORM),
    ("embeds are trimmed, then measured", embeds({"description": "d" * 4_096 + "   "}), OK),
    ("a javascript: address", embeds({"title": "t", "url": "javascript:x"}), FORM),
    ("a colour of 25 bits", embeds({"title": "t", "color": 1 << 24}), FORM),
    ("a time that is none", embeds({"title": "t", "timestamp": "soon"}), FORM),
    ("26 fields", embeds({"fields": [{"name": "n", "value": "v"}] * 26}), FORM),
    ("a nonce of 25", {"content": "x", "nonce": "n" * 25}, OK),
    ("a nonce of 26", {"content": "x", "nonce": "n" * 26}, FORM),
    ("a nonce that is a number", {"content": "x", "nonce": 7}, OK),
    ("text to speech needs a permission", {"content": "x", "tts": True}, (403, 50013)),
    ("no text to speech", {"content": "x", "tts": False}, OK),
    ("mentions that are text", {"content": "x", "allowed_mentions": "x"}, FORM),
    (
        "parse users and list users",
        {"content": "x", "allowed_mentions": {"parse": ["users"], "users": ["5"]}},
        FORM,
    ),
    (
        "parse users and an empty list of users",
        {"content": "x", "allowed_mentions": {"parse": ["users"], "users": []}},
        OK,
    ),
    ("an unknown kind of mention", {"content": "x", "allowed_mentions": {"parse": ["x"]}}, FORM),
    ("a reply to nothing", {"content": "x", "message_reference": {"message_id": "123"}}, FORM),
    (
        "a reply to nothing that may be one",
        {"content": "x", "message_reference": {"message_id": "1", "fail_if_not_exists": False}},
        OK,
    ),
    ("ids may be numbers", {"content": "x", "allowed_mentions": {"users": [5]}}, OK),
    ("null is the same as absent", {"content": "x", "embeds": None, "components": None}, OK),
    ("unknown fields are ignored", {"content": "x", "no_such_field": {}}, OK),
    ("a button in a row", buttons(row(BUTTON)), OK),
    ("a button outside a row", buttons(BUTTON), FORM),
    ("an empty row", buttons(row()), FORM),
    ("six buttons", buttons(row(*[{**BUTTON, "custom_id": str(n)} for n in range(6)])), FORM),
    ("six rows", buttons(*[row({**BUTTON, "custom_id": str(n)}) for n in range(6)]), FORM),
    ("a custom_id of 101", buttons(row({**BUTTON, "custom_id": "x" * 101})), FORM),
    ("two of one custom_id", buttons(row(BUTTON, BUTTON)), FORM),
    ("a label of 81", buttons(row({**BUTTON, "label": "x" * 81})), FORM),
    ("a link", buttons(row({"type": 2, "style": 5, "label": "x", "url": "https://x.y"})), OK),
    ("a link to nowhere", buttons(row({"type": 2, "style": 5, "label": "x"})), FORM),
    ("neither label nor emoji", buttons(row({"type": 2, "style": 1, "custom_id": "x"})), FORM),
    ("an emoji is enough", buttons(row({**BUTTON, "label": None, "emoji": {"name": "x"}})), OK),
    ("a style of 9", buttons(row({**BUTTON, "style": 9})), FORM),
    ("a select", buttons(row(SELECT)), OK),
    ("a select without options", buttons(row({"type": 3, "custom_id": "s"})), FORM),
    ("a select beside a button", buttons(row(SELECT, BUTTON)), FORM),
    ("two options of one value", buttons(row({**SELECT, "options": SELECT["options"] * 2})), FORM),
    ("a V2 component without the flag", buttons(TEXT), FORM),
    ("a V2 component", v2(TEXT), OK),
    ("V2 with content", {**v2(TEXT), "content": "x"}, FORM),
    ("V2: 41 components", v2(*[TEXT] * 41), FORM),
    ("V2: 4001 characters", v2({"type": 10, "content": "x" * 4_001}), FORM),
    ("V2: a section without accessory", v2({"type": 9, "components": [TEXT]}), FORM),
    ("V2: a file that was not sent", v2({"type": 13, "file": {"url": "attachment://a"}}), FORM),
    ("V2: spacing of 3", v2(TEXT, {"type": 14, "spacing": 3}), FORM),
]


@pytest.mark.parametrize(
    ("body", "expected"), [row[1:] for row in MESSAGES], ids=[row[0] for row in MESSAGES]
)
async def test_a_message_is_taken_or_refused(
    lab: Lab, body: Any, expected: tuple[int, int | None]
) -> None:
    assert (await lab.send(body)).refusal == expected


# One command: behaviour, changes to a good one, status.

_OPTION = {"type": 3, "name": "q", "description": "d"}
COMMANDS: list[tuple[str, dict[str, Any], int]] = [
    ("a good one", {}, 201),
    ("an upper case name", {"name": "A"}, 400),
    ("a name with a space", {"name": "a b"}, 400),
    ("a menu may have both", {"name": "A b", "type": 2, "description": ""}, 201),
    ("a menu has no description", {"name": "A b", "type": 2}, 400),
    ("a description of 101", {"description": "d" * 101}, 400),
    ("no description", {"description": ""}, 400),
    ("an option", {"options": [_OPTION]}, 201),
    ("an option without description", {"options": [{"type": 3, "name": "q"}]}, 400),
    ("an option name with a space", {"options": [{**_OPTION, "name": "a b"}]}, 400),
    ("two options of one name", {"options": [_OPTION, _OPTION]}, 400),
    (
        "required after optional",
        {"options": [_OPTION, {**_OPTION, "name": "r", "required": True}]},
        400,
    ),
    ("26 options", {"options": [{**_OPTION, "name": f"o{n}"} for n in range(26)]}, 400),
    ("an unknown type of option", {"options": [{**_OPTION, "type": 99}]}, 400),
    ("26 choices", {"options": [{**_OPTION, "choices": [{"name": "n", "value": "v"}] * 26}]}, 400),
    ("a sub-command", {"options": [{**_OPTION, "type": 1, "options": [_OPTION]}]}, 201),
    (
        "a sub-command beside an option",
        {"options": [{**_OPTION, "type": 1}, {**_OPTION, "name": "r"}]},
        400,
    ),
]


@pytest.mark.parametrize(
    ("changes", "expected"), [row[1:] for row in COMMANDS], ids=[row[0] for row in COMMANDS]
)
async def test_a_command_is_taken_or_refused(
    lab: Lab, changes: dict[str, Any], expected: int
) -> None:
    path = f"/applications/{lab.twin.bot.id}/commands"
    answer = await lab.ask("POST", path, {"name": "a", "description": "d", **changes})
    assert answer.status == expected


# Requests of other kinds: behaviour, method, path, body, status and code.

OTHERS: list[tuple[str, str, str, Any, tuple[int, int | None]]] = [
    ("no route is taken for an id", "GET", "/channels/{c}/messages/no-such", None, (501, 0)),
    ("... of a role", "GET", "/guilds/{g}/roles/member-counts", None, (501, 0)),
    (
        "... of a command",
        "GET",
        "/applications/{b}/guilds/{g}/commands/permissions",
        None,
        (501, 0),
    ),
    ("... of a channel", "GET", "/channels/no-such", None, (501, 0)),
    ("an unknown route", "POST", "/channels/{c}/invites", {}, (501, 0)),
    ("101 messages", "GET", "/channels/{c}/messages?limit=101", None, FORM),
    ("messages before no id", "GET", "/channels/{c}/messages?before=x", None, FORM),
    ("a thread", "POST", "/channels/{c}/threads", {"name": "t", "type": 11}, (201, None)),
    ("a thread of type 0", "POST", "/channels/{c}/threads", {"name": "t", "type": 0}, FORM),
    (
        "archived after 5 minutes",
        "POST",
        "/channels/{c}/threads",
        {"name": "t", "type": 11, "auto_archive_duration": 5},
        FORM,
    ),
    ("a thread in a DM", "POST", "/channels/{d}/threads", {"name": "t"}, (400, 50024)),
    ("a thread in a thread", "POST", "/channels/{t}/threads", {"name": "t"}, (400, 50024)),
    ("a webhook on a thread", "POST", "/channels/{t}/webhooks", {"name": "t"}, (400, 50024)),
    ("a webhook called clyde", "POST", "/channels/{c}/webhooks", {"name": "Clyde"}, FORM),
    ("an empty channel name", "PATCH", "/channels/{c}", {"name": ""}, FORM),
    ("a slow mode of a day", "PATCH", "/channels/{c}", {"rate_limit_per_user": 86_400}, FORM),
    (
        "one message twice",
        "POST",
        "/channels/{c}/messages/bulk-delete",
        {"messages": ["5", "5"]},
        FORM,
    ),
    ("one message only", "POST", "/channels/{c}/messages/bulk-delete", {"messages": ["5"]}, FORM),
    ("an unknown emoji", "PUT", "/channels/{c}/messages/{m}/reactions/x/@me", None, (400, 10014)),
    (
        "a keycap is an emoji",
        "PUT",
        "/channels/{c}/messages/{m}/reactions/1%EF%B8%8F%E2%83%A3/@me",
        None,
        (204, None),
    ),
    ("a DM with nobody", "POST", "/users/@me/channels", {"recipient_id": "5"}, (404, 10013)),
]


@pytest.mark.parametrize(
    ("method", "path", "body", "expected"),
    [row[1:] for row in OTHERS],
    ids=[row[0] for row in OTHERS],
)
async def test_a_request_is_taken_or_refused(
    lab: Lab, method: str, path: str, body: Any, expected: tuple[int, int | None]
) -> None:
    twin = lab.twin
    twin.allow("general", Permission.MANAGE_CHANNELS)
    said = await twin.say("x")
    names = {"c": twin.channel().id, "g": twin.guild.id, "b": twin.bot.id, "m": said.id}
    names |= {"d": twin.dm("ann").id, "t": twin.thread("thread").id}
    assert (await lab.ask(method, path.format(**names), body)).refusal == expected


# Stories: what is observed after some requests.

story = Stories()


@story("content is trimmed", "hi")
async def _(lab: Lab) -> Any:
    return (await lab.sent({"content": "  hi \n"}))["content"]


@story("an embed is rich, whatever is asked for", [{"title": "t", "type": "rich"}])
async def _(lab: Lab) -> Any:
    odd = {
        "title": "t",
        "type": "image",
        "provider": {"name": "p"},
        "video": {"url": "https://x.y"},
    }
    return (await lab.sent(embeds(odd)))["embeds"]


@story("a multipart body without payload_json has fields", ("Hello, World!", []))
async def _(lab: Lab) -> Any:
    writer = aiohttp.MultipartWriter("form-data")
    for name, value in (("content", "Hello, World!"), ("tts", "false")):
        writer.append(value).set_content_disposition("form-data", name=name)
    message = (await lab.send(None, data=writer)).body
    return message["content"], message["attachments"]


@story("a webhook takes a web form", (200, "hi"))
async def _(lab: Lab) -> Any:
    path, form = await lab.webhook(), "application/x-www-form-urlencoded"
    answer = await lab.ask("POST", f"{path}?wait=true", data="content=hi", content_type=form)
    return answer.status, answer.body["content"]


@story("an ordinary message cannot be ephemeral", (0, 200))
async def _(lab: Lab) -> Any:
    message = await lab.sent({"content": "x", "flags": 64})
    return message["flags"], (await lab.ask("GET", f"{lab.home}/{message['id']}")).status


@story("two flags can be set", 4 | 4096)
async def _(lab: Lab) -> Any:
    return (await lab.sent({"content": "x", "flags": 4 | 4096 | 2}))["flags"]


def _rung(message: Any) -> tuple[int, int, bool]:
    return len(message["mentions"]), len(message["mention_roles"]), message["mention_everyone"]


def _loud(lab: Lab) -> str:
    roles = lab.twin.guild.roles.values()
    role = next(one for one in roles if one.name == "bot")
    return f"<@{lab.twin.user('ann').id}> @everyone <@&{role.id}>"


@story("without allowed_mentions all ring", (1, 1, True))
async def _(lab: Lab) -> Any:
    return _rung(await lab.sent({"content": _loud(lab)}))


@story("... but for a webhook only users", (1, 0, False))
async def _(lab: Lab) -> Any:
    path = f"{await lab.webhook()}?wait=true"
    return _rung((await lab.ask("POST", path, {"content": _loud(lab)}, auth=False)).body)


@story("... and for an interaction only users", (1, 0, False))
async def _(lab: Lab) -> Any:
    answer = await lab.answer(await lab.twin.slash("x"), 4, {"content": _loud(lab)})
    return _rung(answer.body["resource"]["message"])


@story("an empty parse silences", (0, 0, False))
async def _(lab: Lab) -> Any:
    return _rung(await lab.sent({"content": _loud(lab), "allowed_mentions": {"parse": []}}))


@story("who is not in the text does not ring", (0, 0, False))
async def _(lab: Lab) -> Any:
    bob = str(lab.twin.user("bob").id)
    return _rung(await lab.sent({"content": "x", "allowed_mentions": {"users": [bob]}}))


@story("with allowed_mentions a reply rings only if it says so", (0, 1))
async def _(lab: Lab) -> Any:
    reference = {"message_id": str((await lab.twin.say("q")).id)}
    body = {"content": "a", "message_reference": reference}
    quiet = await lab.sent({**body, "allowed_mentions": {"parse": []}})
    loud = await lab.sent({**body, "allowed_mentions": {"replied_user": True}})
    return len(quiet["mentions"]), len(loud["mentions"])


@story("an edit without content leaves mentions alone", (0, 0, False))
async def _(lab: Lab) -> Any:
    message = await lab.sent({"content": _loud(lab), "allowed_mentions": {"parse": []}})
    edit = await lab.ask("PATCH", f"{lab.home}/{message['id']}", {"components": []})
    return _rung(edit.body)


@story("an edit makes mentions anew, and rings no bell", ((0, 0, False), (1, 1, True), 1))
async def _(lab: Lab) -> Any:
    path = f"{lab.home}/{(await lab.sent({'content': _loud(lab)}))['id']}"
    gone = await lab.ask("PATCH", path, {"content": "nobody"})
    back = await lab.ask("PATCH", path, {"content": _loud(lab)})
    return _rung(gone.body), _rung(back.body), len(lab.twin.messages()[0].pinged)


@story("text components mention", (1, 1, True))
async def _(lab: Lab) -> Any:
    return _rung(await lab.sent(v2({"type": 10, "content": _loud(lab)})))


@story("a nonce is enforced only if asked, and forgotten after an hour", (True, False, False))
async def _(lab: Lab) -> Any:
    enforced = {"content": "x", "nonce": "1", "enforce_nonce": True}
    first = (await lab.sent(enforced))["id"]
    again = (await lab.sent(enforced))["id"]
    plain = (await lab.sent({"content": "x", "nonce": "1"}))["id"]
    lab.clock.now += 3_600
    later = (await lab.sent(enforced))["id"]
    return first == again, first == plain, first == later


@story("defaults of components are filled in", ({"divider": True, "spacing": 1}, (None, False)))
async def _(lab: Lab) -> Any:
    message = await lab.sent(v2(TEXT, {"type": 14}, {"type": 17, "components": [TEXT]}))
    _, line, box = message["components"]
    shown = {key: line[key] for key in ("divider", "spacing")}
    return shown, (box["accent_color"], box["spoiler"])


@story("a select has bounds", (1, 1))
async def _(lab: Lab) -> Any:
    message = await lab.sent(buttons(row(SELECT)))
    select = message["components"][0]["components"][0]
    return select["min_values"], select["max_values"]


@story("the flag of Components V2 cannot be unset", V2)
async def _(lab: Lab) -> Any:
    message = await lab.sent(v2(TEXT))
    return (await lab.ask("PATCH", f"{lab.home}/{message['id']}", {"flags": 0})).body["flags"]


@story("a file component shows the file", ("a.txt", 2, True))
async def _(lab: Lab) -> Any:
    body = v2({"type": 13, "file": {"url": "attachment://a.txt"}})
    (part,) = (await lab.sent(body, files=[("a.txt", b"hi")]))["components"]
    return part["name"], part["size"], part["file"]["url"].startswith("http")


# Files.


@story("10 MiB is the limit of each file", ((200, None), (413, 40005)))
async def _(lab: Lab) -> Any:
    two = await lab.send({}, files=[("a", b"x" * 6 * MIB), ("b", b"x" * 6 * MIB)])
    large = await lab.send({}, files=[("a", b"x" * 11 * MIB)])
    return two.refusal, large.refusal


@story("names and descriptions of files are kept", ("new.txt", "alt"))
async def _(lab: Lab) -> Any:
    told = {"attachments": [{"id": 0, "filename": "new.txt", "description": "alt"}]}
    (kept,) = (await lab.sent(told, files=[("a.txt", b"x")]))["attachments"]
    return kept["filename"], kept["description"]


@story("two files of one name stay two", [b"one", b"two"])
async def _(lab: Lab) -> Any:
    message = await lab.sent({}, files=[("a.txt", b"one"), ("a.txt", b"two")])
    found = []
    for one in message["attachments"]:
        async with lab.session.get(one["url"]) as response:
            found.append(await response.read())
    return found


@story("an edit drops the files it does not list", (["b"], 404))
async def _(lab: Lab) -> Any:
    message = await lab.sent({"content": "x"}, files=[("a", b"1"), ("b", b"2")])
    first, second = message["attachments"]
    listed = {"attachments": [{"id": second["id"]}]}
    edit = await lab.ask("PATCH", f"{lab.home}/{message['id']}", listed)
    async with lab.session.get(first["url"]) as response:
        return [one["filename"] for one in edit.body["attachments"]], response.status


@pytest.mark.parametrize("behaviour", story.told)
async def test_a_story(lab: Lab, behaviour: str) -> None:
    tell, expected = story.told[behaviour]
    assert await tell(lab) == expected
