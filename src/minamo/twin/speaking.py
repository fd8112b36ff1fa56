"""Checks before a message is sent: permissions, threads, slow mode, moderation."""

from __future__ import annotations

from minamo.twin.discord import Discord
from minamo.twin.messages import Draft
from minamo.twin.permissions import Permission, permissions, require
from minamo.twin.refusals import Refused, SlowedDown, locked
from minamo.twin.world import DM, Channel, User

_TEXT_CHANNELS = (0, DM, 2, 3, 5, 10, 11, 12, 13)


def may_send(discord: Discord, author: User, channel: Channel, one: Draft) -> None:
    """Refuse a message that the author may not send here; records the time for slow mode."""
    if channel.type not in _TEXT_CHANNELS:
        raise Refused(50008)
    if channel.guild_id is None:
        others = [discord.world.users[x] for x in channel.recipients if x != author.id]
        if any(not other.takes_dms for other in others):
            raise Refused(50007)
        return
    speak = Permission.SEND_MESSAGES
    if channel.is_thread:
        speak = Permission.SEND_MESSAGES_IN_THREADS
    require(discord.world, author.id, channel, speak)
    if one.embeds:
        require(discord.world, author.id, channel, Permission.EMBED_LINKS)
    if one.tts:
        require(discord.world, author.id, channel, Permission.SEND_TTS_MESSAGES)
    if one.uploads:
        require(discord.world, author.id, channel, Permission.ATTACH_FILES)
    granted = permissions(discord.world, author.id, channel)
    if channel.locked and not granted & Permission.MANAGE_THREADS:
        raise locked(archived=channel.archived)
    _slow_mode(discord, author, channel, granted)
    moderate(discord, author, channel, one.text)


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
