"""Permission bits, and the way Discord combines roles and overwrites."""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntFlag

from minamo.twin.refusals import Refused
from minamo.twin.world import Channel, Guild, Overwrite, World


class Permission(IntFlag):
    """The permission bits that the twin checks."""

    ADMINISTRATOR = 1 << 3
    MANAGE_CHANNELS = 1 << 4
    MANAGE_GUILD = 1 << 5
    ADD_REACTIONS = 1 << 6
    VIEW_CHANNEL = 1 << 10
    SEND_MESSAGES = 1 << 11
    SEND_TTS_MESSAGES = 1 << 12
    MANAGE_MESSAGES = 1 << 13
    EMBED_LINKS = 1 << 14
    ATTACH_FILES = 1 << 15
    READ_MESSAGE_HISTORY = 1 << 16
    MENTION_EVERYONE = 1 << 17
    MANAGE_ROLES = 1 << 28
    MANAGE_WEBHOOKS = 1 << 29
    USE_APPLICATION_COMMANDS = 1 << 31
    MANAGE_THREADS = 1 << 34
    CREATE_PUBLIC_THREADS = 1 << 35
    CREATE_PRIVATE_THREADS = 1 << 36
    SEND_MESSAGES_IN_THREADS = 1 << 38
    PIN_MESSAGES = 1 << 51


#: The permissions of `@everyone` in a new server, as far as the twin checks them.
MEMBER = (
    Permission.ADD_REACTIONS
    | Permission.VIEW_CHANNEL
    | Permission.SEND_MESSAGES
    | Permission.EMBED_LINKS
    | Permission.ATTACH_FILES
    | Permission.READ_MESSAGE_HISTORY
    | Permission.USE_APPLICATION_COMMANDS
    | Permission.CREATE_PUBLIC_THREADS
    | Permission.CREATE_PRIVATE_THREADS
    | Permission.SEND_MESSAGES_IN_THREADS
)
#: The permissions of the bot under test. It may ping everyone, so that a test can observe a
#: bot that does so by accident.
BOT = (
    MEMBER
    | Permission.MANAGE_WEBHOOKS
    | Permission.MANAGE_MESSAGES
    | Permission.MENTION_EVERYONE
    | Permission.PIN_MESSAGES
)

ALL = Permission((1 << 53) - 1)


def permissions(world: World, user_id: int, channel: Channel) -> Permission:
    """Return the permissions of *user_id* in *channel*; a thread has those of its parent."""
    if channel.guild_id is None:
        return MEMBER if user_id in channel.recipients else Permission(0)
    guild = world.guilds[channel.guild_id]
    granted = base(guild, user_id)
    if granted & Permission.ADMINISTRATOR:
        return ALL
    home = world.channels.get(channel.parent_id or 0, channel) if channel.is_thread else channel
    roles = guild.members[user_id].roles if user_id in guild.members else []
    allow = deny = 0
    for role_id in roles:
        if overwrite := home.overwrites.get(role_id):
            allow, deny = allow | overwrite.allow, deny | overwrite.deny
    # The order is Discord's: everyone, then all roles together, then the member.
    everyone, own = home.overwrites.get(guild.id), home.overwrites.get(user_id)
    if everyone:
        granted = Permission((granted & ~everyone.deny) | everyone.allow)
    granted = Permission((granted & ~deny) | allow)
    return Permission((granted & ~own.deny) | own.allow) if own else granted


def base(guild: Guild, user_id: int) -> Permission:
    """Return the permissions of *user_id* in the server, before any channel overwrites."""
    if user_id == guild.owner_id:
        return ALL
    if user_id not in guild.members:
        return Permission(0)
    bits = guild.roles[guild.id].permissions
    for role_id in guild.members[user_id].roles:
        bits |= guild.roles[role_id].permissions if role_id in guild.roles else 0
    return ALL if bits & Permission.ADMINISTRATOR else Permission(bits)


def require(world: World, user_id: int, channel: Channel, *needed: Permission) -> None:
    """Refuse unless *user_id* sees the channel (50001) and may do all of *needed* (50013)."""
    granted = permissions(world, user_id, channel)
    if not granted & Permission.VIEW_CHANNEL:
        raise Refused(50001)
    if any(not granted & bit for bit in needed):
        raise Refused(50013)


def combined(some: Iterable[Permission]) -> Permission:
    """Return the union of the permissions."""
    every = Permission(0)
    for one in some:
        every |= one
    return every


def overwrite(channel: Channel, user_id: int, allow: Permission, deny: Permission) -> None:
    """Change the permissions of one member in one channel, in addition to earlier changes."""
    one = channel.overwrites.setdefault(user_id, Overwrite(user_id, is_member=True))
    one.allow = (one.allow | allow) & ~deny
    one.deny = (one.deny | deny) & ~allow
