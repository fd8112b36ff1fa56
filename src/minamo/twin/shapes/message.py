"""The JSON of messages, reactions, webhooks and interactions."""

from __future__ import annotations

from minamo.twin.permissions import permissions
from minamo.twin.shapes.objects import Json, member, stamp, thread, user
from minamo.twin.world import PINNED, Interaction, Message, Webhook, World

_SNAPSHOT_KEYS = (
    "type",
    "content",
    "embeds",
    "attachments",
    "timestamp",
    "edited_timestamp",
    "flags",
    "mentions",
    "mention_roles",
    "components",
)


def message(world: World, one: Message, *, nested: bool = False) -> Json:
    """Return a message as REST shows it; only the answer to its creation has the nonce."""
    mentioned = [world.users[x] for x in one.mentions if x in world.users]
    body: Json = {
        "id": str(one.id),
        "channel_id": str(one.channel_id),
        "author": user(one.author),
        "content": one.content,
        "timestamp": stamp(one.created_at),
        "edited_timestamp": stamp(one.edited_at) if one.edited_at is not None else None,
        "tts": one.tts,
        "mention_everyone": one.mention_everyone,
        "mentions": [user(x) for x in mentioned],
        "mention_roles": [str(x) for x in one.mention_roles],
        "attachments": one.attachments,
        "embeds": one.embeds,
        "components": one.components,
        "pinned": one.pinned_at is not None,
        "type": one.type,
        "flags": one.flags,
    }
    if one.reactions:
        body["reactions"] = [_reaction(world, *pair) for pair in one.reactions.items()]
    if one.webhook_id is not None:
        body["webhook_id"] = str(one.webhook_id)
        hook = world.webhooks.get(one.webhook_id)
        if hook is not None and hook.application_id:
            body["application_id"] = str(hook.application_id)
    if one.interaction_id in world.interactions:
        body["interaction_metadata"] = _origin(world, world.interactions[one.interaction_id])
        body["application_id"] = str(world.bot.id)
    if one.thread_id in world.channels:
        body["thread"] = thread(world, world.channels[one.thread_id])
    if one.forward is not None:
        body["message_reference"] = _reference(
            1, one.forward.message_id, one.forward.channel_id, one.forward.guild_id
        )
        body["message_snapshots"] = [{"message": one.forward.snapshot}]
    if one.reply_to is not None:
        body["message_reference"] = _reference(
            0, one.reply_to, one.channel_id, world.channels[one.channel_id].guild_id
        )
        if not nested and one.type != PINNED:
            target = world.find_message(one.channel_id, one.reply_to)
            body["referenced_message"] = message(world, target, nested=True) if target else None
    return body


def emoji(key: str) -> Json:
    """Return an emoji: of Unicode, or of a server as `name:id`."""
    name, _, emoji_id = key.partition(":")
    return {"id": emoji_id or None, "name": name}


def _reaction(world: World, key: str, users: list[int]) -> Json:
    return {
        "emoji": emoji(key),
        "count": len(users),
        "count_details": {"burst": 0, "normal": len(users)},
        "burst_colors": [],
        "me": world.bot.id in users,
        "me_burst": False,
    }


def snapshot(world: World, one: Message) -> Json:
    """Return the part of a message that a forward carries."""
    body = message(world, one)
    return {key: body[key] for key in _SNAPSHOT_KEYS}


def _reference(kind: int, message_id: int, channel_id: int, guild_id: int | None) -> Json:
    body: Json = {
        "type": kind,
        "message_id": str(message_id),
        "channel_id": str(channel_id),
    }
    return {**body, "guild_id": str(guild_id)} if guild_id is not None else body


def _origin(world: World, interaction: Interaction) -> Json:
    body: Json = {
        "id": str(interaction.id),
        "type": interaction.type,
        "user": user(world.users[interaction.user_id]),
        "authorizing_integration_owners": _owners(world, interaction),
    }
    if interaction.message_id is not None:
        body["interacted_message_id"] = str(interaction.message_id)
    return body


def _owners(world: World, interaction: Interaction) -> Json:
    """Return the owner of the installation: the server, or the user who installed it."""
    if interaction.user_installed:
        return {"1": str(interaction.user_id)}
    home = world.channels.get(interaction.channel_id)
    return {"0": str(home.guild_id or 0) if home else "0"}


def message_event(world: World, one: Message, *, is_new: bool) -> Json:
    """Return a message as the gateway sends it: with server, member and, if new, the nonce."""
    body = message(world, one)
    if is_new and one.nonce is not None:
        body["nonce"] = one.nonce
    guild_id = world.channels[one.channel_id].guild_id
    if guild_id is None:
        return body
    body["guild_id"] = str(guild_id)
    members = world.guilds[guild_id].members
    if one.webhook_id is None and one.author.id in members:
        body["member"] = member(members[one.author.id], with_user=False)
    for mention in body["mentions"]:
        if int(mention["id"]) in members:
            mention["member"] = member(members[int(mention["id"])], with_user=False)
    return body


def webhook(world: World, webhook: Webhook, *, secret: bool) -> Json:
    """Return a webhook; with *secret* including its token, for callers that may manage it."""
    body: Json = {
        "id": str(webhook.id),
        "type": 1,
        "guild_id": str(webhook.guild_id),
        "channel_id": str(webhook.channel_id),
        "name": webhook.name,
        "avatar": webhook.avatar,
        "application_id": str(webhook.application_id) if webhook.application_id else None,
        "user": user(world.bot),
    }
    return {**body, "token": webhook.token} if secret else body


def interaction(world: World, interaction: Interaction) -> Json:
    """Return an interaction as the bot receives it."""
    place = world.channels[interaction.channel_id]
    mine = str(int(permissions(world, world.bot.id, place)))
    body: Json = {
        "id": str(interaction.id),
        "application_id": str(world.bot.id),
        "type": interaction.type,
        "token": interaction.token,
        "version": 1,
        "data": interaction.data,
        "channel_id": str(place.id),
        "channel": {"id": str(place.id), "type": place.type, "name": place.name},
        "app_permissions": mine,
        "locale": world.users[interaction.user_id].locale,
        "entitlements": [],
        "authorizing_integration_owners": _owners(world, interaction),
        "context": 0 if place.guild_id else 1,
        "attachment_size_limit": 10 * 1024 * 1024,
    }
    if interaction.message_id is not None:
        found = world.find_message(interaction.channel_id, interaction.message_id)
        body["message"] = message(world, found) if found else None
    if place.guild_id is None:
        return {**body, "user": user(world.users[interaction.user_id])}
    owner = world.guilds[place.guild_id].members[interaction.user_id]
    theirs = str(int(permissions(world, interaction.user_id, place)))
    body["channel"]["permissions"] = theirs
    return {
        **body,
        "guild_id": str(place.guild_id),
        "guild": {"id": str(place.guild_id), "locale": "en-US", "features": []},
        "guild_locale": "en-US",
        "member": {**member(owner), "permissions": theirs},
    }
