"""Messages of a channel: create, read, list, edit, delete, bulk delete."""

from __future__ import annotations

from minamo.twin import shapes_message
from minamo.twin.calls import Answer, Call, Route
from minamo.twin.permissions import Permission
from minamo.twin.posting import change, draft, post, remove
from minamo.twin.refusals import Refused, SlowedDown, bad_form
from minamo.twin.speaking import may_send
from minamo.twin.world import SUPPRESS_EMBEDS

_PAGE_MAX = 100


def _create(call: Call) -> Answer:
    channel = call.channel()
    one = draft(call.discord, call.fields, call.uploads)
    bot = call.discord.world.bot
    may_send(call.discord, bot, channel, one)
    message = post(call.discord, channel, bot, one)
    body = shapes_message.message(call.discord.world, message)
    if one.nonce is not None:
        body["nonce"] = one.nonce
    return 200, body


def _edit(call: Call) -> Answer:
    channel = call.channel()
    message = call.message()
    discord, body = call.discord, call.fields
    if message.author.id != discord.world.bot.id:
        only_hides = set(body) <= {"flags", "allowed_mentions"} and "flags" in body
        if not only_hides:
            raise Refused(50005)
        call.channel(Permission.MANAGE_MESSAGES)
        message.flags = (message.flags & ~SUPPRESS_EMBEDS) | (body["flags"] & SUPPRESS_EMBEDS)
        discord.announce("MESSAGE_UPDATE", message)
        return 200, shapes_message.message(discord.world, message)
    if channel.archived:
        raise Refused(50083)
    if discord.now() - message.created_at > discord.rules.edit_old_after_s:
        limit = discord.rules.edit_old
        if wait := discord.buckets.take_hidden("edit.old", str(channel.id), limit):
            raise SlowedDown(wait, 30046)
    change(discord, message, body, call.uploads)
    return 200, shapes_message.message(discord.world, message)


def _get(call: Call) -> Answer:
    call.channel(Permission.READ_MESSAGE_HISTORY)
    return 200, shapes_message.message(call.discord.world, call.message())


def _list(call: Call) -> Answer:
    channel = call.channel()
    limit = int(call.query.get("limit", 50))
    if not 1 <= limit <= _PAGE_MAX:
        words = "int value should be between 1 and 100."
        raise bad_form("limit", "NUMBER_TYPE_MAX", words)
    every = [
        one
        for one in call.discord.world.messages.get(channel.id, {}).values()
        if not one.is_ephemeral
    ]
    if "before" in call.query:
        every = [one for one in every if one.id < int(call.query["before"])][-limit:]
    elif "after" in call.query:
        every = [one for one in every if one.id > int(call.query["after"])][:limit]
    elif "around" in call.query:
        middle = int(call.query["around"])
        every = sorted(sorted(every, key=lambda x: abs(x.id - middle))[:limit], key=lambda x: x.id)
    else:
        every = every[-limit:]
    # Newest first, whichever way one pages.
    return 200, [shapes_message.message(call.discord.world, one) for one in reversed(every)]


def _delete(call: Call) -> Answer:
    call.channel()
    message = call.message()
    if message.author.id != call.discord.world.bot.id:
        call.channel(Permission.MANAGE_MESSAGES)
    remove(call.discord, message)
    return 204, None


def _bulk_delete(call: Call) -> Answer:
    channel = call.channel(Permission.MANAGE_MESSAGES)
    ids = [int(one) for one in call.fields.get("messages") or ()]
    if not 2 <= len(ids) <= _PAGE_MAX:
        raise bad_form("messages", "BASE_TYPE_BAD_LENGTH", "Must be between 2 and 100 in length.")
    for message_id in ids:
        if found := call.discord.world.find_message(channel.id, message_id):
            remove(call.discord, found)
    return 204, None


_ONE = "/channels/{channel}/messages/{message}"
ROUTES = (
    Route("POST", "/channels/{channel}/messages", _create, "message.create"),
    Route("GET", "/channels/{channel}/messages", _list),
    Route("POST", "/channels/{channel}/messages/bulk-delete", _bulk_delete),
    Route("GET", _ONE, _get),
    Route("PATCH", _ONE, _edit, "message.edit"),
    Route("DELETE", _ONE, _delete, "message.delete"),
)
