"""A webhook with a name and a face, and the client that webhooks and interactions are used with."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import hikari
from attrs import define, field

from minamo.shell.discord.bot import BotSender
from minamo.shell.discord.calls import Calls, gone, once
from minamo.shell.discord.fields import creating, editing, given
from minamo.shell.hushing import hush
from minamo.shell.sending.sender import Answer, Kind, Post, Rejected


@define(eq=False)
class WebhookSender:
    """A persona: a webhook with a name and a face.  Discord knows no nonce here."""

    _rest: hikari.api.RESTClient = field(repr=False)
    place: int
    """The webhook."""
    _token: str = field(repr=False)
    bot: BotSender
    """Who types and starts threads for it: a webhook can do neither."""
    name: str | None = field(default=None, kw_only=True)
    avatar_url: str | None = field(default=None, kw_only=True, repr=False)
    thread_id: int | None = field(default=None, kw_only=True)
    has_nonce: bool = field(default=False, init=False)
    calls: Calls = field(factory=Calls, repr=False, kw_only=True)

    def route(self, kind: Kind) -> str:
        """The limit of such a call: one for all, because the hidden one counts them all."""
        del kind
        return "webhook"

    async def create(self, post: Post) -> Answer:
        """Send a new message; *post* cannot be a reply.

        A webhook of another channel speaks there; what it said is taken back, and refused.
        """
        call = self._rest.execute_webhook(
            self.place,
            self._token,
            given(post.text),
            username=given(self.name),
            avatar_url=given(self.avatar_url),
            thread=given(self._thread(post.channel_id)),
            **creating(post),
        )
        astray: list[int] = []

        async def speak() -> hikari.Message:
            made = await call
            if int(made.channel_id) != post.channel_id:
                astray.append(int(made.id))
            return made

        answer = once(await self.calls.make(speak()))
        if astray:
            back = self._rest.delete_webhook_message(self.place, self._token, astray[0])
            await self.calls.make(back)
            return Rejected("wrong_channel")
        return answer

    async def edit(self, post: Post, message_id: int) -> Answer:
        """Change a message that was sent."""
        call = self._rest.edit_webhook_message(
            self.place,
            self._token,
            message_id,
            given(post.text),
            thread=given(self._thread(post.channel_id)),
            **editing(post),
        )
        return await self.calls.make(call)

    async def delete(self, channel_id: int, message_id: int) -> Answer:
        """Remove a message."""
        call = self._rest.delete_webhook_message(
            self.place, self._token, message_id, thread=given(self._thread(channel_id))
        )
        return gone(await self.calls.make(call))

    async def typing(self, channel_id: int) -> Answer:
        """Show the bot typing."""
        return await self.bot.typing(channel_id)

    async def start_thread(self, channel_id: int, message_id: int, name: str) -> Answer:
        """Have the bot start a thread from a message of the webhook's."""
        return await self.bot.start_thread(channel_id, message_id, name)

    def _thread(self, channel_id: int) -> int | None:
        """The thread to speak in: the persona's own, or one that was started for its reply."""
        return self.thread_id if channel_id == self.bot.place else channel_id


@asynccontextmanager
async def webhook_client(url: str | None = None) -> AsyncIterator[hikari.api.RESTClient]:
    """A client for webhooks and interactions, which repeats nothing by itself.

    Connections are not kept: one that Discord closed in between would turn into a message of
    which nobody knows whether it arrived.
    """
    hush()
    app = hikari.RESTApp(
        http_settings=hikari.impl.HTTPSettings(force_close_transports=True),
        max_retries=0,
        url=url,
    )
    await app.start()
    try:
        async with app.acquire(None) as client:
            yield client
    finally:
        await app.close()
