"""Which events a session asked for, and what it may read in them."""

from __future__ import annotations

from typing import Any

_GUILDS, _GUILD_MEMBERS, _WEBHOOKS = 1 << 0, 1 << 1, 1 << 5
_MESSAGES, _REACTIONS, _TYPING = 1 << 9, 1 << 10, 1 << 11
_DM_MESSAGES, _DM_REACTIONS, _DM_TYPING = 1 << 12, 1 << 13, 1 << 14
_CONTENT = 1 << 15

# Event to the intents that bring it: in a server, in a direct message.
_NEEDED = {
    "MESSAGE_CREATE": (_MESSAGES, _DM_MESSAGES),
    "MESSAGE_UPDATE": (_MESSAGES, _DM_MESSAGES),
    "MESSAGE_DELETE": (_MESSAGES, _DM_MESSAGES),
    "MESSAGE_DELETE_BULK": (_MESSAGES, _DM_MESSAGES),
    "MESSAGE_REACTION_ADD": (_REACTIONS, _DM_REACTIONS),
    "MESSAGE_REACTION_REMOVE": (_REACTIONS, _DM_REACTIONS),
    "TYPING_START": (_TYPING, _DM_TYPING),
    "CHANNEL_CREATE": (_GUILDS, 0),
    "CHANNEL_UPDATE": (_GUILDS, 0),
    "CHANNEL_DELETE": (_GUILDS, 0),
    "THREAD_CREATE": (_GUILDS, 0),
    "THREAD_UPDATE": (_GUILDS, 0),
    "THREAD_DELETE": (_GUILDS, 0),
    "GUILD_MEMBER_ADD": (_GUILD_MEMBERS, 0),
    "WEBHOOKS_UPDATE": (_WEBHOOKS, 0),
}


def wants(intents: int, name: str, guild_id: int | None) -> bool:
    """Whether a session with *intents* hears of *name*; interactions come to all."""
    if name not in _NEEDED:
        return True
    in_guild, in_dm = _NEEDED[name]
    return bool(intents & (in_dm if guild_id is None else in_guild))


def for_intents(
    intents: int, name: str, data: dict[str, Any], bot_id: int, guild_id: int | None
) -> dict[str, Any]:
    """The event as that session may read it.

    Without MESSAGE_CONTENT a message comes empty, unless it is the bot's own, was sent to it
    directly, or mentions it.
    """
    if name not in ("MESSAGE_CREATE", "MESSAGE_UPDATE") or intents & _CONTENT or guild_id is None:
        return data
    mentioned = any(one["id"] == str(bot_id) for one in data.get("mentions", ()))
    if mentioned or data.get("author", {}).get("id") == str(bot_id):
        return data
    return {**data, "content": "", "embeds": [], "attachments": [], "components": []}
