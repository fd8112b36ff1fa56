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


def user(user: User) -> Json:
    """Return a user."""
    return {
        "id": str(user.id),
        "username": user.name,
        "global_name": None,
        "discriminator": "0000" if user.is_bot else "0",
        "avatar": user.avatar,
        "bot": user.is_bot,
        "flags": 0,
        "public_flags": 0,
        "primary_guild": None,
    }


def me(one: User) -> Json:
    """Return the bot's own user, with the fields that only the bot sees."""
    about = {"mfa_enabled": False, "verified": True, "email": None, "locale": one.locale}
    return {**user(one), **about}


def member(member: Member, *, with_user: bool = True) -> Json:
    """Return a member of a server."""
    body: Json = {
        "roles": [str(role) for role in member.roles],
        "joined_at": stamp(member.joined_at),
        "nick": member.nick,
        "avatar": None,
        "banner": None,
        "communication_disabled_until": None,
        "premium_since": None,
        "deaf": False,
        "mute": False,
        "flags": 0,
        "pending": False,
    }
    return {**body, "user": user(member.user)} if with_user else body


def partial_member(one: Member) -> Json:
    """Return a member as in an interaction: without the user and the voice fields."""
    body = member(one, with_user=False)
    return {key: body[key] for key in body if key not in ("deaf", "mute")}


def role(role: Role) -> Json:
    """Return a role."""
    return {
        "id": str(role.id),
        "name": role.name,
        "color": 0,
        "colors": {"primary_color": 0, "secondary_color": None, "tertiary_color": None},
        "hoist": False,
        "icon": None,
        "unicode_emoji": None,
        "position": role.position,
        "permissions": str(int(role.permissions)),
        "managed": False,
        "mentionable": role.mentionable,
        "flags": 0,
    }


def channel(world: World, channel: Channel) -> Json:
    """Return a channel of any type."""
    if channel.type == DM:
        others = [user(world.users[x]) for x in channel.recipients if x != world.bot.id]
        body: Json = {"id": str(channel.id), "type": DM, "recipients": others}
        return {**body, "last_message_id": None, "flags": 0}
    if channel.is_thread:
        return thread(world, channel)
    overwrites = [
        {
            "id": str(x.id),
            "type": int(x.is_member),
            "allow": str(int(x.allow)),
            "deny": str(int(x.deny)),
        }
        for x in channel.overwrites.values()
    ]
    return {
        "id": str(channel.id),
        "type": channel.type,
        "guild_id": str(channel.guild_id),
        "name": channel.name,
        "position": channel.position,
        "permission_overwrites": overwrites,
        "topic": channel.topic,
        "nsfw": False,
        "rate_limit_per_user": channel.slowmode_s,
        "parent_id": str(channel.parent_id) if channel.parent_id else None,
        "last_message_id": None,
        "flags": 0,
    }


def thread(world: World, channel: Channel) -> Json:
    """Return a thread, with the bot's membership if it has joined."""
    body: Json = {
        "id": str(channel.id),
        "type": channel.type,
        "guild_id": str(channel.guild_id),
        "parent_id": str(channel.parent_id),
        "owner_id": str(channel.owner_id),
        "name": channel.name,
        "last_message_id": None,
        "message_count": len(world.messages.get(channel.id, ())),
        "total_message_sent": channel.sent,
        "member_count": len(channel.members),
        "rate_limit_per_user": channel.slowmode_s,
        "flags": 0,
        "thread_metadata": {
            "archived": channel.archived,
            "auto_archive_duration": channel.auto_archive_min,
            "archive_timestamp": stamp(channel.archived_at or channel.created_at),
            "locked": channel.locked,
            "create_timestamp": stamp(channel.created_at),
        },
    }
    if world.bot.id in channel.members:
        body["member"] = thread_member(channel, world.bot.id)
    return body


def thread_member(channel: Channel, user_id: int) -> Json:
    """Return the membership of a user in a thread."""
    return {
        "id": str(channel.id),
        "user_id": str(user_id),
        "join_timestamp": stamp(channel.created_at),
        "flags": 0,
    }


def my_guild(guild: Guild, granted: int, *, counted: bool) -> Json:
    """Return an entry in the list of the bot's servers."""
    body: Json = {
        "id": str(guild.id),
        "name": guild.name,
        "icon": None,
        "banner": None,
        "owner": False,
        "permissions": str(int(granted)),
        "features": [],
    }
    return {**body, **_counts(guild)} if counted else body


def _counts(guild: Guild) -> Json:
    count = len(guild.members)
    return {"approximate_member_count": count, "approximate_presence_count": count}


def guild(guild: Guild) -> Json:
    """Return a server as REST shows it."""
    return {
        "id": str(guild.id),
        "name": guild.name,
        "icon": None,
        "splash": None,
        "discovery_splash": None,
        "owner_id": str(guild.owner_id),
        "afk_channel_id": None,
        "afk_timeout": 300,
        "verification_level": 0,
        "default_message_notifications": 0,
        "explicit_content_filter": 0,
        "roles": [role(x) for x in guild.roles.values()],
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
        **_counts(guild),
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
