"""The parts of one twin, in one object for the routes and the users, and its first server.

The functions that add to the server announce nothing to the gateway; the caller does.
"""

from __future__ import annotations

import asyncio
import base64
import secrets
from collections.abc import Callable
from typing import Any

from attrs import define, field

from minamo.twin.faults import Faults
from minamo.twin.journal import Journal
from minamo.twin.permissions import BOT, MEMBER
from minamo.twin.rules import Rules
from minamo.twin.server.buckets import Buckets
from minamo.twin.server.endpoint import Endpoint, Signing
from minamo.twin.server.gateway import Gateway
from minamo.twin.shapes import message as shapes_message
from minamo.twin.shapes import objects as shapes
from minamo.twin.world import (
    PUBLIC_THREAD,
    TEXT,
    Channel,
    Guild,
    Member,
    Message,
    Role,
    User,
    World,
)


@define(eq=False)
class Discord:
    """The parts of one local Discord, and the announcements to its gateway."""

    world: World
    rules: Rules
    faults: Faults
    journal: Journal
    buckets: Buckets
    gateway: Gateway
    now: Callable[[], float]
    token: str = field(repr=False)
    origin: str = ""
    signing: Signing = field(factory=Signing)
    endpoint: Endpoint | None = None
    unknown: list[str] = field(factory=list)
    closing: asyncio.Event = field(factory=asyncio.Event)

    def announce(self, name: str, message: Message, data: dict[str, Any] | None = None) -> None:
        """Dispatch a message event to the gateway.

        Discord sends an ephemeral message as if it were a direct message: to its bot, without
        server and member, under the intent for direct messages.
        """
        guild_id = self.world.channels[message.channel_id].guild_id
        body = data
        if body is None:
            is_new = name == "MESSAGE_CREATE"
            body = shapes_message.message_event(self.world, message, is_new=is_new)
        elif guild_id is not None:
            body = {**body, "guild_id": str(guild_id)}
        if message.is_ephemeral:
            guild_id = None
            body = {key: value for key, value in body.items() if key not in ("guild_id", "member")}
        self.gateway.dispatch(name, body, guild_id=guild_id)

    def archive_if_idle(self, channel: Channel) -> None:
        """Archive a thread that was inactive for its auto-archive duration."""
        if channel.is_idle(self.now()):
            channel.archive(True, self.now())
            self.announce_channel("THREAD_UPDATE", channel)

    def announce_channel(self, name: str, channel: Channel) -> None:
        """Dispatch a channel or thread event to the gateway."""
        body = shapes.channel(self.world, channel)
        self.gateway.dispatch(name, body, guild_id=channel.guild_id)


#: Fixed, so that a token can stay the same after a restart.
BOT_ID = 1_000_000_000_000_000_000


def found(rules: Rules, faults: Faults, now: Callable[[], float], secret: str | None) -> Discord:
    """Return a Discord with one server, one channel, one user and the bot."""
    bot = User(BOT_ID, "twin-bot", is_bot=True)
    world = World(now, bot)
    journal = Journal(now)
    # hikari reads the bot's id from the first part of the token.
    id_part = base64.b64encode(str(bot.id).encode()).decode().rstrip("=")
    token = f"{id_part}.twin.{secret or secrets.token_urlsafe(24)}"
    gateway = Gateway(world, rules, faults, journal, token)
    buckets = Buckets(rules, now)
    discord = Discord(world, rules, faults, journal, buckets, gateway, now, token)
    owner = User(world.new_id(), "owner")
    world.users = {owner.id: owner, bot.id: bot}
    guild = Guild(world.new_id(), "The Twin", owner.id)
    guild.roles[guild.id] = Role(guild.id, "@everyone", MEMBER)
    role = Role(world.new_id(), "bot", BOT, position=1)
    guild.roles[role.id] = role
    for user in (owner, bot):
        guild.members[user.id] = Member(user, now(), [role.id] if user is bot else [])
    world.guilds[guild.id] = guild
    add_channel(world, guild, "general")
    return discord


def add_channel(world: World, guild: Guild, name: str) -> Channel:
    """Add a text channel without announcing it, as needed before the bot connects."""
    position = sum(channel.guild_id == guild.id for channel in world.channels.values())
    made = Channel(world.new_id(), TEXT, name, guild_id=guild.id, position=position)
    world.channels[made.id] = made
    return made


def add_user(world: World, guild: Guild, name: str) -> User:
    """Add a user who is a member of the server."""
    made = User(world.new_id(), name)
    world.users[made.id] = made
    guild.members[made.id] = Member(made, world.now())
    return made


def add_thread(world: World, parent: Channel, name: str, owner_id: int) -> Channel:
    """Add a public thread to a channel."""
    made = Channel(world.new_id(), PUBLIC_THREAD, name, parent.guild_id, parent.id)
    made.created_at, made.owner_id = world.now(), owner_id
    world.channels[made.id] = made
    return made
