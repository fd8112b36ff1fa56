"""What Discord does around messages: interactions, places, webhooks, commands; one story for each behaviour.

Sources: as those of test_probes_rest.py.
"""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from minamo.twin import Permission, Refused
from support.twin_http import Lab, Stories, twin_lab

pytestmark = pytest.mark.anyio

story = Stories()


# Interactions.


@story("the answer comes in 3 s, once, and its token lives 15 min", (10062, 40060, 200, 50027))
async def _(lab: Lab) -> Any:
    late = await lab.twin.slash("x")
    lab.clock.now += 3.5
    one = await lab.twin.slash("x")
    await lab.answer(one, 4, {"content": "a"})
    codes = [(await lab.answer(which, 4, {"content": "b"})).code for which in (late, one)]
    path = f"{lab.follow_ups(one)}/messages/@original"
    lab.clock.now += 899
    in_time = (await lab.ask("PATCH", path, {"content": "c"}, auth=False)).status
    lab.clock.now += 3
    return *codes, in_time, (await lab.ask("PATCH", path, {"content": "d"}, auth=False)).code


@story("what follows a deferral is the answer, ephemeral or not", (True, 64))
async def _(lab: Lab) -> Any:
    one = await lab.twin.slash("x")
    deferred = (await lab.answer(one, 5, {"flags": 64})).body["resource"]["message"]
    said = (await lab.ask("POST", lab.follow_ups(one), {"content": "f"}, auth=False)).body
    return said["id"] == deferred["id"], said["flags"]


@story("the answer to a command has type 20, what follows replies to it", (20, 19, True, True))
async def _(lab: Lab) -> Any:
    one = await lab.twin.slash("x")
    first = (await lab.answer(one, 4, {"content": "a"})).body["resource"]["message"]
    more = (await lab.ask("POST", lab.follow_ups(one), {"content": "f"}, auth=False)).body
    owners = first["interaction_metadata"]["authorizing_integration_owners"]
    replies = more["message_reference"]["message_id"] == first["id"]
    return first["type"], more["type"], replies, owners == {"0": str(lab.twin.guild.id)}


@story("answers that fit no command", [400, 400, 400, 400])
async def _(lab: Lab) -> Any:
    wrong = [(6, None), (7, {"content": "x"}), (8, {"choices": []}), (9, {"title": "no custom id"})]
    return [(await lab.answer(await lab.twin.slash("x"), *one)).status for one in wrong]


@story("answering needs no permission to speak", 200)
async def _(lab: Lab) -> Any:
    lab.twin.deny("general", Permission.SEND_MESSAGES)
    return (await lab.answer(await lab.twin.slash("x"), 4, {"content": "x"})).status


@story("an interaction tells members and the server", (["members", "users"], ["permissions"], True))
async def _(lab: Lab) -> Any:
    await lab.twin.slash("x", {"who": lab.twin.user("ann")})
    told = lab.twin.journal.events("INTERACTION_CREATE")[-1].data
    (member,) = told["data"]["resolved"]["members"].values()
    extra = {"deaf", "mute", "user", "permissions"} & set(member)
    return sorted(told["data"]["resolved"]), sorted(extra), told["guild"]["id"] == told["guild_id"]


@story("an ephemeral message is told as a direct one", (1, set()))
async def _(lab: Lab) -> Any:
    await lab.answer(await lab.twin.slash("x"), 4, {"content": "psst", "flags": 64})
    told = lab.twin.journal.events("MESSAGE_CREATE")
    return len(told), {"guild_id", "member"} & set(told[0].data)


# Places.


@story("without the history a list is empty and a message refused", ((200, []), (403, 50013)))
async def _(lab: Lab) -> Any:
    said = await lab.twin.say("secret")
    lab.twin.deny("general", Permission.READ_MESSAGE_HISTORY)
    listed, one = await lab.ask("GET", lab.home), await lab.ask("GET", f"{lab.home}/{said.id}")
    return (listed.status, listed.body), one.refusal


@story("what is not seen is 50001, where one may not speak 50013", ((403, 50001), (403, 50013)))
async def _(lab: Lab) -> Any:
    lab.twin.deny("general", Permission.SEND_MESSAGES)
    mute = await lab.send({"content": "x"})
    lab.twin.deny("general", Permission.VIEW_CHANNEL)
    return (await lab.send({"content": "x"})).refusal, mute.refusal


@story("others are not edited, nor deleted in a DM", ((403, 50005), (403, 50003)))
async def _(lab: Lab) -> Any:
    here, direct = await lab.twin.say("q"), lab.twin.dm("ann")
    there = await lab.twin.say("q", channel=direct)
    edit = await lab.ask("PATCH", f"{lab.home}/{here.id}", {"content": "x"})
    delete = await lab.ask("DELETE", f"/channels/{direct.id}/messages/{there.id}")
    return edit.refusal, delete.refusal


@story("a forward carries the message", (200, "q", 1 << 14, 1))
async def _(lab: Lab) -> Any:
    said = await lab.twin.say("q")
    reference = {"type": 1, "message_id": str(said.id), "channel_id": str(said.channel_id)}
    answer = await lab.send({"message_reference": reference})
    carried = answer.body["message_snapshots"][0]["message"]["content"]
    kind = answer.body["message_reference"]["type"]
    return answer.status, carried, answer.body["flags"], kind


@story("a forward has no content, and a source that is seen", [160011, 160008, 160014, 50035])
async def _(lab: Lab) -> Any:
    twin = lab.twin
    hidden = await twin.say("q", channel="hidden")
    twin.deny("hidden", Permission.VIEW_CHANNEL)
    said = await twin.say("q")
    good = {"type": 1, "message_id": str(said.id), "channel_id": str(said.channel_id)}
    unseen = {**good, "message_id": str(hidden.id), "channel_id": str(hidden.channel_id)}
    bodies = (
        {"content": "x", "message_reference": good},
        {"message_reference": {**good, "message_id": "5"}},
        {"message_reference": unseen},
        {"message_reference": {"type": 1, "message_id": str(said.id)}},
    )
    return [(await lab.send(body)).code for body in bodies]


@story("a thread from a message has its id, a flag and an update", (True, 32, True, 1))
async def _(lab: Lab) -> Any:
    message = await lab.sent({"content": "start"})
    path = f"{lab.home}/{message['id']}"
    thread = (await lab.ask("POST", f"{path}/threads", {"name": "t"})).body
    starter = (await lab.ask("GET", path)).body
    updates = lab.twin.journal.events("MESSAGE_UPDATE")
    same = thread["id"] == message["id"] == starter["thread"]["id"]
    return same, starter["flags"], "total_message_sent" in thread, len(updates)


@story("archiving and opening have a time", [True, True, False])
async def _(lab: Lab) -> Any:
    thread = lab.twin.thread("t")
    thread.owner_id = lab.twin.bot.id
    seen = []
    for archived in (True, False, False):
        lab.clock.now += 50
        answer = await lab.ask("PATCH", f"/channels/{thread.id}", {"archived": archived})
        seen.append(answer.body["thread_metadata"]["archive_timestamp"])
    return [one != other for one, other in zip(["", *seen], seen, strict=False)]


@story("an archived thread is opened by speaking, not by editing", (50083, False))
async def _(lab: Lab) -> Any:
    thread = lab.twin.thread("t")
    path = f"/channels/{thread.id}/messages"
    message = (await lab.ask("POST", path, {"content": "in"})).body
    thread.archived = True
    edit = await lab.ask("PATCH", f"{path}/{message['id']}", {"content": "y"})
    await lab.ask("POST", path, {"content": "wake"})
    return edit.code, thread.archived


@story("a silent thread is archived after its time", [False, True])
async def _(lab: Lab) -> Any:
    thread, seen = lab.twin.thread("t"), []
    for _ in range(2):
        lab.clock.now += thread.auto_archive_min * 60 - 60
        answer = await lab.ask("GET", f"/channels/{thread.id}")
        seen.append(answer.body["thread_metadata"]["archived"])
    return seen


@story("slow mode can be switched off", [9, 0])
async def _(lab: Lab) -> Any:
    lab.twin.allow("general", Permission.MANAGE_CHANNELS)
    path = f"/channels/{lab.twin.channel().id}"
    answers = [await lab.ask("PATCH", path, {"rate_limit_per_user": s}) for s in (9, 0)]
    return [answer.body["rate_limit_per_user"] for answer in answers]


@story("many are deleted in one event, old ones not at all", (204, 1, 0, (400, 50034)))
async def _(lab: Lab) -> Any:
    ids = [(await lab.sent({"content": "b"}))["id"] for _ in range(4)]
    path, events = f"{lab.home}/bulk-delete", lab.twin.journal.events
    young = await lab.ask("POST", path, {"messages": ids[:2]})
    lab.clock.now += 15 * 86_400
    old = await lab.ask("POST", path, {"messages": ids[2:]})
    told = len(events("MESSAGE_DELETE_BULK")), len(events("MESSAGE_DELETE"))
    return young.status, *told, old.refusal


# Webhooks.


@story("by its token a webhook tells the token, and not who made it", [(True, False)] * 2)
async def _(lab: Lab) -> Any:
    path = await lab.webhook()
    answers = [
        await lab.ask("GET", path, auth=False),
        await lab.ask("PATCH", path, {"name": "z"}, auth=False),
    ]
    return [("token" in one.body, "user" in one.body) for one in answers]


@story("by its token a webhook is not moved", True)
async def _(lab: Lab) -> Any:
    path, here = await lab.webhook(), lab.twin.channel()
    moved = {"channel_id": str(lab.twin.channel("else").id)}
    return (await lab.ask("PATCH", path, moved, auth=False)).body["channel_id"] == str(here.id)


@story("a webhook is moved only to where the bot may", [(404, 10003), (400, 50024), (403, 50013)])
async def _(lab: Lab) -> Any:
    path = (await lab.webhook()).rpartition("/")[0]
    lab.twin.deny("strange", Permission.MANAGE_WEBHOOKS)
    places = ("999", str(lab.twin.thread("t").id), str(lab.twin.channel("strange").id))
    return [(await lab.ask("PATCH", path, {"channel_id": one})).refusal for one in places]


@story("a face is a hash", (32, True))
async def _(lab: Lab) -> Any:
    body = {"content": "x", "avatar_url": "https://x.y/a.png"}
    avatar = (await lab.ask("POST", f"{await lab.webhook()}?wait=true", body)).body["author"][
        "avatar"
    ]
    return len(avatar), avatar.isalnum()


# Commands and the bot itself.


@story("a command that exists is changed, not made", (201, 200, True))
async def _(lab: Lab) -> Any:
    path, body = f"/applications/{lab.twin.bot.id}/commands", {"name": "a", "description": "d"}
    made, again = await lab.ask("POST", path, body), await lab.ask("POST", path, body)
    return made.status, again.status, made.body["id"] == again.body["id"]


@story("there are 100 commands", [(200, None), (400, 30032), (400, 30032), (200, None)])
async def _(lab: Lab) -> Any:
    path = f"/applications/{lab.twin.bot.id}/commands"
    many = [{"name": f"c{n}", "description": "d"} for n in range(101)]
    asked = [("PUT", many[:100]), ("PUT", many), ("POST", many[100]), ("POST", many[0])]
    return [(await lab.ask(method, path, body)).refusal for method, body in asked]


@story("a changed command keeps what was not named", ("b", "d", 0))
async def _(lab: Lab) -> Any:
    path = f"/applications/{lab.twin.bot.id}/commands"
    made = await lab.ask("POST", path, {"name": "a", "description": "d"})
    one = f"{path}/{made.body['id']}"
    changed = (await lab.ask("PATCH", one, {"name": "b"})).body
    refused = await lab.ask("PATCH", one, {"name": "Not Good"})
    return changed["name"], changed["description"], refused.status - 400


@story("the list of servers is short", {"banner", "features", "icon", "id", "name", "owner"})
async def _(lab: Lab) -> Any:
    (guild,) = (await lab.ask("GET", "/users/@me/guilds")).body
    return set(guild) - {"permissions"}


@pytest.mark.parametrize("behaviour", story.told)
async def test_a_story(lab: Lab, behaviour: str) -> None:
    tell, expected = story.told[behaviour]
    assert await tell(lab) == expected


# Rules that must be switched on.


async def test_automod_looks_at_messages_and_edits() -> None:
    async with twin_lab(automod_words=("badword",), harmful_links=("evil.example",)) as lab:
        bad = {"content": "a badword"}
        assert (await lab.send(bad)).refusal == (400, 200000)
        path = f"{lab.home}/{(await lab.sent({'content': 'fine'}))['id']}"
        assert (await lab.ask("PATCH", path, bad)).refusal == (400, 200000)
        link = {"content": "https://evil.example"}
        assert (await lab.ask("PATCH", path, link)).refusal == (400, 240000)
        assert (
            await lab.send({"flags": 1 << 15, "components": [{"type": 10, "content": "a badword"}]})
        ).code == 200000
        said = await lab.twin.say("fine")
        with pytest.raises(Refused, match="automatic moderation"):
            await lab.twin.edit(said, "a badword")
        assert said.content == "fine"


async def test_without_the_intent_rest_tells_no_content() -> None:
    async with twin_lab(privileged_intents=0) as lab:
        twin = lab.twin
        secret = await twin.say("secret", files=[("a.txt", b"x")])
        await twin.reply(secret, f"<@{twin.bot.id}> hello", user="bob")
        await lab.sent({"content": "mine"})
        mine, hello, hidden = (await lab.ask("GET", lab.home)).body
        assert (mine["content"], hello["content"]) == ("mine", f"<@{twin.bot.id}> hello")
        assert (hidden["content"], hidden["attachments"]) == ("", [])
        assert hello["referenced_message"]["content"] == ""
        assert (await lab.ask("GET", f"{lab.home}/{secret.id}")).body["content"] == ""
        direct = await twin.say("psst", channel=twin.dm("ann"))
        path = f"/channels/{direct.channel_id}/messages/{direct.id}"
        assert (await lab.ask("GET", path)).body["content"] == "psst"
        reference = {"type": 1, "message_id": str(secret.id), "channel_id": str(secret.channel_id)}
        forward = (await lab.sent({"message_reference": reference}))["message_snapshots"]
        assert forward[0]["message"]["content"] == "secret"  # in a message of the bot itself


async def test_the_answers_of_many_requests_at_once_are_their_own(lab: Lab) -> None:
    sent = await asyncio.gather(*(lab.sent({"content": str(n)}) for n in range(20)))
    assert [message["content"] for message in sent] == [str(n) for n in range(20)]
