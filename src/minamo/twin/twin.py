"""The public API of the twin: start it, act as its users, inspect it, plan its failures.

`Twin` only delegates; Discord's rules are in the modules that it calls.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from types import TracebackType
from typing import Any, Self

from aiohttp import web

from minamo.twin import users
from minamo.twin.bots import Bot, TwinFailure, running
from minamo.twin.discord import add_channel, add_thread, add_user, found
from minamo.twin.faults import Faults
from minamo.twin.journal import Journal
from minamo.twin.permissions import Permission, combined, overwrite
from minamo.twin.routes import reactions as reacting
from minamo.twin.routes.interactions import send_interactions_to
from minamo.twin.rules import Rules
from minamo.twin.server.http import API, NAMES, application
from minamo.twin.shapes import objects as shapes
from minamo.twin.world import (
    PINNED,
    Channel,
    Guild,
    Interaction,
    Message,
    User,
    World,
)

_GONE = 4004  # "authentication failed": no client reconnects after it


class Twin:
    """A local Discord for one bot: ``async with Twin() as t: …``.

    Exiting raises `TwinFailure` if the bot called a route that the twin does not support, or
    made so many invalid requests that Discord would have banned its address.
    """

    def __init__(
        self,
        *,
        rules: Rules | None = None,
        faults: Faults | None = None,
        clock: Callable[[], float] = time.time,
        host: str = "127.0.0.1",
        port: int = 0,
        secret: str | None = None,
    ) -> None:
        self._discord = found(rules or Rules(), faults or Faults(), clock, secret)
        self._host, self._port = host, port
        self._runner: web.AppRunner | None = None
        self.rules: Rules = self._discord.rules
        self.faults: Faults = self._discord.faults
        self.journal: Journal = self._discord.journal
        self.world: World = self._discord.world
        self.bot: User = self.world.bot
        self.journal.known = NAMES
        self.faults.belong_to(NAMES)

    def __repr__(self) -> str:
        state = self._discord.origin or "not started"
        return f"<Twin {state}, {len(self.journal.requests_made)} requests>"

    # Lifecycle.

    async def __aenter__(self) -> Self:
        app = application(self._discord)
        # With aiohttp's default, a stalled request would delay the shutdown for a minute.
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.2)
        await self._runner.setup()
        site = web.TCPSite(self._runner, self._host, self._port)
        await site.start()
        self._port = self._runner.addresses[0][1]
        self._discord.origin = f"http://{self._host}:{self._port}"
        self._discord.gateway.url = f"ws://{self._host}:{self._port}/gw"
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._discord.closing.set()
        # A client that is still connected must not reconnect to a server that is gone, for ever:
        # clients end at this code.
        self._discord.gateway.close(_GONE)
        if self._discord.endpoint is not None:
            await self._discord.endpoint.close()
        if self._runner is not None:
            await self._runner.cleanup()
        if kind is None:
            self.check()

    def check(self) -> None:
        """Raise `TwinFailure` if exiting the `async with` block would raise it now."""
        if self.unknown:
            routes = ", ".join(dict.fromkeys(self.unknown))
            raise TwinFailure(f"routes that the twin does not know: {routes}")
        if self.banned:
            count = self._discord.buckets.invalid
            raise TwinFailure(f"{count} invalid requests: Discord would have shut the bot out")

    def running(self, bot: Bot, **options: object) -> AbstractAsyncContextManager[None]:
        """Start *bot*, and close it at the end of the block: ``async with t.running(bot): …``.

        It is closed after an exception too, so that a failed assertion ends the test instead
        of leaving a client that reconnects for ever. *options* are arguments of `bot.start`.
        Works with hikari's bots, discord.py's, and any object with `start` and `close`.
        """
        return running(self._discord, bot, **options)

    # Addresses and state.

    @property
    def token(self) -> str:
        """The bot token to connect with."""
        return self._discord.token

    @property
    def mention(self) -> str:
        """The mention of the bot, for the text of a message."""
        return f"<@{self.bot.id}>"

    @property
    def url(self) -> str:
        """The base URL of the REST API, for hikari's `rest_url`."""
        return f"{self._discord.origin}{API}"

    @property
    def gateway_url(self) -> str:
        """The gateway URL, for clients that do not request it over REST."""
        return self._discord.gateway.url

    @property
    def unknown(self) -> list[str]:
        """Calls to routes that the twin does not support, and calls on which the twin failed."""
        return self._discord.unknown

    @property
    def banned(self) -> bool:
        """Whether the bot made so many invalid requests that its address is banned."""
        return self._discord.buckets.banned

    @property
    def invalid(self) -> int:
        """The number of requests in the last ten minutes that count towards a ban."""
        return self._discord.buckets.invalid

    @property
    def guild(self) -> Guild:
        """The twin's server."""
        return next(iter(self.world.guilds.values()))

    def channel(self, name: str = "general") -> Channel:
        """Return the channel or thread called *name*; create and announce it if there is none."""
        for channel in self.world.channels.values():
            if channel.name == name and name:
                return channel
        made = add_channel(self.world, self.guild, name)
        self._discord.announce_channel("CHANNEL_CREATE", made)
        return made

    def user(self, name: str = "ann") -> User:
        """Return the user called *name*; add and announce a member if there is none."""
        for user in self.world.users.values():
            if user.name == name:
                return user
        made = add_user(self.world, self.guild, name)
        body = {"guild_id": str(self.guild.id), **shapes.member(self.guild.members[made.id])}
        self._discord.gateway.dispatch("GUILD_MEMBER_ADD", body, guild_id=self.guild.id)
        return made

    def dm(self, user: User | str = "ann") -> Channel:
        """Return the direct message channel between the bot and *user*."""
        return self.world.dm_with(self._user(user).id)

    def thread(self, name: str, parent: Channel | str = "general") -> Channel:
        """Create and announce a public thread."""
        made = add_thread(self.world, self._channel(parent), name, self.guild.owner_id)
        self._discord.announce_channel("THREAD_CREATE", made)
        return made

    def messages(self, channel: Channel | str = "general") -> list[Message]:
        """Return the current messages of the channel, oldest first, ephemeral ones too."""
        return list(self.world.messages.get(self._channel(channel).id, {}).values())

    def texts(
        self,
        channel: Channel | str = "general",
        *,
        bot: bool = True,
        ephemeral: bool = False,
    ) -> list[str]:
        """Return the texts of the bot's messages there, or of all messages with `bot=False`.

        Ephemeral messages are not in the channel; `ephemeral=True` returns them instead.
        """
        return [
            message.content
            for message in self.messages(channel)
            if message.is_ephemeral == ephemeral
            and message.type != PINNED
            and (message.author.is_bot or not bot)
        ]

    def is_typing(self, channel: Channel | str = "general") -> bool:
        """Return whether the channel currently shows the bot as typing."""
        until = self._channel(channel).typing_until.get(self.bot.id, 0.0)
        return until > self._discord.now()

    def watch(self, callback: Callable[[str, Any], object]) -> Callable[[], None]:
        """Call *callback* with name and data of every gateway dispatch, even with no bot connected.

        Tokens are redacted. Returns a function that removes the callback.
        """
        watchers = self._discord.gateway.watchers
        watchers.append(callback)
        return lambda: watchers.remove(callback)

    # User actions.

    async def say(
        self,
        text: str,
        *,
        channel: Channel | str = "general",
        user: User | str = "ann",
        mention: bool = False,
        files: Sequence[tuple[str, bytes]] = (),
    ) -> Message:
        """Send a message as *user*, with *mention* one that begins with a mention of the bot."""
        words = f"{self.mention} {text}" if mention else text
        return users.say(
            self._discord, words, self._channel(channel), self._user(user), files=files
        )

    async def reply(self, to: Message, text: str, *, user: User | str = "ann") -> Message:
        """Reply to a message as *user*."""
        home = self.world.channels[to.channel_id]
        return users.say(self._discord, text, home, self._user(user), reply_to=to)

    async def edit(self, message: Message, text: str) -> None:
        """Edit a message as its author."""
        users.edit(self._discord, message, text)

    async def delete(self, message: Message) -> None:
        """Delete a message as its author or a moderator."""
        users.delete(self._discord, message)

    async def react(self, message: Message, emoji: str, *, user: User | str = "ann") -> None:
        """Add a reaction as *user*; `name:id` is the emoji of a server."""
        reacting.react(self._discord, message, self._user(user), emoji)

    async def unreact(self, message: Message, emoji: str, *, user: User | str = "ann") -> None:
        """Remove a reaction as *user*."""
        reacting.unreact(self._discord, message, self._user(user), emoji)

    async def slash(
        self,
        name: str,
        options: Mapping[str, Any] | None = None,
        *,
        channel: Channel | str = "general",
        user: User | str = "ann",
        user_installed: bool = False,
    ) -> Interaction:
        """Use a slash command as *user*."""
        place, person, given = self._channel(channel), self._user(user), options or {}
        return users.slash(self._discord, name, given, place, person, user_installed=user_installed)

    async def click(
        self, message: Message, button: str, *, user: User | str = "ann"
    ) -> Interaction:
        """Press a button as *user*: its custom id, its label, or one part of a custom id.

        The parts are those between colons: `"stop"` finds `minamo:stop:8741`.
        """
        return users.click(self._discord, message, button, self._user(user))

    async def select(
        self,
        message: Message,
        menu: str,
        *chosen: str | User | Channel,
        user: User | str = "ann",
    ) -> Interaction:
        """Choose from a select menu as *user*: its values, or users or channels.

        The menu is named as a button is for `click`; its placeholder is its label.
        """
        return users.select(self._discord, message, menu, chosen, self._user(user))

    async def submit(self, opened: Interaction, texts: Mapping[str, str]) -> Interaction:
        """Submit the modal that the bot answered *opened* with, as the user of *opened*."""
        person = self.world.users[opened.user_id]
        return users.submit(self._discord, opened, texts, person)

    async def complete(
        self,
        name: str,
        option: str,
        text: str,
        *,
        channel: Channel | str = "general",
        user: User | str = "ann",
    ) -> Interaction:
        """Type into an autocompleted option as *user*; see the `choices` of the result."""
        place, person = self._channel(channel), self._user(user)
        return users.complete(self._discord, name, option, text, place, person)

    async def menu(
        self,
        name: str,
        target: Message | User,
        *,
        channel: Channel | str = "general",
        user: User | str = "ann",
    ) -> Interaction:
        """Use a context menu command on a message or a user."""
        place = channel
        if isinstance(target, Message):
            place = self.world.channels[target.channel_id]
        return users.use_menu(self._discord, name, target, self._channel(place), self._user(user))

    async def send_interactions_to(self, url: str) -> None:
        """Deliver interactions to *url* as signed HTTP requests, as for `hikari.RESTBot`.

        The endpoint is pinged first. The gateway dispatches no interactions from then on.
        """
        await send_interactions_to(self._discord, url)

    # Changes to channels.

    def deny(
        self, channel: Channel | str, *permissions: Permission, user: User | str | None = None
    ) -> None:
        """Deny the bot, or *user*, permissions in one channel."""
        self._overwrite(channel, user, Permission(0), combined(permissions))

    def allow(
        self, channel: Channel | str, *permissions: Permission, user: User | str | None = None
    ) -> None:
        """Allow the bot, or *user*, permissions in one channel."""
        self._overwrite(channel, user, combined(permissions), Permission(0))

    def delete_channel(self, channel: Channel | str) -> None:
        """Delete a channel with its threads, messages and webhooks."""
        gone = self._channel(channel)
        event = "THREAD_DELETE" if gone.is_thread else "CHANNEL_DELETE"
        self._discord.announce_channel(event, gone)
        self.world.drop_channel(gone.id)

    # Gateway failures.

    def reconnect(self) -> None:
        """Ask the bot to reconnect and resume (op 7)."""
        self._discord.gateway.reconnect()

    def invalidate(self, *, resumable: bool = False) -> None:
        """Invalidate the bot's session (op 9)."""
        self._discord.gateway.invalidate(resumable=resumable)

    def disconnect(self, code: int = 4000) -> None:
        """Close the gateway connections with close code *code*."""
        self._discord.gateway.close(code)

    def event(self, name: str, data: Mapping[str, Any]) -> None:
        """Dispatch any gateway event, for those that have no method here."""
        self._discord.gateway.dispatch(name, dict(data), guild_id=self.guild.id)

    def _overwrite(
        self, channel: Channel | str, user: User | str | None, allow: Permission, deny: Permission
    ) -> None:
        place = self._channel(channel)
        if place.is_thread or place.guild_id is None:
            raise ValueError(
                "only channels of a server have permissions; a thread has its channel's"
            )
        overwrite(place, (self.bot if user is None else self._user(user)).id, allow, deny)
        self._discord.announce_channel("CHANNEL_UPDATE", place)

    def _channel(self, channel: Channel | str) -> Channel:
        return channel if isinstance(channel, Channel) else self.channel(channel)

    def _user(self, user: User | str) -> User:
        return user if isinstance(user, User) else self.user(user)
