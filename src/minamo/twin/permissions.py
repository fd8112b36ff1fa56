"""Permissions: how they are computed, and what a user may send with them.

Threads, slow mode and moderation are checked here too, because they depend on permissions.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntFlag
from typing import TYPE_CHECKING

from minamo.twin.server.refusals import Refused, SlowedDown, locked
from minamo.twin.world import DM, Channel, Guild, Overwrite, User, World

if TYPE_CHECKING:
    from minamo.twin.discord import Discord
    from minamo.twin.messages import Draft


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


def combined(permissions: Iterable[Permission]) -> Permission:
    """Return the union of the permissions."""
    every = Permission(0)
    for permission in permissions:
        every |= permission
    return every


def overwrite(channel: Channel, user_id: int, allow: Permission, deny: Permission) -> None:
    """Change the permissions of one member in one channel, in addition to earlier changes."""
    entry = channel.overwrites.setdefault(user_id, Overwrite(user_id, is_member=True))
    entry.allow = (entry.allow | allow) & ~deny
    entry.deny = (entry.deny | deny) & ~allow


_TEXT_CHANNELS = (0, DM, 2, 3, 5, 10, 11, 12, 13)


def may_send(discord: Discord, author: User, channel: Channel, draft: Draft) -> None:
    """Refuse a message that the author may not send here; records the time for slow mode."""
    if channel.type not in _TEXT_CHANNELS:
        raise Refused(50008)
    if channel.guild_id is None:
        others = [
            discord.world.users[user_id] for user_id in channel.recipients if user_id != author.id
        ]
        if any(not other.takes_dms for other in others):
            raise Refused(50007)
        return
    speak = Permission.SEND_MESSAGES
    if channel.is_thread:
        speak = Permission.SEND_MESSAGES_IN_THREADS
    require(discord.world, author.id, channel, speak)
    if draft.embeds:
        require(discord.world, author.id, channel, Permission.EMBED_LINKS)
    if draft.tts:
        require(discord.world, author.id, channel, Permission.SEND_TTS_MESSAGES)
    if draft.uploads:
        require(discord.world, author.id, channel, Permission.ATTACH_FILES)
    granted = permissions(discord.world, author.id, channel)
    if channel.locked and not granted & Permission.MANAGE_THREADS:
        raise locked(archived=channel.archived)
    _slow_mode(discord, author, channel, granted)
    moderate(discord, author, channel, draft.text)


def _slow_mode(discord: Discord, author: User, channel: Channel, granted: Permission) -> None:
    free = granted & (Permission.MANAGE_MESSAGES | Permission.MANAGE_CHANNELS)
    if author.is_bot:
        free = (
            Permission(0) if discord.rules.slowmode_binds_bots else free | Permission.VIEW_CHANNEL
        )
    now = discord.now()
    wait = channel.last_said.get(author.id, float("-inf")) + channel.slowmode_s - now
    if channel.slowmode_s and not free:
        if wait > 0:
            raise SlowedDown(wait, 20016)
        channel.last_said[author.id] = now


def moderate(discord: Discord, author: User, channel: Channel, text: str) -> None:
    """Refuse text that AutoMod or the link filter blocks, in new messages and in edits."""
    if channel.guild_id is None:
        return
    lowered = text.lower()
    granted = permissions(discord.world, author.id, channel)
    # Members who may manage a server are exempt from its own filter, bots included.
    bound = not granted & Permission.MANAGE_GUILD
    if bound and any(word.lower() in lowered for word in discord.rules.automod_words):
        raise Refused(200000)
    if any(link.lower() in lowered for link in discord.rules.harmful_links):
        raise Refused(240000)
