"""The twin as its users see it: start it, act in it, look at it, break it."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Any, Self

from aiohttp import web

from minamo.twin import actors, server
from minamo.twin import choices as choosing
from minamo.twin import setup as founding
from minamo.twin.endpoint import Endpoint, EndpointFailure
from minamo.twin.faults import Faults
from minamo.twin.permissions import Permission, combined, overwrite
from minamo.twin.routes import reactions as reacting
from minamo.twin.routes.interactions import answer
from minamo.twin.rules import Rules
from minamo.twin.shapes import objects as shapes
from minamo.twin.world import PINNED, PUBLIC_THREAD, Channel, Guild, Interaction, Message, User


class TwinFailure(AssertionError):
    """The bot did what a real Discord would punish, or what the twin does not know."""


class Twin:
    """A local Discord for one bot: ``async with Twin() as t: …``.

    Leaving it raises `TwinFailure` if the bot called a route that the twin does not know, or
    made so many invalid requests that Discord would have shut it out.
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
        self._discord = founding.found(rules or Rules(), faults or Faults(), clock, secret)
        self._host, self._port = host, port
        self._runner: web.AppRunner | None = None
        self.rules = self._discord.rules
        self.faults = self._discord.faults
        self.journal = self._discord.journal
        self.world = self._discord.world
        self.bot = self.world.bot
        self.journal.known = server.NAMES
        self.faults.belong_to(server.NAMES)

    def __repr__(self) -> str:
        state = self._discord.origin or "not started"
        return f"<Twin {state}, {len(self.journal.requests_made)} requests>"

    # Life.

    async def __aenter__(self) -> Self:
        app = server.application(self._discord)
        # A stalled request would otherwise hold up the end for a minute.
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
        self._discord.gateway.close()
        if self._discord.endpoint is not None:
            await self._discord.endpoint.close()
        if self._runner is not None:
            await self._runner.cleanup()
        if kind is None:
            self.check()

    def check(self) -> None:
        """Raise for what leaving would raise for."""
        if self.unknown:
            routes = ", ".join(dict.fromkeys(self.unknown))
            raise TwinFailure(f"routes that the twin does not know: {routes}")
        if self.banned:
            count = self._discord.buckets.invalid
            raise TwinFailure(f"{count} invalid requests: Discord would have shut the bot out")

    # Where things are.

    @property
    def token(self) -> str:
        """The bot token to connect with."""
        return self._discord.token

    @property
    def url(self) -> str:
        """The base of the REST API, for hikari's `rest_url`."""
        return f"{self._discord.origin}{server.API}"

    @property
    def gateway_url(self) -> str:
        """The address of the gateway, for clients that do not ask REST for it."""
        return self._discord.gateway.url

    @property
    def unknown(self) -> list[str]:
        """Calls to routes that do not exist here."""
        return self._discord.unknown

    @property
    def banned(self) -> bool:
        """Whether too many invalid requests shut the door."""
        return self._discord.buckets.banned

    @property
    def invalid(self) -> int:
        """Requests of the last ten minutes that count towards being shut out."""
        return self._discord.buckets.invalid

    @property
    def guild(self) -> Guild:
        """The server."""
        return next(iter(self.world.guilds.values()))

    def channel(self, name: str = "general") -> Channel:
        """A channel or thread by its name; made if there is none, and announced."""
        for one in self.world.channels.values():
            if one.name == name and name:
                return one
        made = founding.add_channel(self.world, self.guild, name)
        self._discord.announce_channel("CHANNEL_CREATE", made)
        return made

    def user(self, name: str = "ann") -> User:
        """A person by name; invited if there is none."""
        for one in self.world.users.values():
            if one.name == name:
                return one
        made = founding.add_user(self.world, self.guild, name)
        body = {"guild_id": str(self.guild.id), **shapes.member(self.guild.members[made.id])}
        self._discord.gateway.dispatch("GUILD_MEMBER_ADD", body, guild_id=self.guild.id)
        return made

    def dm(self, user: User | str = "ann") -> Channel:
        """The direct message channel between the bot and somebody."""
        return self.world.dm_with(self._user(user).id)

    def thread(self, name: str, parent: Channel | str = "general") -> Channel:
        """A public thread."""
        home = self._channel(parent)
        made = Channel(self.world.new_id(), PUBLIC_THREAD, name, home.guild_id, home.id)
        made.created_at, made.owner_id = self._discord.now(), self.guild.owner_id
        self.world.channels[made.id] = made
        self._discord.announce_channel("THREAD_CREATE", made)
        return made

    def messages(self, channel: Channel | str = "general") -> list[Message]:
        """What stands in the channel now, oldest first."""
        return list(self.world.messages.get(self._channel(channel).id, {}).values())

    def texts(self, channel: Channel | str = "general", *, bot: bool = True) -> list[str]:
        """What the bot (or, with `bot=False`, everybody) said there."""
        every = [one for one in self.messages(channel) if one.type != PINNED]
        return [one.content for one in every if not bot or one.author.is_bot]

    def is_typing(self, channel: Channel | str = "general") -> bool:
        """Whether the channel shows the bot typing now."""
        until = self._channel(channel).typing_until.get(self.bot.id, 0.0)
        return until > self._discord.now()

    def watch(self, callback: Callable[[str, Any], object]) -> Callable[[], None]:
        """Have *callback* told name and data of every gateway dispatch, whoever is connected.

        Tokens are left out.  Returns what ends it.
        """
        watchers = self._discord.gateway.watchers
        watchers.append(callback)
        return lambda: watchers.remove(callback)

    # People act.

    async def say(
        self,
        text: str,
        *,
        channel: Channel | str = "general",
        user: User | str = "ann",
        files: Sequence[tuple[str, bytes]] = (),
    ) -> Message:
        """Somebody writes; the bot is told."""
        return actors.say(
            self._discord, text, self._channel(channel), self._user(user), files=files
        )

    async def reply(self, to: Message, text: str, *, user: User | str = "ann") -> Message:
        """Somebody replies to a message."""
        home = self.world.channels[to.channel_id]
        return actors.say(self._discord, text, home, self._user(user), reply_to=to)

    async def edit(self, message: Message, text: str) -> None:
        """The author changes a message."""
        actors.edit(self._discord, message, text)

    async def delete(self, message: Message) -> None:
        """Somebody deletes a message."""
        actors.delete(self._discord, message)

    async def react(self, message: Message, emoji: str, *, user: User | str = "ann") -> None:
        """A person reacts; `name:id` is an emoji of a server."""
        reacting.react(self._discord, message, self._user(user), emoji)

    async def unreact(self, message: Message, emoji: str, *, user: User | str = "ann") -> None:
        """A person takes a reaction back."""
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
        """Somebody uses a slash command."""
        return actors.slash(
            self._discord,
            name,
            options or {},
            self._channel(channel),
            self._user(user),
            user_installed=user_installed,
        )

    async def click(
        self, message: Message, custom_id: str, *, user: User | str = "ann"
    ) -> Interaction:
        """Somebody presses a button."""
        return actors.click(self._discord, message, custom_id, self._user(user))

    async def select(
        self,
        message: Message,
        custom_id: str,
        *chosen: str | User | Channel,
        user: User | str = "ann",
    ) -> Interaction:
        """A person chooses from a menu: its values, or users or channels."""
        return choosing.select(self._discord, message, custom_id, chosen, self._user(user))

    async def submit(self, opened: Interaction, texts: Mapping[str, str]) -> Interaction:
        """The person who used *opened* fills in the modal that the bot answered with."""
        person = self.world.users[opened.user_id]
        return choosing.submit(self._discord, opened, texts, person)

    async def complete(
        self,
        name: str,
        option: str,
        text: str,
        *,
        channel: Channel | str = "general",
        user: User | str = "ann",
    ) -> Interaction:
        """A person types an option that the bot completes; see the `choices` of the result."""
        place, person = self._channel(channel), self._user(user)
        return choosing.complete(self._discord, name, option, text, place, person)

    async def menu(
        self,
        name: str,
        target: Message | User,
        *,
        channel: Channel | str = "general",
        user: User | str = "ann",
    ) -> Interaction:
        """A person uses a command of the context menu of a message or a user."""
        place = channel
        if isinstance(target, Message):
            place = self.world.channels[target.channel_id]
        return choosing.use_menu(
            self._discord, name, target, self._channel(place), self._user(user)
        )

    async def send_interactions_to(self, url: str) -> None:
        """Tell the bot of interactions by signed HTTP requests, as of `hikari.RESTBot`.

        It is pinged first, and no gateway hears of interactions any more.
        """
        discord = self._discord
        made = Endpoint(url, discord.signing, lambda one, body: answer(discord, one, body, []))
        try:
            await made.try_out()
        except EndpointFailure:
            await made.close()
            raise
        if discord.endpoint is not None:
            await discord.endpoint.close()
        discord.endpoint = made

    # The place changes.

    def deny(
        self, channel: Channel | str, *permissions: Permission, user: User | str | None = None
    ) -> None:
        """Take permissions from the bot, or from *user*, in one channel."""
        self._overwrite(channel, user, Permission(0), combined(permissions))

    def allow(
        self, channel: Channel | str, *permissions: Permission, user: User | str | None = None
    ) -> None:
        """Give the bot, or *user*, permissions in one channel."""
        self._overwrite(channel, user, combined(permissions), Permission(0))

    def delete_channel(self, channel: Channel | str) -> None:
        """Delete a channel with all in it."""
        gone = self._channel(channel)
        event = "THREAD_DELETE" if gone.is_thread else "CHANNEL_DELETE"
        self._discord.announce_channel(event, gone)
        self.world.drop_channel(gone.id)

    # The gateway misbehaves.

    def reconnect(self) -> None:
        """Ask the bot to connect again and resume (op 7)."""
        self._discord.gateway.reconnect()

    def invalidate(self, *, resumable: bool = False) -> None:
        """End the bot's session (op 9)."""
        self._discord.gateway.invalidate(resumable=resumable)

    def disconnect(self, code: int = 4000) -> None:
        """Close the gateway connection with a code."""
        self._discord.gateway.close(code)

    def event(self, name: str, data: Mapping[str, Any]) -> None:
        """Dispatch any gateway event, for what the twin has no word for."""
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
