"""Routes of webhooks: create, list, execute, edit, delete, and their messages.

The paths with a token are also those of interaction follow-ups; a path with the application's
id goes to `interactions`.
"""

from __future__ import annotations

from typing import Any

from minamo.twin.bodies.tables import (
    CREATE_WEBHOOK,
    EDIT_MESSAGE,
    EDIT_WEBHOOK,
    EXECUTE_WEBHOOK,
    image_hash,
)
from minamo.twin.messages import change, draft, post, remove
from minamo.twin.permissions import Permission, require
from minamo.twin.routes import interactions
from minamo.twin.server.calls import Answer, RestCall, Route
from minamo.twin.server.refusals import Refused, SlowedDown, locked
from minamo.twin.shapes import message as shapes_message
from minamo.twin.world import Channel, Message, User, Webhook, new_token


def _create(call: RestCall) -> Answer:
    channel, discord = _home(call, call.channel()), call.discord
    body = call.fields
    webhooks = [
        webhook for webhook in discord.world.webhooks.values() if webhook.channel_id == channel.id
    ]
    if len(webhooks) >= discord.rules.webhooks_max:
        raise Refused(30007)
    made = Webhook(
        discord.world.new_id(),
        channel.id,
        channel.guild_id or 0,
        body["name"],
        new_token(),
        body.get("avatar"),
        application_id=discord.world.bot.id,
    )
    discord.world.webhooks[made.id] = made
    _updated(call, made)
    return 200, shapes_message.webhook(discord.world, made, secret=True)


def _home(call: RestCall, channel: Channel) -> Channel:
    """Return *channel*; refuse unless it takes webhooks and the bot may manage them there."""
    if channel.guild_id is None or channel.is_thread:
        raise Refused(50024)
    world = call.discord.world
    require(world, world.bot.id, channel, Permission.MANAGE_WEBHOOKS)
    return channel


def _updated(call: RestCall, webhook: Webhook) -> None:
    body = {"guild_id": str(webhook.guild_id), "channel_id": str(webhook.channel_id)}
    call.discord.gateway.dispatch("WEBHOOKS_UPDATE", body, guild_id=webhook.guild_id)


def _of_channel(call: RestCall) -> Answer:
    channel, world = call.channel(Permission.MANAGE_WEBHOOKS), call.discord.world
    found = [webhook for webhook in world.webhooks.values() if webhook.channel_id == channel.id]
    return 200, [shapes_message.webhook(world, webhook, secret=True) for webhook in found]


def _of_guild(call: RestCall) -> Answer:
    guild, world = call.guild(), call.discord.world
    found = [webhook for webhook in world.webhooks.values() if webhook.guild_id == guild.id]
    return 200, [shapes_message.webhook(world, webhook, secret=True) for webhook in found]


def find(call: RestCall) -> Webhook:
    """Return the webhook of the path; refuse without its token or permission to manage it."""
    world = call.discord.world
    found = world.webhooks.get(call.id("webhook"))
    if found is None:
        raise Refused(10015)
    if "token" not in call.params:
        home = world.channels[found.channel_id]
        require(world, world.bot.id, home, Permission.MANAGE_WEBHOOKS)
    elif call.params["token"] != found.token:
        raise Refused(50027)
    return found


def _get(call: RestCall) -> Answer:
    return 200, _shown(call, find(call))


def _shown(call: RestCall, found: Webhook) -> dict[str, Any]:
    """Return the webhook; a caller with only its token does not see its creator."""
    shape = shapes_message.webhook(call.discord.world, found, secret=True)
    if "token" in call.params:
        del shape["user"]
    return shape


def _edit(call: RestCall) -> Answer:
    found, body = find(call), call.fields
    found.name = body.get("name") or found.name
    found.avatar = body.get("avatar", found.avatar)
    if body.get("channel_id") and "token" not in call.params:
        channel = call.discord.world.channels.get(int(body["channel_id"]))
        if channel is None or channel.guild_id != found.guild_id:
            raise Refused(10003)
        found.channel_id = _home(call, channel).id
    _updated(call, found)
    return 200, _shown(call, found)


def _delete(call: RestCall) -> Answer:
    found = find(call)
    del call.discord.world.webhooks[found.id]
    _updated(call, found)
    return 204, None


def _execute(call: RestCall) -> Answer:
    discord = call.discord
    if call.id("webhook") == discord.world.bot.id:
        return interactions.follow_up(call)
    found = find(call)
    place = _place(call, found)
    limit = discord.rules.webhook_hidden
    if discord.rules.rate_limits and (
        wait := discord.buckets.take_hidden("webhook.hidden", str(place.id), limit)
    ):
        raise SlowedDown(wait, scope="hidden")
    body = call.fields
    if body.get("thread_name"):
        raise Refused(220003)
    face = body.get("avatar_url")
    persona = User(
        found.id,
        body.get("username") or found.name,
        is_bot=True,
        avatar=image_hash(face) if face else found.avatar,
        avatar_url=face,
    )
    drafted = draft(discord, body, call.uploads)
    message = post(discord, place, persona, drafted, webhook_id=found.id)
    if not call.is_set("wait"):
        return 204, None
    return 200, shapes_message.message(discord.world, message)


def _place(call: RestCall, found: Webhook) -> Channel:
    world = call.discord.world
    thread_id = call.snowflake("thread_id")
    if thread_id is None:
        return world.channels[found.channel_id]
    thread = world.channels.get(thread_id)
    if thread is None or thread.parent_id != found.channel_id:
        raise Refused(10003)
    if thread.locked:
        raise locked(archived=thread.archived)
    return thread


def _message(call: RestCall) -> Message:
    found = find(call)
    message = call.discord.world.find_message(_place(call, found).id, call.id("message"))
    if message is None or message.webhook_id != found.id:
        raise Refused(10008)
    return message


def _get_message(call: RestCall) -> Answer:
    if call.id("webhook") == call.discord.world.bot.id:
        return interactions.get_message(call)
    return 200, shapes_message.message(call.discord.world, _message(call))


def _edit_message(call: RestCall) -> Answer:
    if call.id("webhook") == call.discord.world.bot.id:
        return interactions.edit_message(call)
    message = _message(call)
    change(call.discord, message, call.fields, call.uploads)
    return 200, shapes_message.message(call.discord.world, message)


def _delete_message(call: RestCall) -> Answer:
    if call.id("webhook") == call.discord.world.bot.id:
        return interactions.delete_message(call)
    remove(call.discord, _message(call))
    return 204, None


_BY_ID = "/webhooks/{webhook}"
_BY_TOKEN = "/webhooks/{webhook}/{token}"  # noqa: S105 - a pattern
_ONE = "/webhooks/{webhook}/{token}/messages/{message}"
ROUTES = (
    Route("POST", "/channels/{channel}/webhooks", _create, body=CREATE_WEBHOOK),
    Route("GET", "/channels/{channel}/webhooks", _of_channel),
    Route("GET", "/guilds/{guild}/webhooks", _of_guild),
    Route("GET", _BY_ID, _get),
    Route("PATCH", _BY_ID, _edit, body=EDIT_WEBHOOK),
    Route("DELETE", _BY_ID, _delete),
    Route("POST", _BY_TOKEN, _execute, "webhook", EXECUTE_WEBHOOK, auth=False),
    Route("GET", _BY_TOKEN, _get, auth=False),
    Route("PATCH", _BY_TOKEN, _edit, body=EDIT_WEBHOOK, auth=False),
    Route("DELETE", _BY_TOKEN, _delete, auth=False),
    Route("GET", _ONE, _get_message, "webhook.message", auth=False),
    Route("PATCH", _ONE, _edit_message, "webhook.message", EDIT_MESSAGE, auth=False),
    Route("DELETE", _ONE, _delete_message, "webhook.message", auth=False),
)
