"""The JSON of users, members, roles, channels, servers and the bot, with every key clients need.

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


def me(bot: User) -> Json:
    """Return the bot's own user, with the fields that only the bot sees."""
    about = {"mfa_enabled": False, "verified": True, "email": None, "locale": bot.locale}
    return {**user(bot), **about}


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


def partial_member(person: Member) -> Json:
    """Return a member as in an interaction: without the user and the voice fields."""
    body = member(person, with_user=False)
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
        others = [
            user(world.users[user_id]) for user_id in channel.recipients if user_id != world.bot.id
        ]
        body: Json = {"id": str(channel.id), "type": DM, "recipients": others}
        return {**body, "last_message_id": None, "flags": 0}
    if channel.is_thread:
        return thread(world, channel)
    overwrites = [
        {
            "id": str(overwrite.id),
            "type": int(overwrite.is_member),
            "allow": str(int(overwrite.allow)),
            "deny": str(int(overwrite.deny)),
        }
        for overwrite in channel.overwrites.values()
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
        "roles": [role(found) for found in guild.roles.values()],
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


def guild_event(world: World, server: Guild) -> Json:
    """Return a server as the gateway announces it."""
    seen = [found for found in world.channels.values() if found.guild_id == server.id]
    return {
        **guild(server),
        "joined_at": stamp(server.members[world.bot.id].joined_at),
        "large": False,
        "unavailable": False,
        "member_count": len(server.members),
        "members": [member(found) for found in server.members.values()],
        "channels": [channel(world, found) for found in seen if not found.is_thread],
        "threads": [
            thread(world, found) for found in seen if found.is_thread and not found.archived
        ],
        "presences": [],
        "voice_states": [],
        "stage_instances": [],
        "guild_scheduled_events": [],
    }


# Privileged intents, each with the application flag that shows that it is granted.
_GRANTED = {1 << 1: 1 << 15, 1 << 8: 1 << 13, 1 << 15: 1 << 19}


def application(world: World, privileged_intents: int, verify_key: str) -> Json:
    """Return the bot's application."""
    return {
        "id": str(world.bot.id),
        "name": world.bot.name,
        "icon": None,
        "description": "",
        "bot_public": False,
        "bot_require_code_grant": False,
        "owner": user(next(iter(world.users.values()))),
        "team": None,
        "verify_key": verify_key,
        "type": None,
        "flags": _flags(privileged_intents),
        "flags_new": str(_flags(privileged_intents)),
        "approximate_guild_count": len(world.guilds),
        "approximate_user_install_count": 0,
        "approximate_user_authorization_count": 0,
        "redirect_uris": [],
        "interactions_endpoint_url": None,
        "role_connections_verification_url": None,
        "explicit_content_filter": 0,
        "eligible_oauth2_scopes": [],
    }


def _flags(privileged_intents: int) -> int:
    return sum(flag for intent, flag in _GRANTED.items() if privileged_intents & intent)


def gateway_bot(url: str) -> Json:
    """Return the gateway URL and the session start limits."""
    return {
        "url": url,
        "shards": 1,
        "session_start_limit": {
            "total": 1_000,
            "remaining": 999,
            "reset_after": 14_400_000,
            "max_concurrency": 1,
        },
    }


def ready(
    world: World, session_id: str, url: str, shard: tuple[int, int], privileged_intents: int
) -> Json:
    """Return READY, the first event of a session."""
    return {
        "v": 10,
        "user": me(world.bot),
        "guilds": [{"id": str(guild), "unavailable": True} for guild in world.guilds],
        "session_id": session_id,
        "resume_gateway_url": url,
        "shard": list(shard),
        "application": {"id": str(world.bot.id), "flags": _flags(privileged_intents)},
    }


def command(world: World, command_id: int, guild_id: int, given: Json) -> Json:
    """Return an application command as registered."""
    needed = given.get("default_member_permissions")
    body: Json = {
        "id": str(command_id),
        "application_id": str(world.bot.id),
        "type": given.get("type") or 1,
        "name": given["name"],
        "name_localizations": given.get("name_localizations"),
        "description": given.get("description") or "",
        "description_localizations": given.get("description_localizations"),
        "options": given.get("options") or [],
        "version": str(command_id),
        "default_member_permissions": None if needed is None else str(needed),
        "nsfw": bool(given.get("nsfw")),
        "contexts": given.get("contexts"),
        "integration_types": given.get("integration_types") or [0],
    }
    return {**body, "guild_id": str(guild_id)} if guild_id else body
