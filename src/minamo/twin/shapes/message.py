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


def message(world: World, sent: Message, *, nested: bool = False) -> Json:
    """Return a message as REST shows it; only the answer to its creation has the nonce."""
    mentioned = [world.users[user_id] for user_id in sent.mentions if user_id in world.users]
    body: Json = {
        "id": str(sent.id),
        "channel_id": str(sent.channel_id),
        "author": user(sent.author),
        "content": sent.content,
        "timestamp": stamp(sent.created_at),
        "edited_timestamp": stamp(sent.edited_at) if sent.edited_at is not None else None,
        "tts": sent.tts,
        "mention_everyone": sent.mention_everyone,
        "mentions": [user(mention) for mention in mentioned],
        "mention_roles": [str(role_id) for role_id in sent.mention_roles],
        "attachments": sent.attachments,
        "embeds": sent.embeds,
        "components": sent.components,
        "pinned": sent.pinned_at is not None,
        "type": sent.type,
        "flags": sent.flags,
    }
    if sent.reactions:
        body["reactions"] = [_reaction(world, *pair) for pair in sent.reactions.items()]
    if sent.webhook_id is not None:
        body["webhook_id"] = str(sent.webhook_id)
        hook = world.webhooks.get(sent.webhook_id)
        if hook is not None and hook.application_id:
            body["application_id"] = str(hook.application_id)
    if sent.interaction_id in world.interactions:
        body["interaction_metadata"] = _origin(world, world.interactions[sent.interaction_id])
        body["application_id"] = str(world.bot.id)
    if sent.thread_id in world.channels:
        body["thread"] = thread(world, world.channels[sent.thread_id])
    if sent.forward is not None:
        body["message_reference"] = _reference(
            1, sent.forward.message_id, sent.forward.channel_id, sent.forward.guild_id
        )
        body["message_snapshots"] = [{"message": sent.forward.snapshot}]
    if sent.reply_to is not None:
        body["message_reference"] = _reference(
            0, sent.reply_to, sent.channel_id, world.channels[sent.channel_id].guild_id
        )
        if not nested and sent.type != PINNED:
            target = world.find_message(sent.channel_id, sent.reply_to)
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


def snapshot(world: World, sent: Message) -> Json:
    """Return the part of a message that a forward carries."""
    body = message(world, sent)
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


def message_event(world: World, sent: Message, *, is_new: bool) -> Json:
    """Return a message as the gateway sends it: with server, member and, if new, the nonce."""
    body = message(world, sent)
    if is_new and sent.nonce is not None:
        body["nonce"] = sent.nonce
    guild_id = world.channels[sent.channel_id].guild_id
    if guild_id is None:
        return body
    body["guild_id"] = str(guild_id)
    members = world.guilds[guild_id].members
    if sent.webhook_id is None and sent.author.id in members:
        body["member"] = member(members[sent.author.id], with_user=False)
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
