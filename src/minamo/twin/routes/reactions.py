"""Reactions: add, take back, list, clear."""

from __future__ import annotations

from minamo.twin import reacting, shapes
from minamo.twin.calls import Answer, Call, Route
from minamo.twin.permissions import Permission
from minamo.twin.refusals import Refused

_PAGE_MAX = 100


def _react(call: Call) -> Answer:
    call.channel(Permission.READ_MESSAGE_HISTORY)
    reacting.react(call.discord, call.message(), call.discord.world.bot, call.params["emoji"])
    return 204, None


def _unreact(call: Call) -> Answer:
    call.channel(Permission.READ_MESSAGE_HISTORY)
    reacting.unreact(call.discord, call.message(), call.discord.world.bot, call.params["emoji"])
    return 204, None


def _unreact_other(call: Call) -> Answer:
    call.channel(Permission.READ_MESSAGE_HISTORY)
    user = call.discord.world.users.get(call.id("user"))
    if user is None:
        raise Refused(10013)
    if user.id != call.discord.world.bot.id:
        call.channel(Permission.MANAGE_MESSAGES)
    reacting.unreact(call.discord, call.message(), user, call.params["emoji"])
    return 204, None


def _clear(call: Call) -> Answer:
    call.channel(Permission.READ_MESSAGE_HISTORY, Permission.MANAGE_MESSAGES)
    reacting.clear(call.discord, call.message(), call.params.get("emoji"))
    return 204, None


def _list(call: Call) -> Answer:
    call.channel(Permission.READ_MESSAGE_HISTORY)
    key = reacting.emoji_key(call.params["emoji"])
    after, limit = call.snowflake("after") or 0, call.number("limit", 25, 1, _PAGE_MAX)
    found = sorted(one for one in call.message().reactions.get(key, ()) if one > after)
    return 200, [shapes.user(call.discord.world.users[one]) for one in found[:limit]]


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
