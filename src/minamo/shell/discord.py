"""The one door to Discord: hikari's calls, and what their ends mean.

No exception of hikari and no text of one leaves this file: it can hold tokens.

Every call runs in an asyncio task of its own.  Cancelling a call that waits inside hikari's
limiter hangs its channel, or the whole process; and hikari, when it closes, cancels such calls
itself, which would pass for a cancellation of ours.  With a task in between neither gets through.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from typing import Any, TypedDict

import hikari
from attrs import define, field

from minamo.shell.hushing import hush
from minamo.shell.refusals import BY_CODE, UNKNOWN_MESSAGE, reason_for
from minamo.shell.sender import CLOSED, Answer, Kind, Lost, Post, PutOff, Rejected, Took, Vanished

_LOG = logging.getLogger("minamo.discord")

# The content network shuts a door without saying for how long.
_SHUT_OUT_S = 10.0
# A connection that could not be made may be possible a moment later.
_UNREACHABLE_S = 2.0

_TOO_MANY = 429
_THEIR_FAULT = 500


class _Allowed(TypedDict):
    mentions_everyone: bool
    user_mentions: Sequence[int] | bool
    role_mentions: Sequence[int] | bool


def _allowed(post: Post) -> _Allowed:
    """Said on every call: left out of an edit, Discord would ring for everything in the text."""
    return {
        "mentions_everyone": post.ping.everyone,
        "user_mentions": post.ping.users or False,
        "role_mentions": post.ping.roles or False,
    }


def _embed(post: Post) -> hikari.UndefinedOr[hikari.Embed]:
    made = post.embed
    if made is None:
        return hikari.UNDEFINED
    return hikari.Embed(
        title=made.title or None, description=made.description or None, colour=made.colour
    )


def _given(value: Any) -> Any:
    return hikari.UNDEFINED if value is None or value == "" else value


@define(eq=False)
class Calls:
    """Calls that are out, each in a task that nobody cancels."""

    _tasks: set[asyncio.Task[None]] = field(factory=set, repr=False)

    async def make(self, call: Coroutine[Any, Any, Any], *, creates: bool = False) -> Answer:
        """Make *call*; being cancelled here leaves it alone."""
        loop = asyncio.get_running_loop()
        told: asyncio.Future[Answer] = loop.create_future()
        task = loop.create_task(_tell(call, told, creates=creates))
        # asyncio itself keeps no task alive.
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return await told

    def __len__(self) -> int:
        return len(self._tasks)


async def _tell(
    call: Coroutine[Any, Any, Any], told: asyncio.Future[Answer], *, creates: bool
) -> None:
    answer = await answer_of(call, creates=creates)
    if not told.done():  # nobody waits any more
        told.set_result(answer)


async def answer_of(call: Coroutine[Any, Any, Any], *, creates: bool = False) -> Answer:
    """What became of a call to hikari; *creates* says that it has a nonce."""
    try:
        made = await call
    except asyncio.CancelledError:
        return Lost("closed")  # hikari's client was closed around it
    except hikari.RateLimitTooLongError as error:
        return PutOff("rate_limited", error.retry_after)
    except hikari.ComponentStateConflictError:
        return CLOSED
    except hikari.HTTPResponseError as error:
        return _refusal(error, creates=creates)
    except hikari.HTTPError as error:
        return _unreachable(error, creates=creates)
    except Exception as error:  # noqa: BLE001 - whatever it is, the message may have arrived
        _LOG.warning("a call to Discord ended unexpectedly", extra={"kind": type(error).__name__})
        return Lost("unexpected")
    return Took(int(made.id) if isinstance(made, hikari.PartialMessage) else None)


def _refusal(error: hikari.HTTPResponseError, *, creates: bool) -> Answer:
    status, code = int(error.status), int(getattr(error, "code", 0))
    if creates and code == UNKNOWN_MESSAGE:
        # Only a nonce leads here: a reply to a deleted message is allowed by `reply_must_exist`.
        return Vanished()
    if status == _TOO_MANY:
        return PutOff("rate_limited", _SHUT_OUT_S)
    if status >= _THEIR_FAULT:
        return Lost(f"http_{status}")
    return Rejected(reason_for(status, code))


def _unreachable(error: hikari.HTTPError, *, creates: bool) -> Answer:
    # Only a connection that was never made has this attribute (of aiohttp's exception): nothing
    # was sent.  The bot's client repeats by itself, and an earlier try may have been; but those
    # calls have a nonce and can be asked about.
    if not creates and getattr(error.__cause__, "os_error", None) is not None:
        return PutOff("unreachable", _UNREACHABLE_S)
    return Lost("connection")


@define(eq=False)
class BotSender:
    """The bot itself, in one channel."""

    _rest: hikari.api.RESTClient = field(repr=False)
    place: int
    """The channel."""
    has_nonce: bool = field(default=True, init=False)
    calls: Calls = field(factory=Calls, repr=False, kw_only=True)

    def route(self, kind: Kind) -> str:
        """The limit of such a call: each kind has its own."""
        return kind

    async def create(self, post: Post) -> Answer:
        """Send a new message."""
        call = self._rest.create_message(
            post.channel_id,
            _given(post.text),
            nonce=_given(post.nonce),
            reply=_given(post.reply_to),
            # Somebody may delete the question; the answer is still one.
            reply_must_exist=False if post.reply_to is not None else hikari.UNDEFINED,
            mentions_reply=post.ping.reply,
            embed=_embed(post),
            flags=post.flags or hikari.UNDEFINED,
            **_allowed(post),
        )
        return await self.calls.make(call, creates=True)

    async def edit(self, post: Post, message_id: int) -> Answer:
        """Change a message that was sent."""
        call = self._rest.edit_message(
            post.channel_id,
            message_id,
            _given(post.text),
            mentions_reply=post.ping.reply,
            **_allowed(post),
        )
        return await self.calls.make(call)

    async def delete(self, channel_id: int, message_id: int) -> Answer:
        """Remove a message."""
        return _gone(await self.calls.make(self._rest.delete_message(channel_id, message_id)))

    async def typing(self, channel_id: int) -> Answer:
        """Show the typing indicator."""
        return await self.calls.make(_once(self._rest, channel_id))


def _gone(answer: Answer) -> Answer:
    was_gone = isinstance(answer, Rejected) and answer.reason == BY_CODE[UNKNOWN_MESSAGE]
    return Took(None) if was_gone else answer


async def _once(rest: hikari.api.RESTClient, channel_id: int) -> None:
    # Awaiting it makes one call; entering it would start hikari's own loop.
    await rest.trigger_typing(channel_id)


@define(eq=False)
class WebhookSender:
    """A persona: a webhook with a name and a face.  Discord knows no nonce here."""

    _rest: hikari.api.RESTClient = field(repr=False)
    place: int
    """The webhook."""
    _token: str = field(repr=False)
    bot: BotSender
    """Who types for it: a webhook cannot."""
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
        """Send a new message; *post* cannot be a reply."""
        call = self._rest.execute_webhook(
            self.place,
            self._token,
            _given(post.text),
            username=_given(self.name),
            avatar_url=_given(self.avatar_url),
            thread=_given(self.thread_id),
            embed=_embed(post),
            flags=post.flags or hikari.UNDEFINED,
            **_allowed(post),
        )
        return await self.calls.make(call)

    async def edit(self, post: Post, message_id: int) -> Answer:
        """Change a message that was sent."""
        call = self._rest.edit_webhook_message(
            self.place,
            self._token,
            message_id,
            _given(post.text),
            thread=_given(self.thread_id),
            **_allowed(post),
        )
        return await self.calls.make(call)

    async def delete(self, channel_id: int, message_id: int) -> Answer:
        """Remove a message."""
        del channel_id
        call = self._rest.delete_webhook_message(
            self.place, self._token, message_id, thread=_given(self.thread_id)
        )
        return _gone(await self.calls.make(call))

    async def typing(self, channel_id: int) -> Answer:
        """Show the bot typing."""
        return await self.bot.typing(channel_id)


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


def hear_echoes(
    bot: hikari.GatewayBotAware, heard: Callable[[int, str, int], object]
) -> Callable[[], None]:
    """Have *heard* told channel, nonce and id of the bot's own messages; returns what ends it."""

    async def on_message(event: hikari.MessageCreateEvent) -> None:
        me, nonce = bot.get_me(), event.message.nonce
        # Nonces can be seen by others, and used by them; only our own messages count.
        if nonce and me is not None and event.author_id == me.id:
            heard(int(event.channel_id), nonce, int(event.message_id))

    bot.event_manager.subscribe(hikari.MessageCreateEvent, on_message)
    return lambda: bot.event_manager.unsubscribe(hikari.MessageCreateEvent, on_message)


@define(eq=False)
class BotWebhooks:
    """The bot's own webhooks, one per channel, found or made when first needed."""

    _rest: hikari.api.RESTClient = field(repr=False)
    _name: str = "minamo"
    _calls: Calls = field(factory=Calls, repr=False, kw_only=True)

    async def find(self, channel_id: int, *, anew: bool = False) -> tuple[int, str] | Answer:
        """Id and token of a webhook that is ours, or why there is none; *anew* makes another."""
        found: list[hikari.IncomingWebhook] = []

        async def look() -> None:
            every = [] if anew else await self._rest.fetch_channel_webhooks(channel_id)
            # Discord shows the token only of webhooks that this bot made.
            found.extend(x for x in every if isinstance(x, hikari.IncomingWebhook) and x.token)
            if not found:
                found.append(await self._rest.create_webhook(channel_id, self._name))

        answer = await self._calls.make(look())
        if not found or found[0].token is None:
            return answer
        return int(found[0].id), found[0].token
