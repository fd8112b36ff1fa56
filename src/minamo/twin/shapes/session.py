"""The JSON about the bot itself: its application, gateway URL, READY event and commands."""

from __future__ import annotations

from minamo.twin.shapes.objects import Json, me, user
from minamo.twin.world import World

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
