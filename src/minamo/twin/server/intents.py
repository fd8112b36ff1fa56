"""What a session receives: the events of its intents, and the members that it requests."""

from __future__ import annotations

from typing import Any

from minamo.twin.shapes import objects as shapes
from minamo.twin.world import Guild, Member, World

GUILDS, GUILD_MEMBERS, GUILD_PRESENCES, MESSAGE_CONTENT = 1 << 0, 1 << 1, 1 << 8, 1 << 15
PRIVILEGED = GUILD_MEMBERS | GUILD_PRESENCES | MESSAGE_CONTENT
_WEBHOOKS = 1 << 5
_MESSAGES, _REACTIONS, _TYPING = 1 << 9, 1 << 10, 1 << 11
_DM_MESSAGES, _DM_REACTIONS, _DM_TYPING = 1 << 12, 1 << 13, 1 << 14
#: All documented intents: 0 to 16, two of AutoMod, two of polls.
KNOWN = (1 << 17) - 1 | 1 << 20 | 1 << 21 | 1 << 24 | 1 << 25

_NO_CONTENT: dict[str, Any] = {"content": "", "embeds": [], "attachments": [], "components": []}

# The intents that enable each event: in a server, in a direct message.
_NEEDED = {
    "MESSAGE_CREATE": (_MESSAGES, _DM_MESSAGES),
    "MESSAGE_UPDATE": (_MESSAGES, _DM_MESSAGES),
    "MESSAGE_DELETE": (_MESSAGES, _DM_MESSAGES),
    "MESSAGE_DELETE_BULK": (_MESSAGES, _DM_MESSAGES),
    "MESSAGE_REACTION_ADD": (_REACTIONS, _DM_REACTIONS),
    "MESSAGE_REACTION_REMOVE": (_REACTIONS, _DM_REACTIONS),
    "MESSAGE_REACTION_REMOVE_ALL": (_REACTIONS, _DM_REACTIONS),
    "MESSAGE_REACTION_REMOVE_EMOJI": (_REACTIONS, _DM_REACTIONS),
    "TYPING_START": (_TYPING, _DM_TYPING),
    "GUILD_CREATE": (GUILDS, 0),
    "CHANNEL_CREATE": (GUILDS, 0),
    "CHANNEL_UPDATE": (GUILDS, 0),
    "CHANNEL_DELETE": (GUILDS, 0),
    "CHANNEL_PINS_UPDATE": (GUILDS, _DM_MESSAGES),
    "THREAD_CREATE": (GUILDS, 0),
    "THREAD_UPDATE": (GUILDS, 0),
    "THREAD_DELETE": (GUILDS, 0),
    "GUILD_MEMBER_ADD": (GUILD_MEMBERS, 0),
    "WEBHOOKS_UPDATE": (_WEBHOOKS, 0),
}


def wants(intents: int, name: str, guild_id: int | None) -> bool:
    """Return whether a session with *intents* receives *name*; interactions reach all."""
    if name not in _NEEDED:
        return True
    in_guild, in_dm = _NEEDED[name]
    return bool(intents & (in_dm if guild_id is None else in_guild))


def for_intents(
    world: World, intents: int, name: str, data: dict[str, Any], guild_id: int | None
) -> dict[str, Any]:
    """Return the event, reduced to the data that *intents* permit."""
    if name == "GUILD_CREATE" and not intents & GUILD_PRESENCES:
        mine = [
            member
            for member in data.get("members") or ()
            if member["user"]["id"] == str(world.bot.id)
        ]
        return {**data, "members": mine}
    if not name.startswith("MESSAGE_") or intents & MESSAGE_CONTENT or guild_id is None:
        return data
    return dict(without_content(world, data))


def without_content(world: World, value: Any) -> Any:
    """Return a copy of an answer or event without the content that needs MESSAGE_CONTENT.

    That is the content of any message, also of a referenced one, unless the message is the
    bot's own, was sent to it directly, or mentions it.
    """
    if isinstance(value, list):
        return [without_content(world, item) for item in value]
    if not isinstance(value, dict):
        return value
    shown = {key: without_content(world, item) for key, item in value.items()}
    if "content" in value and "author" in value and not _is_readable(world, value):
        shown |= _NO_CONTENT
        if "message_snapshots" in value:  # the forwarded message
            inner = [
                message_snapshot["message"] | _NO_CONTENT
                for message_snapshot in value["message_snapshots"]
            ]
            shown["message_snapshots"] = [{"message": forwarded} for forwarded in inner]
    return shown


def _is_readable(world: World, message: dict[str, Any]) -> bool:
    mine = str(world.bot.id)
    about = [message["author"], *message.get("mentions", ())]
    if message.get("application_id") == mine or any(user.get("id") == mine for user in about):
        return True
    place = world.channels.get(int(message.get("channel_id") or 0))
    return place is not None and place.guild_id is None


_CHUNK_MAX = 1_000
_FOUND_MAX = 100  # by the beginning of a name, or by ids
_NONCE_BYTES_MAX = 32  # a longer one is omitted

Json = dict[str, Any]


def member_chunks(world: World, intents: int, body: Json) -> list[Json]:
    """Return the GUILD_MEMBERS_CHUNK events that answer a request, in order.

    The whole list needs GUILD_MEMBERS; without it, as for an unknown server, there are none.
    """
    guild = world.guilds.get(int(body.get("guild_id") or 0))
    if guild is None:
        return []
    common: Json = {"guild_id": str(guild.id)}
    if body.get("user_ids"):
        found, common["not_found"] = _by_id(guild, body["user_ids"])
    elif body.get("query"):
        found = _by_name(guild, str(body["query"]), int(body.get("limit") or 0))
    elif intents & GUILD_MEMBERS:
        found = list(guild.members.values())
        found = found[: int(body.get("limit") or 0) or None]
    else:
        return []
    if body.get("presences") and intents & GUILD_PRESENCES:
        common["presences"] = []
    nonce = body.get("nonce")
    if nonce is not None and len(str(nonce).encode()) <= _NONCE_BYTES_MAX:
        common["nonce"] = nonce
    return _cut(found, common)


def _by_id(guild: Guild, given: Any) -> tuple[list[Member], list[str]]:
    wanted = [str(user_id) for user_id in (given if isinstance(given, list) else [given])][
        :_FOUND_MAX
    ]
    found = [guild.members[int(user_id)] for user_id in wanted if int(user_id) in guild.members]
    return found, [user_id for user_id in wanted if int(user_id) not in guild.members]


def _by_name(guild: Guild, start: str, limit: int) -> list[Member]:
    names = ((member, (member.user.name, member.nick or "")) for member in guild.members.values())
    found = [
        member
        for member, known in names
        if any(name.lower().startswith(start.lower()) for name in known)
    ]
    return found[: min(limit or _FOUND_MAX, _FOUND_MAX)]


def _cut(found: list[Member], common: Json) -> list[Json]:
    count = max(1, -(-len(found) // _CHUNK_MAX))
    return [
        {
            **common,
            "members": [
                shapes.member(member) for member in found[at * _CHUNK_MAX : (at + 1) * _CHUNK_MAX]
            ],
            "chunk_index": at,
            "chunk_count": count,
        }
        for at in range(count)
    ]
