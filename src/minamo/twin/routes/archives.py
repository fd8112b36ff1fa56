"""Routes of archived threads: the public, the private, and the joined private ones."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from minamo.twin.calls import Answer, Call, Route
from minamo.twin.permissions import Permission
from minamo.twin.shapes import objects as shapes
from minamo.twin.world import PRIVATE_THREAD, Channel

_PAGE_MAX = 100


def _public(call: Call) -> Answer:
    channel = call.channel(Permission.READ_MESSAGE_HISTORY)
    return 200, _by_time(call, [one for one in _archived(call, channel) if not _is_private(one)])


def _private(call: Call) -> Answer:
    channel = call.channel(Permission.READ_MESSAGE_HISTORY, Permission.MANAGE_THREADS)
    return 200, _by_time(call, [one for one in _archived(call, channel) if _is_private(one)])


def _joined(call: Call) -> Answer:
    channel = call.channel(Permission.READ_MESSAGE_HISTORY)
    bot_id, before = call.discord.world.bot.id, int(call.query.get("before", 1 << 63))
    found = [
        one
        for one in _archived(call, channel)
        if _is_private(one) and bot_id in one.members and one.id < before
    ]
    return 200, _page(call, sorted(found, key=lambda one: one.id, reverse=True))


def _archived(call: Call, channel: Channel) -> list[Channel]:
    every = call.discord.world.channels.values()
    return [one for one in every if one.parent_id == channel.id and one.archived]


def _is_private(one: Channel) -> bool:
    return one.type == PRIVATE_THREAD


def _by_time(call: Call, found: list[Channel]) -> dict[str, Any]:
    """Return a page of the threads archived before the query's `before`, latest first."""

    def archived_at(one: Channel) -> datetime:
        told = shapes.thread(call.discord.world, one)["thread_metadata"]["archive_timestamp"]
        return datetime.fromisoformat(told)

    if "before" in call.query:
        before = datetime.fromisoformat(call.query["before"])
        found = [one for one in found if archived_at(one) < before]
    return _page(call, sorted(found, key=archived_at, reverse=True))


def _page(call: Call, found: list[Channel]) -> dict[str, Any]:
    limit = min(int(call.query.get("limit", _PAGE_MAX)), _PAGE_MAX)
    world, shown = call.discord.world, found[:limit]
    return {
        "threads": [shapes.thread(world, one) for one in shown],
        "members": [
            shapes.thread_member(one, world.bot.id) for one in shown if world.bot.id in one.members
        ],
        "has_more": len(found) > limit,
    }


_ARCHIVED = "/channels/{channel}/threads/archived"
ROUTES = (
    Route("GET", f"{_ARCHIVED}/public", _public),
    Route("GET", f"{_ARCHIVED}/private", _private),
    Route("GET", "/channels/{channel}/users/@me/threads/archived/private", _joined),
)
