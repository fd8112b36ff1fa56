"""Routes of servers and their channels, and of the bot: gateway URL, users, direct messages."""

from __future__ import annotations

from minamo.twin.bodies.tables import CREATE_CHANNEL, EDIT_CHANNEL, OPEN_DM, PUT_OVERWRITE
from minamo.twin.permissions import Permission, base, permissions
from minamo.twin.server.calls import Answer, RestCall, Route
from minamo.twin.server.intents import GUILD_MEMBERS
from minamo.twin.server.refusals import Refused
from minamo.twin.shapes import objects as shapes
from minamo.twin.world import NEWS, TEXT, Channel, Overwrite

_PAGE_MAX = 1_000


def _get(call: RestCall) -> Answer:
    return 200, shapes.guild(call.guild())


def _channels(call: RestCall) -> Answer:
    guild, world = call.guild(), call.discord.world
    found = [channel for channel in world.channels.values() if channel.guild_id == guild.id]
    return 200, [shapes.channel(world, channel) for channel in found if not channel.is_thread]


def _create_channel(call: RestCall) -> Answer:
    guild, world = call.guild(), call.discord.world
    home = next(channel for channel in world.channels.values() if channel.guild_id == guild.id)
    if not permissions(world, world.bot.id, home) & Permission.MANAGE_CHANNELS:
        raise Refused(50013)
    body = call.fields
    if (body.get("type") or TEXT) not in (TEXT, NEWS):
        raise NotImplementedError(f"the twin has no channels of type {body['type']}")
    made = Channel(world.new_id(), body.get("type") or TEXT, body["name"], guild_id=guild.id)
    made.topic, made.slowmode_s = body.get("topic"), body.get("rate_limit_per_user") or 0
    world.channels[made.id] = made
    call.discord.announce_channel("CHANNEL_CREATE", made)
    return 201, shapes.channel(world, made)


def _roles(call: RestCall) -> Answer:
    return 200, [shapes.role(role) for role in call.guild().roles.values()]


def _role(call: RestCall) -> Answer:
    found = call.guild().roles.get(call.id("role"))
    if found is None:
        raise Refused(10011)
    return 200, shapes.role(found)


def _member(call: RestCall) -> Answer:
    found = call.guild().members.get(call.id("user"))
    if found is None:
        raise Refused(10007)
    return 200, shapes.member(found)


def _members(call: RestCall) -> Answer:
    if not call.discord.rules.privileged_intents & GUILD_MEMBERS:
        raise Refused(50001)
    after, limit = call.snowflake("after") or 0, call.number("limit", 1, 1, _PAGE_MAX)
    found = [member for member in call.guild().members.values() if member.user.id > after]
    found.sort(key=lambda member: member.user.id)
    return 200, [shapes.member(member) for member in found[:limit]]


def _search(call: RestCall) -> Answer:
    start, limit = call.query.get("query", "").lower(), call.number("limit", 1, 1, _PAGE_MAX)
    found = [
        member
        for member in call.guild().members.values()
        if (member.nick or member.user.name).lower().startswith(start)
    ]
    return 200, [shapes.member(member) for member in found[:limit]]


ROUTES = (
    Route("GET", "/guilds/{guild}", _get),
    Route("GET", "/guilds/{guild}/channels", _channels),
    Route("POST", "/guilds/{guild}/channels", _create_channel, body=CREATE_CHANNEL),
    Route("GET", "/guilds/{guild}/roles", _roles),
    Route("GET", "/guilds/{guild}/roles/{role}", _role),
    Route("GET", "/guilds/{guild}/members", _members),
    Route("GET", "/guilds/{guild}/members/search", _search),
    Route("GET", "/guilds/{guild}/members/{user}", _member),
)


def _gateway(call: RestCall) -> Answer:
    return 200, {"url": call.discord.gateway.url}


def _gateway_bot(call: RestCall) -> Answer:
    return 200, shapes.gateway_bot(call.discord.gateway.url)


def _application(call: RestCall) -> Answer:
    discord = call.discord
    key = discord.signing.verify_key
    return 200, shapes.application(discord.world, discord.rules.privileged_intents, key)


def _me(call: RestCall) -> Answer:
    return 200, shapes.me(call.discord.world.bot)


def _user(call: RestCall) -> Answer:
    found = call.discord.world.users.get(call.id("user"))
    if found is None:
        raise Refused(10013)
    return 200, shapes.user(found)


def _my_guilds(call: RestCall) -> Answer:
    world = call.discord.world
    shown = [
        shapes.my_guild(guild, base(guild, world.bot.id), counted=call.is_set("with_counts"))
        for guild in world.guilds.values()
    ]
    after = call.snowflake("after") or 0
    return 200, [guild for guild in shown if int(guild["id"]) > after]


def _open_dm(call: RestCall) -> Answer:
    user_id = int(call.fields.get("recipient_id") or 0)
    if user_id not in call.discord.world.users:
        raise Refused(10013)
    if user_id == call.discord.world.bot.id:
        raise Refused(50007)
    return 200, shapes.channel(call.discord.world, call.discord.world.dm_with(user_id))


SESSION_ROUTES = (
    Route("GET", "/gateway", _gateway, auth=False),
    Route("GET", "/gateway/bot", _gateway_bot),
    Route("GET", "/oauth2/applications/@me", _application),
    Route("GET", "/applications/@me", _application),
    Route("GET", "/users/@me", _me),
    Route("GET", "/users/@me/guilds", _my_guilds),
    Route("POST", "/users/@me/channels", _open_dm, body=OPEN_DM),
    Route("GET", "/users/{user}", _user),
)


def _get_channel(call: RestCall) -> Answer:
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


CHANNEL_ROUTES = (
    Route("GET", "/channels/{channel}", _get_channel),
    Route("PATCH", "/channels/{channel}", _edit, body=EDIT_CHANNEL),
    Route("DELETE", "/channels/{channel}", _delete),
    Route("POST", "/channels/{channel}/typing", _typing, "typing"),
    Route("PUT", "/channels/{channel}/permissions/{overwrite}", _put_overwrite, body=PUT_OVERWRITE),
    Route("DELETE", "/channels/{channel}/permissions/{overwrite}", _delete_overwrite),
)
