"""Routes of servers: the server itself, its channels, roles and members."""

from __future__ import annotations

from minamo.twin.bodies.tables import CREATE_CHANNEL
from minamo.twin.calls import Answer, Call, Route
from minamo.twin.gateway.intents import GUILD_MEMBERS
from minamo.twin.permissions import Permission, permissions
from minamo.twin.refusals import Refused
from minamo.twin.shapes import objects as shapes
from minamo.twin.world import NEWS, TEXT, Channel

_PAGE_MAX = 1_000


def _get(call: Call) -> Answer:
    return 200, shapes.guild(call.guild())


def _channels(call: Call) -> Answer:
    guild, world = call.guild(), call.discord.world
    found = [one for one in world.channels.values() if one.guild_id == guild.id]
    return 200, [shapes.channel(world, one) for one in found if not one.is_thread]


def _create_channel(call: Call) -> Answer:
    guild, world = call.guild(), call.discord.world
    home = next(one for one in world.channels.values() if one.guild_id == guild.id)
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


def _roles(call: Call) -> Answer:
    return 200, [shapes.role(one) for one in call.guild().roles.values()]


def _role(call: Call) -> Answer:
    found = call.guild().roles.get(call.id("role"))
    if found is None:
        raise Refused(10011)
    return 200, shapes.role(found)


def _member(call: Call) -> Answer:
    found = call.guild().members.get(call.id("user"))
    if found is None:
        raise Refused(10007)
    return 200, shapes.member(found)


def _members(call: Call) -> Answer:
    if not call.discord.rules.privileged_intents & GUILD_MEMBERS:
        raise Refused(50001)
    after, limit = call.snowflake("after") or 0, call.number("limit", 1, 1, _PAGE_MAX)
    found = [one for one in call.guild().members.values() if one.user.id > after]
    found.sort(key=lambda one: one.user.id)
    return 200, [shapes.member(one) for one in found[:limit]]


def _search(call: Call) -> Answer:
    start, limit = call.query.get("query", "").lower(), call.number("limit", 1, 1, _PAGE_MAX)
    found = [
        one
        for one in call.guild().members.values()
        if (one.nick or one.user.name).lower().startswith(start)
    ]
    return 200, [shapes.member(one) for one in found[:limit]]


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
