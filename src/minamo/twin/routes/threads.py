"""Routes of threads: start, join, leave, list, and the archives."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from minamo.twin.bodies.tables import THREAD, THREAD_FROM_MESSAGE
from minamo.twin.permissions import Permission
from minamo.twin.server.calls import Answer, RestCall, Route
from minamo.twin.server.refusals import Refused
from minamo.twin.shapes import objects as shapes
from minamo.twin.world import HAS_THREAD, PRIVATE_THREAD, PUBLIC_THREAD, Channel

_MEMBERS_PAGE_MAX = 100


def _from_message(call: RestCall) -> Answer:
    parent = _parent(call, Permission.CREATE_PUBLIC_THREADS)
    message = call.message()
    if message.thread_id is not None:
        raise Refused(160004)
    made = _start(call, parent, PUBLIC_THREAD, message.id)  # thread and message share their id
    message.thread_id = made.id
    message.flags |= HAS_THREAD
    call.discord.announce("MESSAGE_UPDATE", message)
    return 201, shapes.thread(call.discord.world, made)


def _without_message(call: RestCall) -> Answer:
    kind = call.fields.get("type") or PRIVATE_THREAD
    needed = Permission.CREATE_PUBLIC_THREADS
    if kind == PRIVATE_THREAD:
        needed = Permission.CREATE_PRIVATE_THREADS
    parent = _parent(call, needed)
    made = _start(call, parent, kind, call.discord.world.new_id())
    return 201, shapes.thread(call.discord.world, made)


def _parent(call: RestCall, needed: Permission) -> Channel:
    """Return the channel of the path; refuse if it cannot have threads."""
    found = call.channel()
    if found.guild_id is None or found.is_thread:
        raise Refused(50024)
    return call.channel(needed)


def _start(call: RestCall, parent: Channel, kind: int, thread_id: int) -> Channel:
    world, body = call.discord.world, call.fields
    made = Channel(
        thread_id,
        kind,
        body["name"],
        guild_id=parent.guild_id,
        parent_id=parent.id,
        owner_id=world.bot.id,
        created_at=call.discord.now(),
        auto_archive_min=body.get("auto_archive_duration") or 1_440,
        slowmode_s=body.get("rate_limit_per_user") or 0,
        members={world.bot.id},
    )
    world.channels[made.id] = made
    data = {**shapes.thread(world, made), "newly_created": True}
    call.discord.gateway.dispatch("THREAD_CREATE", data, guild_id=made.guild_id)
    return made


def _join(call: RestCall) -> Answer:
    thread = call.channel()
    if thread.archived:
        raise Refused(50083)
    thread.members.add(_whom(call))
    return 204, None


def _leave(call: RestCall) -> Answer:
    thread = call.channel()
    thread.members.discard(_whom(call))
    return 204, None


def _whom(call: RestCall) -> int:
    return call.discord.world.bot.id if "user" not in call.params else call.id("user")


def _members(call: RestCall) -> Answer:
    thread = call.channel()
    after = call.snowflake("after") or 0
    limit = call.number("limit", _MEMBERS_PAGE_MAX, 1, _MEMBERS_PAGE_MAX)
    found = sorted(member for member in thread.members if member > after)[:limit]
    return 200, [shapes.thread_member(thread, user_id) for user_id in found]


def _active(call: RestCall) -> Answer:
    guild = call.guild()
    for channel in tuple(call.discord.world.channels.values()):
        call.discord.archive_if_idle(channel)
    found = [
        channel
        for channel in call.discord.world.channels.values()
        if channel.guild_id == guild.id and channel.is_thread and not channel.archived
    ]
    bot_id = call.discord.world.bot.id
    mine = [shapes.thread_member(thread, bot_id) for thread in found if bot_id in thread.members]
    return 200, {
        "threads": [shapes.thread(call.discord.world, thread) for thread in found],
        "members": mine,
    }


_MEMBERS = "/channels/{channel}/thread-members"
ROUTES = (
    Route(
        "POST",
        "/channels/{channel}/messages/{message}/threads",
        _from_message,
        body=THREAD_FROM_MESSAGE,
    ),
    Route("POST", "/channels/{channel}/threads", _without_message, body=THREAD),
    Route("PUT", f"{_MEMBERS}/@me", _join),
    Route("DELETE", f"{_MEMBERS}/@me", _leave),
    Route("PUT", f"{_MEMBERS}/{{user}}", _join),
    Route("DELETE", f"{_MEMBERS}/{{user}}", _leave),
    Route("GET", _MEMBERS, _members),
    Route("GET", "/guilds/{guild}/threads/active", _active),
)


_PAGE_MAX = 100


def _public(call: RestCall) -> Answer:
    channel = call.channel(Permission.READ_MESSAGE_HISTORY)
    return 200, _by_time(
        call, [thread for thread in _archived(call, channel) if not _is_private(thread)]
    )


def _private(call: RestCall) -> Answer:
    channel = call.channel(Permission.READ_MESSAGE_HISTORY, Permission.MANAGE_THREADS)
    return 200, _by_time(
        call, [thread for thread in _archived(call, channel) if _is_private(thread)]
    )


def _joined(call: RestCall) -> Answer:
    channel = call.channel(Permission.READ_MESSAGE_HISTORY)
    bot_id, before = call.discord.world.bot.id, int(call.query.get("before", 1 << 63))
    found = [
        thread
        for thread in _archived(call, channel)
        if _is_private(thread) and bot_id in thread.members and thread.id < before
    ]
    return 200, _page(call, sorted(found, key=lambda thread: thread.id, reverse=True))


def _archived(call: RestCall, channel: Channel) -> list[Channel]:
    every = call.discord.world.channels.values()
    return [thread for thread in every if thread.parent_id == channel.id and thread.archived]


def _is_private(channel: Channel) -> bool:
    return channel.type == PRIVATE_THREAD


def _by_time(call: RestCall, found: list[Channel]) -> dict[str, Any]:
    """Return a page of the threads archived before the query's `before`, latest first."""

    def archived_at(channel: Channel) -> datetime:
        stamp = shapes.thread(call.discord.world, channel)["thread_metadata"]["archive_timestamp"]
        return datetime.fromisoformat(stamp)

    if "before" in call.query:
        before = datetime.fromisoformat(call.query["before"])
        found = [thread for thread in found if archived_at(thread) < before]
    return _page(call, sorted(found, key=archived_at, reverse=True))


def _page(call: RestCall, found: list[Channel]) -> dict[str, Any]:
    limit = min(int(call.query.get("limit", _PAGE_MAX)), _PAGE_MAX)
    world, shown = call.discord.world, found[:limit]
    return {
        "threads": [shapes.thread(world, thread) for thread in shown],
        "members": [
            shapes.thread_member(thread, world.bot.id)
            for thread in shown
            if world.bot.id in thread.members
        ],
        "has_more": len(found) > limit,
    }


_ARCHIVED = "/channels/{channel}/threads/archived"
ARCHIVE_ROUTES = (
    Route("GET", f"{_ARCHIVED}/public", _public),
    Route("GET", f"{_ARCHIVED}/private", _private),
    Route("GET", "/channels/{channel}/users/@me/threads/archived/private", _joined),
)
