"""Routes of pins: list, pin, unpin. Paths without `messages/` are the deprecated form."""

from __future__ import annotations

from datetime import datetime

from minamo.twin.permissions import Permission, permissions
from minamo.twin.server.calls import Answer, RestCall, Route
from minamo.twin.server.refusals import Refused
from minamo.twin.shapes import message as shapes_message
from minamo.twin.shapes import objects as shapes
from minamo.twin.world import PINNED, Channel, Message

_PAGE_MAX = 50


def _pinned(call: RestCall) -> list[Message]:
    """Return the pinned messages, latest pin first; none if the bot may not read the history."""
    channel, world = call.channel(), call.discord.world
    if not permissions(world, world.bot.id, channel) & Permission.READ_MESSAGE_HISTORY:
        return []
    found = [x for x in world.messages.get(channel.id, {}).values() if x.pinned_at is not None]
    return sorted(found, key=lambda one: one.pinned_at or 0.0, reverse=True)


def _list(call: RestCall) -> Answer:
    limit = call.number("limit", _PAGE_MAX, 1, _PAGE_MAX)
    found = _pinned(call)
    if "before" in call.query:
        before = datetime.fromisoformat(call.query["before"])
        # Compared as formatted: the stored time is finer than a microsecond.
        found = [one for one in found if datetime.fromisoformat(_told(one)) < before]
    items = [
        {
            "pinned_at": _told(one),
            "message": shapes_message.message(call.discord.world, one),
        }
        for one in found[:limit]
    ]
    return 200, {"items": items, "has_more": len(found) > limit}


def _told(message: Message) -> str:
    return shapes.stamp(message.pinned_at or 0.0)


def _old_list(call: RestCall) -> Answer:
    found = _pinned(call)[:_PAGE_MAX]
    return 200, [shapes_message.message(call.discord.world, one) for one in found]


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
    latest = max((one.pinned_at or 0.0 for one in _pinned(call)), default=None)
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
ROUTES = (
    Route("GET", _NEW, _list),
    Route("PUT", f"{_NEW}/{{message}}", _pin),
    Route("DELETE", f"{_NEW}/{{message}}", _unpin),
    Route("GET", _OLD, _old_list),
    Route("PUT", f"{_OLD}/{{message}}", _pin),
    Route("DELETE", f"{_OLD}/{{message}}", _unpin),
)
