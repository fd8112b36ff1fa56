"""The JSON of users, members, roles, channels and servers, with every key clients rely on.

A test deletes each required key in turn and checks that hikari fails, so every key here is
either needed or known to be optional.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from minamo.twin.world import DM, Channel, Guild, Member, Role, User, World

Json = dict[str, Any]


def stamp(at: float) -> str:
    """Return a time in Discord's format."""
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="microseconds")


def user(one: User) -> Json:
    """Return a user."""
    return {
        "id": str(one.id),
        "username": one.name,
        "global_name": None,
        "discriminator": "0000" if one.is_bot else "0",
        "avatar": one.avatar,
        "bot": one.is_bot,
        "flags": 0,
        "public_flags": 0,
        "primary_guild": None,
    }


def me(one: User) -> Json:
    """Return the bot's own user, with the fields that only the bot sees."""
    about = {"mfa_enabled": False, "verified": True, "email": None, "locale": one.locale}
    return {**user(one), **about}


def member(one: Member, *, with_user: bool = True) -> Json:
    """Return a member of a server."""
    body: Json = {
        "roles": [str(role) for role in one.roles],
        "joined_at": stamp(one.joined_at),
        "nick": one.nick,
        "avatar": None,
        "banner": None,
        "communication_disabled_until": None,
        "premium_since": None,
        "deaf": False,
        "mute": False,
        "flags": 0,
        "pending": False,
    }
    return {**body, "user": user(one.user)} if with_user else body


def partial_member(one: Member) -> Json:
    """Return a member as in an interaction: without the user and the voice fields."""
    body = member(one, with_user=False)
    return {key: body[key] for key in body if key not in ("deaf", "mute")}


def role(one: Role) -> Json:
    """Return a role."""
    return {
        "id": str(one.id),
        "name": one.name,
        "color": 0,
        "colors": {"primary_color": 0, "secondary_color": None, "tertiary_color": None},
        "hoist": False,
        "icon": None,
        "unicode_emoji": None,
        "position": one.position,
        "permissions": str(int(one.permissions)),
        "managed": False,
        "mentionable": one.mentionable,
        "flags": 0,
    }


def channel(world: World, one: Channel) -> Json:
    """Return a channel of any type."""
    if one.type == DM:
        others = [user(world.users[x]) for x in one.recipients if x != world.bot.id]
        body: Json = {"id": str(one.id), "type": DM, "recipients": others}
        return {**body, "last_message_id": None, "flags": 0}
    if one.is_thread:
        return thread(world, one)
    overwrites = [
        {
            "id": str(x.id),
            "type": int(x.is_member),
            "allow": str(int(x.allow)),
            "deny": str(int(x.deny)),
        }
        for x in one.overwrites.values()
    ]
    return {
        "id": str(one.id),
        "type": one.type,
        "guild_id": str(one.guild_id),
        "name": one.name,
        "position": one.position,
        "permission_overwrites": overwrites,
        "topic": one.topic,
        "nsfw": False,
        "rate_limit_per_user": one.slowmode_s,
        "parent_id": str(one.parent_id) if one.parent_id else None,
        "last_message_id": None,
        "flags": 0,
    }


def thread(world: World, one: Channel) -> Json:
    """Return a thread, with the bot's membership if it has joined."""
    body: Json = {
        "id": str(one.id),
        "type": one.type,
        "guild_id": str(one.guild_id),
        "parent_id": str(one.parent_id),
        "owner_id": str(one.owner_id),
        "name": one.name,
        "last_message_id": None,
        "message_count": len(world.messages.get(one.id, ())),
        "total_message_sent": one.sent,
        "member_count": len(one.members),
        "rate_limit_per_user": one.slowmode_s,
        "flags": 0,
        "thread_metadata": {
            "archived": one.archived,
            "auto_archive_duration": one.auto_archive_min,
            "archive_timestamp": stamp(one.archived_at or one.created_at),
            "locked": one.locked,
            "create_timestamp": stamp(one.created_at),
        },
    }
    if world.bot.id in one.members:
        body["member"] = thread_member(one, world.bot.id)
    return body


def thread_member(one: Channel, user_id: int) -> Json:
    """Return the membership of a user in a thread."""
    return {
        "id": str(one.id),
        "user_id": str(user_id),
        "join_timestamp": stamp(one.created_at),
        "flags": 0,
    }


def my_guild(one: Guild, granted: int, *, counted: bool) -> Json:
    """Return an entry in the list of the bot's servers."""
    body: Json = {
        "id": str(one.id),
        "name": one.name,
        "icon": None,
        "banner": None,
        "owner": False,
        "permissions": str(int(granted)),
        "features": [],
    }
    return {**body, **_counts(one)} if counted else body


def _counts(one: Guild) -> Json:
    count = len(one.members)
    return {"approximate_member_count": count, "approximate_presence_count": count}


def guild(one: Guild) -> Json:
    """Return a server as REST shows it."""
    return {
        "id": str(one.id),
        "name": one.name,
        "icon": None,
        "splash": None,
        "discovery_splash": None,
        "owner_id": str(one.owner_id),
        "afk_channel_id": None,
        "afk_timeout": 300,
        "verification_level": 0,
        "default_message_notifications": 0,
        "explicit_content_filter": 0,
        "roles": [role(x) for x in one.roles.values()],
        "emojis": [],
        "stickers": [],
        "features": [],
        "mfa_level": 0,
        "application_id": None,
        "system_channel_id": None,
        "system_channel_flags": 0,
        "rules_channel_id": None,
        "vanity_url_code": None,
        "description": None,
        "banner": None,
        "premium_tier": 0,
        "preferred_locale": "en-US",
        "public_updates_channel_id": None,
        "nsfw_level": 0,
        "max_members": 500_000,
        "max_presences": None,
        "region": "deprecated",
        "nsfw": False,
        "home_header": None,
        "incidents_data": None,
        "safety_alerts_channel_id": None,
        "widget_enabled": False,
        "widget_channel_id": None,
        "premium_subscription_count": 0,
        "premium_progress_bar_enabled": False,
        "max_video_channel_users": 25,
        "max_stage_video_channel_users": 50,
        **_counts(one),
    }


def guild_event(world: World, one: Guild) -> Json:
    """Return a server as the gateway announces it."""
    seen = [c for c in world.channels.values() if c.guild_id == one.id]
    return {
        **guild(one),
        "joined_at": stamp(one.members[world.bot.id].joined_at),
        "large": False,
        "unavailable": False,
        "member_count": len(one.members),
        "members": [member(x) for x in one.members.values()],
        "channels": [channel(world, c) for c in seen if not c.is_thread],
        "threads": [thread(world, c) for c in seen if c.is_thread and not c.archived],
        "presences": [],
        "voice_states": [],
        "stage_instances": [],
        "guild_scheduled_events": [],
    }
