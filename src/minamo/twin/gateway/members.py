"""REQUEST_GUILD_MEMBERS: the members that a session requests, and their chunks."""

from __future__ import annotations

from typing import Any

from minamo.twin.gateway.intents import GUILD_MEMBERS, GUILD_PRESENCES
from minamo.twin.shapes import objects as shapes
from minamo.twin.world import Guild, Member, World

_CHUNK_MAX = 1_000
_FOUND_MAX = 100  # by the beginning of a name, or by ids
_NONCE_BYTES_MAX = 32  # a longer one is omitted

Json = dict[str, Any]


def chunks(world: World, intents: int, body: Json) -> list[Json]:
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
    wanted = [str(one) for one in (given if isinstance(given, list) else [given])][:_FOUND_MAX]
    found = [guild.members[int(one)] for one in wanted if int(one) in guild.members]
    return found, [one for one in wanted if int(one) not in guild.members]


def _by_name(guild: Guild, start: str, limit: int) -> list[Member]:
    names = ((one, (one.user.name, one.nick or "")) for one in guild.members.values())
    found = [one for one, known in names if any(x.lower().startswith(start.lower()) for x in known)]
    return found[: min(limit or _FOUND_MAX, _FOUND_MAX)]


def _cut(found: list[Member], common: Json) -> list[Json]:
    count = max(1, -(-len(found) // _CHUNK_MAX))
    return [
        {
            **common,
            "members": [
                shapes.member(one) for one in found[at * _CHUNK_MAX : (at + 1) * _CHUNK_MAX]
            ],
            "chunk_index": at,
            "chunk_count": count,
        }
        for at in range(count)
    ]
