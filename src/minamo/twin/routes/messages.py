"""Routes of messages: create, read, list, edit, delete, bulk delete."""

from __future__ import annotations

from minamo.twin.bodies.components import shown_text
from minamo.twin.bodies.tables import BULK_DELETE, CREATE_MESSAGE, EDIT_MESSAGE
from minamo.twin.messages import change, draft, post, remove, remove_many
from minamo.twin.permissions import Permission, may_send, moderate, permissions
from minamo.twin.server.calls import Answer, RestCall, Route
from minamo.twin.server.refusals import Refused, SlowedDown
from minamo.twin.world import SUPPRESS_EMBEDS, sent_at

_PAGE_MAX = 100
_BULK_DELETE_AGE_MAX_S = 14 * 86_400.0


def _create(call: RestCall) -> Answer:
    channel = call.channel()
    one = draft(call.discord, call.fields, call.uploads)
    bot = call.discord.world.bot
    may_send(call.discord, bot, channel, one)
    message = post(call.discord, channel, bot, one)
    body = call.shown(message)
    if one.nonce is not None:
        body["nonce"] = one.nonce
    return 200, body


def _edit(call: RestCall) -> Answer:
    channel = call.channel()
    message = call.message()
    discord, body = call.discord, call.fields
    if message.author.id != discord.world.bot.id:
        only_hides = set(body) <= {"flags", "allowed_mentions"} and "flags" in body
        if not only_hides:
            raise Refused(50005)
        call.channel(Permission.MANAGE_MESSAGES)
        wanted = (body["flags"] or 0) & SUPPRESS_EMBEDS
        message.flags = (message.flags & ~SUPPRESS_EMBEDS) | wanted
        discord.announce("MESSAGE_UPDATE", message)
        return 200, call.shown(message)
    if channel.archived:
        raise Refused(50083)
    if discord.now() - message.created_at > discord.rules.edit_old_after_s:
        limit = discord.rules.edit_old
        if wait := discord.buckets.take_hidden("edit.old", str(channel.id), limit):
            raise SlowedDown(wait, 30046)
    text = body.get("content") or shown_text(body.get("components") or [])
    moderate(discord, discord.world.bot, channel, text)
    change(discord, message, body, call.uploads)
    return 200, call.shown(message)


def _get(call: RestCall) -> Answer:
    call.channel(Permission.READ_MESSAGE_HISTORY)
    return 200, call.shown(call.message())


def _list(call: RestCall) -> Answer:
    channel = call.channel()
    limit = call.number("limit", 50, 1, _PAGE_MAX)
    world = call.discord.world
    if not permissions(world, world.bot.id, channel) & Permission.READ_MESSAGE_HISTORY:
        return 200, []  # not a refusal, as documented
    every = [one for one in world.messages.get(channel.id, {}).values() if not one.is_ephemeral]
    if (before := call.snowflake("before")) is not None:
        every = [one for one in every if one.id < before][-limit:]
    elif (after := call.snowflake("after")) is not None:
        every = [one for one in every if one.id > after][:limit]
    elif (middle := call.snowflake("around")) is not None:
        every = sorted(sorted(every, key=lambda x: abs(x.id - middle))[:limit], key=lambda x: x.id)
    else:
        every = every[-limit:]
    # Newest first, in every direction of paging.
    return 200, [call.shown(one) for one in reversed(every)]


def _delete(call: RestCall) -> Answer:
    channel = call.channel()
    message = call.message()
    if message.author.id != call.discord.world.bot.id:
        if channel.guild_id is None:
            raise Refused(50003)
        call.channel(Permission.MANAGE_MESSAGES)
    remove(call.discord, message)
    return 204, None


def _bulk_delete(call: RestCall) -> Answer:
    channel = call.channel()
    if channel.guild_id is None:
        raise Refused(50003)
    call.channel(Permission.MANAGE_MESSAGES)
    discord, ids = call.discord, [int(message) for message in call.fields["messages"]]
    oldest = discord.now() - _BULK_DELETE_AGE_MAX_S
    if any(sent_at(message_id) < oldest for message_id in ids):
        raise Refused(50034)
    found = [discord.world.find_message(channel.id, message_id) for message_id in ids]
    remove_many(discord, channel, [one for one in found if one is not None])
    return 204, None


_ONE = "/channels/{channel}/messages/{message}"
ROUTES = (
    Route("POST", "/channels/{channel}/messages", _create, "message.create", CREATE_MESSAGE),
    Route("GET", "/channels/{channel}/messages", _list),
    Route("POST", "/channels/{channel}/messages/bulk-delete", _bulk_delete, body=BULK_DELETE),
    Route("GET", _ONE, _get),
    Route("PATCH", _ONE, _edit, "message.edit", EDIT_MESSAGE),
    Route("DELETE", _ONE, _delete, "message.delete"),
)
