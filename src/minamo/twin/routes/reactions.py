"""Reactions of the bot: enough for bots that show progress with them."""

from __future__ import annotations

import re

from minamo.twin import shapes
from minamo.twin.calls import Answer, Call, Route
from minamo.twin.permissions import Permission
from minamo.twin.refusals import Refused

_CUSTOM = re.compile(r"\w{2,32}:\d{15,20}")


def _react(call: Call) -> Answer:
    return _tell(call, "MESSAGE_REACTION_ADD")


def _unreact(call: Call) -> Answer:
    return _tell(call, "MESSAGE_REACTION_REMOVE")


def _tell(call: Call, event: str) -> Answer:
    channel = call.channel(Permission.READ_MESSAGE_HISTORY)
    if event == "MESSAGE_REACTION_ADD":
        call.channel(Permission.ADD_REACTIONS)
    if channel.archived:
        raise Refused(50083)
    message = call.message()
    if not _is_emoji(call.params["emoji"]):
        raise Refused(10014)
    name, _, emoji_id = call.params["emoji"].partition(":")
    bot = call.discord.world.bot
    body = {
        "user_id": str(bot.id),
        "channel_id": str(channel.id),
        "message_id": str(message.id),
        "emoji": {"id": emoji_id or None, "name": name},
        "burst": False,
        "type": 0,
    }
    if channel.guild_id is not None:
        body["guild_id"] = str(channel.guild_id)
        if event == "MESSAGE_REACTION_ADD":
            body["member"] = _member(call, channel.guild_id)
    call.discord.gateway.dispatch(event, body, guild_id=channel.guild_id)
    return 204, None


def _member(call: Call, guild_id: int) -> dict[str, object]:
    world = call.discord.world
    return shapes.member(world.guilds[guild_id].members[world.bot.id])


def _is_emoji(given: str) -> bool:
    """Whether it is a custom emoji, ``name:id``, or looks like one of Unicode's.

    The twin has no list of them: a symbol that is neither letter, digit nor ASCII may be one,
    and so may a digit under a keycap.
    """
    if _CUSTOM.fullmatch(given):
        return True
    bare = given.removesuffix("\u20e3").rstrip("\ufe0f")
    if bare != given and bare and bare in "0123456789#*":
        return True
    return bool(given) and not any(one.isalnum() or one.isascii() for one in given)


_MINE = "/channels/{channel}/messages/{message}/reactions/{emoji}/@me"
ROUTES = (
    Route("PUT", _MINE, _react),
    Route("DELETE", _MINE, _unreact),
)
