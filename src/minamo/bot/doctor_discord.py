"""Discord checks of `minamo doctor`: token, gateway, intents, permissions; and what errors mean."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Literal
from urllib.parse import urlsplit

import anyio
import hikari
from attrs import define, field, frozen

from minamo.bot.settings import Settings
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


Level = Literal["ok", "warning", "problem"]


@frozen
class Diagnosis:
    """One line of the doctor's report; never contains a secret."""

    check: str
    level: Level
    words: str


Check = Callable[[], Awaitable[list[Diagnosis]]]


def ok(check: str, words: str) -> Diagnosis:
    """Return a finding that needs no action."""
    return Diagnosis(check, "ok", words)


def warning(check: str, words: str) -> Diagnosis:
    """Return a finding about a bot that runs, but maybe not as its owner expects."""
    return Diagnosis(check, "warning", words)


def problem(check: str, words: str) -> Diagnosis:
    """Return a finding that prevents the bot from running."""
    return Diagnosis(check, "problem", words)


# A sample is enough to find missing permissions; a bot may be in thousands of servers.
_GUILDS_MAX = 5
# Limit of one request; the check as a whole has its own limit.
_REQUEST_S = 6.0
_FLAG = hikari.ApplicationFlags
_MAY = hikari.Permissions

#: Permissions the bot needs, with their names in Discord.
_NEEDED = {
    _MAY.VIEW_CHANNEL: "View Channels",
    _MAY.SEND_MESSAGES: "Send Messages",
    _MAY.SEND_MESSAGES_IN_THREADS: "Send Messages in Threads",
    _MAY.EMBED_LINKS: "Embed Links",
    _MAY.READ_MESSAGE_HISTORY: "Read Message History",
}
_FOR_PERSONAS = {_MAY.MANAGE_WEBHOOKS: "Manage Webhooks"}
_FOR_THREADS = {_MAY.CREATE_PUBLIC_THREADS: "Create Public Threads"}


@define(eq=False)
class DiscordChecks:
    """The requests to Discord, one after the other."""

    _settings: Settings = field(repr=False)

    async def run(self) -> list[Diagnosis]:
        """Run the checks, until one failure makes the others pointless."""
        token, url = self._settings.discord.token, self._settings.discord.url
        if not token:
            words = "no DISCORD_TOKEN, so `minamo run` shows the demo; set it to run your bot"
            return [warning("token", words)]
        try:
            hikari.applications.get_token_id(token)
        except ValueError:
            words = "not one of Discord's: it has three parts with dots between them"
            return [problem("token", words)]
        app = hikari.RESTApp(
            url=url or None,
            max_retries=0,
            http_settings=hikari.impl.HTTPSettings(
                timeouts=hikari.impl.HTTPTimeoutSettings(total=_REQUEST_S)
            ),
        )
        await app.start()
        try:
            async with app.acquire(token, hikari.TokenType.BOT) as rest:
                return await self._ask(rest)
        finally:
            await app.close()

    async def _ask(self, rest: hikari.api.RESTClient) -> list[Diagnosis]:
        try:
            me = await rest.fetch_my_user()
        except hikari.UnauthorizedError:
            return [problem("token", BAD_TOKEN)]
        except Exception as error:  # noqa: BLE001 - explained, or its kind
            return [problem("discord", self._words(error))]
        found = [ok("token", f"accepted, the bot is {me}")]
        for check in (self._gateway, self._intents, self._permissions):
            try:
                found += await check(rest)
            except Exception as error:  # noqa: BLE001
                found.append(problem("discord", self._words(error)))
        return found

    def _words(self, error: Exception) -> str:
        known = explained(error, self._settings.discord.url)
        if isinstance(error, TimeoutError):
            return f"no answer within {_REQUEST_S:g} s: is this machine online?"
        return str(known) if known is not None else f"not to be asked ({type(error).__name__})"

    async def _gateway(self, rest: hikari.api.RESTClient) -> list[Diagnosis]:
        info = await rest.fetch_gateway_bot_info()
        parts = urlsplit(info.url)
        host = parts.hostname or ""
        try:
            with anyio.fail_after(_REQUEST_S):
                stream = await anyio.connect_tcp(host, parts.port or 443)
                await stream.aclose()
        except (OSError, TimeoutError):
            return [problem("gateway", f"{host} cannot be reached: does a firewall hold it back?")]
        left = info.session_start_limit.remaining
        if left < info.shard_count:
            return [problem("gateway", "the bot was started too often today; wait until tomorrow")]
        return [ok("gateway", f"reachable, {left} starts left today")]

    async def _intents(self, rest: hikari.api.RESTClient) -> list[Diagnosis]:
        flags = (await rest.fetch_application()).flags
        granted = flags & (_FLAG.MESSAGE_CONTENT_INTENT | _FLAG.MESSAGE_CONTENT_INTENT_LIMITED)
        wanted = self._settings.discord.message_content
        if wanted and not granted:
            return [problem("intents", NO_INTENT)]
        if wanted:
            return [ok("intents", "Message Content is granted")]
        words = "none that are privileged: the bot reads what is said to it, and its own messages"
        return [ok("intents", words)]

    async def _permissions(self, rest: hikari.api.RESTClient) -> list[Diagnosis]:
        guilds = [guild async for guild in rest.fetch_my_guilds().limit(_GUILDS_MAX)]
        wanted = self._wanted()
        if not guilds:
            return [
                warning("servers", f"the bot is in none; invite it: {await _invite(rest, wanted)}")
            ]
        found = []
        for guild in guilds:
            missing = [
                name
                for bit, name in wanted.items()
                if not guild.my_permissions & (bit | _MAY.ADMINISTRATOR)
            ]
            if missing:
                words = f"{guild.name}: the bot's role lacks {', '.join(missing)}"
                found.append(warning("servers", words))
        count = f"{len(guilds)}" if len(guilds) < _GUILDS_MAX else f"the first {_GUILDS_MAX}"
        return found or [ok("servers", f"{count} looked at, all permissions are there")]

    def _wanted(self) -> dict[hikari.Permissions, str]:
        settings = self._settings
        wanted = dict(_NEEDED)
        if settings.persona:
            wanted |= _FOR_PERSONAS
        if settings.bot.thoughts == "thread":
            wanted |= _FOR_THREADS
        return wanted


async def _invite(rest: hikari.api.RESTClient, wanted: dict[hikari.Permissions, str]) -> str:
    app = await rest.fetch_application()
    bits = sum(int(permission) for permission in wanted)
    scope = "scope=bot+applications.commands"
    return f"https://discord.com/oauth2/authorize?client_id={app.id}&{scope}&permissions={bits}"
