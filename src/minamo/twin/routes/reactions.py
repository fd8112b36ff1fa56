"""Reactions: the rules, which are the same for the bot and for users, and the routes."""

from __future__ import annotations

import unicodedata
from typing import Any

from minamo.twin.discord import Discord
from minamo.twin.permissions import Permission, require
from minamo.twin.server.calls import Answer, RestCall, Route
from minamo.twin.server.refusals import Refused
from minamo.twin.shapes import message as shapes_message
from minamo.twin.shapes import objects as shapes
from minamo.twin.world import Message, User

_KEYCAP = "\u20e3"
# Emoji that Unicode does not class as "other symbols".
_ODD = frozenset("©®‼⁉™ℹ↔〰〽㊗㊙▪▫◽◾⤴⤵")


def emoji_key(given: str) -> str:
    """Return the key under which an emoji is stored; refuse with 10014 if it is not an emoji.

    The twin has no emoji of servers: `name:id` is accepted as given.
    """
    name, _, emoji_id = given.partition(":")
    if emoji_id:
        if not name or not emoji_id.isdigit():
            raise Refused(10014)
        return given
    if not name or not (name.endswith(_KEYCAP) or all(map(_may_be_emoji, name))):
        raise Refused(10014)
    return name


def _may_be_emoji(char: str) -> bool:
    # Symbols, skin tone modifiers, and the characters that join them.
    kind = unicodedata.category(char)
    return char in _ODD or (not char.isascii() and kind in ("So", "Sk", "Cf", "Mn"))


def react(discord: Discord, message: Message, user: User, given: str) -> None:
    """Add a reaction; a second one by the same user has no effect."""
    channel, key = discord.world.channels[message.channel_id], emoji_key(given)
    require(discord.world, user.id, channel, Permission.READ_MESSAGE_HISTORY)
    if channel.archived:
        raise Refused(50083)
    if key not in message.reactions:  # joining an existing reaction needs no permission
        require(discord.world, user.id, channel, Permission.ADD_REACTIONS)
        if len(message.reactions) >= discord.rules.reactions_max:
            raise Refused(30010)
    users = message.reactions.setdefault(key, [])
    if user.id not in users:
        users.append(user.id)
        more: dict[str, Any] = {"message_author_id": str(message.author.id)}
        guild_id = channel.guild_id
        if guild_id is not None and user.id in discord.world.guilds[guild_id].members:
            more["member"] = shapes.member(discord.world.guilds[guild_id].members[user.id])
        _tell(discord, "ADD", message, key, _about(user) | more)


def unreact(discord: Discord, message: Message, user: User, given: str) -> None:
    """Remove a user's reaction; refuse with 10014 if the message has none of this emoji."""
    key = emoji_key(given)
    users = message.reactions.get(key)
    if users is None:
        raise Refused(10014)
    if user.id in users:
        users.remove(user.id)
        if not users:
            del message.reactions[key]
        _tell(discord, "REMOVE", message, key, _about(user))


def clear(discord: Discord, message: Message, given: str | None = None) -> None:
    """Remove all reactions, or all of one emoji."""
    if given is None:
        message.reactions.clear()
        _tell(discord, "REMOVE_ALL", message, None, {})
    elif message.reactions.pop(key := emoji_key(given), None) is not None:
        _tell(discord, "REMOVE_EMOJI", message, key, {})


def _about(user: User) -> dict[str, Any]:
    return {"user_id": str(user.id), "burst": False, "type": 0}


def _tell(
    discord: Discord, event: str, message: Message, key: str | None, more: dict[str, Any]
) -> None:
    body = {"channel_id": str(message.channel_id), "message_id": str(message.id), **more}
    if key is not None:
        body["emoji"] = shapes_message.emoji(key)
    guild_id = discord.world.channels[message.channel_id].guild_id
    if guild_id is not None:
        body["guild_id"] = str(guild_id)
    discord.gateway.dispatch(f"MESSAGE_REACTION_{event}", body, guild_id=guild_id)


_PAGE_MAX = 100


def _react(call: RestCall) -> Answer:
    call.channel(Permission.READ_MESSAGE_HISTORY)
    react(call.discord, call.message(), call.discord.world.bot, call.params["emoji"])
    return 204, None


def _unreact(call: RestCall) -> Answer:
    call.channel(Permission.READ_MESSAGE_HISTORY)
    unreact(call.discord, call.message(), call.discord.world.bot, call.params["emoji"])
    return 204, None


def _unreact_other(call: RestCall) -> Answer:
    call.channel(Permission.READ_MESSAGE_HISTORY)
    user = call.discord.world.users.get(call.id("user"))
    if user is None:
        raise Refused(10013)
    if user.id != call.discord.world.bot.id:
        call.channel(Permission.MANAGE_MESSAGES)
    unreact(call.discord, call.message(), user, call.params["emoji"])
    return 204, None


def _clear(call: RestCall) -> Answer:
    call.channel(Permission.READ_MESSAGE_HISTORY, Permission.MANAGE_MESSAGES)
    clear(call.discord, call.message(), call.params.get("emoji"))
    return 204, None


def _list(call: RestCall) -> Answer:
    call.channel(Permission.READ_MESSAGE_HISTORY)
    key = emoji_key(call.params["emoji"])
    after, limit = call.snowflake("after") or 0, call.number("limit", 25, 1, _PAGE_MAX)
    found = sorted(user_id for user_id in call.message().reactions.get(key, ()) if user_id > after)
    return 200, [shapes.user(call.discord.world.users[user_id]) for user_id in found[:limit]]


_ALL = "/channels/{channel}/messages/{message}/reactions"
_EMOJI = f"{_ALL}/{{emoji}}"
ROUTES = (
    Route("PUT", f"{_EMOJI}/@me", _react),
    Route("DELETE", f"{_EMOJI}/@me", _unreact),
    Route("DELETE", f"{_EMOJI}/{{user}}", _unreact_other),
    Route("GET", _EMOJI, _list),
    Route("DELETE", _EMOJI, _clear),
    Route("DELETE", _ALL, _clear),
)
