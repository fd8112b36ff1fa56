"""Routes of the gateway URL, the bot itself, other users, and direct message channels."""

from __future__ import annotations

from minamo.twin.bodies.tables import OPEN_DM
from minamo.twin.calls import Answer, Call, Route
from minamo.twin.permissions import base
from minamo.twin.refusals import Refused
from minamo.twin.shapes import objects as shapes
from minamo.twin.shapes import session as shapes_session


def _gateway(call: Call) -> Answer:
    return 200, {"url": call.discord.gateway.url}


def _gateway_bot(call: Call) -> Answer:
    return 200, shapes_session.gateway_bot(call.discord.gateway.url)


def _application(call: Call) -> Answer:
    discord = call.discord
    key = discord.signing.verify_key
    return 200, shapes_session.application(discord.world, discord.rules.privileged_intents, key)


def _me(call: Call) -> Answer:
    return 200, shapes.me(call.discord.world.bot)


def _user(call: Call) -> Answer:
    found = call.discord.world.users.get(call.id("user"))
    if found is None:
        raise Refused(10013)
    return 200, shapes.user(found)


def _my_guilds(call: Call) -> Answer:
    world = call.discord.world
    shown = [
        shapes.my_guild(one, base(one, world.bot.id), counted=call.is_set("with_counts"))
        for one in world.guilds.values()
    ]
    after = call.snowflake("after") or 0
    return 200, [one for one in shown if int(one["id"]) > after]


def _open_dm(call: Call) -> Answer:
    user_id = int(call.fields.get("recipient_id") or 0)
    if user_id not in call.discord.world.users:
        raise Refused(10013)
    if user_id == call.discord.world.bot.id:
        raise Refused(50007)
    return 200, shapes.channel(call.discord.world, call.discord.world.dm_with(user_id))


ROUTES = (
    Route("GET", "/gateway", _gateway, auth=False),
    Route("GET", "/gateway/bot", _gateway_bot),
    Route("GET", "/oauth2/applications/@me", _application),
    Route("GET", "/applications/@me", _application),
    Route("GET", "/users/@me", _me),
    Route("GET", "/users/@me/guilds", _my_guilds),
    Route("POST", "/users/@me/channels", _open_dm, body=OPEN_DM),
    Route("GET", "/users/{user}", _user),
)
