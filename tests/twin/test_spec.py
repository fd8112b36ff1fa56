"""The twin before Discord's OpenAPI document: its answers fit, and what it forbids is refused."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from minamo.twin import Interaction, Permission
from support.twin_http import Answer, Lab, twin_lab
from twin.discord_openapi import VARIABLE, Judge, document, read_document

PLACE = document()
pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(PLACE is None, reason=f"{VARIABLE} names no copy of Discord's document"),
]
V2 = 1 << 15
BUTTON = {"type": 2, "style": 1, "label": "a", "custom_id": "a"}
TEXT = {"type": 10, "content": "t"}
PICTURE = {"url": "https://x.y/i.png"}
YOUNG = 1_593_540_240_998_400_000  # the id of a message of today, by the clock of the lab
OPTION = {"name": "q", "description": "q"}


@pytest.fixture(scope="module")
def judge() -> Judge:
    assert PLACE is not None
    return read_document(PLACE)


# The answers of every route.

#: Where the document and the twin differ on purpose: place and difference, and the reason.
ODDITIES = {
    r"errors\..*": "the document gives the codes of nested errors as numbers; Discord sends words",
    r"body: 'has_more' is a required property": "the documentation of active threads has none",
    r"resource(\.type)?: .*": "the document knows the message of answers of type 4 and 7 only",
    r"(\[\]\.)?message_reference\.type: 0 was expected": "the document has no forwards",
}


class Judged(Lab):
    """A lab that has each answer judged."""

    judge: Judge
    wrong: list[str]

    async def ask(self, method: str, path: str, body: Any = None, **more: Any) -> Answer:
        answer = await super().ask(method, path, body, **more)
        operation = self.judge.operation(method, path)
        assert operation is not None, f"the document has no {method} {path}"
        for where, how in self.judge.answer_errors(operation, answer.status, answer.body):
            if not any(re.fullmatch(oddity, f"{where}: {how}") for oddity in ODDITIES):
                self.wrong.append(f"{operation.method} {operation.path}: {where}: {how}")
        return answer


async def _read(lab: Lab) -> None:
    twin = lab.twin
    guild, channel, ann = twin.guild.id, twin.channel().id, twin.user("ann").id
    asked = await twin.say("hi")
    for path in (
        "/gateway",
        "/gateway/bot",
        "/oauth2/applications/@me",
        "/applications/@me",
        "/users/@me",
        "/users/@me/guilds",
        "/users/@me/guilds?with_counts=true",
        f"/users/{ann}",
        f"/guilds/{guild}",
        f"/guilds/{guild}/channels",
        f"/guilds/{guild}/roles",
        f"/guilds/{guild}/roles/{guild}",
        f"/guilds/{guild}/members?limit=10",
        f"/guilds/{guild}/members/search?query=a",
        f"/guilds/{guild}/members/{ann}",
        f"/channels/{channel}",
        f"/channels/{channel}/messages",
        f"/channels/{channel}/messages/{asked.id}",
        "/channels/1",
        f"/channels/{channel}/messages/1",
        "/webhooks/1",
    ):
        await lab.ask("GET", path)
    await lab.ask("GET", "/users/@me", auth=False)


async def _write(lab: Lab) -> None:
    embed = {"title": "t", "description": "d", "url": "https://x.y/", "color": 5}
    embed |= {"timestamp": "2024-01-01T00:00:00.000Z", "footer": {"text": "f"}, "image": PICTURE}
    embed |= {"author": {"name": "a", "icon_url": PICTURE["url"]}, "thumbnail": PICTURE}
    embed |= {"fields": [{"name": "n", "value": "v"}]}
    select = {"type": 3, "custom_id": "s", "options": [{"label": "o", "value": "1"}]}
    rows = [{"type": 1, "components": [BUTTON]}, {"type": 1, "components": [select]}]
    section = {"type": 9, "components": [TEXT], "accessory": {"type": 11, "media": PICTURE}}
    gallery = {"type": 12, "items": [{"media": PICTURE}]}
    file = {"type": 13, "file": {"url": "attachment://a.txt"}}
    box = {"type": 17, "components": [TEXT, {"type": 14}, section, gallery]}
    plain = await lab.sent({"content": "x", "nonce": "n1", "enforce_nonce": True})
    reference = {"message_id": plain["id"]}
    await lab.sent({"content": "r", "message_reference": reference})
    source = {"type": 1, "channel_id": plain["channel_id"], **reference}
    await lab.sent({"message_reference": source})
    rich = await lab.sent({"embeds": [embed]})
    await lab.sent({"content": "btn", "components": rows})
    await lab.sent({"flags": V2, "components": [box, file]}, files=[("a.txt", b"hi")])
    told = {"content": "f", "attachments": [{"id": "0", "description": "alt"}]}
    await lab.sent(told, files=[("a.txt", b"hello"), ("b.png", b"\x89PNG")])
    await lab.send({})
    await lab.send({"content": "x" * 2_001})
    one = f"{lab.home}/{plain['id']}"
    await lab.ask("PATCH", one, {"content": "y"})
    await lab.ask("PATCH", f"{lab.home}/{rich['id']}", {"embeds": [], "content": "text"})
    await lab.ask("PUT", f"{one}/reactions/%F0%9F%91%8D/@me")
    await lab.ask("DELETE", f"{one}/reactions/%F0%9F%91%8D/@me")
    await lab.ask("POST", lab.home.replace("messages", "typing"))
    for way in ("before", "after", "around"):
        await lab.ask("GET", f"{lab.home}?limit=2&{way}={plain['id']}")
    ids = [(await lab.sent({"content": "b"}))["id"] for _ in range(2)]
    await lab.ask("POST", f"{lab.home}/bulk-delete", {"messages": ids})
    await lab.ask("DELETE", f"{lab.home}/{rich['id']}")
    direct = await lab.ask("POST", "/users/@me/channels", {"recipient_id": lab.twin.user().id})
    await lab.ask("GET", f"/channels/{direct.body['id']}")
    await lab.ask("POST", f"/channels/{direct.body['id']}/messages", {"content": "x"})


async def _branch(lab: Lab) -> None:
    guild, channel, ann = lab.twin.guild.id, lab.twin.channel().id, lab.twin.user("ann").id
    starter = f"{lab.home}/{(await lab.sent({'content': 'start'}))['id']}"
    first = await lab.ask("POST", f"{starter}/threads", {"name": "t"})
    await lab.ask("POST", f"{starter}/threads", {"name": "t"})
    await lab.ask("GET", starter)
    second = await lab.ask("POST", f"/channels/{channel}/threads", {"name": "t2", "type": 12})
    thread = f"/channels/{first.body['id']}"
    await lab.ask("POST", f"{thread}/messages", {"content": "in"})
    for who in (str(ann), "@me"):
        await lab.ask("PUT", f"{thread}/thread-members/{who}")
    await lab.ask("GET", f"{thread}/thread-members")
    await lab.ask("GET", f"/guilds/{guild}/threads/active")
    for archived in (True, False):
        await lab.ask("PATCH", thread, {"archived": archived})
    for who in (str(ann), "@me"):
        await lab.ask("DELETE", f"{thread}/thread-members/{who}")
    await lab.ask("GET", thread)
    await lab.ask("DELETE", f"/channels/{second.body['id']}")
    made = await lab.ask("POST", f"/guilds/{guild}/channels", {"name": "new"})
    lab.twin.allow("new", Permission.MANAGE_CHANNELS, Permission.MANAGE_ROLES)
    new = f"/channels/{made.body['id']}"
    await lab.ask("PATCH", new, {"topic": "x", "rate_limit_per_user": 5})
    overwrite = {"type": 1, "allow": "1024", "deny": "0"}
    await lab.ask("PUT", f"{new}/permissions/{ann}", overwrite)
    await lab.ask("GET", new)
    await lab.ask("DELETE", f"{new}/permissions/{ann}")
    await lab.ask("DELETE", new)


async def _register(lab: Lab) -> None:
    bot, guild = lab.twin.bot.id, lab.twin.guild.id
    options = [
        {"type": 1, **OPTION, "options": [{"type": 4, **OPTION, "required": True, "min_value": 1}]}
    ]
    for home in (f"/applications/{bot}/commands", f"/applications/{bot}/guilds/{guild}/commands"):
        good = {"name": "ask", "description": "d", "options": options}
        one = f"{home}/{(await lab.ask('POST', home, good)).body['id']}"
        await lab.ask("POST", home, good)
        await lab.ask("GET", home)
        await lab.ask("GET", one)
        await lab.ask("PATCH", one, {"description": "d3", "default_member_permissions": "8"})
        menu = {"name": "Info", "type": 2}
        await lab.ask("PUT", home, [{"name": "ask", "description": "d"}, menu])
        await lab.ask("DELETE", one)
        await lab.ask("GET", one)


async def _hook(lab: Lab) -> None:
    channel, guild = lab.twin.channel().id, lab.twin.guild.id
    by_token = await lab.webhook()
    by_id = by_token.rpartition("/")[0]
    for path in (by_token, by_id, f"/channels/{channel}/webhooks", f"/guilds/{guild}/webhooks"):
        await lab.ask("GET", path)
    await lab.ask("PATCH", by_id, {"name": "h2"})
    await lab.ask("PATCH", by_token, {"name": "h3"}, auth=False)
    body = {"content": "x", "username": "M", "avatar_url": "https://x.y/a.png"}
    said = (await lab.ask("POST", f"{by_token}?wait=true", body, auth=False)).body
    await lab.ask("POST", by_token, {"content": "nobody waits"}, auth=False)
    one = f"{by_token}/messages/{said['id']}"
    await lab.ask("GET", one, auth=False)
    await lab.ask("PATCH", one, {"content": "z"}, auth=False)
    await lab.ask("DELETE", one, auth=False)
    await lab.ask("DELETE", by_token, auth=False)
    await lab.ask("DELETE", (await lab.webhook()).rpartition("/")[0])


async def _interact(lab: Lab) -> None:
    twin = lab.twin
    for flags in (None, 0, 64):
        one = await twin.slash("ask", {"who": twin.user("ann")})
        data = {} if flags is None else {"content": "hi", "flags": flags}
        await lab.answer(one, 5 if flags is None else 4, data)
        more = lab.follow_ups(one)
        original = f"{more}/messages/@original"
        await lab.ask("GET", original, auth=False)
        await lab.ask("PATCH", original, {"content": "e"}, auth=False)
        said = (await lab.ask("POST", more, {"content": "f"}, auth=False)).body
        follow_up = f"{more}/messages/{said['id']}"
        await lab.ask("GET", follow_up, auth=False)
        await lab.ask("PATCH", follow_up, {"content": "f2"}, auth=False)
        await lab.ask("DELETE", follow_up, auth=False)
        await lab.ask("DELETE", original, auth=False)
    await lab.sent({"content": "btn", "components": [{"type": 1, "components": [BUTTON]}]})
    pressed = twin.messages()[-1]
    for kind in (4, 5, 6, 7):
        data = {"content": "u"} if kind in (4, 7) else None
        await lab.answer(await twin.click(pressed, "a"), kind, data)


PARTS: tuple[Callable[[Lab], Awaitable[None]], ...] = (
    _read,
    _write,
    _branch,
    _register,
    _hook,
    _interact,
)


@pytest.mark.parametrize("part", PARTS, ids=lambda part: part.__name__.strip("_"))
async def test_every_answer_fits_the_document(
    judge: Judge, part: Callable[[Lab], Awaitable[None]]
) -> None:
    async with twin_lab() as lab:
        for name in ("MANAGE_CHANNELS", "MANAGE_ROLES", "MANAGE_THREADS"):
            lab.twin.allow("general", Permission[name])
        judged = Judged(lab.twin, lab.clock, lab.session)
        judged.judge, judged.wrong = judge, []
        await part(judged)
        assert lab.twin.unknown == []
        assert sorted(set(judged.wrong)) == []


# Bodies that the document forbids.

#: What is accepted although the document forbids it: the request, the place, how, and why.
ACCEPTED: dict[tuple[str, str, str], str] = {}

_CHOICE = [{"name": "n", "value": "v"}]
_MODAL_INPUT = {"type": 4, "custom_id": "f", "style": 1, "label": "Name"}
BODIES: list[tuple[str, Any]] = [
    ("create", {"content": "x"}),
    (
        "create",
        {
            "embeds": [
                {
                    "title": "t",
                    "footer": {"text": "f"},
                    "author": {"name": "a"},
                    "image": PICTURE,
                    "fields": [{"name": "n", "value": "v"}],
                }
            ]
        },
    ),
    ("create", {"content": "x", "allowed_mentions": {"users": ["5"], "parse": ["roles"]}}),
    ("create", {"content": "x", "components": [{"type": 1, "components": [BUTTON]}]}),
    (
        "create",
        {
            "content": "x",
            "components": [
                {
                    "type": 1,
                    "components": [
                        {"type": 3, "custom_id": "s", "options": [{"label": "o", "value": "1"}]}
                    ],
                }
            ],
        },
    ),
    (
        "create",
        {"content": "x", "message_reference": {"message_id": "1", "fail_if_not_exists": False}},
    ),
    ("create", {"content": "x", "attachments": [{"id": "0"}]}),
    ("create", {"flags": V2, "components": [TEXT]}),
    ("create", {"flags": V2, "components": [{"type": 17, "components": [TEXT]}]}),
    (
        "create",
        {
            "flags": V2,
            "components": [
                {
                    "type": 9,
                    "components": [TEXT],
                    "accessory": {"type": 11, "media": PICTURE},
                }
            ],
        },
    ),
    ("create", {"flags": V2, "components": [{"type": 12, "items": [{"media": PICTURE}]}]}),
    ("create", {"flags": V2, "components": [{"type": 14, "spacing": 2}, TEXT]}),
    ("edit", {"content": "x", "embeds": [{"title": "t"}]}),
    ("execute", {"content": "x", "username": "u"}),
    ("original", {"content": "x"}),
    ("follow-up", {"content": "x"}),
    ("thread of message", {"name": "t"}),
    ("thread", {"name": "t", "type": 11}),
    ("new webhook", {"name": "t"}),
    ("webhook", {"name": "t"}),
    ("webhook by token", {"name": "t"}),
    ("channel", {"topic": "t", "permission_overwrites": [{"id": "5"}]}),
    ("new channel", {"name": "t"}),
    ("overwrite", {"type": 1}),
    ("bulk delete", {"messages": [str(YOUNG), str(YOUNG + 1)]}),
    ("command", {"name": "y", "description": "d"}),
    ("command", {"name": "y", "description": "d", "options": [{"type": 3, **OPTION}]}),
    (
        "command",
        {"name": "y", "description": "d", "options": [{"type": 3, **OPTION, "choices": _CHOICE}]},
    ),
    (
        "command",
        {
            "name": "y",
            "description": "d",
            "options": [{"type": 1, **OPTION, "options": [{"type": 4, **OPTION}]}],
        },
    ),
    ("callback", {"type": 4, "data": {"content": "x"}}),
    (
        "callback",
        {
            "type": 9,
            "data": {
                "custom_id": "m",
                "title": "t",
                "components": [{"type": 1, "components": [_MODAL_INPUT]}],
            },
        },
    ),
    (
        "callback",
        {
            "type": 9,
            "data": {
                "custom_id": "m",
                "title": "t",
                "components": [{"type": 18, "label": "l", "component": _MODAL_INPUT}],
            },
        },
    ),
]


async def _where(lab: Lab, kind: str, hook: str) -> tuple[str, str]:
    """A fresh place for a request of that kind."""
    twin = lab.twin
    channel = f"/channels/{twin.channel().id}"
    if kind in ("edit", "thread of message"):
        one = f"{lab.home}/{(await lab.sent({'content': 'm'}))['id']}"
        return ("PATCH", one) if kind == "edit" else ("POST", f"{one}/threads")
    if kind in ("original", "follow-up", "callback"):
        return await _interaction(lab, kind, await twin.slash("x"))
    places = {
        "create": ("POST", lab.home),
        "execute": ("POST", hook),
        "thread": ("POST", f"{channel}/threads"),
        "new webhook": ("POST", f"{channel}/webhooks"),
        "webhook": ("PATCH", hook.rpartition("/")[0]),
        "webhook by token": ("PATCH", hook),
        "channel": ("PATCH", channel),
        "new channel": ("POST", f"/guilds/{twin.guild.id}/channels"),
        "overwrite": ("PUT", f"{channel}/permissions/{twin.user().id}"),
        "bulk delete": ("POST", f"{lab.home}/bulk-delete"),
        "command": ("POST", f"/applications/{twin.bot.id}/guilds/{twin.guild.id}/commands"),
    }
    return places[kind]


async def _interaction(lab: Lab, kind: str, one: Interaction) -> tuple[str, str]:
    if kind == "callback":
        return "POST", f"/interactions/{one.id}/{one.token}/callback"
    await lab.answer(one, 5)
    more = lab.follow_ups(one)
    return ("PATCH", f"{more}/messages/@original") if kind == "original" else ("POST", more)


async def _accepted(lab: Lab, judge: Judge, kind: str, body: Any) -> tuple[int, list[Any]]:
    hook = await lab.webhook()
    method, path = await _where(lab, kind, hook)
    operation = judge.operation(method, path)
    assert operation is not None
    assert judge.errors(operation.body, body) == []
    good = await lab.ask(method, path, body)
    assert good.status < 300, good
    found, tried = [], 0
    for where, how, wrong in judge.wrong_bodies(operation.body, body):
        method, path = await _where(lab, kind, hook)
        tried += 1
        status = (await lab.ask(method, path, wrong)).status
        if not 400 <= status < 500 and (kind, where, how) not in ACCEPTED:
            found.append((kind, where, how, status))
    return tried, found


@pytest.mark.parametrize("number", range(len(BODIES)))
async def test_what_the_document_forbids_is_refused(judge: Judge, number: int) -> None:
    kind, body = BODIES[number]
    async with twin_lab() as lab:
        for name in ("MANAGE_CHANNELS", "MANAGE_ROLES", "MANAGE_THREADS"):
            lab.twin.allow("general", Permission[name])
        await lab.twin.slash("x")
        tried, found = await _accepted(lab, judge, kind, body)
    assert tried > 0
    assert found == []
