"""The server that a twin starts with, and functions that add to it.

Nothing here announces a change to the gateway; the caller does.
"""

from __future__ import annotations

import base64
import secrets
from collections.abc import Callable

from minamo.twin.buckets import Buckets
from minamo.twin.discord import Discord
from minamo.twin.faults import Faults
from minamo.twin.gateway.connection import Gateway
from minamo.twin.journal import Journal
from minamo.twin.permissions import BOT, MEMBER
from minamo.twin.rules import Rules
from minamo.twin.world import TEXT, Channel, Guild, Member, Role, User, World

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
    for one in (owner, bot):
        guild.members[one.id] = Member(one, now(), [role.id] if one is bot else [])
    world.guilds[guild.id] = guild
    add_channel(world, guild, "general")
    return discord


def add_channel(world: World, guild: Guild, name: str) -> Channel:
    """Add a text channel without announcing it, as needed before the bot connects."""
    position = sum(one.guild_id == guild.id for one in world.channels.values())
    made = Channel(world.new_id(), TEXT, name, guild_id=guild.id, position=position)
    world.channels[made.id] = made
    return made


def add_user(world: World, guild: Guild, name: str) -> User:
    """Add a user who is a member of the server."""
    made = User(world.new_id(), name)
    world.users[made.id] = made
    guild.members[made.id] = Member(made, world.now())
    return made
