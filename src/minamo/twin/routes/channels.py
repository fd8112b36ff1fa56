"""Routes of channels: read, edit, delete, overwrites; and the typing indicator."""

from __future__ import annotations

from minamo.twin.bodies.tables import EDIT_CHANNEL, PUT_OVERWRITE
from minamo.twin.permissions import Permission
from minamo.twin.server.calls import Answer, RestCall, Route
from minamo.twin.server.refusals import Refused
from minamo.twin.shapes import objects as shapes
from minamo.twin.world import Overwrite


def _get(call: RestCall) -> Answer:
    return 200, shapes.channel(call.discord.world, call.channel())


def _edit(call: RestCall) -> Answer:
    channel = call.channel()
    body = call.fields
    if channel.guild_id is None:
        raise Refused(50024)
    if channel.is_thread:
        _edit_thread(call)
    else:
        call.channel(Permission.MANAGE_CHANNELS)
    channel.name = body.get("name") or channel.name
    channel.topic = body.get("topic", channel.topic)
    if "rate_limit_per_user" in body:
        channel.slowmode_s = body["rate_limit_per_user"] or 0
    event = "THREAD_UPDATE" if channel.is_thread else "CHANNEL_UPDATE"
    call.discord.announce_channel(event, channel)
    return 200, shapes.channel(call.discord.world, channel)


def _edit_thread(call: RestCall) -> None:
    channel, body = call.channel(), call.fields
    only_opens = set(body) == {"archived"} and body["archived"] is False and not channel.locked
    is_mine = channel.owner_id == call.discord.world.bot.id and "locked" not in body
    if not only_opens and not is_mine:
        call.channel(Permission.MANAGE_THREADS)
    if channel.archived and body.get("archived", True):
        raise Refused(50083)
    channel.archive(bool(body.get("archived", channel.archived)), call.discord.now())
    channel.locked = bool(body.get("locked", channel.locked))
    channel.auto_archive_min = body.get("auto_archive_duration") or channel.auto_archive_min


def _delete(call: RestCall) -> Answer:
    channel = call.channel()
    needed = Permission.MANAGE_THREADS if channel.is_thread else Permission.MANAGE_CHANNELS
    call.channel(needed)
    body = shapes.channel(call.discord.world, channel)
    event = "THREAD_DELETE" if channel.is_thread else "CHANNEL_DELETE"
    call.discord.announce_channel(event, channel)
    call.discord.world.drop_channel(channel.id)
    return 200, body


def _typing(call: RestCall) -> Answer:
    discord = call.discord
    channel = call.channel()
    speak = Permission.SEND_MESSAGES
    if channel.is_thread:
        speak = Permission.SEND_MESSAGES_IN_THREADS
    call.channel(speak)
    bot = discord.world.bot
    channel.typing_until[bot.id] = discord.now() + discord.rules.typing_s
    body = {
        "channel_id": str(channel.id),
        "user_id": str(bot.id),
        "timestamp": int(discord.now()),
    }
    if channel.guild_id is not None:
        member = discord.world.guilds[channel.guild_id].members[bot.id]
        body |= {"guild_id": str(channel.guild_id), "member": shapes.member(member)}
    discord.gateway.dispatch("TYPING_START", body, guild_id=channel.guild_id)
    return 204, None


def _put_overwrite(call: RestCall) -> Answer:
    channel = call.channel(Permission.MANAGE_ROLES)
    body = call.fields
    target = call.id("overwrite")
    allow, deny = body.get("allow") or 0, body.get("deny") or 0
    channel.overwrites[target] = Overwrite(target, bool(body.get("type")), allow, deny)
    call.discord.announce_channel("CHANNEL_UPDATE", channel)
    return 204, None


def _delete_overwrite(call: RestCall) -> Answer:
    channel = call.channel(Permission.MANAGE_ROLES)
    channel.overwrites.pop(call.id("overwrite"), None)
    call.discord.announce_channel("CHANNEL_UPDATE", channel)
    return 204, None


ROUTES = (
    Route("GET", "/channels/{channel}", _get),
    Route("PATCH", "/channels/{channel}", _edit, body=EDIT_CHANNEL),
    Route("DELETE", "/channels/{channel}", _delete),
    Route("POST", "/channels/{channel}/typing", _typing, "typing"),
    Route("PUT", "/channels/{channel}/permissions/{overwrite}", _put_overwrite, body=PUT_OVERWRITE),
    Route("DELETE", "/channels/{channel}/permissions/{overwrite}", _delete_overwrite),
)
