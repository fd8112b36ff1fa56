"""Error messages for a bot that cannot start or continue: one sentence that says what to do."""

from __future__ import annotations

import hikari

from minamo.errors import MinamoError

# Discord's close codes after which reconnecting is useless.
_TOKEN, _SHARDING, _INTENTS_WRONG, _INTENTS_DENIED = 4004, 4011, 4013, 4014
_PORTAL = "https://discord.com/developers/applications"

BAD_TOKEN = (
    "Discord does not accept the token: copy it anew from the page Bot of your application, "
    f"{_PORTAL}, and set DISCORD_TOKEN"
)
NO_INTENT = (
    "the bot asks for the privileged intent Message Content, which it was not granted: switch it "
    f"on, on the page Bot of your application, {_PORTAL}, or set message_content = false"
)


class CannotRun(MinamoError):
    """The bot cannot run; the message says why and what to do."""


def explained(error: BaseException, url: str = "") -> CannotRun | None:
    """Return the explanation of an *error* of hikari's; None if it is unknown."""
    words = _words(error, url)
    return None if words is None else CannotRun(words)


def _words(error: BaseException, url: str) -> str | None:
    if isinstance(error, hikari.UnauthorizedError):
        return BAD_TOKEN
    if isinstance(error, hikari.GatewayServerClosedConnectionError):
        return _closed(int(error.code or 0))
    if isinstance(error, hikari.HTTPResponseError):
        return f"Discord answers with an error ({int(error.status)}); try again later"
    if isinstance(error, hikari.HTTPError | hikari.GatewayConnectionError | OSError):
        place = url or "discord.com"
        return f"{place} cannot be reached: is this machine online?"
    if isinstance(error, hikari.GatewayError):
        return "the connection to Discord was lost and could not be made again; start it again"
    if isinstance(error, RuntimeError) and "sessions" in str(error):
        return "the bot was started too often today; Discord lets it connect again tomorrow"
    return None


def _closed(code: int) -> str:
    if code == _TOKEN:
        return BAD_TOKEN
    if code in (_INTENTS_WRONG, _INTENTS_DENIED):
        return NO_INTENT
    if code == _SHARDING:
        return "the bot is in too many servers for one connection; it needs shards"
    return f"Discord closed the connection for good (code {code})"
