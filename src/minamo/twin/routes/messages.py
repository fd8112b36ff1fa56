"""Routes of messages: create, read, list, edit, delete, bulk delete; and pins.

Paths of pins without `messages/` are the deprecated form.
"""

from __future__ import annotations

from datetime import datetime

from minamo.twin.bodies.components import shown_text
from minamo.twin.bodies.tables import BULK_DELETE, CREATE_MESSAGE, EDIT_MESSAGE
from minamo.twin.messages import change, draft, post, remove, remove_many
from minamo.twin.permissions import Permission, may_send, moderate, permissions
from minamo.twin.server.calls import Answer, RestCall, Route
from minamo.twin.server.refusals import Refused, SlowedDown
from minamo.twin.shapes import message as shapes_message
from minamo.twin.shapes import objects as shapes
from minamo.twin.world import PINNED, SUPPRESS_EMBEDS, Channel, Message, sent_at

_PAGE_MAX = 100
_BULK_DELETE_AGE_MAX_S = 14 * 86_400.0


def _create(call: RestCall) -> Answer:
    channel = call.channel()
    drafted = draft(call.discord, call.fields, call.uploads)
    bot = call.discord.world.bot
    may_send(call.discord, bot, channel, drafted)
    message = post(call.discord, channel, bot, drafted)
    body = call.shown(message)
    if drafted.nonce is not None:
        body["nonce"] = drafted.nonce
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
    every = [
        message
        for message in world.messages.get(channel.id, {}).values()
        if not message.is_ephemeral
    ]
    if (before := call.snowflake("before")) is not None:
        every = [message for message in every if message.id < before][-limit:]
    elif (after := call.snowflake("after")) is not None:
        every = [message for message in every if message.id > after][:limit]
    elif (middle := call.snowflake("around")) is not None:
        every = sorted(
            sorted(every, key=lambda message: abs(message.id - middle))[:limit],
            key=lambda message: message.id,
        )
    else:
        every = every[-limit:]
    # Newest first, in every direction of paging.
    return 200, [call.shown(message) for message in reversed(every)]


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
    remove_many(discord, channel, [message for message in found if message is not None])
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


_PINS_MAX = 50


def _pinned(call: RestCall) -> list[Message]:
    """Return the pinned messages, latest pin first; none if the bot may not read the history."""
    channel, world = call.channel(), call.discord.world
    if not permissions(world, world.bot.id, channel) & Permission.READ_MESSAGE_HISTORY:
        return []
    found = [
        message
        for message in world.messages.get(channel.id, {}).values()
        if message.pinned_at is not None
    ]
    return sorted(found, key=lambda message: message.pinned_at or 0.0, reverse=True)


def _list_pins(call: RestCall) -> Answer:
    limit = call.number("limit", _PINS_MAX, 1, _PINS_MAX)
    found = _pinned(call)
    if "before" in call.query:
        before = datetime.fromisoformat(call.query["before"])
        # Compared as formatted: the stored time is finer than a microsecond.
        found = [
            message for message in found if datetime.fromisoformat(_pin_stamp(message)) < before
        ]
    items = [
        {
            "pinned_at": _pin_stamp(message),
            "message": shapes_message.message(call.discord.world, message),
        }
        for message in found[:limit]
    ]
    return 200, {"items": items, "has_more": len(found) > limit}


def _pin_stamp(message: Message) -> str:
    return shapes.stamp(message.pinned_at or 0.0)


def _old_pins(call: RestCall) -> Answer:
    found = _pinned(call)[:_PINS_MAX]
    return 200, [shapes_message.message(call.discord.world, message) for message in found]


def _pin(call: RestCall) -> Answer:
    channel, message, discord = *_target(call), call.discord
    if message.type == PINNED:
        raise Refused(50021)
    if message.pinned_at is None:
        if len(_pinned(call)) >= discord.rules.pins_max:
            raise Refused(30003)
        message.pinned_at = discord.now()
        _tell(call, channel, message)
        _say_so(call, channel, message)
    return 204, None


def _unpin(call: RestCall) -> Answer:
    channel, message = _target(call)
    if message.pinned_at is not None:
        message.pinned_at = None
        _tell(call, channel, message)
    return 204, None


def _target(call: RestCall) -> tuple[Channel, Message]:
    channel = call.channel()
    if channel.guild_id is not None:
        call.channel(Permission.PIN_MESSAGES)
    if channel.archived:
        raise Refused(50083)
    return channel, call.message()


def _tell(call: RestCall, channel: Channel, message: Message) -> None:
    discord = call.discord
    discord.announce("MESSAGE_UPDATE", message)
    latest = max((pinned.pinned_at or 0.0 for pinned in _pinned(call)), default=None)
    body = {
        "channel_id": str(channel.id),
        "last_pin_timestamp": None if latest is None else shapes.stamp(latest),
    }
    if channel.guild_id is not None:
        body["guild_id"] = str(channel.guild_id)
    discord.gateway.dispatch("CHANNEL_PINS_UPDATE", body, guild_id=channel.guild_id)


def _say_so(call: RestCall, channel: Channel, message: Message) -> None:
    """Write the system message that announces a pin."""
    discord = call.discord
    line = Message(
        discord.world.new_id(),
        channel.id,
        discord.world.bot,
        "",
        discord.now(),
        type=PINNED,
        reply_to=message.id,
    )
    discord.world.messages[channel.id][line.id] = line
    discord.announce("MESSAGE_CREATE", line)


_NEW, _OLD = "/channels/{channel}/messages/pins", "/channels/{channel}/pins"
PIN_ROUTES = (
    Route("GET", _NEW, _list_pins),
    Route("PUT", f"{_NEW}/{{message}}", _pin),
    Route("DELETE", f"{_NEW}/{{message}}", _unpin),
    Route("GET", _OLD, _old_pins),
    Route("PUT", f"{_OLD}/{{message}}", _pin),
    Route("DELETE", f"{_OLD}/{{message}}", _unpin),
)
