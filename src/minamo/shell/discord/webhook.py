"""Webhooks: finding or creating them, sending as a persona, and their REST client.

Interactions use the same client.  It never retries: without a nonce that could show a message
twice.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

import hikari
from attrs import define, evolve, field, frozen

from minamo.core.messages import Kind, OutgoingMessage
from minamo.shell.delivery.interfaces import Rejected, SendOutcome
from minamo.shell.delivery.persona import PersonaSender, ReplyNotice
from minamo.shell.discord.bot import (
    BotSender,
    CallRunner,
    creating,
    edited_flags,
    editing,
    mark_unrepeatable,
    or_undefined,
    treat_missing_as_deleted,
)
from minamo.shell.discord.targets import Target
from minamo.shell.notices.localization import Wording
from minamo.shell.options import Persona
from minamo.shell.telemetry.telemetry import redact_hikari_logs


@define(eq=False)
class BotWebhooks:
    """The bot's own webhooks, one per channel, found or created on first use."""

    _rest: hikari.api.RESTClient = field(repr=False)
    _name: str = "minamo"
    _calls: CallRunner = field(factory=CallRunner, repr=False, kw_only=True)
    _application_id: int | None = field(default=None, init=False)

    async def find(self, channel_id: int, *, anew: bool = False) -> tuple[int, str] | SendOutcome:
        """Return id and token of the bot's webhook, or a failed outcome; *anew* creates another."""
        found: list[hikari.IncomingWebhook] = []

        async def look() -> None:
            if not anew:
                found.extend(await self._own(channel_id))
            if not found:
                found.append(await self._rest.create_webhook(channel_id, self._name))

        answer = await self._calls.make(look())
        if not found or found[0].token is None:
            return answer
        return int(found[0].id), found[0].token

    async def _own(self, channel_id: int) -> list[hikari.IncomingWebhook]:
        every = await self._rest.fetch_channel_webhooks(channel_id)
        incoming = [
            webhook
            for webhook in every
            if isinstance(webhook, hikari.IncomingWebhook) and webhook.token
        ]
        if incoming and self._application_id is None:
            # Not the bot's own id: for old bots the two differ.
            self._application_id = int((await self._rest.fetch_application()).id)
        return [webhook for webhook in incoming if webhook.application_id == self._application_id]


T = TypeVar("T")

_FLAGS: ContextVar[int | None] = ContextVar("flags of the edit being made", default=None)


@define(eq=False)
class WebhookSender:
    """The sender for a webhook with a name and an avatar.  Discord has no nonces here."""

    _rest: hikari.api.RESTClient = field(repr=False)
    place: int
    """The webhook's id."""
    _token: str = field(repr=False)
    bot: BotSender
    """Shows typing and starts threads: a webhook can do neither."""
    name: str | None = field(default=None, kw_only=True)
    avatar_url: str | None = field(default=None, kw_only=True, repr=False)
    thread_id: int | None = field(default=None, kw_only=True)
    has_nonce: bool = field(default=False, init=False)
    calls: CallRunner = field(factory=CallRunner, repr=False, kw_only=True)

    def route(self, kind: Kind) -> str:
        """Return one rate limit for all kinds, because the hidden limit counts them all."""
        del kind
        return "webhook"

    async def create(self, post: OutgoingMessage) -> SendOutcome:
        """Send a new message; *post* cannot be a reply.

        A webhook of another channel posts there; that message is deleted and the call refused.
        """
        call = self._rest.execute_webhook(
            self.place,
            self._token,
            or_undefined(post.text),
            username=or_undefined(self.name),
            avatar_url=or_undefined(self.avatar_url),
            thread=or_undefined(self._thread(post.channel_id)),
            **creating(post),
        )
        astray: list[int] = []

        async def speak() -> hikari.Message:
            made = await call
            if int(made.channel_id) != post.channel_id:
                astray.append(int(made.id))
            return made

        answer = mark_unrepeatable(await self.calls.make(speak()))
        if astray:
            back = self._rest.delete_webhook_message(self.place, self._token, astray[0])
            await self.calls.make(back)
            return Rejected("wrong_channel")
        return answer

    async def edit(self, post: OutgoingMessage, message_id: int) -> SendOutcome:
        """Edit a sent message."""
        thread = self._thread(post.channel_id)
        return await self.calls.make(
            edit_by_token(self._rest, (self.place, self._token), post, message_id, thread)
        )

    async def delete(self, channel_id: int, message_id: int) -> SendOutcome:
        """Delete a message."""
        call = self._rest.delete_webhook_message(
            self.place, self._token, message_id, thread=or_undefined(self._thread(channel_id))
        )
        return treat_missing_as_deleted(await self.calls.make(call))

    async def typing(self, channel_id: int) -> SendOutcome:
        """Show the bot as typing."""
        return await self.bot.typing(channel_id)

    async def start_thread(self, channel_id: int, message_id: int, name: str) -> SendOutcome:
        """Start a thread, as the bot, from a message of the webhook."""
        return await self.bot.start_thread(channel_id, message_id, name)

    def _thread(self, channel_id: int) -> int | None:
        """Return the thread to post in: the persona's own, or one started for its reply."""
        return self.thread_id if channel_id == self.bot.place else channel_id


async def flagged(flags: int | None, edit: Callable[[], Awaitable[T]]) -> T:
    """Make *edit*, a call of a `webhook_client`, with *flags*; run it in a task of its own.

    Discord accepts flags when a message is edited through a token; hikari's methods for that have
    no parameter for them, as of 2.7.  But hikari lets the client set the JSON encoder (`_dumps`).
    """
    _FLAGS.set(flags)
    return await edit()


def edit_by_token(
    rest: hikari.api.RESTClient,
    webhook: tuple[int, str],
    post: OutgoingMessage,
    message_id: int,
    thread: int | None = None,
) -> Coroutine[Any, Any, hikari.Message]:
    """Return the call that edits a message of a webhook, given as its id and token."""
    fields = {"thread": or_undefined(thread), **editing(post)}
    return flagged(
        edited_flags(post),
        lambda: rest.edit_webhook_message(*webhook, message_id, or_undefined(post.text), **fields),
    )


def _dumps(body: Any) -> bytes:
    if (flags := _FLAGS.get()) is not None and isinstance(body, Mapping):
        body = {**body, "flags": flags}
    return json.dumps(body, separators=(",", ":")).encode()


@asynccontextmanager
async def webhook_client(
    url: str | None = None, *, like: hikari.api.RESTClient | None = None
) -> AsyncIterator[hikari.api.RESTClient]:
    """Yield a client for webhooks and interactions that never retries.

    It uses the proxy, the certificates and the timeouts of *like*, the bot's own client.
    Connections are not kept alive: one that Discord closed in between would leave a message whose
    delivery is unknown.
    """
    redact_hikari_logs()
    app = hikari.RESTApp(
        http_settings=_http(like),
        proxy_settings=_proxy(like),
        dumps=_dumps,
        max_retries=0,
        url=url,
    )
    await app.start()
    try:
        async with app.acquire(None) as client:
            yield client
    finally:
        await app.close()


def _http(like: hikari.api.RESTClient | None) -> hikari.impl.HTTPSettings:
    known = like.http_settings if like is not None else None
    if not isinstance(known, hikari.impl.HTTPSettings):
        known = hikari.impl.HTTPSettings()
    return evolve(known, force_close_transports=True)


def _proxy(like: hikari.api.RESTClient | None) -> hikari.impl.ProxySettings | None:
    known = like.proxy_settings if like is not None else None
    return known if isinstance(known, hikari.impl.ProxySettings) else None


@frozen
class PersonaFactory:
    """The factory of persona senders: webhooks, a client that never retries, the wording."""

    own: BotWebhooks
    webhooks: hikari.api.RESTClient
    wording: Wording
    cache: hikari.api.Cache | None = None
    """Used to look up threads; without it a persona cannot post in one."""

    def sender(self, persona: Persona, bot: BotSender, target: Target) -> PersonaSender:
        """Return the sender that posts as *persona* in the channel of *bot*."""
        parent = self._parent(bot.place)

        def voice(webhook_id: int, token: str) -> WebhookSender:
            return WebhookSender(
                self.webhooks,
                webhook_id,
                token,
                bot,
                name=persona.name,
                avatar_url=persona.avatar_url,
                thread_id=None if parent is None else bot.place,
            )

        # Formatted again later; braces in a name must not act as placeholders.
        name = target.author_name.replace("{", "(").replace("}", ")")
        words = self.wording.say("reply_notice", name=name, link="{link}")
        return PersonaSender(
            bot.place,
            _Shelf(self.own, parent),
            voice,
            bot,
            notice=ReplyNotice(guild_id=target.guild_id, words=words),
        )

    def _parent(self, channel_id: int) -> int | None:
        """Return the parent channel of a thread: webhooks belong to channels."""
        thread = None if self.cache is None else self.cache.get_thread(channel_id)
        return None if thread is None else int(thread.parent_id)


@frozen
class _Shelf:
    """The webhooks of a channel, or of the parent channel of a thread."""

    _own: BotWebhooks
    _parent: int | None

    async def find(self, channel_id: int, *, anew: bool = False) -> tuple[int, str] | SendOutcome:
        """Return id and token of the webhook, or a failed outcome."""
        return await self._own.find(self._parent or channel_id, anew=anew)
